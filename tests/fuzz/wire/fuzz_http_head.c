/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at the loopback listener: refused with a sentence, not all there, or
 * a head whose strings lie inside them.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str bytes = th_str_n(data, size);
	struct th_http_head h;
	struct th_err err = { 0 };

	if (th_http_head_read(bytes, &h, &err)) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	if (h.size > size || h.body_size > TH_HUMAN_BODY_MAX)
		abort();
	const struct th_str strings[] = { h.method, h.path, h.host, h.origin, h.token };
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		if (strings[i].len && (strings[i].ptr < bytes.ptr ||
				       strings[i].ptr + strings[i].len > bytes.ptr + h.size))
			abort();
	(void)th_http_head_local(&h);
	return 0;
}
