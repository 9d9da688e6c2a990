/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path.h - the paths that a model may name: inside the workspace, relative to
 * it or absolute.
 *
 * The kernel decides (openat2 RESOLVE_BENEATH); what is done here to the text
 * makes the refusal a sentence that a model can act on, and of a link by a whole
 * path that stays inside one that the kernel follows.
 */
#ifndef TH_TOOLS_PATH_H
#define TH_TOOLS_PATH_H

#include "tools/tool.h"

/*
 * Opens as openat does.  TH_EPERM: outside the workspace, or our own folders
 * (the message names the workspace); TH_EUSAGE: no path at all.
 */
TH_NODISCARD enum th_code th_tool_open(const struct th_tool_env *env, struct th_str path, int flags,
				       mode_t mode, int *ret_fd, struct th_err *err);

/* The path without the workspace before it: "" is the workspace itself.  TH_EPERM, TH_EUSAGE as
 * above. */
TH_NODISCARD enum th_code th_tool_relative(const struct th_tool_env *env, struct th_str path,
					   struct th_str *ret, struct th_err *err);

/* As root: this thread acts on files as the workspace's owner, until leave. */
void th_tool_owner_enter(const struct th_tool_env *env);
void th_tool_owner_leave(const struct th_tool_env *env);

#endif
