/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_plan.h - what sandbox*.c prepares and child.c uses between fork and
 * exec; nobody else includes this.
 */
#ifndef TH_IO_SANDBOX_PLAN_H
#define TH_IO_SANDBOX_PLAN_H

#include <linux/filter.h>

#include "base/arena.h"
#include "io/sandbox.h"

/* Where the child of a namespaced plan must have these; mapped descriptors stay below. */
#define TH_PLAN_FD_FILTER 200
#define TH_PLAN_FD_STATUS 201
#define TH_PLAN_FD_USERS 202

#define TH_SANDBOX_NOBODY 65534

#define TH_PLAN_ARGS_MAX 1024
#define TH_PLAN_SHOWN_MAX 16

struct th_sandbox_plan {
	enum th_sandbox_level level;
	bool namespaced; /* started through bwrap */
	bool drop;       /* as root: become uid, gid */
	uid_t uid;
	gid_t gid;
	const char *args[TH_PLAN_ARGS_MAX]; /* bwrap and its options, in the arena */
	size_t arg_count;
	bool failed;          /* too many of them */
	const char *tail[16]; /* what stands between "--" and the command */
	size_t tail_count;
	/* A command's processes are counted in a user namespace, not with all of its user: in one
	 * that bwrap makes for it, or (as root) in the plan's. */
	bool counted_alone;
	int users_fd;        /* the plan's; -1: none */
	const char *prlimit; /* what sets the limit inside, in the arena */
	int landlock_fd;     /* -1: none */
	int net_fd, user_fd; /* the network namespace to go into; -1: none; borrowed */
	struct sock_fprog filter;
	/* Folders shown to the unprivileged user as its own, by an idmapped mount. */
	struct {
		const char *path;
		int userns_fd;
	} shown[TH_PLAN_SHOWN_MAX];
	size_t shown_count;
	char *tmp; /* a folder we made for TMPDIR; removed with the plan */
	struct th_arena arena;
};

/* Only system calls: between fork and exec.  0, or -1 with errno and *ret_step. */
int th_sandbox_apply(const struct th_sandbox_plan *p, const char **ret_step);
/* Goes into p->net_fd; before anything that needs to be ourselves no more. */
int th_sandbox_join(const struct th_sandbox_plan *p, const char **ret_step);
/* Mounts p->shown in a mount namespace of its own. */
int th_sandbox_show(const struct th_sandbox_plan *p, const char **ret_step);
/* A new descriptor with the filter for bwrap, or -1. */
int th_sandbox_filter_fd(const struct th_sandbox_plan *p);
/* bwrap and its options, without "--"; how many. */
size_t th_sandbox_options(const struct th_sandbox_plan *p, const char **ret);

#endif
