/* SPDX-License-Identifier: Apache-2.0 */
/* What an object store answers: the keys lie in the answer, times are of this era, and errors have
 * names that a terminal can show. */
#include <assert.h>

#include "base/limits.h"
#include "wire/s3_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct given {
	struct th_str all;
	size_t count;
};

static enum th_code take(void *ctx, struct th_str key, int64_t changed_s, struct th_err *err)
{
	struct given *g = ctx;

	(void)err;
	assert(key.ptr >= g->all.ptr && key.ptr + key.len <= g->all.ptr + g->all.len);
	assert(changed_s >= 0 && changed_s < 253402387200);
	g->count++;
	return TH_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct given g = { th_str_n(data, size), 0 };
	struct th_str name;
	bool more = false;

	if (th_s3_list_read(g.all, take, &g, &more, NULL) == TH_OK && more)
		assert(g.count > 0);
	assert(g.count <= TH_PLACE_LIST_MAX);
	name = th_s3_error_name(g.all);
	for (size_t i = 0; i < name.len; i++)
		assert(name.ptr[i] > ' ' && name.ptr[i] < 127);
	return 0;
}
