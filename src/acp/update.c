/* SPDX-License-Identifier: Apache-2.0 */
/* update.c - what a session does, as the editor is shown it: live, and again from its log. */
#include <stdlib.h>

#include "acp/acp.h"
#include "base/codec.h"
#include "base/text.h"
#include "events/event.h"

/* ---- one update ---- */

struct update {
	struct acp_session *s;
	struct th_buf params;
	struct th_jw w;
};

static void begin(struct update *u, struct acp_session *s, const char *kind)
{
	u->s = s;
	th_buf_init(&u->params, TH_ACP_MESSAGE_MAX);
	u->w = th_jw(&u->params);
	th_jw_object(&u->w);
	th_jw_kstr(&u->w, "sessionId", th_str_of(s->id));
	th_jw_name(&u->w, TH_STR("update"));
	th_jw_object(&u->w);
	th_jw_kstr(&u->w, "sessionUpdate", th_str_of(kind));
}

static void end(struct update *u)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);

	th_jw_object_end(&u->w);
	th_jw_object_end(&u->w);
	th_rpc_print_call(TH_STR(""), "session/update", th_buf_str(&u->params), &line);
	th_acp_send(u->s->acp, &line);
	th_buf_deinit(&u->params);
}

static void put_text(struct th_jw *w, struct th_str text)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
}

static void chunk(struct acp_session *s, const char *kind, struct th_str text)
{
	struct update u;

	if (!text.len)
		return;
	begin(&u, s, kind);
	th_jw_name(&u.w, TH_STR("content"));
	put_text(&u.w, text);
	end(&u);
}

static int on_blob(void *ctx, const void *bytes, size_t size)
{
	th_buf_add_mem(ctx, bytes, size);
	return 0;
}

/* A picture; one that is too large, or not to be had, by its name. */
static void put_image(struct th_jw *w, struct th_str type, struct th_str base64)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("image"));
	th_jw_kstr(w, "mimeType", type);
	th_jw_kstr(w, "data", base64);
	th_jw_object_end(w);
}

static void put_picture(struct acp_session *s, const struct th_json *part, struct th_jw *w)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_PICTURE_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_ACP_PICTURE_MAX);
	struct th_str hash = th_json_get_str(part, "blob");
	char name[TH_SHA256_HEX_SIZE + 1] = "";

	if (hash.len == TH_SHA256_HEX_SIZE)
		memcpy(name, hash.ptr, hash.len);
	if (thole_runtime_blob(s->acp->rt, name, 0, 0, on_blob, &bytes, NULL, NULL) ||
	    bytes.failed) {
		th_buf_printf(&text, "[picture %.12s]", name);
		put_text(w, th_buf_str(&text));
		return;
	}
	th_base64_encode(&text, bytes.ptr, bytes.len);
	put_image(w, th_json_get_str(part, "media_type"), th_buf_str(&text));
}

/* A picture of a prompt, which the log has as it came.  False: it is none. */
static bool put_prompt_picture(const struct th_json *part, struct th_jw *w)
{
	struct th_str type = th_json_get_str(part, "image_url");
	struct th_str rest = th_str_sub(type, 5, type.len);

	if (!th_str_starts(type, TH_STR("data:")))
		return false;
	type = th_str_split(&rest, ';');
	if (!th_str_starts(rest, TH_STR("base64,")))
		return false;
	put_image(w, type, th_str_sub(rest, 7, rest.len));
	return true;
}

/* ---- messages ---- */

/* The texts of a list of parts, or a text. */
static void add_parts(const struct th_json *parts, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(parts);

	th_buf_add(out, th_json_str(parts));
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (!text.ptr)
			text = th_json_get_str(it.val, "refusal");
		if (out->len && text.len)
			th_buf_add_char(out, '\n');
		th_buf_add(out, text);
	}
}

static void show_items(struct acp_session *s, const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "reasoning") && !s->thought) {
			add_parts(th_json_get(it.val, "summary"), &text);
			chunk(s, "agent_thought_chunk", th_buf_str(&text));
		} else if (th_str_is(type, "message") && !s->said) {
			add_parts(th_json_get(it.val, "content"), &text);
			chunk(s, "agent_message_chunk", th_buf_str(&text));
		}
	}
}

/* What the person said stands in the editor already, but not when a session is taken up. */
static void show_message(struct acp_session *s, const struct th_json *content)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct th_json_iter it = th_json_iter(content);

	if (!s->replay)
		return;
	add_parts(content, &text);
	chunk(s, "user_message_chunk", th_buf_str(&text));
	while (th_json_is_array(content) && th_json_next(&it)) {
		bool blob = th_json_get_str(it.val, "blob").len > 0;
		struct update u;

		if (!blob && !th_json_get_str(it.val, "image_url").len)
			continue;
		begin(&u, s, "user_message_chunk");
		th_jw_name(&u.w, TH_STR("content"));
		if (blob)
			put_picture(s, it.val, &u.w);
		else if (!put_prompt_picture(it.val, &u.w))
			put_text(&u.w, TH_STR("[picture]"));
		end(&u);
	}
}

static void show_added(struct acp_session *s, const struct th_json *items)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "role"), "user"))
			show_message(s, th_json_get(it.val, "content"));
}

/* ---- calls ---- */

static void show_call(struct acp_session *s, const struct th_json *data, struct th_str raw)
{
	struct update u;

	begin(&u, s, "tool_call");
	th_jw_kstr(&u.w, "toolCallId", th_json_get_str(data, "call_id"));
	th_acp_put_call(s, th_json_get_str(data, "tool"), th_json_raw_get(raw, "arguments"), NULL,
			&u.w);
	end(&u);
}

static void show_intent(struct acp_session *s, const struct th_json *data)
{
	struct update u;

	begin(&u, s, "tool_call_update");
	th_jw_kstr(&u.w, "toolCallId", th_json_get_str(data, "call_id"));
	th_jw_kstr(&u.w, "status", TH_STR("in_progress"));
	end(&u);
}

static void put_part(struct acp_session *s, const struct th_json *part, struct th_jw *w)
{
	struct th_str text =
	    th_json_str(part).ptr ? th_json_str(part) : th_json_get_str(part, "text");

	if (!text.len && !th_json_get_str(part, "blob").len)
		return;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("content"));
	th_jw_name(w, TH_STR("content"));
	if (text.len)
		put_text(w, text);
	else
		put_picture(s, part, w);
	th_jw_object_end(w);
}

static void show_outcome(struct acp_session *s, const struct th_json *data)
{
	const struct th_json *output = th_json_get(data, "output");
	struct th_str status = th_json_get_str(data, "status");
	struct th_json_iter it = th_json_iter(output);
	struct update u;

	begin(&u, s, "tool_call_update");
	th_jw_kstr(&u.w, "toolCallId", th_json_get_str(data, "call_id"));
	th_jw_kstr(&u.w, "status", th_str_of(th_str_is(status, "done") ? "completed" : "failed"));
	th_jw_name(&u.w, TH_STR("content"));
	th_jw_array(&u.w);
	if (th_json_str(output).ptr)
		put_part(s, output, &u.w);
	while (th_json_is_array(output) && th_json_next(&it))
		put_part(s, it.val, &u.w);
	th_jw_array_end(&u.w);
	end(&u);
}

/* ---- events ---- */

static void ask_what_became(struct acp_session *s, const struct th_json *data)
{
	char id[TH_KIB];
	struct th_str call_id = th_json_get_str(data, "call_id");

	if (s->replay || call_id.len >= sizeof(id))
		return;
	memcpy(id, call_id.ptr, call_id.len);
	id[call_id.len] = '\0';
	th_acp_ask(s, id, "What became of it?", "Nobody here knows whether it happened.", "", true);
}

void th_acp_event(struct acp_session *s, struct th_str event)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str raw = th_json_raw_get(event, "data");
	const struct th_json *data;

	if (th_json_parse(raw, &doc, NULL) != TH_OK)
		return;
	data = th_json_root(doc);
	switch (th_event_find(th_json_raw_inside(th_json_raw_get(event, "kind")))) {
	case TH_EV_MESSAGE:
		show_message(s, th_json_get(data, "content"));
		break;
	case TH_EV_ITEMS_ADDED:
		show_added(s, th_json_get(data, "items"));
		break;
	case TH_EV_MODEL_REQUESTED:
		s->said = s->thought = false;
		break;
	case TH_EV_MODEL_ANSWERED:
		show_items(s, th_json_get(data, "items"));
		break;
	case TH_EV_CALL:
		show_call(s, data, raw);
		break;
	case TH_EV_INTENT:
		show_intent(s, data);
		break;
	case TH_EV_OUTCOME:
		show_outcome(s, data);
		break;
	case TH_EV_PARKED:
		ask_what_became(s, data);
		break;
	default: /* the log has more to tell than an editor shows */
		break;
	}
}

/* ---- live ---- */

static void show_delta(struct acp_session *s, const struct thole_note *note)
{
	struct th_str kind = th_str_of(thole_note_name(note));
	struct th_str text = th_str_of(thole_note_text(note));

	if (th_str_is(kind, "reasoning")) {
		s->thought = true;
		chunk(s, "agent_thought_chunk", text);
	} else if (th_str_is(kind, "text") || th_str_is(kind, "refusal")) {
		s->said = true;
		chunk(s, "agent_message_chunk", text);
	}
}

static const char *stop_reason(const char *state, const char *why)
{
	if (strcmp(state, "finished") == 0)
		return "end_turn";
	if (strcmp(state, "limit") == 0)
		return why && strstr(why, "token") ? "max_tokens" : "max_turn_requests";
	if (strcmp(state, "stopped") == 0 || strcmp(state, "paused") == 0)
		return "cancelled";
	return NULL;
}

static bool say_later(struct acp_session *s)
{
	struct thole_error err;
	char *text = s->later;
	bool good;

	s->later = NULL;
	if (!text)
		return false;
	good = thole_session_message(s->session, text, &err) == 0;
	free(text);
	return good;
}

/* The end of a turn, unless a person is being asked. */
static void on_rest(struct acp_session *s, const struct thole_note *note)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const char *state = thole_note_name(note), *why = thole_note_text(note), *reason;

	if (strcmp(state, "waiting") == 0 || !s->prompt)
		return;
	if (strcmp(state, "stopped") != 0 && say_later(s))
		return;
	reason = stop_reason(state, why);
	if (reason) {
		th_buf_printf(&out, "{\"stopReason\":\"%s\"}", reason);
		th_acp_result(s->acp, th_str_of(s->prompt), th_buf_str(&out));
	} else {
		th_acp_error(s->acp, th_str_of(s->prompt), TH_RPC_EINTERNAL,
			     why && why[0] ? why : state);
	}
	free(s->prompt);
	s->prompt = NULL;
	th_acp_forget(s); /* what is not decided by now is not asked any more */
}

/* The last word about a session that is to be closed; it is freed behind its note. */
static void close_now(struct acp_session *s)
{
	struct acp *a = s->acp;
	char *id = s->closing;

	s->closing = NULL;
	th_acp_session_free(s);
	th_acp_result(a, th_str_of(id), TH_STR("{}"));
	free(id);
}

void th_acp_note(void *ctx, struct thole_session *session, const struct thole_note *note)
{
	struct acp_session *s = ctx;

	(void)session;
	switch (thole_note_kind(note)) {
	case THOLE_NOTE_DELTA:
		show_delta(s, note);
		break;
	case THOLE_NOTE_EVENT:
		th_acp_event(s, th_str_of(thole_note_json(note)));
		break;
	case THOLE_NOTE_ASK:
		th_acp_ask(s, thole_note_id(note), thole_note_name(note), thole_note_text(note),
			   thole_note_json(note), false);
		break;
	case THOLE_NOTE_REST:
		on_rest(s, note);
		if (s->closing && !s->prompt)
			close_now(s);
		break;
	default:
		break;
	}
}
