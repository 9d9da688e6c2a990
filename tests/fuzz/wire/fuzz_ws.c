/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a client: what is heard does not depend on how the bytes come. */
#include "wire/ws.h"

#include <assert.h>

#include "base/limits.h"

static void on_message(void *ctx, struct th_str message, bool text)
{
	th_buf_printf(ctx, "%d %zu ", text, message.len);
	th_buf_add(ctx, message);
}

static void read_all(struct th_str bytes, size_t piece, struct th_buf *heard)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);
	struct th_ws *w = th_ws_new(4096, on_message, heard, &out);
	struct th_err err = {};

	for (size_t at = 0; at < bytes.len; at += piece)
		if (th_ws_feed(w, th_str_sub(bytes, at, piece), &err) != TH_OK)
			break;
	th_ws_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);
	struct th_buf small TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);

	read_all(th_str_n(bytes, size), size + 1, &one);
	read_all(th_str_n(bytes, size), 3, &small);
	assert(th_str_eq(th_buf_str(&one), th_buf_str(&small)));
	return 0;
}
