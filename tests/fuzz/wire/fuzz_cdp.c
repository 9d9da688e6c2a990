/* SPDX-License-Identifier: Apache-2.0 */
/* What a browser's pipe brings, whole and in pieces: the same messages, each read or refused. */
#include <stdlib.h>

#include "base/limits.h"
#include "wire/cdp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void note(struct th_str text, struct th_buf *out)
{
	struct th_json_doc *doc = NULL;
	struct th_cdp_message m;
	struct th_err err;

	th_buf_printf(out, "%zu ", text.len);
	if (th_cdp_read(text, &doc, &m, &err) == TH_OK) {
		assert((m.id > 0) != (m.method.len > 0));
		th_buf_printf(out, "%lld %.*s %.*s %.*s ", (long long)m.id, TH_FMT(m.method),
			      TH_FMT(m.session), TH_FMT(m.error));
	} else {
		assert(err.msg[0]);
	}
	th_json_free(doc);
}

static void read_all(struct th_str stream, size_t step, struct th_buf *out)
{
	struct th_cdp_in in;
	struct th_str text;

	th_cdp_in_init(&in);
	while (stream.len) {
		size_t len = TH_MIN(step, stream.len);
		if (th_cdp_in_add(&in, th_str_sub(stream, 0, len), NULL))
			abort();
		while (th_cdp_in_next(&in, &text))
			note(text, out);
		stream = th_str_sub(stream, len, stream.len);
	}
	th_cdp_in_deinit(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_buf whole = TH_BUF_INIT(64 * TH_MIB), cut = TH_BUF_INIT(64 * TH_MIB);
	struct th_str stream = th_str_n(data, size);

	read_all(stream, SIZE_MAX, &whole);
	read_all(stream, size ? 1 + data[0] % 97 : 1, &cut);
	if (!th_str_eq(th_buf_str(&whole), th_buf_str(&cut)))
		abort();
	th_buf_deinit(&whole);
	th_buf_deinit(&cut);
	return 0;
}
