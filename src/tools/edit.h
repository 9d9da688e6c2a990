/* SPDX-License-Identifier: Apache-2.0 */
/* edit.h - the arguments of the tool `edit`, for tools that are editors of something else. */
#ifndef TH_TOOLS_EDIT_H
#define TH_TOOLS_EDIT_H

#include "tools/tool.h"

#define TH_EDIT_LINE_UNSET (-1)

enum th_edit_command {
	TH_EDIT_VIEW,
	TH_EDIT_CREATE,
	TH_EDIT_REPLACE,
	TH_EDIT_INSERT,
	TH_EDIT_UNDO
};

struct th_edit {
	int64_t command, insert_line;
	struct th_str path, file_text, old_str, new_str;
	struct th_ints view_range;
	struct th_str insert_text, security_risk, summary, description;
};

#endif
