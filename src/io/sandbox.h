/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - what a command may touch, and what this kernel really enforces.
 *
 * Layers, each used where it works and each told apart in the report:
 *   namespaces  bubblewrap: own mounts, processes, IPC, network
 *   landlock    files and TCP, by the kernel's rules, without privileges
 *   seccomp     no inet sockets (net none), io_uring, ptrace, keyctl, mount …
 *   uid         as root, commands run as an unprivileged user
 * no_new_privs always.  What a level does not cover: KERNEL leaves programs
 * connect to Unix sockets with a path (an X server, D-Bus) and see other
 * processes' names; FULL does not.  A level that cannot be reached is an error, not a
 * silent step down.  This file never starts a process for others: io/child.c
 * does, with what th_sandbox_plan prepared.
 */
#ifndef TH_IO_SANDBOX_H
#define TH_IO_SANDBOX_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"

enum th_sandbox_net {
	TH_SANDBOX_NET_NONE,
	TH_SANDBOX_NET_HOST,
	TH_SANDBOX_NET_SPACE, /* net_fd, user_fd: only at the level FULL */
};

enum th_sandbox_level {
	TH_SANDBOX_OFF,    /* no_new_privs and uid only */
	TH_SANDBOX_KERNEL, /* landlock + seccomp */
	TH_SANDBOX_FULL,   /* namespaces, and landlock + seccomp where they work inside */
};

/* A file shown below a folder of the system where nothing need be, with all else that is there.
 * Only at the level FULL, and only where there is that folder. */
struct th_sandbox_placed {
	const char *from, *folder;
	const char *path; /* in the folder */
};

/* Borrowed; paths are absolute.  Lists end with NULL and may be NULL. */
struct th_sandbox {
	enum th_sandbox_level level_min; /* less than this is TH_EUNSUPPORTED */
	enum th_sandbox_level level_max; /* more than this is not tried (tests, nested use) */
	const char
	    *workspace; /* read and write; the only such place but the private /tmp; may be NULL */
	bool workspace_readonly;
	const char *const *readable; /* read and execute, besides the system folders */
	const char *const *writable;
	const char *const *hidden; /* besides /root, homes, /etc/shadow, /run …; a path beneath
				      these may be granted above */
	const struct th_sandbox_placed *placed; /* may be NULL */
	enum th_sandbox_net net;
	int net_fd,
	    user_fd; /* SPACE: io/net_space.h; they stay the caller's, and outlive the plan */
	bool gui; /* a program with windows: user namespaces stay allowed (Chromium's own sandbox),
		     shared /dev/shm */
	const char *tmp; /* a folder shown as /tmp (shared by the processes of a session); NULL: an
			    empty private one */
	uid_t uid;       /* as root: run as this user; 0: nobody (65534) */
	gid_t gid;
};

/* What was found by trying, not by asking for versions. */
struct th_sandbox_report {
	bool root;
	bool bwrap, user_namespace, pid_namespace, net_namespace;
	int landlock_abi; /* 0: none */
	bool landlock_files, landlock_tcp;
	bool seccomp;
	bool idmap;       /* root's workspace can be shown to the unprivileged user as its own */
	bool cgroup_kill; /* v2 cgroup.kill, or the v1 freezer */
	enum th_sandbox_level level; /* the best one that works here */
	char why[TH_ERR_MSG_MAX];    /* why not a better one; "" when FULL */
};

/* Takes some 50 ms: starts and confines processes.  Blocks. */
void th_sandbox_probe(struct th_sandbox_report *ret);
const char *th_sandbox_level_name(enum th_sandbox_level level);

/*
 * A prepared confinement: everything that needs memory or may fail, done
 * before fork.  May be used for any number of children.
 */
struct th_sandbox_plan;
TH_NODISCARD enum th_code th_sandbox_plan_new(const struct th_sandbox *s,
					      struct th_sandbox_plan **ret, struct th_err *err);
struct th_sandbox_plan *th_sandbox_plan_free(struct th_sandbox_plan *p);
void th_sandbox_plan_freep(struct th_sandbox_plan **p);
enum th_sandbox_level th_sandbox_plan_level(const struct th_sandbox_plan *p);

/*
 * Confines this very process, for good: landlock + seccomp + no_new_privs (and
 * the uid when root and s->uid is not 0).  For roles that confine themselves.
 */
TH_NODISCARD enum th_code th_sandbox_enter(const struct th_sandbox *s, struct th_err *err);

#endif
