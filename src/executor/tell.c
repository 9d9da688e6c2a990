/* SPDX-License-Identifier: Apache-2.0 */
/* tell.c - what those who wait for an effect are sent. */
#include "executor/state.h"

#include "base/limits.h"

/* Picture parts of an output whose bytes are gone, as text; and the rest as it is. */
static void without_pictures(struct th_buf *out, struct th_str output)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(out);

	if (th_json_parse(output, &doc, NULL) || !th_json_is_array(th_json_root(doc))) {
		th_buf_add(out, output);
		return;
	}
	struct th_json_iter it = th_json_iter(th_json_root(doc));
	th_jw_array(&w);
	while (th_json_next(&it)) {
		if (!th_str_is(th_json_get_str(it.val, "type"), "image")) {
			th_jw_json(&w, it.val);
			continue;
		}
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("text"));
		th_jw_kstr(&w, "text",
			   TH_STR("[the picture that was taken is lost; take a new one]"));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
}

static void add_blob(struct th_jw *w, const char *hex, const char *media_type, size_t size)
{
	th_jw_object(w);
	th_jw_kstr(w, "blob", th_str_of(hex));
	th_jw_kstr(w, "media_type", th_str_of(media_type));
	th_jw_kuint(w, "size", size);
	th_jw_object_end(w);
}

/* The whole of a long output goes along as a blob, as the evidence says; from the spool. */
static bool add_full_output(struct th_executor_server *x, const char *id, struct th_str evidence,
			    struct th_jw *blobs, struct th_buf *attachment)
{
	struct th_str full = th_json_raw_get(evidence, "full_output");
	struct th_buf bytes = TH_BUF_INIT(TH_TOOL_OUTPUT_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_spool spool;
	uint64_t at = 0;

	if (full.len == 0 || th_spool_open(&spool, x->spool_fd, id, NULL))
		return false;
	while (th_spool_read(&spool, at, TH_TOOL_OUTPUT_MAX, &bytes, &at, NULL) == TH_OK &&
	       at < spool.size) {
		size_t len = bytes.len;
		if (len >= spool.size || len == TH_TOOL_OUTPUT_MAX)
			break;
		at = spool.size > TH_TOOL_OUTPUT_MAX ? spool.size - TH_SPOOL_TAIL : len;
	}
	th_spool_close(&spool);
	struct th_digest digest = th_sha256_of(bytes.ptr, bytes.len);
	th_digest_hex(&digest, hex);
	bool same = th_str_find(full, th_str_of(hex)) >= 0;
	if (same) {
		add_blob(blobs, hex, "text/plain", bytes.len);
		th_buf_add(attachment, th_buf_str(&bytes));
	}
	th_buf_deinit(&bytes);
	return same;
}

bool th_exec_tell_finished(struct th_exec_client *c, int64_t id,
			   const struct th_ledger_entry *entry, const struct th_exec_effect *e,
			   struct th_picture *const *pictures, size_t count)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	TH_CLEANUP(th_buf_deinit)
	struct th_buf attachment = TH_BUF_INIT(TH_FRAME_SIZE_MAX - TH_FRAME_JSON_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf blobs = TH_BUF_INIT(64 * TH_KIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf plain = TH_BUF_INIT(TH_JOURNAL_RECORD_MAX);
	struct th_jw w = th_jw(&blobs);
	struct th_exec_finished m = {
		.op = TH_STR("finished"),
		.id = id,
		.status = th_str_of(th_outcome_name(e ? e->status : entry->status)),
		.output = e ? th_buf_str(&e->output) : th_str_of(entry->output),
		.evidence = e ? th_buf_str(&e->evidence) : th_str_of(entry->evidence),
		.elapsed_ms = e ? e->elapsed_ms : entry->elapsed_ms,
		.journal = !e,
	};

	th_jw_array(&w);
	for (size_t i = 0; i < count; i++) {
		add_blob(&w, pictures[i]->hex, pictures[i]->media_type, pictures[i]->size);
		if (count > 1)
			th_buf_add_mem(&attachment, pictures[i]->bytes, pictures[i]->size);
	}
	if (count == 0 && m.evidence.len > 0)
		add_full_output(c->x, entry ? entry->id : e->id, m.evidence, &w, &attachment);
	th_jw_array_end(&w);
	if (blobs.len > 2)
		m.blobs = th_buf_str(&blobs);
	if (!e && count == 0) {
		without_pictures(&plain, m.output);
		m.output = th_buf_str(&plain);
	}
	th_exec_print(&th_exec_finished_table, &m, &head);
	return th_exec_send(c, th_buf_str(&head),
			    count == 1 ? th_str_n(pictures[0]->bytes, pictures[0]->size)
				       : th_buf_str(&attachment));
}

bool th_exec_tell_plain(struct th_exec_client *c, int64_t id, enum th_outcome_status status,
			const char *text)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(16 * TH_KIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf output = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&output);

	th_jw_str(&w, th_str_of(text));
	struct th_exec_finished m = {
		.op = TH_STR("finished"),
		.id = id,
		.status = th_str_of(th_outcome_name(status)),
		.output = th_buf_str(&output),
	};
	th_exec_print(&th_exec_finished_table, &m, &head);
	return th_exec_send(c, th_buf_str(&head), TH_STR(""));
}

bool th_exec_tell_accepted(struct th_exec_client *c, int64_t id)
{
	struct th_buf head = TH_BUF_INIT(256);
	struct th_exec_request m = { .op = TH_STR("accepted"), .id = id };
	th_exec_print(&th_exec_request_table, &m, &head);
	bool there = th_exec_send(c, th_buf_str(&head), TH_STR(""));
	th_buf_deinit(&head);
	return there;
}

bool th_exec_tell_output(struct th_exec_sub *sub, uint64_t offset, struct th_str bytes)
{
	struct th_buf head = TH_BUF_INIT(256);
	struct th_exec_output m = { .op = TH_STR("output"),
				    .id = sub->id,
				    .offset = (int64_t)offset };
	th_exec_print(&th_exec_output_table, &m, &head);
	bool there = th_exec_send(sub->client, th_buf_str(&head), bytes);
	if (there)
		sub->sent = offset + bytes.len;
	th_buf_deinit(&head);
	return there;
}
