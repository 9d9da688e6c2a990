/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text file: what is a text, decoded and encoded again, has the same bytes. */
#include "base/charset.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_buf text = TH_BUF_INIT(3 * size + 4), back = TH_BUF_INIT(size + 4);
	enum th_charset charset = th_charset_of(bytes);
	uint32_t bad;

	if (charset != TH_CHARSET_BINARY) {
		th_charset_decode(charset, bytes, &text);
		assert(!text.failed && th_utf8_valid(th_buf_str(&text)) == text.len);
		bool good = th_charset_encode(charset, th_buf_str(&text), &back, &bad);
		assert(good && th_str_eq(th_buf_str(&back), bytes));
	}
	th_buf_deinit(&text);
	th_buf_deinit(&back);
	return 0;
}
