/* SPDX-License-Identifier: Apache-2.0 */
#include "guards/analyse.h"

#include <stdlib.h>

#include "base/text.h"
#include "live/log.h"
#include "live/queue.h"

/* A call and its open questions. */
struct th_analysis {
	struct th_analysis *next;
	uint64_t answer_seq;
	size_t call; /* index into the fold's calls */
	struct th_buf item, grounding;
	th_record_item_fn *record;
	bool asking; /* one may answer at once, before the others are asked */
	struct {
		uint64_t id; /* of its ticket; 0: not asked, or answered */
		int64_t asked_ms;
		char effect_id[33];
	} questions[TH_ANALYSERS_MAX];
};

static const struct th_agent_confirm *confirm_of(const struct th_live *l)
{
	return l->session_config->agent->confirm;
}

static const struct th_agent_analyser *analyser_of(const struct th_live *l, size_t i)
{
	return (const struct th_agent_analyser *)confirm_of(l)->external.list + i;
}

static int64_t now_ms(const struct th_live *l)
{
	return l->driver->world.ops->now_ms(l->driver->world.ctx);
}

static void analysis_drop(struct th_live *l, struct th_analysis *x)
{
	struct th_analysis **at = &l->analyses;

	while (*at != x)
		at = &(*at)->next;
	*at = x->next;
	th_buf_deinit(&x->item);
	th_buf_deinit(&x->grounding);
	free(x);
}

void th_live_analyses_free(struct th_live *l)
{
	while (l->analyses)
		analysis_drop(l, l->analyses);
}

/* ---- questions ---- */

static void print_call(const struct th_live *l, const struct th_analyse *q, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "session", th_str_of(l->id));
	th_jw_kstr(w, "agent", th_session_member(&l->fold)->name);
	th_jw_kstr(w, "workspace", l->fold.workspace);
	th_jw_kstr(w, "tool", q->call->tool);
	th_jw_kstr(w, "call_id", q->call->call_id);
	th_jw_kstr(w, "class", th_str_of(th_class_name(q->class)));
	th_jw_kraw(w, "arguments", q->arguments);
	th_jw_object_end(w);
}

static void print_question(const struct th_agent_analyser *a, struct th_str call,
			   struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (a->url.len) {
		th_jw_kstr(&w, "url", a->url);
		th_jw_kstr(&w, "token_env", a->token_env);
	} else {
		th_jw_kstr(&w, "name", a->name);
		th_jw_key(&w, TH_STR("argv"));
		th_jw_array(&w);
		for (size_t i = 0; i < a->command.count; i++)
			th_jw_str(&w, a->command.list[i]);
		th_jw_array_end(&w);
		th_jw_kbool(&w, "apart", true);
	}
	th_jw_kraw(&w, "input", call);
	th_jw_kint(&w, "timeout_s", a->timeout_s);
	th_jw_object_end(&w);
}

static void ask(struct th_live *l, struct th_analysis *x, size_t i, struct th_str call)
{
	const struct th_agent_analyser *a = analyser_of(l, i);
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	char *id = x->questions[i].effect_id;
	struct th_effect_call effect = {
		.class = TH_CLASS_R,
		.tool = a->url.len ? TH_STR(TH_ANALYSER_TOOL) : TH_STR("command"),
		.timeout_ms = a->timeout_s * 1000,
		.epoch = l->epoch,
	};

	print_question(a, call, &arguments);
	effect.arguments = th_buf_str(&arguments);
	th_driver_random_id(l->driver, id);
	effect.effect_id = th_str_of(id);
	x->questions[i].id = ++l->asked;
	x->questions[i].asked_ms = now_ms(l);
	l->driver->world.ops->tool_run(l->driver->world.ctx,
				       th_live_ticket_of(l, TH_TICKET_ANALYSER, x->questions[i].id),
				       &effect, false);
}

/* Asked about this answer's call before, and not all have answered. */
static bool under_way(const struct th_live *l, size_t call)
{
	for (const struct th_analysis *x = l->analyses; x; x = x->next)
		if (x->call == call && x->answer_seq == l->fold.answer_seq)
			return true;
	return false;
}

static bool is_answered(const struct th_analysis *x)
{
	for (size_t i = 0; i < TH_ANALYSERS_MAX; i++)
		if (x->questions[i].id)
			return false;
	return true;
}

bool th_live_analyse(struct th_live *l, const struct th_analyse *q)
{
	const struct th_agent_confirm *c = confirm_of(l);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&text);
	struct th_analysis *x;
	size_t count = c ? c->external.count : 0;

	if (!count || c->when != TH_CONFIRM_RISKY || q->class == TH_CLASS_L || q->call->handoff ||
	    q->call->analysed == (UINT32_C(1) << count) - 1)
		return false;
	if (under_way(l, (size_t)(q->call - l->fold.calls)))
		return true;
	x = th_alloc(sizeof(*x));
	x->answer_seq = l->fold.answer_seq;
	x->call = (size_t)(q->call - l->fold.calls);
	x->record = q->record;
	th_buf_init(&x->item, TH_ANSWER_MAX);
	th_buf_init(&x->grounding, TH_JSON_SIZE_MAX);
	th_buf_add(&x->item, q->item);
	th_buf_add(&x->grounding, q->grounding);
	x->next = l->analyses;
	l->analyses = x;
	print_call(l, q, &w);
	x->asking = true;
	for (size_t i = 0; i < count; i++)
		if (!(q->call->analysed & (UINT32_C(1) << i)))
			ask(l, x, i, th_buf_str(&text));
	x->asking = false;
	if (!is_answered(x))
		return true;
	analysis_drop(l, x);
	return l->lost; /* else the caller records the call, as all have answered already */
}

/* ---- answers ---- */

/* The call that waits for it; NULL: it does not any more. */
static struct th_call *call_of(const struct th_live *l, const struct th_analysis *x)
{
	struct th_call *c = x->answer_seq == l->fold.answer_seq && x->call < l->fold.call_count
				? &l->fold.calls[x->call]
				: NULL;

	return c && c->phase == TH_CALL_SEEN && !l->lost ? c : NULL;
}

enum th_code th_analyser_said(const struct th_effect_result *r, struct th_buf *text,
			      struct th_err *err)
{
	struct th_buf report TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str exit_code = th_json_raw_get(r->evidence, "exit_code");
	struct th_str out;

	if (th_json_raw_get(r->evidence, "timed_out").len)
		return th_fail(err, TH_ETIMEOUT, "it gave no answer in time");
	if (r->status != TH_OUTCOME_DONE && exit_code.len)
		return th_fail(err, TH_EPROTO, "it ended with exit status %.*s", TH_FMT(exit_code));
	if (!th_json_unescape(r->output, &report) || r->status != TH_OUTCOME_DONE)
		return th_fail(err, TH_EIO, "it could not be asked: %.*s",
			       TH_FMT(th_utf8_cut(r->why.len ? r->why : th_buf_str(&report), 400)));
	out = th_json_raw_get(th_buf_str(&report), "out");
	if (!out.len || !th_json_unescape(out, text))
		return th_fail(err, TH_EPROTO, "its answer cannot be read");
	if (text->len > TH_ANALYSER_ANSWER_MAX)
		return th_fail(err, TH_ELIMIT, "its answer has more than %d bytes",
			       (int)TH_ANALYSER_ANSWER_MAX);
	return TH_OK;
}

static enum th_code read_answer(const struct th_effect_result *r, struct th_arena *a,
				enum th_risk *ret, struct th_str *ret_reason, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	return th_analyser_said(r, &text, err)
		   ?: th_analyser_answer_read(th_buf_str(&text), a, ret, ret_reason, err);
}

static void write_answer(struct th_live *l, const struct th_analysis *x, size_t i,
			 const struct th_effect_result *r)
{
	const struct th_agent_analyser *a = analyser_of(l, i);
	const struct th_call *c = &l->fold.calls[x->call];
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_ev_analysis d = { .name = a->name,
				    .index = (int64_t)i,
				    .call_id = c->call_id,
				    .elapsed_ms =
					TH_MAX(now_ms(l) - x->questions[i].asked_ms, (int64_t)0) };
	enum th_risk risk = (enum th_risk)a->on_failure;
	struct th_err err = { 0 };

	th_arena_init(&memory, TH_MIB);
	if (read_answer(r, &memory, &risk, &d.reason, &err))
		d.failed = th_arena_printf(&memory, "the analyser %.*s gave no answer: %s",
					   TH_FMT(th_utf8_cut(a->name, 80)), err.msg);
	d.risk = th_str_of(th_risk_name(risk));
	th_live_write_event(l, TH_EV_ANALYSIS, TH_SOURCE_ENVIRONMENT, l->fold.answer_seq,
			    c->call_id, &d);
}

/* The executor need not hold its result: no event names the effect, and whoever goes on with the
 * session asks anew. */
static void forget(const struct th_live *l, const struct th_analysis *x, size_t i)
{
	const struct th_str id = th_str_of(x->questions[i].effect_id);

	l->driver->world.ops->tool_forget(l->driver->world.ctx, th_str_of(l->id), &id, 1);
}

/* Its open questions. */
static void give_up(struct th_live *l, struct th_analysis *x)
{
	for (size_t i = 0; i < TH_ANALYSERS_MAX; i++) {
		uint64_t id = x->questions[i].id;

		if (!id)
			continue;
		x->questions[i].id = 0; /* what it says to that is nobody's */
		l->driver->world.ops->tool_cancel(l->driver->world.ctx,
						  th_live_ticket_of(l, TH_TICKET_ANALYSER, id));
		forget(l, x, i);
	}
}

void th_live_analyses_stop(struct th_live *l)
{
	struct th_analysis *x, *next;

	for (x = l->analyses; x; x = next) {
		struct th_call *c = call_of(l, x);

		next = x->next;
		if (x->asking)
			continue;
		give_up(l, x);
		if (c)
			x->record(l, c, th_buf_str(&x->item), th_buf_str(&x->grounding));
		analysis_drop(l, x);
	}
}

void th_live_analysis_done(struct th_live *l, struct th_ticket t, const struct th_effect_result *r)
{
	struct th_analysis *x = l->analyses;
	struct th_call *c;
	size_t i = 0;

	while (x) {
		for (i = 0; i < TH_ANALYSERS_MAX && x->questions[i].id != t.seq;)
			i++;
		if (i < TH_ANALYSERS_MAX)
			break;
		x = x->next;
	}
	if (!x)
		return;
	if (call_of(l, x))
		write_answer(l, x, i, r);
	forget(l, x, i);
	x->questions[i].id = 0;
	if (x->asking || !is_answered(x))
		return;
	c = call_of(l, x);
	if (c)
		x->record(l, c, th_buf_str(&x->item), th_buf_str(&x->grounding));
	analysis_drop(l, x);
	if (!l->lost)
		th_live_pump(l);
}
