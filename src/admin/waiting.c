/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/waiting.h"

#include "base/limits.h"
#include "events/event.h"

#define FIRST_READ 64 /* events from the end; more when the answer is not among them */

struct waiting {
	struct th_str id, tool, arguments, reason, host;
	int64_t port;
	uint64_t seq;       /* of its CALL */
	uint64_t asked_seq; /* ASKED about a host: of that question */
	bool question;
	int64_t asked_ms, expires_ms;
	enum { RUNS, ASKED, PARKED } phase;
};

struct tail {
	struct th_arena memory;
	struct waiting *calls; /* of the last answer */
	size_t count, cap;
	bool answer; /* it was there */
};

static enum th_code fail_full(struct th_err *err)
{
	return th_fail(err, TH_ELIMIT, "the calls of an answer take more than %zu bytes",
		       (size_t)TH_TURN_MEMORY_MAX);
}

static enum th_code add(struct tail *t, const struct th_event *ev, const struct th_ev_call *d,
			struct th_err *err)
{
	struct waiting *c;

	if (t->count == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 8;
		struct waiting *list = th_arena_array(&t->memory, cap, sizeof(*list));

		if (!list)
			return fail_full(err);
		for (size_t i = 0; i < t->count; i++)
			list[i] = t->calls[i];
		t->calls = list;
		t->cap = cap;
	}
	c = &t->calls[t->count++];
	*c = (struct waiting){ .id = d->call_id,
			       .tool = d->tool,
			       .arguments = d->arguments,
			       .seq = ev->seq,
			       .question = d->question };
	return TH_OK;
}

/* The newest of that id. */
static struct waiting *find(struct tail *t, struct th_str id)
{
	for (size_t i = t->count; i-- > 0;)
		if (th_str_eq(t->calls[i].id, id))
			return &t->calls[i];
	return NULL;
}

static enum th_code on_call(struct tail *t, const struct th_event *ev, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_ev_call d;
	enum th_code code = th_json_parse(ev->data, &doc, err);

	if (!code)
		code = th_table_parse(&th_ev_call_table, th_json_root(doc), &t->memory, &d, err);
	if (code)
		return code;
	d.call_id = th_arena_str(&t->memory, d.call_id); /* the document goes */
	d.tool = th_arena_str(&t->memory, d.tool);
	return d.call_id.ptr && d.tool.ptr ? add(t, ev, &d, err) : fail_full(err);
}

static enum th_code on_asked(struct tail *t, const struct th_event *ev, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_ev_approval_requested d;
	struct waiting *c = find(t, ev->call);
	enum th_code code = th_json_parse(ev->data, &doc, err);

	if (!code)
		code = th_table_parse(&th_ev_approval_requested_table, th_json_root(doc),
				      &t->memory, &d, err);
	if (code || !c)
		return code;
	c->phase = ASKED;
	c->reason = th_arena_str(&t->memory, d.reason);
	c->asked_ms = ev->ts_ms;
	c->expires_ms = d.expires_ms;
	c->asked_seq = d.host.len ? ev->seq : c->seq;
	c->host = d.host.len ? th_arena_str(&t->memory, d.host) : d.host;
	c->port = d.port;
	return c->reason.ptr ? TH_OK : fail_full(err);
}

/* What the person sees is the question, not the call. */
static enum th_code on_question(struct tail *t, const struct th_event *ev, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_ev_question d;
	struct waiting *c = find(t, ev->call);
	enum th_code code = th_json_parse(ev->data, &doc, err);

	if (!code)
		code =
		    th_table_parse(&th_ev_question_table, th_json_root(doc), &t->memory, &d, err);
	if (code || !c)
		return code;
	c->question = true;
	c->arguments = th_arena_str(&t->memory, d.arguments);
	return c->arguments.ptr ? TH_OK : fail_full(err);
}

static enum th_code on_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct tail *t = ctx;
	struct waiting *c;

	(void)digest;
	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		t->answer = true;
		t->count = 0;
	}
	if (ev->kind == TH_EV_CALL)
		return on_call(t, ev, err);
	if (ev->kind == TH_EV_QUESTION)
		return on_question(t, ev, err);
	if (ev->kind == TH_EV_APPROVAL_REQUESTED)
		return on_asked(t, ev, err);
	c = ev->call.len ? find(t, ev->call) : NULL;
	if (c && ev->kind == TH_EV_PARKED)
		c->phase = PARKED;
	else if (c && (ev->kind == TH_EV_APPROVAL_DECIDED || ev->kind == TH_EV_SETTLED ||
		       ev->kind == TH_EV_OUTCOME))
		c->phase = RUNS;
	return TH_OK;
}

static void print(const struct waiting *c, const struct th_session_row *row, struct th_jw *w)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&name, "%.*s#%llu", TH_FMT(c->id),
		      (unsigned long long)(c->phase == ASKED ? c->asked_seq : c->seq));
	th_jw_object(w);
	th_jw_kstr(w, "session_id", row->session_id);
	th_jw_kstr(w, "user", row->user);
	th_jw_kstr(w, "title", row->title);
	th_jw_kstr(w, "call_id", th_buf_str(&name));
	th_jw_kstr(w, "word", c->phase == ASKED ? TH_STR("approve") : TH_STR("settle"));
	if (c->question)
		th_jw_kbool(w, "question", true);
	th_jw_kstr(w, "tool", c->tool);
	th_jw_kraw(w, "arguments", c->arguments);
	if (c->phase == ASKED && c->host.len) {
		th_jw_kstr(w, "host", c->host);
		th_jw_kint(w, "port", c->port);
	}
	if (c->phase == ASKED) {
		th_jw_kstr(w, "reason", c->reason);
		th_jw_kint(w, "asked_ms", c->asked_ms);
		if (c->expires_ms)
			th_jw_kint(w, "expires_ms", c->expires_ms);
	}
	th_jw_object_end(w);
}

enum th_code th_waiting_print(struct th_store *store, const struct th_session_row *row,
			      struct th_jw *w, struct th_err *err)
{
	struct tail t = { 0 };
	uint64_t count = FIRST_READ, from;
	enum th_code code;

	th_arena_init(&t.memory, TH_TURN_MEMORY_MAX);
	do {
		from = row->head_seq > count ? row->head_seq - count + 1 : 1;
		th_arena_reset(&t.memory);
		t.calls = NULL;
		t.count = t.cap = 0;
		code = store->kind->read(store, row->session_id, from, row->head_seq, on_event, &t,
					 err);
		count *= 4;
	} while (!code && !t.answer && from > 1);
	for (size_t i = 0; i < t.count && !code; i++)
		if (t.calls[i].phase != RUNS)
			print(&t.calls[i], row, w);
	th_arena_deinit(&t.memory);
	return code;
}
