/* SPDX-License-Identifier: Apache-2.0 */
/* bash_view.h - a shell of the tool `bash` as somebody who looks on sees it (bash.c). */
#ifndef TH_TOOLS_BASH_VIEW_H
#define TH_TOOLS_BASH_VIEW_H

#include "tools/terminal.h"
#include "tools/tool.h"

/* The terminal of the shell that calls use which name none; NULL: it does not live. */
struct th_terminal *th_bash_terminal(const struct th_tool_env *env);

#endif
