/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup.h - a cgroup (version 2) per child, for ending all it started with
 * one write to cgroup.kill.  Where none can be made (no rights, version 1
 * only, Linux before 5.14) the answer is "no", not an error.
 */
#ifndef TH_IO_CGROUP_H
#define TH_IO_CGROUP_H

#include "base/base.h"

struct th_cgroup {
	char path[256];
	int procs_fd; /* -1: none; a process that writes "0" there joins */
};

/* The folder of this process's own group; false: it has none of version 2. */
bool th_cgroup_own(char *out, size_t size);
bool th_cgroup_works(void); /* found by making one */
bool th_cgroup_new(struct th_cgroup *ret);
void th_cgroup_kill(const struct th_cgroup *g);
bool th_cgroup_empty(const struct th_cgroup *g);
bool th_cgroup_free(struct th_cgroup *g); /* false: something still lives in it */

#endif
