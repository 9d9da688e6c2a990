/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_answers.c - what a request about a conversation is answered with. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/conversation.h"

/* ---- what it says of itself ---- */

static void take_metadata(struct th_str line, struct th_buf *out)
{
	struct th_json_raw_iter it =
	    th_json_raw_iter(th_json_raw_get(th_json_raw_get(line, "data"), "items"));

	while (th_json_raw_next(&it)) {
		struct th_str metadata = th_json_raw_get(it.val, "metadata");

		if (!th_str_is(th_json_raw_get(it.val, "type"), "\"conversation\"") ||
		    !metadata.len)
			continue;
		th_buf_clear(out);
		th_buf_add(out, metadata);
	}
}

static void answer(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_jw w = th_jw(&json);
	const struct th_found *notes;
	struct th_conversation p;
	struct th_str rest;
	enum th_stored_result look =
	    th_conversation_find(&a->needs, a->user, th_str_of(a->named), &p);

	if (look == TH_STORED_FAILED && p.err.code)
		th_access_error(a, &p.err);
	else if (look == TH_STORED_FAILED)
		th_access_fail(a, 404, "conversation_not_found", "it is not there any more");
	if (look != TH_STORED_FOUND)
		return;
	notes = th_need_log(&a->needs, p.first, a->user, 1, th_conversation_takes_notes);
	if (!notes)
		return;
	if (notes->err) {
		th_access_error(a, notes->err);
		return;
	}
	for (rest = notes->text; rest.len;)
		take_metadata(th_str_split(&rest, '\n'), &metadata);
	th_jw_object(&w);
	th_jw_kstr(&w, "id", th_str_of(p.name));
	th_jw_kstr(&w, "object", TH_STR("conversation"));
	th_jw_kint(&w, "created_at", p.created_ms / 1000);
	th_jw_kraw(&w, "metadata", metadata.len ? th_buf_str(&metadata) : TH_STR("{}"));
	th_jw_object_end(&w);
	th_access_json(a, a->status, &json);
}

void th_conversation_answer(struct th_access *a, const char *name, int status)
{
	snprintf(a->named, sizeof(a->named), "%s", name);
	a->status = status;
	th_needs_forget(&a->needs); /* it may have changed since */
	a->again = answer;
	answer(a);
}

void th_conversation_refuse(struct th_access *a, const struct thole_error *err)
{
	if (err->code == THOLE_EPROTO)
		th_access_fault(a, 400, "invalid_value", "items", err->text);
	else
		th_access_error(a, err);
}

/* ---- answers that wait until something is written ---- */

static void wait_gone(struct th_access *a)
{
	struct th_conversation_wait *w = a->ctx;

	th_hub_unlisten(&w->listener);
	free(w);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct th_conversation_wait *w = TH_CONTAINER_OF(l, struct th_conversation_wait, listener);
	struct th_access *a = w->access;

	if (note && (thole_note_kind(note) != THOLE_NOTE_EVENT ||
		     strcmp(thole_note_name(note), w->kind) != 0))
		return;
	th_hub_unlisten(l);
	a->gone = NULL;
	a->ctx = NULL;
	if (note)
		w->answer(a, w);
	else
		th_access_fail(a, 503, "lost", "the session is not this server's any more");
	free(w);
}

void th_conversation_answer_after(struct th_access *a, struct th_hub *h,
				  const struct th_conversation_wait *how)
{
	struct th_conversation_wait *w = th_alloc(sizeof(*w));

	*w = *how;
	w->access = a;
	w->listener.fn = on_note;
	a->ctx = w;
	a->gone = wait_gone;
	th_hub_listen(h, &w->listener);
	th_server_kick(a->server);
}

void th_conversation_answer_waited(struct th_access *a, const struct th_conversation_wait *w)
{
	th_conversation_answer(a, w->name, 200);
}
