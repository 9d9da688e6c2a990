/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as frames from another process.  Pieces stay inside the bytes and
 * the limits, a shorter cut asks for more or says the same, and a frame
 * written again gives the same bytes.
 */
#include "base/codec.h"
#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frame(struct th_str bytes, const struct th_frame *f)
{
	struct th_buf out = TH_BUF_INIT(bytes.len);

	assert(f->size >= TH_FRAME_HEAD_SIZE && f->size <= bytes.len &&
	       f->size <= TH_FRAME_SIZE_MAX);
	assert(f->json.len <= TH_FRAME_JSON_MAX);
	assert(f->json.ptr == bytes.ptr + TH_FRAME_HEAD_SIZE);
	assert(f->attachment.ptr == f->json.ptr + f->json.len);
	assert(f->attachment.ptr + f->attachment.len == bytes.ptr + f->size);
	th_frame_write(&out, f->json, f->attachment);
	assert(th_str_eq(th_buf_str(&out), th_str_sub(bytes, 0, f->size)));
	th_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size);
	struct th_frame f, shorter;
	struct th_err err;
	int got;

	while ((got = th_frame_read(rest, &f, &err)) == 1) {
		check_frame(rest, &f);
		got = th_frame_read(th_str_sub(rest, 0, f.size - 1), &shorter, &err);
		assert(got == 0);
		rest = th_str_sub(rest, f.size, rest.len);
	}
	assert(got == 0 || got == TH_EPROTO || got == TH_ELIMIT);
	return 0;
}
