/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guardrail.c - functions of the agent's code that look at what was said, at tool calls
 * and at the output, and may stop the run.
 */
#include "guards/guardrail.h"

#include <stdlib.h>

#include "base/text.h"
#include "guards/guard_look.h"
#include "guards/hooks.h"
#include "guards/program.h"
#include "live/log.h"
#include "live/pending_callback.h"

static th_callback_answered_fn guard_answered;

/* Nobody can be asked about all of it: that lets nothing through. */
static void guard_too_much(struct th_live *l, uint64_t id, const struct th_err *why)
{
	struct th_pending_callback *a = th_callback_take(l, id);
	struct th_buf answer = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&answer);

	th_jw_object(&w);
	th_jw_kbool(&w, "tripped", true);
	th_jw_kstr(&w, "message", th_str_of(why->msg));
	th_jw_object_end(&w);
	guard_answered(l, a, false, th_buf_str(&answer));
	th_buf_deinit(&answer);
	free(a);
}

static void ask_code(struct th_live *l, const struct th_pending_callback *about)
{
	struct th_session *s = &l->fold;
	struct th_pending_callback *a = th_callback_new(l, TH_ASK_GUARDRAIL, guard_answered);
	struct th_buf input = TH_BUF_INIT(TH_GUARD_INPUT_MAX + TH_KIB);
	struct th_err err = { 0 };
	enum th_code code;
	struct th_jw w;

	a->stage = about->stage;
	a->guard = about->guard;
	a->call_seq = about->call_seq;
	a->member = about->member;
	a->asked_seq = about->asked_seq;
	th_callback_input(l, a->member, &input, &w);
	th_jw_kstr(&w, "stage", th_str_of(th_guard_stage_name(a->stage)));
	code = th_live_guard_subject(l, a, &w, &err);
	th_jw_object_end(&w);
	if (!code)
		code = th_buf_check(&input, "what it looks at", &err);
	if (code == TH_ELIMIT)
		guard_too_much(l, a->id, &err);
	else if (code)
		th_live_lose(l, &err);
	else
		th_callback_ask(l, a, s->team->members[a->member].guards[a->guard].name,
				th_buf_str(&input));
	th_buf_deinit(&input);
}

void th_live_guard(struct th_live *l, const struct th_held *held)
{
	const struct th_session *s = &l->fold;
	struct th_pending_callback a = {
		.stage = held->effect.stage,
		.guard = held->effect.guard,
		.call_seq = held->call_seq,
	};

	a.member = a.stage == TH_GUARD_INPUT ? s->guard_agent : s->agent;
	a.asked_seq = th_live_guard_about(s, a.stage);
	if (a.stage == TH_GUARD_OUTPUT && th_live_guard_open(l, &a))
		th_live_hook_end(l);
	/* Settled or stopped meanwhile, or of a look that is over: resume asks again. */
	if (!th_live_guard_open(l, &a) || (a.stage == TH_GUARD_INPUT && held->seq < s->guard_to))
		return;
	if (s->team->members[a.member].guards[a.guard].program)
		th_live_program(l, &a);
	else
		ask_code(l, &a);
}

/* True, false, null, or an object; anything else is no answer, and stops the run. */
static void guard_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			   struct th_str answer)
{
	struct th_ev_guardrail d = { 0 };
	struct th_json_doc *doc = NULL;
	const struct th_json *v = NULL;
	struct th_arena memory;

	if (!th_live_guard_awaited(l, a) || a->asked_seq != th_live_guard_about(&l->fold, a->stage))
		return;
	th_arena_init(&memory, TH_EVENT_DATA_MAX);
	if (!failed && th_json_parse(answer, &doc, NULL))
		failed = true;
	v = th_json_root(doc);
	if (failed) {
		d.tripped = true;
		d.message = th_arena_printf(&memory, "its code failed: %.*s",
					    TH_FMT(th_utf8_cut(answer, TH_ERR_MSG_MAX)));
	} else if (th_json_is_object(v)) {
		d.tripped = th_json_bool(th_json_get(v, "tripped"), false);
		d.message = th_json_get_str(v, "message");
		if (!th_json_is_null(th_json_get(v, "info")))
			d.info = th_json_text(th_json_get(v, "info"), &memory);
	} else {
		d.tripped = !th_json_is_null(v) && th_json_bool(v, true);
	}
	th_live_guard_write(l, a, &d);
	th_arena_deinit(&memory);
	th_json_free(doc);
}
