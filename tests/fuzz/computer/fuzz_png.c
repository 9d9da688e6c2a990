/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a PNG file: pixels of the size that its head says, or one sentence. */
#include <stdlib.h>

#include "base/text.h"
#include "computer/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_size said = { 0, 0 };
	struct th_pixels p = { 0 };
	struct th_err err = { 0 };
	enum th_code head = th_png_size(bytes, &said, &err);

	/* A screen's worth of memory for a head that lies is allowed, and slow here. */
	if (!head && (int64_t)said.width * said.height > 1 << 20)
		return 0;
	if (th_png_read(bytes, &p, &err)) {
		assert(err.code && err.msg[0] &&
		       th_utf8_valid(th_str_of(err.msg)) == strlen(err.msg));
		return 0;
	}
	assert(!head && th_size_eq(p.size, said) && p.stride == (size_t)said.width * 4);
	assert(p.ptr[p.stride * (size_t)said.height - 1] <= 255);
	free(p.ptr);
	return 0;
}
