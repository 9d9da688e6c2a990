/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - the agent's code as an onlooker: what happened is told to
 * the functions that `hooks` and `run_hooks` name.
 *
 * A hook is told of an event when that is durable, before the effects that
 * waited for it begin, in the order of the log; and only of what this runtime
 * wrote: a replay tells nothing.  Nobody waits for it, and what it gives back
 * decides nothing.  One that fails is an event (CODE), which ends the run only
 * where the agent says so; text that a script's hook prints is one too.
 *
 * Run hooks are told first.  What is not in the event, nor at hand, is read from
 * the log.
 */
#include "guards/hooks.h"

#include <stdlib.h>

#include "base/text.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "live/queue.h"

#define INPUT_ROOM 512 /* most inputs of hooks are not longer */
#define PUT_MAX 5      /* members of an event in the input of a hook */

/* th_live.hooked: since the session rested last, the agent that speaks was told of */
enum { HOOKED_START = 1, HOOKED_ASKED = 2, HOOKED_END = 4 };

struct telling {
	struct th_live *l;
	enum th_hook hook;
	size_t member; /* whose it is */
	uint64_t seq;
	struct th_str agent, call_id; /* as they stand in `input` */
	struct th_buf input;
	struct th_jw w;
};

static const struct th_agent *agent_of(const struct th_live *l, size_t member)
{
	return th_config_member(&l->team_config, member)->agent;
}

static struct th_str hook_of(const struct th_live *l, size_t member, enum th_hook hook)
{
	return th_agent_hook(agent_of(l, member)->hooks, hook);
}

static struct th_str run_hook_of(const struct th_live *l, enum th_hook hook)
{
	return th_agent_hook(agent_of(l, 0)->run_hooks, hook);
}

static bool watched(const struct th_live *l, size_t member)
{
	return agent_of(l, 0)->run_hooks || agent_of(l, member)->hooks;
}

/* False: nobody is to be told, and nothing was made. */
static bool begin(struct telling *t, struct th_live *l, size_t member, enum th_hook hook,
		  uint64_t seq)
{
	const struct th_team *team = l->fold.team;

	if (l->lost || !(hook_of(l, member, hook).len || run_hook_of(l, hook).len))
		return false;
	*t = (struct telling){
		.l = l,
		.hook = hook,
		.member = member,
		.seq = seq,
		.agent = team->count > 1 ? team->members[member].name : l->fold.agent_name,
	};
	th_buf_init(&t->input, TH_EVENT_DATA_MAX * 3);
	th_buf_reserve(&t->input, INPUT_ROOM);
	t->w = th_jw(&t->input);
	th_jw_object(&t->w);
	th_jw_kstr(&t->w, "agent", t->agent);
	th_jw_kstr(&t->w, "session", th_str_of(l->id));
	th_jw_kstr(&t->w, "hook", th_str_of(th_hook_name(hook)));
	th_jw_kuint(&t->w, "seq", seq);
	return true;
}

/* A call of a hook of agent `of`; `run`: one of the first agent's run_hooks. */
struct hooking {
	enum th_hook hook;
	size_t of;
	bool run;
	uint64_t seq;                 /* of the event */
	struct th_str agent, call_id; /* as `input` names them */
	struct th_str input;
};

static th_callback_answered_fn hook_answered;

static struct th_str hook_function(const struct th_live *l, const struct th_pending_callback *a)
{
	const struct th_agent *agent = th_config_member(&l->team_config, a->member)->agent;

	return th_agent_hook(a->run ? agent->run_hooks : agent->hooks, a->hook);
}

static void ask_hook(struct th_live *l, const struct hooking *h)
{
	const struct th_hook_info told = { h->hook, h->agent, h->call_id, h->seq };
	struct th_pending_callback *a = th_callback_new(l, TH_ASK_HOOK, hook_answered);

	a->hook = h->hook;
	a->run = h->run;
	a->member = h->of;
	a->asked_seq = h->seq;
	th_callback_ask_hook(l, a, hook_function(l, a), h->input, &told);
}

/* Silence is the rule; a failure, and what it says, is noted. */
static void hook_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			  struct th_str answer)
{
	const struct th_agent *agent = th_config_member(&l->team_config, a->member)->agent;
	const struct th_agent_hooks *hooks = a->run ? agent->run_hooks : agent->hooks;
	struct th_ev_code d = {
		.use = th_str_of(th_hook_name(a->hook)),
		.name = hook_function(l, a),
		.agent = l->fold.team->members[a->member].name,
	};

	if (!failed && (!answer.len || th_str_is(answer, "null")))
		return;
	if (failed) {
		d.failed = th_utf8_cut(answer.len ? answer : TH_STR("it failed"), TH_ERR_MSG_MAX);
		d.fails = hooks->fail;
	} else {
		d.answer = answer;
	}
	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, a->asked_seq, TH_STR(""), &d);
}

static void ask(struct telling *t, bool run, struct th_str function)
{
	if (function.len && !t->l->lost)
		ask_hook(t->l, &(struct hooking){ .hook = t->hook,
						  .of = run ? 0 : t->member,
						  .run = run,
						  .seq = t->seq,
						  .agent = t->agent,
						  .call_id = t->call_id,
						  .input = th_buf_str(&t->input) });
}

static void end(struct telling *t)
{
	th_jw_object_end(&t->w);
	ask(t, true, run_hook_of(t->l, t->hook));
	ask(t, false, hook_of(t->l, t->member, t->hook));
	th_buf_deinit(&t->input);
}

/* Members of an event's data by their names: in one pass, for an answer may be long. */
static void find_raw(struct th_str data, const char *const *names, struct th_str *ret, size_t count)
{
	struct th_json_raw_iter it = th_json_raw_iter(data);
	size_t found = 0;

	memset(ret, 0, count * sizeof(*ret));
	while (found < count && th_json_raw_next(&it))
		for (size_t i = 0; i < count; i++)
			if (!ret[i].len && th_str_is(it.key, names[i])) {
				ret[i] = it.val;
				found++;
				break;
			}
}

static void put_raw(struct telling *t, struct th_str data, const char *const *names, size_t count)
{
	struct th_str raw[PUT_MAX];

	assert(count <= PUT_MAX);
	find_raw(data, names, raw, count);
	for (size_t i = 0; i < count; i++)
		if (raw[i].len)
			th_jw_kraw(&t->w, names[i], raw[i]);
}

/* ---- agents and models ------------------------------------------------------------------- */

static void on_requested(struct th_live *l, const struct th_event *ev)
{
	static const char *const names[] = { "turn", "model", "items" };
	struct telling t;

	l->hooked &= (uint8_t)~HOOKED_END;
	if (!(l->hooked & HOOKED_START) &&
	    begin(&t, l, l->fold.agent, TH_HOOK_AGENT_START, ev->seq))
		end(&t);
	/* The next try of a turn is the same question. */
	if (!(l->hooked & HOOKED_ASKED) &&
	    begin(&t, l, l->fold.agent, TH_HOOK_LLM_START, ev->seq)) {
		put_raw(&t, ev->data, names, TH_COUNT(names));
		th_jw_kstr(&t.w, "instructions", l->speaking->instructions);
		end(&t);
	}
	l->hooked |= HOOKED_START | HOOKED_ASKED;
}

static void on_answered(struct th_live *l, const struct th_event *ev)
{
	static const char *const names[PUT_MAX] = { "response_id", "model", "status", "items",
						    "usage" };
	struct telling t;

	l->hooked &= (uint8_t)~HOOKED_ASKED;
	if (!begin(&t, l, l->fold.agent, TH_HOOK_LLM_END, ev->seq))
		return;
	put_raw(&t, ev->data, names, TH_COUNT(names));
	end(&t);
}

static void on_handoff(struct th_live *l, const struct th_event *ev)
{
	static const char *const names[] = { "from", "to", "call_id", "arguments" };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct telling t;
	int from;

	l->hooked &= (uint8_t)~HOOKED_START;
	if (th_json_parse(ev->data, &doc, NULL))
		return;
	from = th_team_find(l->fold.team, th_json_get_str(th_json_root(doc), "from"));
	if (from < 0 || !begin(&t, l, (size_t)from, TH_HOOK_HANDOFF, ev->seq))
		return;
	t.call_id = th_json_get_str(th_json_root(doc), "call_id");
	put_raw(&t, ev->data, names, TH_COUNT(names));
	end(&t);
}

static void on_final(struct th_live *l, const struct th_event *ev)
{
	static const char *const names[] = { "output" };
	struct telling t;

	if ((l->hooked & HOOKED_END) || !begin(&t, l, l->fold.agent, TH_HOOK_AGENT_END, ev->seq))
		return;
	put_raw(&t, ev->data, names, TH_COUNT(names));
	end(&t);
}

void th_live_hook_end(struct th_live *l)
{
	struct telling t;

	if (!watched(l, l->fold.agent) || (l->hooked & HOOKED_END))
		return;
	l->hooked |= HOOKED_END;
	if (!begin(&t, l, l->fold.agent, TH_HOOK_AGENT_END, l->fold.answer_seq))
		return;
	th_jw_kstr(&t.w, "output", th_buf_str(&l->fold.final));
	end(&t);
}

/* ---- tools ------------------------------------------------------------------------------- */

/* What the log has of one call. */
struct th_logged_call {
	struct th_logged_call *next;                   /* in th_live.results */
	struct th_str call_id;                         /* of whose events it is made */
	struct th_buf tool, arguments, output, status; /* JSON */
	uint64_t before;                               /* `cause` of the last event that was read */
	uint64_t call_seq;                             /* where that is known; else 0 */
	size_t guards;                                 /* of its result: how many have answered */
};

static void transcript_init(struct th_logged_call *p, struct th_str call_id)
{
	*p = (struct th_logged_call){ .call_id = call_id };
	th_buf_init(&p->tool, TH_EVENT_DATA_MAX);
	th_buf_init(&p->arguments, TH_EVENT_DATA_MAX);
	th_buf_init(&p->output, TH_EVENT_DATA_MAX);
	th_buf_init(&p->status, TH_EVENT_DATA_MAX);
}

static void transcript_deinit(struct th_logged_call *p)
{
	th_buf_deinit(&p->tool);
	th_buf_deinit(&p->arguments);
	th_buf_deinit(&p->output);
	th_buf_deinit(&p->status);
}

static void keep(struct th_buf *b, struct th_str raw)
{
	if (raw.len) {
		th_buf_clear(b);
		th_buf_add(b, raw);
	}
}

static enum th_code transcript_read_event(void *ctx, const struct th_event *ev,
					  const struct th_digest *digest, struct th_err *err)
{
	static const char *const of_call[] = { "tool", "arguments" };
	static const char *const of_outcome[] = { "output", "status" };
	static const char *const of_guardrail[] = { "stage", "message" };
	struct th_logged_call *p = ctx;
	struct th_str raw[2];

	(void)digest;
	(void)err;
	if (!th_str_eq(ev->call, p->call_id))
		return TH_OK;
	p->before = ev->cause;
	if (ev->kind == TH_EV_CALL) {
		find_raw(ev->data, of_call, raw, 2);
		keep(&p->tool, raw[0]);
		keep(&p->arguments, raw[1]);
		p->call_seq = ev->seq;
	} else if (ev->kind == TH_EV_OUTCOME) {
		find_raw(ev->data, of_outcome, raw, 2);
		keep(&p->output, raw[0]);
		keep(&p->status, raw[1]);
	} else if (ev->kind == TH_EV_GUARDRAIL) {
		find_raw(ev->data, of_guardrail, raw, 2);
		if (!th_str_is(raw[0], "\"tool_output\""))
			return TH_OK;
		p->guards++;
		keep(&p->output, raw[1]);
	}
	return TH_OK;
}

/* False: the log cannot be read, and the session is lost. */
static bool transcript_read(struct th_live *l, struct th_logged_call *p, uint64_t from, uint64_t to)
{
	struct th_err err = { 0 };

	if (!th_live_read(l, from, to, transcript_read_event, p, &err))
		return true;
	th_live_lose(l, &err);
	return false;
}

/* A call that the fold still has needs no reading. */
static bool transcript_of_fold(const struct th_live *l, struct th_logged_call *p,
			       uint64_t intent_seq, uint64_t outcome_seq)
{
	struct th_jw w = th_jw(&p->tool);

	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];

		if (!th_str_eq(c->call_id, p->call_id) ||
		    (intent_seq ? c->intent_seq != intent_seq : c->outcome_seq != outcome_seq))
			continue;
		th_jw_str(&w, c->tool);
		th_buf_add(&p->arguments, c->arguments);
		p->call_seq = c->call_seq;
		return true;
	}
	return false;
}

static size_t result_guards(const struct th_live *l, const struct th_logged_call *p)
{
	struct th_buf name = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	uint32_t mask = 0;

	if (!l->fold.tripped && th_json_unescape(th_buf_str(&p->tool), &name) &&
	    !th_str_is(th_buf_str(&name), "computer"))
		mask = th_member_tool_guards(th_session_member(&l->fold), TH_GUARD_TOOL_OUTPUT,
					     th_buf_str(&name));
	th_buf_deinit(&name);
	return (size_t)__builtin_popcount(mask);
}

/* Its guardrails are open, and when they have answered the fold may have left the call behind.
 * Takes what is in `p`. */
static void results_keep(struct th_live *l, struct th_logged_call *p)
{
	struct th_logged_call *kept;
	size_t count = 0;

	for (const struct th_logged_call *r = l->results; r; r = r->next)
		count++;
	if (count == TH_CALLS_MAX) { /* it is read from the log */
		transcript_deinit(p);
		return;
	}
	kept = th_alloc(sizeof(*kept) + p->call_id.len);
	*kept = *p;
	memcpy(kept + 1, p->call_id.ptr, p->call_id.len);
	kept->call_id.ptr = (const char *)(kept + 1);
	kept->next = l->results;
	l->results = kept;
}

/* Of the call that stands there in the log; NULL: it is read from there. */
static struct th_logged_call *results_find(const struct th_live *l, uint64_t call_seq)
{
	struct th_logged_call *r = l->results;

	while (r && r->call_seq != call_seq)
		r = r->next;
	return r;
}

static void results_drop(struct th_live *l, struct th_logged_call *p)
{
	struct th_logged_call **at = &l->results;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	transcript_deinit(p);
	free(p);
}

void th_live_results_free(struct th_live *l)
{
	while (l->results)
		results_drop(l, l->results);
}

static void put_call(struct telling *t, const struct th_logged_call *p)
{
	t->call_id = p->call_id;
	th_jw_kraw(&t->w, "tool", th_buf_str(&p->tool));
	th_jw_kstr(&t->w, "call_id", p->call_id);
	th_jw_kraw(&t->w, "arguments", th_buf_str(&p->arguments));
}

static void tell_result(struct th_live *l, const struct th_logged_call *p, uint64_t seq)
{
	struct telling t;

	if (!begin(&t, l, l->fold.agent, TH_HOOK_TOOL_END, seq))
		return;
	put_call(&t, p);
	th_jw_kraw(&t.w, "status", th_buf_str(&p->status));
	th_jw_kraw(&t.w, "output", th_buf_str(&p->output));
	end(&t);
}

static void on_intent(struct th_live *l, const struct th_event *ev)
{
	struct th_logged_call p;
	struct telling t;

	if (!begin(&t, l, l->fold.agent, TH_HOOK_TOOL_START, ev->seq))
		return;
	transcript_init(&p, ev->call);
	if (transcript_of_fold(l, &p, ev->seq, 0) || transcript_read(l, &p, ev->cause, ev->cause)) {
		put_call(&t, &p);
		th_jw_kraw(&t.w, "class", th_json_raw_get(ev->data, "class"));
	}
	end(&t);
	transcript_deinit(&p);
}

static bool wants_result(const struct th_live *l)
{
	return hook_of(l, l->fold.agent, TH_HOOK_TOOL_END).len ||
	       run_hook_of(l, TH_HOOK_TOOL_END).len;
}

/* Only of what ran, and where the run goes on: as the Agents SDK has it. */
static void on_outcome(struct th_live *l, const struct th_event *ev)
{
	static const char *const names[] = { "effect_id", "fails" };
	struct th_logged_call p;
	struct th_str raw[2];

	if (!wants_result(l))
		return;
	find_raw(ev->data, names, raw, 2);
	if (!raw[0].len || raw[1].len)
		return;
	transcript_init(&p, ev->call);
	(void)transcript_read_event(&p, ev, NULL, NULL);
	/* Its cause is the intent, whose cause is the call. */
	if (!transcript_of_fold(l, &p, 0, ev->seq) &&
	    !(transcript_read(l, &p, p.before, p.before) &&
	      transcript_read(l, &p, p.before, p.before))) {
		transcript_deinit(&p);
	} else if (result_guards(l, &p) > 0) {
		results_keep(l, &p);
	} else {
		tell_result(l, &p, ev->seq);
		transcript_deinit(&p);
	}
}

/* The last guardrail of a result has answered: the hook gets the result. */
static void on_guardrail(struct th_live *l, const struct th_event *ev)
{
	static const char *const names[] = { "stage", "tripped" };
	struct th_logged_call *kept, p;
	struct th_str raw[2];

	if (!ev->call.len)
		return;
	find_raw(ev->data, names, raw, 2);
	if (!th_str_is(raw[0], "\"tool_output\"") || th_str_is(raw[1], "true"))
		return;
	kept = results_find(l, ev->cause);
	if (kept) {
		(void)transcript_read_event(kept, ev, NULL, NULL);
		if (kept->guards == result_guards(l, kept)) {
			tell_result(l, kept, ev->seq);
			results_drop(l, kept);
		}
	} else if (wants_result(l)) {
		transcript_init(&p, ev->call);
		if (transcript_read(l, &p, ev->cause, ev->seq) && p.guards == result_guards(l, &p))
			tell_result(l, &p, ev->seq);
		transcript_deinit(&p);
	}
}

/* ---- the log ----------------------------------------------------------------------------- */

typedef void hook_fn(struct th_live *l, const struct th_event *ev);

static hook_fn *const handlers[TH_EVENT_COUNT] = {
	[TH_EV_MODEL_REQUESTED] = on_requested,
	[TH_EV_MODEL_ANSWERED] = on_answered,
	[TH_EV_INTENT] = on_intent,
	[TH_EV_OUTCOME] = on_outcome,
	[TH_EV_GUARDRAIL] = on_guardrail,
	[TH_EV_HANDOFF] = on_handoff,
	[TH_EV_FINAL] = on_final,
};

/* The session is over, or held: the event says so, for the fold may be in the next task already.
 * Who waits for a person rests only if that is still so. */
static bool rests(const struct th_live *l, const struct th_event *ev)
{
	if (ev->kind == TH_EV_STATE_CHANGED)
		return !th_str_is(th_json_raw_get(ev->data, "to"), "\"running\"");
	return ev->kind == TH_EV_FINAL || ev->kind == TH_EV_ERROR ||
	       (th_session_rests(&l->fold) && ev->seq == l->fold.seq);
}

void th_live_hooks(struct th_live *l, const struct th_event *ev)
{
	l->worked |= ev->kind == TH_EV_MODEL_REQUESTED || ev->kind == TH_EV_GUARDRAIL;
	if (ev->kind == TH_EV_MODEL_REQUESTED)
		th_live_results_free(l); /* hooks of the last answer are over */
	if (l->lost || (!watched(l, l->fold.agent) && ev->kind != TH_EV_HANDOFF))
		return;
	if (handlers[ev->kind])
		handlers[ev->kind](l, ev);
	if (rests(l, ev)) {
		l->hooked = 0;
		th_live_results_free(l);
	}
	th_live_pump(l);
}
