/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as text.  Cleaning gives valid UTF-8, keeps what was valid and
 * changes nothing the second time; walking, counting, cutting, clipping and
 * showing agree with it.
 */
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str text = th_str_n(data, size), rest = text, cut;
	size_t valid = th_utf8_valid(text), count = 0, width = size ? data[0] % 100 : 0;
	struct th_buf clean = TH_BUF_INIT(3 * size), other = TH_BUF_INIT(4 * size + 100);
	uint32_t cp;

	th_utf8_clean(&clean, text);
	assert(!clean.failed && th_utf8_valid(th_buf_str(&clean)) == clean.len);
	assert(clean.len >= valid && (!valid || !memcmp(clean.ptr, data, valid)));
	while (th_utf8_next(&rest, &cp)) {
		assert(cp < 0x110000 && !(cp >= 0xd800 && cp < 0xe000));
		th_utf8_add(&other, cp);
		count++;
	}
	assert(th_str_eq(th_buf_str(&other), th_buf_str(&clean)));
	assert(th_utf8_count(text) == count && th_utf8_count(th_buf_str(&clean)) == count);

	cut = th_utf8_cut(th_buf_str(&clean), width);
	assert(cut.len <= width && th_utf8_valid(cut) == cut.len);
	assert(cut.len == clean.len || cut.len + 3 >= width);

	th_buf_clear(&other);
	th_text_line(&other, text, width);
	assert(!other.failed && th_utf8_valid(th_buf_str(&other)) == other.len);
	assert(th_utf8_count(th_buf_str(&other)) <= width);
	for (size_t i = 0; i < other.len; i++)
		assert((uint8_t)other.ptr[i] >= 0x20 && other.ptr[i] != 0x7f);

	th_buf_clear(&other);
	th_text_clip(&other, text, width);
	assert(!other.failed && th_utf8_valid(th_buf_str(&other)) == other.len);
	th_buf_deinit(&clean);
	th_buf_deinit(&other);
	return 0;
}
