/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an expression and, behind a newline, a text: an answer, soon, and the same with a
 * group around it. */
#include "base/regex.h"

#include "base/buf.h"
#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str text = th_str_n(data, size), pattern = th_str_split(&text, '\n');
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf group TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB); /* it may hold zeros */
	const struct th_regex *re, *grouped;
	struct th_err err = { 0 };

	th_arena_init(&a, TH_MIB);
	if (th_regex_compile(pattern, &a, &re, &err))
		return 0;
	th_buf_add_cstr(&group, "(?:");
	th_buf_add(&group, pattern);
	th_buf_add_char(&group, ')');
	if (!th_regex_compile(th_buf_str(&group), &a, &grouped, &err))
		assert(th_regex_matches(re, text) == th_regex_matches(grouped, text));
	return 0;
}
