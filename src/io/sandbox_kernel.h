/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_kernel.h - landlock, seccomp and idmapped mounts for sandbox*.c;
 * nobody else includes this.
 */
#ifndef TH_IO_SANDBOX_KERNEL_H
#define TH_IO_SANDBOX_KERNEL_H

#include "io/sandbox_plan.h"

int th_landlock_abi(void);                   /* 0: the kernel has none */
int th_landlock_new(int abi, bool net_none); /* a ruleset that allows nothing, or -1 */
int th_landlock_allow(int ruleset, int abi, const char *path, bool writable); /* -1 with errno */

/* `inet`: internet sockets may be made.  `gui`: namespaces may be made.  ret->filter is to be
 * freed. */
TH_NODISCARD enum th_code th_filter_new(bool inet, bool gui, struct sock_fprog *ret,
					struct th_err *err);

/* A user namespace whose map swaps two users and two groups, or -1.  As root. */
int th_userns_swapping(uid_t uid_a, uid_t uid_b, gid_t gid_a, gid_t gid_b);
/* One in which each is himself, or -1: for counting (RLIMIT_NPROC) apart.  As root. */
int th_userns_same(void);
/* Whether this kernel counts a user's processes in each user namespace (Linux 5.14). */
bool th_userns_count(void);
bool th_idmap_works(const char *path, int userns_fd);

#endif
