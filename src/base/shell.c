/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"

#include "base/limits.h"

void th_shell_word(struct th_str text, struct th_buf *out)
{
	th_buf_add_char(out, '\'');
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\'')
			th_buf_add_cstr(out, "'\\''");
		else
			th_buf_add_char(out, text.ptr[i]);
	th_buf_add_char(out, '\'');
}

bool th_shell_name_ok(struct th_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		      (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return name.len > 0 && name.len <= TH_VARIABLE_NAME_MAX;
}
