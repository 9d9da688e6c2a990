/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mask.c - a secret and a text, with a NUL between them: the secret does not
 * stand in what comes out, whole or in pieces of each size.
 */
#include <assert.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size), value = th_str_split(&rest, '\0');
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_mask_stream s;

	if (size < 2 || size > 20000)
		return 0;
	struct th_mask *m = th_mask_new();
	struct th_secret *secret = th_secret_new(value);
	enum th_code code = th_mask_add(m, secret, NULL);
	th_secret_free(secret);
	th_mask_build(m);
	if (code == TH_OK) {
		size_t piece = 1 + data[size - 1] % 16U;

		th_mask_stream_init(&s, m);
		for (size_t at = 0; at < rest.len; at += piece)
			th_mask_stream_feed(&s, th_str_sub(rest, at, piece), &out);
		th_mask_stream_end(&s, &out);
		th_mask_stream_deinit(&s);
		assert(out.len == rest.len);
		bool stars = value.ptr[0] == '*'; /* what masks may be a secret of stars */
		assert(stars || th_str_find(th_buf_str(&out), value) < 0 ||
		       memchr(value.ptr, '*', value.len));
	}
	th_mask_free(m);
	th_buf_deinit(&out);
	return 0;
}
