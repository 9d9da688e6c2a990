/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_internal.h - what the parts of a child process share.
 */
#ifndef TH_IO_CHILD_INTERNAL_H
#define TH_IO_CHILD_INTERNAL_H

#include "base/codec.h"
#include "io/cgroup.h"
#include "io/child.h"

struct stream {
	struct th_child *child;
	struct th_poll *poll;
	int fd;
	enum th_child_stream which;
};

struct th_child {
	struct th_loop *loop;
	void (*on_output)(void *, enum th_child_stream, struct th_str);
	void (*on_exit)(void *, const struct th_child_exit *);
	void *ctx;
	pid_t pid;
	int pidfd, init_fd; /* init_fd: first process of the namespace, -1 until known */
	pid_t init_pid;
	struct th_poll *pid_poll, *init_poll;
	struct stream out[2], in, status;
	struct th_buf in_queue, status_text;
	struct th_timer sweep, look; /* look: without pidfds */
	unsigned sweeps;
	struct th_cgroup group;
	char marker[16 + TH_UUID_TEXT_SIZE +
		    1]; /* in the environment of what TH_TREE_ADOPT must find again */
	enum th_child_tree tree;
	struct th_child_exit result;
	bool contained;        /* the tree must end with the child */
	bool namespaced;       /* through bwrap */
	struct th_child *next; /* in `children` */
	bool reaped, tree_gone, reported, paused, close_in, busy, freed, kill_wanted;
};

int th_child_pidfd(pid_t pid);
void th_child_process_kill(pid_t pid, int fd, int signum);
bool th_child_process_gone(pid_t pid, int fd, int timeout_ms);
bool th_child_reap(struct th_child *c);
void th_child_tree_end(struct th_child *c);
bool th_child_tree_gone(struct th_child *c, int timeout_ms);
/* How its tree will be found again. */
void th_child_tree_choose(struct th_child *c, const struct th_child_spec *spec);
void th_child_tree_begin(struct th_child *c); /* it runs, and is to be reaped */

#endif
