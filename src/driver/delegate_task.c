/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate_task.c - what a call asks an agent for, and tasks that go on with
 * what an earlier call began.
 *
 * The model knows a task by "task_%08x", the number of the INTENT that began it,
 * of which its session's name is made, too.
 */
#include "base/text.h"
#include "core/batch.h"
#include "driver/delegate.h"
#include "driver/skills.h"
#include "live/log.h"
#include "live/queue.h"

#define TASK "task_"

/* One text member is the message; anything else is given as it is. */
static struct th_str prompt_of(const struct th_call *c, const struct th_json *arguments,
			       struct th_arena *a)
{
	const struct th_json *input = th_json_get(arguments, "input");

	if (th_json_count(arguments) == 1 && th_json_str(input).ptr)
		return th_arena_str(a, th_json_str(input));
	return th_arena_str(a, c->arguments);
}

static enum th_code no_task(struct th_str id, struct th_err *err)
{
	return th_fail(err, TH_EUSAGE, "this session has begun no task \"%.*s\"",
		       TH_FMT(th_utf8_cut(id, 40)));
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The session of an earlier task. */
static enum th_code session_of(struct th_live *l, const struct th_call *c, struct th_str id,
			       struct th_arena *a, struct th_str *ret, struct th_err *err)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);
	uint64_t seq = 0;
	struct th_str digits;

	if (!th_str_starts(id, TH_STR(TASK)))
		return no_task(id, err);
	digits = th_str_sub(id, strlen(TASK), id.len);
	for (size_t i = 0; i < digits.len; i++) {
		int value = digit(digits.ptr[i]);

		if (value < 0 || i == 15)
			return no_task(id, err);
		seq = seq << 4 | (unsigned)value;
	}
	if (!seq || seq >= c->intent_seq)
		return no_task(id, err);
	th_delegate_id(th_str_of(l->id), seq, &name);
	*ret = th_arena_str(a, th_buf_str(&name));
	return TH_OK;
}

enum th_code th_delegation_task_read(struct th_live *l, const struct th_call *c,
				     const struct th_agent_command *tool, struct th_arena *a,
				     struct th_delegation_task *ret, struct th_err *err)
{
	const struct th_delegate *delegate =
	    th_member_delegate(th_session_member(&l->fold), c->tool);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX + 1);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_agent_task task = { 0 };
	enum th_code code = th_json_parse(c->arguments, &doc, err);
	int agent;

	assert(delegate);
	if (!code && tool->agents.count)
		code = th_table_parse(&th_agent_task_table, th_json_root(doc), a, &task, err);
	if (code)
		return th_prefix(err, TH_EUSAGE, "the arguments");
	agent = th_delegate_to(delegate, task.subagent_type);
	if (agent < 0)
		return th_fail(err, TH_EUSAGE, "there is no agent \"%.*s\"",
			       TH_FMT(th_utf8_cut(task.subagent_type, 80)));
	*ret = (struct th_delegation_task){ .agent = (size_t)agent, .background = task.background };
	ret->prompt =
	    tool->agents.count ? th_arena_str(a, task.prompt) : prompt_of(c, th_json_root(doc), a);
	ret->resumed = c->before || task.resume.len;
	if (task.resume.len && !c->before)
		return session_of(l, c, task.resume, a, &ret->session, err);
	th_call_child(c, th_str_of(l->id), &name);
	ret->session = th_arena_str(a, th_buf_str(&name));
	return TH_OK;
}

void th_delegation_task_id(const struct th_live *l, struct th_str session, struct th_buf *out)
{
	size_t own = strlen(l->id) + 1;
	int64_t seq;

	if (session.len > own && th_str_i64(th_str_sub(session, own, session.len), &seq))
		th_buf_printf(out, TASK "%08llx", (unsigned long long)seq);
}

void th_delegation_usage(const struct th_session *s, const struct th_child_before *before,
			 struct th_ev_delegation_finished *ret, struct th_buf *usage)
{
	static const struct th_child_before none;
	const struct th_child_before *b = before ?: &none;
	const struct th_totals *t = &s->totals;
	struct th_jw w = th_jw(usage);

	th_jw_object(&w);
	th_jw_kint(&w, "input", t->tokens_in - b->tokens_in);
	th_jw_kint(&w, "output", t->tokens_out - b->tokens_out);
	th_jw_kint(&w, "cached", t->tokens_cached - b->tokens_cached);
	th_jw_kint(&w, "reasoning", t->tokens_reasoning - b->tokens_reasoning);
	th_jw_object_end(&w);
	*ret = (struct th_ev_delegation_finished){
		.turns = t->turns - b->turns,
		.usage = th_buf_str(usage),
		.cost_nano = t->cost_nano - b->cost_nano,
		.cost_unknown = t->cost_unknown,
		.unmetered = t->unmetered,
		.tokens_held = t->tokens_held - b->tokens_held,
		.cost_held_nano = t->cost_held_nano - b->cost_held_nano,
	};
}

/* What it had used, as its parent's event has it. */
static void put_before(const struct th_session *s, struct th_buf *out)
{
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_delegation_finished f;
	struct th_jw w = th_jw(out);

	th_delegation_usage(s, NULL, &f, &usage);
	th_jw_object(&w);
	th_jw_kint(&w, "turns", f.turns);
	th_jw_kraw(&w, "usage", f.usage);
	th_jw_kint(&w, "cost_nano", f.cost_nano);
	th_jw_kint(&w, "tokens_held", f.tokens_held);
	th_jw_kint(&w, "cost_held_nano", f.cost_held_nano);
	th_jw_object_end(&w);
}

/* Its limits are of the whole session: beyond what it has used. */
static enum th_code limit_anew(struct th_live *child, const struct th_agent_limits *part,
			       struct th_err *err)
{
	const struct th_totals *t = &child->fold.totals;
	struct th_agent_limits limits = *part;

	if (limits.tokens)
		limits.tokens += t->tokens_in + t->tokens_out + t->tokens_held;
	if (limits.cost_usd > 0)
		limits.cost_usd += (double)(t->cost_nano + t->cost_held_nano) / 1e9;
	return th_live_budget(child, &limits, NULL, TH_STR(""), TH_SOURCE_ENVIRONMENT, err);
}

enum th_code th_delegation_task_resume(struct th_live *l, const struct th_call *c,
				       struct th_delegation *g,
				       const struct th_delegation_task *task, struct th_err *err)
{
	struct th_live *child = g->child;
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_ev_delegation_started d = { .child = task->session,
					      .call_id = c->call_id,
					      .background = task->background };
	enum th_code code = TH_OK;

	if (!th_delegation_is_over(&child->fold))
		return th_fail(err, TH_EBUSY, "that task is %s, and not over",
			       th_state_name(child->fold.state));
	put_before(&child->fold, &before);
	d.before = th_buf_str(&before);
	d.agent = child->fold.agent_name;
	code = limit_anew(child, &g->limits, err);
	if (!code) /* what was said in it is read anew, when a request needs it */
		code = th_live_append_message(child, TH_SOURCE_AGENT, 0, task->prompt, err);
	if (code)
		return code;
	th_live_skills_said(child, task->prompt);
	th_live_write_event(l, TH_EV_DELEGATION_STARTED, TH_SOURCE_ENVIRONMENT, c->intent_seq,
			    c->call_id, &d);
	th_live_pump(child);
	return TH_OK;
}
