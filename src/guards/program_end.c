/* SPDX-License-Identifier: Apache-2.0 */
/* program_end.c - how a hook ended, and what comes of it. */
#include "base/text.h"
#include "guards/guard_look.h"
#include "guards/program_internal.h"
#include "live/log.h"
#include "live/queue.h"

void th_program_read_end(struct th_program *p, const struct th_effect_result *r)
{
	struct th_buf report TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str exit_code = th_json_raw_get(r->evidence, "exit_code");
	bool ran = r->status == TH_OUTCOME_DONE || r->status == TH_OUTCOME_FAILED;

	p->elapsed_ms = r->elapsed_ms;
	p->end = (struct th_hook_end){ 0 };
	if (ran && th_json_unescape(r->output, &report)) {
		th_program_add_plain(&p->out, th_json_raw_get(th_buf_str(&report), "out"));
		th_program_add_plain(&p->err, th_json_raw_get(th_buf_str(&report), "err"));
	}
	p->end.exited = ran && th_str_i64(exit_code, &p->end.status) &&
			!th_json_raw_get(r->evidence, "timed_out").len;
	if (!p->end.exited && th_json_raw_get(r->evidence, "timed_out").len)
		th_buf_printf(&p->why, "it was ended after %lld s, its time limit",
			      (long long)p->hook->timeout_s);
	else if (!p->end.exited && r->status == TH_OUTCOME_UNKNOWN)
		th_buf_add_cstr(&p->why, "how it ended is not known, and it is not started again");
	else if (!p->end.exited && ran)
		th_buf_add_cstr(&p->why, "it was ended by a signal");
	else if (!p->end.exited)
		th_buf_printf(&p->why, "it was not started: %.*s",
			      TH_FMT(th_utf8_cut(r->why.len ? r->why : r->output, 1000)));
	p->end.why = th_buf_str(&p->why);
	p->end.out = th_buf_str(&p->out);
	p->end.err = th_buf_str(&p->err);
}

static void print_info(const struct th_program *p, const struct th_hook_verdict *v,
		       struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (p->end.exited)
		th_jw_kint(&w, "exit_status", p->end.status);
	if (v->refused)
		th_jw_kbool(&w, "refused", true);
	if (v->failed)
		th_jw_kstr(&w, "failed", th_utf8_cut(v->reason, 4000));
	if (v->refused)
		th_jw_kstr(&w, "reason", th_utf8_cut(v->reason, 4000));
	if (p->end.out.len)
		th_jw_kstr(&w, "stdout", th_utf8_cut(p->end.out, 4000));
	if (p->end.err.len)
		th_jw_kstr(&w, "stderr", th_utf8_cut(p->end.err, 4000));
	if (p->ask.looks)
		th_hook_looks_print(p->ask.looks, &w);
	th_jw_kint(&w, "elapsed_ms", p->elapsed_ms);
	th_jw_object_end(&w);
}

/* What the model took that was asked; empty: nothing. */
static struct th_str print_usage(const struct th_program *p, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (!p->ask.usage.requests)
		return (struct th_str){ 0 };
	th_jw_object(&w);
	th_side_print(&p->ask.usage, &w);
	th_jw_object_end(&w);
	return th_buf_str(out);
}

static void tell(struct th_live *l, struct th_str text)
{
	struct th_err err = { 0 };

	if (l->lost)
		return;
	if (th_live_append_message(l, TH_SOURCE_ENVIRONMENT, l->fold.seq, text, &err))
		th_live_lose(l, &err);
}

void th_program_note(struct th_live *l, struct th_program *p)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf info TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_hook_verdict v;
	struct th_ev_code d = { .effect_id = th_str_of(p->effect_id),
				.use = th_str_of(th_hook_event_name(p->hook->event)),
				.name = p->hook->name,
				.agent = l->fold.team->members[p->about.member].name };

	th_arena_init(&a, TH_EVENT_DATA_MAX);
	v = th_hook_judge(p->hook, &p->end, &a);
	print_info(p, &v, &info);
	d.answer = th_buf_str(&info);
	d.usage = print_usage(p, &usage);
	if (v.failed) {
		d.failed = v.reason;
		/* What was waited for, and is not any more, ends nothing else. */
		d.fails = p->hook->fails && (p->hook->async || !p->waited);
	}
	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, p->seq, TH_STR(""), &d);
}

/* pre_tool_use: refused, or with other arguments; *text is what the model is told.  The reason is
 * in `a`, as the verdict is. */
static void judge_call(struct th_live *l, const struct th_program *p, struct th_hook_verdict *v,
		       struct th_arena *a, struct th_ev_guardrail *d, struct th_buf *arguments,
		       struct th_buf *text)
{
	struct th_call *c = th_live_call(l, p->about.call_seq);
	struct th_buf why TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	enum th_class class = TH_CLASS_W;

	if (v->arguments.len && c) {
		if (th_live_may_run_with(l, c, v->arguments, arguments, &class, &why)) {
			d->arguments = th_buf_str(arguments);
			d->class = th_str_of(th_class_name(class));
			th_buf_printf(
			    text, "The hook %.*s changed the arguments of this call to %.*s.",
			    TH_FMT(p->hook->name), TH_FMT(th_utf8_cut(d->arguments, 4000)));
			return;
		}
		v->refused = true;
		v->reason = th_arena_str(a, th_buf_str(&why));
	}
	if (!v->refused && !(v->failed && p->hook->fails))
		return;
	th_buf_printf(arguments, "Not done: the hook %.*s %s: %.*s. Nothing was executed.",
		      TH_FMT(p->hook->name), v->failed ? "failed" : "refused it",
		      TH_FMT(th_utf8_cut(v->reason, TH_HOOK_TEXT_MAX)));
	d->message = th_buf_str(arguments);
}

static void judge_other(struct th_live *l, const struct th_program *p,
			const struct th_hook_verdict *v, struct th_ev_guardrail *d,
			struct th_buf *text)
{
	if (v->failed && p->hook->fails) {
		d->tripped = true;
		d->message = v->reason;
	} else if (v->refused && p->hook->event == TH_HOOK_ON_USER_PROMPT_SUBMIT) {
		d->tripped = true;
		d->message = v->reason;
	} else if (v->refused && p->hook->event == TH_HOOK_ON_STOP &&
		   l->fold.sent_back < TH_SENT_BACK_MAX) {
		d->again = true;
		th_buf_printf(text, "The hook %.*s does not let you stop here: %.*s",
			      TH_FMT(p->hook->name), TH_FMT(v->reason));
	} else if (v->refused && p->hook->event == TH_HOOK_ON_POST_TOOL_USE) {
		th_buf_printf(text, "The hook %.*s objects: %.*s", TH_FMT(p->hook->name),
			      TH_FMT(v->reason));
	}
}

void th_program_conclude(struct th_live *l, struct th_program *p)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf info TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_HOOK_TEXT_MAX);
	struct th_buf changed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_guardrail d = { .effect_id = th_str_of(p->effect_id) };
	struct th_hook_verdict v;

	th_arena_init(&a, TH_EVENT_DATA_MAX);
	v = th_hook_judge(p->hook, &p->end, &a);
	if (p->hook->event == TH_HOOK_ON_PRE_TOOL_USE)
		judge_call(l, p, &v, &a, &d, &changed, &text);
	else
		judge_other(l, p, &v, &d, &text);
	print_info(p, &v, &info);
	d.info = th_buf_str(&info);
	d.usage = print_usage(p, &usage);
	/* Where the agent stops, nobody is told anything. */
	if (v.context.len && !d.tripped && (d.again || p->hook->event != TH_HOOK_ON_STOP))
		th_buf_printf(&text, "%sThe hook %.*s says: %.*s", text.len ? "\n" : "",
			      TH_FMT(p->hook->name), TH_FMT(v.context));
	th_live_guard_write(l, &p->about, &d);
	if (text.len)
		tell(l, th_buf_str(&text));
}
