/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_session.c - the session that answers a request of a model API.
 *
 * A response that goes on from another one continues its session where it can:
 * when nothing was asked after it, and the request says the same of everything
 * but its input.  Otherwise it is a session of its own with the same past.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "model_api/conversation.h"

/* ---- a session of its own ---- */

static void put_metadata(struct th_making *m, bool brief, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_buf_clear(out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR(TH_RESPONSE_MEMBER));
	th_jw_object(&w);
	th_jw_kstr(&w, "digest", th_str_of(m->digest));
	th_jw_kbool(&w, "store", m->store);
	th_jw_kbool(&w, "background", m->background);
	if (m->p->reply.sealed)
		th_jw_kbool(&w, "sealed", true);
	if (m->warm)
		th_jw_kbool(&w, "warm", true);
	if (m->brought && !brief)
		th_jw_kuint(&w, TH_BROUGHT_MEMBER, m->brought);
	th_jw_name(&w, TH_STR("echo"));
	if (brief)
		th_making_put_brief_echo(m, &w);
	else
		th_jw_raw(&w, th_buf_str(&m->echo));
	th_jw_object_end(&w);
	if (!m->store)
		th_jw_kbool(&w, TH_KEEP_MEMBER, false);
	if (m->conversation[0])
		th_jw_kstr(&w, TH_CONVERSATION_MEMBER, th_str_of(m->conversation));
	if (m->names.len)
		th_jw_kraw(&w, TH_CONVERSATION_ITEMS_MEMBER, th_buf_str(&m->names));
	th_jw_object_end(&w);
}

static void name_it(struct th_making *m, const char *session, uint64_t after)
{
	m->p->after = after;
	th_response_name(session, after, m->p->name);
	th_response_name_reply(&m->p->reply, m->p->name);
}

/* The items in m->said are said to the session; to one that is being opened, as soon as it is. */
static bool say(struct th_making *m, struct th_hub *h)
{
	struct thole_error err, ignored;

	if (m->warm && m->said.len <= 2) {
		m->p->empty = true;
		th_server_kick(m->server);
		return true;
	}
	if (thole_session_state(h->session) == THOLE_LOADING) {
		h->to_run = true;
		m->p->items = th_alloc(m->said.len + 1);
		memcpy(m->p->items, m->said.ptr, m->said.len + 1);
		return true;
	}
	if (thole_session_items_add(h->session, m->said.ptr, !m->warm, &err) != 0) {
		(void)thole_session_cancel(h->session, THOLE_NOW, &ignored);
		return th_making_fault_api(m, &err);
	}
	th_server_kick(m->server);
	return true;
}

/* With the items in m->said. */
static bool begin_new(struct th_making *m)
{
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_uuid made = th_uuid_now();
	char id[TH_UUID_TEXT_SIZE + 1], *workspace = NULL;
	const char *options[] = {
		"id",  id,         "user", m->access->user, "fresh",
		"yes", "metadata", NULL,   "priority",      th_priority_name(m->access->priority),
		NULL
	};
	struct thole_agent *agent = NULL;
	struct thole_session *session = NULL;
	struct thole_error err;
	struct th_err e = {};
	bool good;

	th_uuid_text(&made, id);
	/* Of another API nothing is read again, and a list of tools may be longer than all of this.
	 */
	put_metadata(m, !th_face_is_responses(m->face), &metadata);
	if (metadata.failed)
		put_metadata(m, true, &metadata);
	if (th_buf_check(&metadata, "what the request says beside its input", &e) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", e.msg);
	options[7] = metadata.ptr;
	if (th_served_find(&m->server->agents, th_json_get_str(m->u, "model")) &&
	    th_workspace_make(m->server, id, &workspace, &err) != 0)
		return th_making_fault_api(m, &err);
	good = th_making_agent(m, workspace, &agent);
	free(workspace);
	if (!good)
		return false;
	if (thole_session_new_with(m->server->rt, agent, options, &session, &err) != 0)
		good = th_making_fault_api(m, &err);
	if (!m->shared)
		thole_agent_free(agent);
	if (!good)
		return false;
	name_it(m, id, 0);
	th_response_listen(m->p, th_hub_get(m->server, id, m->access->user));
	th_hub_adopt(m->p->hub, session);
	th_quota_begins(&m->access->needs, m->p->hub);
	return say(m, m->p->hub);
}

bool th_making_fresh(struct th_making *m)
{
	struct th_jw w = th_jw(&m->said);

	if (!th_making_check_results(m, NULL))
		return false;
	th_jw_array(&w);
	th_making_put_instructions(m, &w);
	th_making_put_items(m, &w);
	th_jw_array_end(&w);
	if (m->said.len <= 2 && (!m->warm || m->face->put)) {
		m->fault->param = "input";
		return th_response_fault(m->fault, 400, "missing_required_parameter",
					 "input is missing");
	}
	return begin_new(m);
}

/* ---- one that goes on ---- */

/* Its session, which may be LOADING. */
static bool open_before(struct th_making *m, const struct th_stored *d, struct th_hub **ret)
{
	struct th_hub *h = th_hub_get(m->server, d->session, m->access->user);
	struct th_buf row TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct thole_error err;

	if (!h->session)
		th_json_print(th_json_root(d->doc), &row);
	if (th_functions_open_start(h, th_buf_str(&row), &err) != 0)
		return th_making_fault_api(m, &err);
	*ret = h;
	return true;
}

static bool put_past(struct th_making *m, const struct th_found *items, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (!items)
		return th_making_pending(m);
	if (items->err)
		return th_making_fault_api(m, items->err);
	if (th_json_parse(items->text, &doc, NULL) != TH_OK)
		return th_response_fault(m->fault, 500, NULL, "the items are no JSON");
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it))
		th_jw_json(w, it.val);
	return true;
}

/* Of a conversation: they stay what they are called, and those that were taken out are not there.
 */
static bool put_places(struct th_making *m, const struct th_stored *d, uint64_t to, struct th_jw *w)
{
	struct th_err e = {};
	struct thole_error err;
	enum th_stored_result look =
	    th_conversation_items_read(&m->access->needs, d->session, to, m->places, &err);

	if (look == TH_STORED_PENDING)
		return th_making_pending(m);
	if (look == TH_STORED_FAILED)
		return th_making_fault_api(m, &err);
	th_conversation_put_rest(m->places, w, &m->names);
	if (th_buf_check(&m->names, "what the conversation's items are called", &e) != TH_OK)
		return th_response_fault(m->fault, 413, NULL, "%s", e.msg);
	return true;
}

/* The items of the response before, and this request's, in a session of its own. */
static bool begin_copy(struct th_making *m, const struct th_stored *d)
{
	uint64_t to = d->is_head ? 0 : d->reply.last_seq;
	struct th_jw w = th_jw(&m->said);

	th_jw_array(&w);
	if (m->places ? !put_places(m, d, to, &w)
		      : !put_past(m, th_need_items(&m->access->needs, d->session, 0, 0, to), &w))
		return false;
	th_making_put_instructions(m, &w);
	th_making_put_items(m, &w);
	th_jw_array_end(&w);
	return begin_new(m);
}

/* The session of the response before: behind what is written of it. */
static bool go_on_here(struct th_making *m, const struct th_stored *d, struct th_hub *h)
{
	h->rested_ms = 0;
	name_it(m, d->session, d->head_seq);
	th_response_listen(m->p, h);
	th_quota_begins(&m->access->needs, h);
	return say(m, h);
}

/* What somebody says in an item; empty: nothing.  Reasoning that comes back is in the session. */
static struct th_str text_of(const struct th_json *item, struct th_buf *out)
{
	struct th_str type = th_json_get_str(item, "type");

	if (type.len && !th_str_is(type, "message"))
		return TH_STR("");
	return th_making_text(th_json_get(item, "content"), out);
}

/* A session that goes on takes what others than the model say, and texts without a zero; in one of
 * its own all items stand as they came. */
static bool are_for_session(const struct th_making *m)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_iter it = th_json_iter(m->items);

	while (th_json_next(&it)) {
		bool result = th_making_is_result(it.val);
		struct th_str said =
		    th_making_text(th_json_get(it.val, result ? "output" : "content"), &text);

		if (th_str_is(th_json_get_str(it.val, "role"), "assistant") ||
		    memchr(said.ptr ?: "", 0, said.len))
			return false;
	}
	return true;
}

static bool has_texts(const struct th_making *m)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_iter it = th_json_iter(m->items);

	while (th_json_next(&it))
		if (text_of(it.val, &text).len)
			return true;
	return false;
}

static bool say_texts(struct th_making *m, struct th_hub *h)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_iter it = th_json_iter(m->items);
	struct thole_error err;

	while (th_json_next(&it)) {
		struct th_str said = text_of(it.val, &text);

		if (said.len &&
		    thole_session_message(h->session, th_arena_cstr(&m->memory, said) ?: "", &err))
			return th_making_fault_api(m, &err);
	}
	return true;
}

static void give_results(struct th_making *m, struct th_hub *h)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_iter it = th_json_iter(m->items);

	while (th_json_next(&it))
		if (th_making_is_result(it.val))
			th_functions_answer(h, th_json_get_str(it.val, "call_id"),
					    th_making_text(th_json_get(it.val, "output"), &text));
}

/* The session waits for the client's results: they are given, and it goes on.  One that was given
 * back meanwhile is open first: while it is being opened it takes one message, or a resume. */
static bool go_on_parked(struct th_making *m, const struct th_stored *d)
{
	const struct th_found *open =
	    th_need_open(&m->access->needs, d->session, m->access->user, true);
	struct thole_error err;
	struct th_hub *h;
	bool was_open;

	if (!open)
		return th_making_pending(m);
	if (open->err)
		return th_making_fault_api(m, open->err);
	h = th_hub_find(m->server, d->session);
	was_open = h->parked_ms != 0;
	name_it(m, d->session, d->head_seq);
	th_response_listen(m->p, h);
	th_quota_begins(&m->access->needs, h);
	give_results(m, h);
	if (!was_open && thole_session_resume(h->session, &err) != 0)
		return th_making_fault_api(m, &err);
	if (!say_texts(m, h))
		return false;
	h->parked_ms = 0;
	th_server_kick(m->server);
	return true;
}

/* ---- decisions ---- */

static const struct th_json *decision_of(const struct th_json *items,
					 const struct th_reply_open *open)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), "mcp_approval_response") &&
		    th_str_is(th_json_get_str(it.val, "approval_request_id"), open->approval))
			return it.val;
	return NULL;
}

/* Each call that waits has a person's word, of a caller who may give one. */
static bool check_decisions(struct th_making *m, const struct th_reply *before)
{
	m->fault->param = "input";
	for (size_t i = 0; i < before->open_count; i++) {
		const struct th_reply_open *o = &before->open[i];
		const struct th_json *word = o->approval ? decision_of(m->items, o) : NULL;

		if (o->approval && th_json_type(th_json_get(word, "approve")) != TH_JSON_BOOL)
			return th_response_fault(m->fault, 400, NULL,
						 "No approval response found for approval request "
						 "%s: an mcp_approval_response with approve, true "
						 "or false, is needed.",
						 o->approval);
	}
	if (!are_for_session(m))
		return th_response_fault(m->fault, 400, "invalid_value",
					 "with an approval response comes no message of the "
					 "assistant's, and no text with a zero in it");
	if (!(m->access->scopes & TH_SCOPE_APPROVE))
		return th_response_fault(m->fault, 403, "scope",
					 "this token does not have the scope approve");
	m->fault->param = NULL;
	return true;
}

/* One that was decided meanwhile, elsewhere, stays as it was. */
static bool decide(struct th_making *m, struct thole_session *s, const struct th_reply_open *o)
{
	const struct th_json *word = decision_of(m->items, o);
	struct th_str reason = th_json_get_str(word, "reason");
	struct thole_error err;
	int code;

	if (th_json_bool(th_json_get(word, "approve"), false))
		code = thole_session_approve(s, o->call_id, m->access->user, &err);
	else
		code = thole_session_reject(s, o->call_id, m->access->user,
					    reason.len ? th_arena_cstr(&m->memory, reason) : NULL,
					    &err);
	if (code && code != THOLE_ENOENT)
		return th_making_fault_api(m, &err);
	if (!code)
		m->server->metrics.decisions++;
	return true;
}

/* A person has decided: what comes of it is the next response, of the same session. */
static bool go_on_decided(struct th_making *m, struct th_stored *d)
{
	const struct th_found *open;
	struct thole_error err;
	enum th_stored_result look;
	struct th_hub *h;

	if (!check_decisions(m, &d->reply))
		return false;
	open = th_need_open(&m->access->needs, d->session, m->access->user, true);
	if (!open)
		return th_making_pending(m);
	if (open->err)
		return th_making_fault_api(m, open->err);
	name_it(m, d->session, d->reply.last_seq);
	for (size_t i = 0; i < d->reply.open_count; i++)
		if (!d->reply.open[i].delegated)
			th_reply_seed(&m->p->reply, &d->reply.open[i]);
	/* What is in the log already: somebody else was quicker. */
	look = th_stored_fold(&m->access->needs, m->access->user, d->session, m->p->after + 1,
			      &m->p->reply, &err);
	if (look == TH_STORED_PENDING)
		return th_making_pending(m);
	if (look == TH_STORED_FAILED)
		return th_making_fault_api(m, &err);
	if (m->p->reply.status != TH_REPLY_RUNNING && has_texts(m))
		return th_response_fault(m->fault, 409, "conflict",
					 "it was decided elsewhere, and what came of that is over: "
					 "say the message in a request that goes on from its end");
	h = th_hub_find(m->server, d->session);
	for (size_t i = 0; i < d->reply.open_count; i++)
		if (d->reply.open[i].approval && !decide(m, h->session, &d->reply.open[i]))
			return false;
	h->rested_ms = 0;
	h->to_run = true;
	th_response_listen(m->p, h);
	th_quota_begins(&m->access->needs, h);
	m->p->caught_up = m->p->reply.last_seq > m->p->after;
	give_results(m, h);
	if (!say_texts(m, h))
		return false;
	h->parked_ms = 0;
	th_server_kick(m->server);
	return true;
}

bool th_making_go_on(struct th_making *m, struct th_stored *d)
{
	struct th_jw w = th_jw(&m->said);
	struct th_hub *h;
	bool same = th_str_is(th_json_get_str(d->member, "digest"), m->digest) && m->store &&
		    !m->background && !th_json_bool(th_json_get(d->member, "background"), false);

	if (!th_making_check_results(m, &d->reply))
		return false;
	if (d->reply.status == TH_REPLY_RUNNING)
		return th_response_fault(m->fault, 409, "conflict",
					 "the response before is not over yet");
	if (d->reply.status == TH_REPLY_WAITING)
		return go_on_decided(m, d);
	if (!same || !d->is_head || (m->places && m->places->is_due) ||
	    (d->reply.status == TH_REPLY_PARKED && !are_for_session(m)))
		return begin_copy(m, d);
	if (d->reply.status == TH_REPLY_PARKED)
		return go_on_parked(m, d);
	th_jw_array(&w);
	th_making_put_items(m, &w);
	th_jw_array_end(&w);
	return open_before(m, d, &h) && go_on_here(m, d, h);
}
