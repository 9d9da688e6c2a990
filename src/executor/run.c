/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - requests for effects: a new one is accepted, one that is known is joined, and of one
 * that an earlier life left it is decided what it was.
 */
#include "executor/state.h"

#include "actions/action.h"
#include "base/limits.h"
#include "core/unknown.h"
#include "events/effect.h"
#include "io/clock.h"
#include "mcp/tool.h"

/* The stricter of what the caller says and what the tool is: hints never loosen. */
static enum th_class class_of(struct th_str name, const struct th_tool *tool,
			      struct th_str arguments)
{
	static const int strictness[TH_CLASS_COUNT] = {
		[TH_CLASS_L] = 0, [TH_CLASS_R] = 1, [TH_CLASS_K] = 2,
		[TH_CLASS_V] = 3, [TH_CLASS_W] = 4, [TH_CLASS_X] = 5,
	};
	int found = th_class_find(name);
	enum th_class said = found < 0 ? TH_CLASS_W : (enum th_class)found, own = said;

	if (tool)
		own = th_effect_only_looks(tool->looks, arguments) ? TH_CLASS_R : tool->class;
	return strictness[own] > strictness[said] ? own : said;
}

static const struct th_tool *tool_of(struct th_str name)
{
	return th_str_is(name, th_tool_mcp.name) ? &th_tool_mcp : th_tool_find(name);
}

/* Class R of a computer call only when none of its actions can change anything. */
static enum th_class computer_class(enum th_class said, const struct th_json *arguments)
{
	struct th_json_iter it = th_json_iter(th_json_get(arguments, "actions"));
	if (said != TH_CLASS_R && said != TH_CLASS_L)
		return said;
	while (th_json_next(&it)) {
		int kind = th_action_find(th_json_get_str(it.val, "type"));
		if (kind < 0 || th_action_class((enum th_action_kind)kind) != 'R')
			return TH_CLASS_W;
	}
	return TH_CLASS_R;
}

/* Tool, arguments and class.  Not TH_OK: what is wrong, for the model. */
static enum th_code effect_parse(struct th_exec_effect *e, const struct th_exec_run *m,
				 struct th_err *err)
{
	const struct th_table *table = &th_exec_computer_table;
	bool computer = th_str_is(m->tool, "computer");

	e->tool = computer ? NULL : tool_of(m->tool);
	if (!computer && !e->tool)
		return th_fail(err, TH_EUSAGE, "there is no tool '%.*s'",
			       TH_FMT(th_str_sub(m->tool, 0, 64)));
	if ((computer || e->tool->on_computer) && !e->x->display)
		return th_fail(err, TH_EUNSUPPORTED, "this session has no computer");
	if (e->tool)
		table = e->tool->arguments;
	e->arguments = th_arena_str(&e->arena, m->arguments);
	enum th_code code = th_json_parse(e->arguments, &e->doc, err);
	if (code)
		return th_prefix(err, code, TH_ARGUMENTS_MARK "%.*s", TH_FMT(m->tool));
	void *args = th_arena_alloc(&e->arena, table->size);
	if (!args)
		return th_fail(err, TH_ELIMIT, "the arguments are too large");
	code = th_table_parse(table, th_json_root(e->doc), &e->arena, args, err);
	if (code)
		return th_prefix(err, code, TH_ARGUMENTS_MARK "%.*s", TH_FMT(m->tool));
	e->job.args = args;
	e->class = class_of(m->class, e->tool, m->arguments);
	if (computer)
		e->class = computer_class(e->class, th_json_root(e->doc));
	return TH_OK;
}

static void pend(struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;
	*x->pending_last = e;
	x->pending_last = &e->next_pending;
	th_loop_defer(x->loop, &x->flush);
}

/* A new effect that nobody has begun. */
static void accept(struct th_exec_client *c, const struct th_exec_run *m)
{
	struct th_executor_server *x = c->x;
	struct th_err err = {};

	/* Beside them run what an agent file starts, the display and the reaper. */
	_Static_assert(TH_EXEC_RUNNING_MAX + TH_DESKTOP_START_MAX + 2 <= TH_CHILDREN_MAX,
		       "each effect may be a program");
	if (x->running >= TH_EXEC_RUNNING_MAX) {
		th_fail(&err, TH_ELIMIT,
			"%d effects of this session are under way, the maximum; try again when one "
			"of them has ended",
			TH_EXEC_RUNNING_MAX);
		th_exec_send_error(c, m->id, &err);
		return;
	}
	struct th_exec_effect *e = th_exec_effect_new(x, m);
	if (effect_parse(e, m, &err)) {
		x->running--;
		th_exec_effect_free(e);
		struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
		th_buf_printf(&text, TH_ERROR_MARK "%s", err.msg);
		th_exec_tell_plain(c, m->id, TH_OUTCOME_REFUSED, text.ptr);
		th_buf_deinit(&text);
		return;
	}
	if (e->class != TH_CLASS_R) {
		struct th_ledger_entry what = {
			.class = e->class,
			.epoch = m->epoch,
			.accepted_ms = (int64_t)th_clock_wall_ms(),
		};
		memcpy(what.id, e->id, sizeof(what.id));
		what.tool = th_arena_cstr(&e->arena, m->tool);
		what.digest = th_arena_cstr(&e->arena, m->digest);
		enum th_code code = th_ledger_accept(x->ledger, &what, &e->entry, &err);
		if (code) {
			x->running--;
			th_exec_effect_free(e);
			if (code == TH_EIO)
				th_exec_fatal(x, &err);
			th_exec_send_error(c, m->id, &err);
			return;
		}
		x->dirty = true;
	}
	th_exec_effect_sub(e, c, m->id, m->watch, 0);
	pend(e);
}

/* Accepted in an earlier life, and cut off: decided by its class. */
static void settle_open(struct th_exec_client *c, const struct th_exec_run *m,
			struct th_ledger_entry *entry)
{
	struct th_err err = {};
	struct th_exec_effect *e = th_exec_effect_new(c->x, m);

	e->entry = entry;
	e->class = entry->class;
	th_exec_effect_sub(e, c, m->id, m->watch, (uint64_t)m->offset);
	bool again = entry->class == TH_CLASS_K;
	bool probe = entry->class == TH_CLASS_V;
	bool parsed = (again || probe) && effect_parse(e, m, &err) == TH_OK;
	e->class = entry->class;
	if (!parsed || (probe && !(e->tool && e->tool->probe))) {
		th_exec_effect_unknown(e);
		return;
	}
	if (probe && e->tool->class == TH_CLASS_V && !entry->noted && !entry->gap) {
		th_exec_effect_finish(
		    e, TH_OUTCOME_NOT_STARTED,
		    TH_STR("\"This action was accepted, but it had not begun when the "
			   "executor ended: nothing was changed.\""),
		    TH_STR(""), NULL, 0);
		return;
	}
	e->probe = probe;
	e->job.noted = th_arena_str(&e->arena, th_str_of(entry->noted));
	pend(e);
}

static void join(struct th_exec_client *c, const struct th_exec_run *m,
		 struct th_ledger_entry *entry)
{
	struct th_executor_server *x = c->x;
	struct th_exec_effect *e = th_exec_effect_find(x, m->effect_id);

	if (e) {
		th_exec_effect_sub(e, c, m->id, m->watch, (uint64_t)m->offset);
		if (e->started)
			th_exec_tell_accepted(c, m->id);
		if (e->finished)
			th_exec_effect_settle(e);
		else
			th_exec_pump(e, e->subs);
		return;
	}
	switch (entry->state) {
	case TH_LEDGER_ACCEPTED:
		settle_open(c, m, entry);
		break;
	case TH_LEDGER_FINISHED: {
		struct th_picture_cache **kept = th_exec_pictures_find(x, entry->id);
		th_exec_tell_finished(c, m->id, entry, NULL, *kept ? (*kept)->pictures : NULL,
				      *kept ? (*kept)->count : 0);
		break;
	}
	case TH_LEDGER_NEVER:
		th_exec_tell_plain(c, m->id, TH_OUTCOME_NOT_STARTED,
				   "This action was not started.");
		break;
	case TH_LEDGER_FORGOTTEN:
		th_exec_tell_plain(
		    c, m->id, TH_OUTCOME_UNKNOWN,
		    "The outcome of this action was taken over before and is no longer in "
		    "the executor's "
		    "journal.");
		break;
	case TH_LEDGER_STATE_COUNT:
		assert(false);
	}
}

/*
 * What is not in this journal was never accepted, if this is the journal that would have it: its
 * INTENT, or who sent it, names that.  A journal that was lost or damaged has another name.
 */
static bool is_ours(const struct th_executor_server *x, const struct th_exec_run *m)
{
	return th_str_is(m->journal, th_ledger_id(x->ledger));
}

/*
 * It was never begun, and this executor has lived since its INTENT: its runtime died before it was
 * sent.  Class W is not begun in a later life, whose screen and processes are others: an owner that
 * an earlier one knew may have recorded it then.
 */
static bool may_begin(const struct th_exec_client *c, const struct th_exec_run *m,
		      enum th_class class)
{
	const struct th_executor_server *x = c->x;
	bool there = m->epoch > x->epoch_before;

	return m->begin && !x->not_given.code && is_ours(x, m) &&
	       c->epoch >= th_ledger_epoch(x->ledger) &&
	       (there || class == TH_CLASS_K || class == TH_CLASS_V);
}

static void join_absent(struct th_exec_client *c, const struct th_exec_run *m)
{
	struct th_executor_server *x = c->x;
	struct th_err err;

	if (!is_ours(x, m)) {
		th_exec_tell_plain(c, m->id, TH_OUTCOME_UNKNOWN, TH_UNKNOWN_SENTENCE);
		return;
	}
	enum th_code code = th_ledger_never(x->ledger, m->effect_id, &err);
	if (code == TH_OK)
		code = th_ledger_sync(x->ledger, &err);
	if (code == TH_EIO)
		th_exec_fatal(x, &err);
	if (code)
		th_exec_send_error(c, m->id, &err);
	else
		th_exec_tell_plain(c, m->id, TH_OUTCOME_NOT_STARTED,
				   "This action was not started.");
}

void th_exec_on_run(struct th_exec_client *c, const struct th_exec_run *m, bool attach)
{
	struct th_executor_server *x = c->x;
	struct th_err err = {};
	enum th_class class = class_of(m->class, tool_of(m->tool), m->arguments);
	bool guest = c->epoch == 0 && m->epoch == 0;

	if (!th_exec_effect_id_ok(m->effect_id))
		th_fail(&err, TH_EUSAGE, "effect_id must be 1 to %d letters, digits, '-' and '_'",
			TH_EFFECT_ID_MAX);
	else if (th_class_find(m->class) == TH_CLASS_L)
		th_fail(&err, TH_EUSAGE, "class L is not the executor's");
	else if (!attach && !guest && m->epoch < th_ledger_epoch(x->ledger))
		th_fail(&err, TH_EFENCED, "a newer owner has the session (epoch %lld, not %lld)",
			(long long)th_ledger_epoch(x->ledger), (long long)m->epoch);
	else if (x->stopping)
		th_fail(&err, TH_ECONN, "the executor is ending");
	if (err.code) {
		th_exec_send_error(c, m->id, &err);
		return;
	}
	if (!guest)
		th_exec_ask_said(x, m);
	struct th_ledger_entry *entry = th_ledger_find(x->ledger, m->effect_id);
	if (entry && !attach && !m->again) {
		th_fail(&err, TH_EEXIST, "the effect %.*s was accepted before",
			TH_FMT(m->effect_id));
		th_exec_send_error(c, m->id, &err);
	} else if (entry) {
		join(c, m, entry);
	} else if (!attach && m->again && class != TH_CLASS_R && !is_ours(x, m)) {
		th_exec_tell_plain(c, m->id, TH_OUTCOME_UNKNOWN, TH_UNKNOWN_SENTENCE);
	} else if (!attach && m->journal.len > 0 && class != TH_CLASS_R && !is_ours(x, m)) {
		/* The one it was meant for may have heard of a newer owner, and told him that this
		 * was never begun. */
		th_fail(&err, TH_EFENCED,
			"the executor's journal is another one than this was recorded for");
		th_exec_send_error(c, m->id, &err);
	} else if (attach && class != TH_CLASS_R && !may_begin(c, m, class)) {
		join_absent(c, m);
	} else if (x->not_given.code && !guest) {
		th_exec_send_error(c, m->id, &x->not_given);
	} else {
		accept(c, m);
	}
}
