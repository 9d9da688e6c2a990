/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/items.h"

#include "transcript/transcript.h"

static enum th_code add(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			struct th_err *err)
{
	(void)digest;
	return th_transcript_add(ctx, ev, err);
}

enum th_code th_items_read(struct th_store *store, struct th_str session_id, uint64_t to_seq,
			   int64_t first, size_t count, struct th_buf *out, struct th_err *err)
{
	struct th_jw w = th_jw(out);
	struct th_transcript transcript;
	uint64_t back = 0 - (uint64_t)first;
	size_t from, to;
	enum th_code code;

	th_transcript_init(&transcript, false);
	code = store->kind->read(store, session_id, 1, to_seq, add, &transcript, err);
	if (first < 0)
		from = back > transcript.count ? 0 : transcript.count - (size_t)back;
	else
		from = TH_MIN((uint64_t)first, transcript.count);
	to = count == 0 || count > transcript.count - from ? transcript.count : from + count;
	th_jw_array(&w);
	for (size_t i = from; !code && i < to; i++)
		th_transcript_print(&transcript.list[i], &w);
	th_jw_array_end(&w);
	th_transcript_deinit(&transcript);
	return code ?: th_buf_check(out, "the session's items", err);
}

enum th_code th_items_read_numbered(struct th_store *store, struct th_str session_id,
				    uint64_t to_seq, struct th_buf *out, struct th_err *err)
{
	struct th_jw w = th_jw(out);
	struct th_transcript transcript;
	enum th_code code;

	th_transcript_init(&transcript, false);
	code = store->kind->read(store, session_id, 1, to_seq, add, &transcript, err);
	th_jw_object(&w);
	th_jw_kint(&w, "next", (int64_t)transcript.numbers);
	th_jw_name(&w, TH_STR("items"));
	th_jw_array(&w);
	for (size_t i = 0; !code && i < transcript.count; i++) {
		th_jw_object(&w);
		th_jw_kint(&w, "number", (int64_t)transcript.list[i].number);
		th_jw_name(&w, TH_STR("item"));
		th_transcript_print(&transcript.list[i], &w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_transcript_deinit(&transcript);
	return code ?: th_buf_check(out, "the session's items", err);
}
