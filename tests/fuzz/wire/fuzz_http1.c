/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a connection; read in one piece and in small ones they are the same. */
#include "wire/http1.h"

#include <assert.h>

#include "base/limits.h"

static void read_all(struct th_str text, size_t piece, struct th_buf *out)
{
	struct th_http1 *p = th_http1_new();
	struct th_err err = {};

	while (text.len > 0) {
		size_t used;
		enum th_http1_step step = th_http1_feed(p, th_str_sub(text, 0, piece), &used, &err);

		assert(used <= TH_MIN(text.len, piece));
		text = th_str_sub(text, used, text.len - used);
		if (step == TH_HTTP1_BAD) {
			th_buf_printf(out, "bad %d\n", err.code);
			break;
		}
		if (step == TH_HTTP1_HEAD)
			th_http1_body_max(p, 1000);
		/* A head without a body is whole without another byte. */
		if (step == TH_HTTP1_HEAD && text.len == 0)
			step = th_http1_feed(p, text, &used, &err);
		if (step == TH_HTTP1_WHOLE) {
			th_buf_printf(out, "%.*s %.*s %.*s %.*s\n", TH_FMT(th_http1_method(p)),
				      TH_FMT(th_http1_target(p)),
				      TH_FMT(th_http1_header(p, "host")), TH_FMT(th_http1_body(p)));
			th_http1_next(p);
		}
	}
	th_http1_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf small TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	read_all(th_str_n(bytes, size), size + 1, &one);
	read_all(th_str_n(bytes, size), 3, &small);
	assert(th_str_eq(th_buf_str(&one), th_buf_str(&small)));
	return 0;
}
