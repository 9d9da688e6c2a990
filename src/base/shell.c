/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"

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
