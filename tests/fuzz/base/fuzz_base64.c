/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes encoded and decoded again, by the wide body and the portable one;
 * and any bytes decoded: what is accepted has exactly one way to be written.
 */
#include "base/codec.h"
#include "base/cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_buf wide = TH_BUF_INIT(2 * size + 4), portable = TH_BUF_INIT(2 * size + 4);
	struct th_buf plain = TH_BUF_INIT(size + 4);
	bool good;

	th_cpu_limit(~0u);
	th_base64_encode(&wide, data, size);
	th_cpu_limit(0);
	th_base64_encode(&portable, data, size);
	assert(!wide.failed && th_str_eq(th_buf_str(&wide), th_buf_str(&portable)));
	good = th_base64_decode(&plain, th_buf_str(&wide));
	assert(good && th_str_eq(th_buf_str(&plain), bytes));

	th_buf_clear(&plain);
	th_buf_clear(&portable);
	if (th_base64_decode(&plain, bytes)) {
		th_base64_encode(&portable, plain.ptr, plain.len);
		assert(th_str_eq(th_buf_str(&portable), bytes));
	} else {
		assert(plain.len == 0);
	}
	th_buf_deinit(&wide);
	th_buf_deinit(&portable);
	th_buf_deinit(&plain);
	return 0;
}
