/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event stream whole, cut where the first byte says, and byte by byte: the
 * same events and the same limit every time.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/sse.h"

#define LINE_MAX 4096 /* small, so that it is reached */
#define BYTEWISE_MAX 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note(struct th_buf *out, const struct th_sse_event *ev)
{
	th_buf_printf(out, "%zu %zu ", ev->name.len, ev->data.len);
	th_buf_add(out, ev->name);
	th_buf_add(out, ev->data);
}

static void read_all(struct th_str stream, size_t step, struct th_buf *out)
{
	struct th_sse_event ev;
	struct th_sse s;
	struct th_err err;
	int r = 0;

	th_sse_init(&s, LINE_MAX);
	while (stream.len && r >= 0) {
		size_t len = TH_MIN(step, stream.len);
		char *copy = malloc(len);
		struct th_str piece = th_str_n(copy, len);

		assert(copy);
		memcpy(copy, stream.ptr, len);
		while ((r = th_sse_next(&s, &piece, &ev, &err)) == 1)
			note(out, &ev);
		assert(r < 0 || piece.len == 0);
		stream = th_str_sub(stream, len, stream.len);
		free(copy);
	}
	if (r >= 0 && (r = th_sse_end(&s, &ev, &err)) == 1)
		note(out, &ev);
	if (r < 0)
		th_buf_printf(out, "limit");
	assert(s.line.len <= LINE_MAX && s.data.len <= LINE_MAX);
	th_sse_deinit(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf whole = TH_BUF_INIT(64 * TH_MIB), cut = TH_BUF_INIT(64 * TH_MIB);
	struct th_str stream = th_str_n(data, size);
	size_t step = size ? 1 + data[0] % 97 : 1;

	read_all(stream, SIZE_MAX, &whole);
	read_all(stream, step, &cut);
	if (!th_str_eq(th_buf_str(&whole), th_buf_str(&cut)))
		abort();
	th_buf_clear(&cut);
	read_all(th_str_sub(stream, 0, BYTEWISE_MAX), SIZE_MAX, &cut);
	th_buf_clear(&whole);
	read_all(th_str_sub(stream, 0, BYTEWISE_MAX), 1, &whole);
	if (!th_str_eq(th_buf_str(&whole), th_buf_str(&cut)))
		abort();
	th_buf_deinit(&whole);
	th_buf_deinit(&cut);
	return 0;
}
