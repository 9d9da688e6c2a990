/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_bwrap.h - plans with namespaces for sandbox.c, and what its other
 * plans need as well; nobody else includes this.
 */
#ifndef TH_IO_SANDBOX_BWRAP_H
#define TH_IO_SANDBOX_BWRAP_H

#include "base/limits.h"
#include "io/files.h"
#include "io/sandbox_plan.h"

/* TH_EUNSUPPORTED: a program that it takes is not installed. */
TH_NODISCARD enum th_code th_sandbox_plan_namespaces(struct th_sandbox_plan *p,
						     const struct th_sandbox *s,
						     struct th_err *err);

/* Without p->users_fd, for bwrap does not take it here. */
void th_sandbox_plan_count_together(struct th_sandbox_plan *p);

/* What programs need of the system, read-only; NULL-terminated. */
extern const char *const th_sandbox_system_paths[];

bool th_sandbox_beneath(const char *path, const char *folder);

/* Our own folders (logs, journals, settings) that lie in a workspace such as a home folder. */
size_t th_sandbox_own_inside(const char *workspace,
			     char paths[static TH_DIR_KIND_COUNT][TH_PATH_LEN_MAX]);

#endif
