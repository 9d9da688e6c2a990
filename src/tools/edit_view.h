/* SPDX-License-Identifier: Apache-2.0 */
/* edit_view.h - what the tool `edit` shows: numbered lines, folders, and which files are pictures.
 */
#ifndef TH_TOOLS_EDIT_VIEW_H
#define TH_TOOLS_EDIT_VIEW_H

#include "tools/path.h"

/* "Here's the result of running `cat -n` on WHAT:" and the lines of `text`, the first of which is
 * number `first` of `total`; what does not fit is said. */
void th_editor_put_lines(struct th_buf *out, struct th_str what, struct th_str text, size_t first,
			 size_t total);

/* Two levels of a folder without hidden entries.  Between th_tool_owner_enter and _leave. */
TH_NODISCARD enum th_code th_editor_view_folder(const struct th_tool_env *env, struct th_str path,
						struct th_buf *out, struct th_err *err);

/* "image/png" and so on, when both the name and the first bytes say that it is one; else NULL. */
const char *th_editor_picture_type(struct th_str path, struct th_str bytes);

#endif
