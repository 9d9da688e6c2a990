/* SPDX-License-Identifier: Apache-2.0 */
#include "guards/hook_look.h"

#include <stdlib.h>

#include "base/text.h"
#include "context/result.h"
#include "guards/verdict.h"
#include "session_tools/mcp_tools.h"
#include "transcript/plan.h"

#define MEMORY_MAX (16 * TH_MIB) /* of all that was said and shown */
#define SEEN_MAX (16 * TH_KIB)   /* of what the event says of it */

struct look {
	uint64_t id; /* of its ticket; 0: it is over */
	char effect_id[33];
};

struct th_hook_looks {
	struct th_tool_spec specs[TH_HOOK_TOOLS_MAX];
	size_t spec_count;
	int64_t turns; /* answers that are left to it */
	struct th_arena memory;
	struct th_group groups[2 * TH_HOOK_TURNS_MAX];
	size_t group_count;
	struct th_buf raw, seen;
	bool wanted, asking; /* asking: one may end at once, before the others have begun */
	/* Of the answer under way. */
	struct th_call calls[TH_HOOK_LOOKS_MAX];
	struct th_result *results; /* in `memory` */
	struct look list[TH_HOOK_LOOKS_MAX];
	size_t count;
};

/* ---- its tools ---- */

/* Those that show the workspace and nothing else. */
static const char *const readers[] = { "read_file", "list_dir", "search", NULL };

static bool may_look(const struct th_tool_row *row)
{
	return th_names_find(readers, row->spec.name) >= 0 && row->spec.class == TH_CLASS_R &&
	       !row->local && !row->command && !row->mcp;
}

/* By any of the names that it goes by. */
static bool is_named(const struct th_tool_row *row, struct th_str name)
{
	const struct th_hook_program one = { .matcher = name };

	return name.len && th_hook_matches(&one, row->spec.name, false);
}

static void add_tool(struct th_hook_looks *k, const struct th_tool_row *row)
{
	for (size_t i = 0; i < k->spec_count; i++)
		if (th_str_eq(k->specs[i].name, row->spec.name))
			return;
	assert(k->spec_count < TH_HOOK_TOOLS_MAX);
	k->specs[k->spec_count++] = row->spec;
}

static enum th_code add_named(const struct th_session_config *config, struct th_str name,
			      struct th_hook_looks *k, struct th_err *err)
{
	for (size_t i = 0; i < config->tool_count; i++)
		if (may_look(&config->tools[i]) && is_named(&config->tools[i], name)) {
			add_tool(k, &config->tools[i]);
			return TH_OK;
		}
	return th_fail(err, TH_EUSAGE,
		       "the agent has no tool \"%.*s\" that only reads its workspace",
		       TH_FMT(th_utf8_cut(name, 80)));
}

enum th_code th_hook_looks_new(const struct th_live *l, const struct th_hook_program *hook,
			       struct th_hook_looks **ret, struct th_err *err)
{
	const struct th_session_config *config = l->session_config;
	struct th_hook_looks *k = *ret = th_alloc(sizeof(*k));
	enum th_code code = TH_OK;

	assert(hook->turns <= TH_HOOK_TURNS_MAX && hook->tools.count <= TH_HOOK_TOOLS_MAX);
	k->turns = hook->turns;
	th_arena_init(&k->memory, MEMORY_MAX);
	th_buf_init(&k->raw, TH_ANSWER_MAX);
	th_buf_init(&k->seen, SEEN_MAX);
	for (size_t i = 0; i < config->tool_count && hook->any_tool; i++)
		if (may_look(&config->tools[i]))
			add_tool(k, &config->tools[i]);
	for (size_t i = 0; i < hook->tools.count && !code; i++)
		code = add_named(config, hook->tools.list[i], k, err);
	return code;
}

static void forget(struct th_live *l, const struct look *k)
{
	const struct th_str id = th_str_of(k->effect_id);

	l->driver->world.ops->tool_forget(l->driver->world.ctx, th_str_of(l->id), &id, 1);
}

void th_hook_looks_free(struct th_live *l, struct th_hook_looks *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->count; i++)
		if (k->list[i].id) {
			l->driver->world.ops->tool_cancel(
			    l->driver->world.ctx,
			    th_live_ticket_of(l, TH_TICKET_LOOK, k->list[i].id));
			forget(l, &k->list[i]);
		}
	th_arena_deinit(&k->memory);
	th_buf_deinit(&k->raw);
	th_buf_deinit(&k->seen);
	free(k);
}

/* ---- an answer ---- */

void th_hook_looks_put(struct th_hook_looks *k, struct th_side_ask *ask)
{
	ask->options.tools = k->specs;
	ask->options.tool_count = k->spec_count;
	ask->groups = k->groups;
	ask->group_count = k->group_count;
	ask->raw = &k->raw;
}

bool th_hook_looks_wanted(const struct th_hook_looks *k)
{
	return k->wanted;
}

static void take_call(struct th_hook_looks *k, size_t i, const struct th_call *c)
{
	k->calls[i] = (struct th_call){ .computer = c->computer,
					.native = c->native,
					.call_id = th_arena_str(&k->memory, c->call_id),
					.tool = th_arena_str(&k->memory, c->tool),
					.arguments = th_arena_str(&k->memory, c->arguments) };
	k->results[i] = (struct th_result){ .call_item = th_arena_str(&k->memory, c->item),
					    .call_id = k->calls[i].call_id,
					    .tool = k->calls[i].tool };
}

static enum th_code take_calls(struct th_hook_looks *k, const struct th_next *next,
			       struct th_str items, struct th_err *err)
{
	if (k->turns <= 0)
		return th_fail(err, TH_ELIMIT, "the model looked again instead of deciding");
	if (next->call_count > TH_HOOK_LOOKS_MAX)
		return th_fail(err, TH_ELIMIT,
			       "the model wanted to look at more than %d things at once",
			       TH_HOOK_LOOKS_MAX);
	if (next->duplicate_count || next->bad_ids || next->unread_count)
		return th_fail(err, TH_EPROTO, "the model's calls cannot be told apart");
	k->results = th_arena_alloc(&k->memory, next->call_count * sizeof(*k->results));
	for (size_t i = 0; i < next->call_count && k->results; i++)
		take_call(k, i, &next->calls[i]);
	assert(k->group_count < TH_COUNT(k->groups));
	k->groups[k->group_count++] =
	    (struct th_group){ .kind = TH_GROUP_ANSWER,
			       .items = th_arena_str(&k->memory, items),
			       .raw = th_arena_str(&k->memory, th_buf_str(&k->raw)) };
	if (k->memory.no_memory || !k->results)
		return th_fail(err, TH_ELIMIT, "what the model looked at is too long");
	k->count = next->call_count;
	k->wanted = true;
	return TH_OK;
}

bool th_hook_looks_take(struct th_hook_looks *k, struct th_str items, struct th_err *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_next next;

	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	k->wanted = false;
	k->turns--;
	if (th_plan_answer(items, &memory, &text, &next, err))
		return true;
	if (next.kind != TH_NEXT_CALLS)
		return false;
	(void)take_calls(k, &next, items, err);
	return true;
}

/* ---- what it looks at ---- */

/* `output`: JSON; pictures are not shown. */
static void answer(struct th_hook_looks *k, size_t i, enum th_outcome_status status,
		   struct th_str output)
{
	const struct th_result_shown how = { .max = TH_HOOK_LOOK_MAX };
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);

	if (!output.len || output.ptr[0] != '"')
		output = TH_STR("\"[this is not text, and is not shown]\"");
	else if (th_result_shorten(output, &how, &shown))
		output = th_buf_str(&shown);
	k->results[i].status = status;
	k->results[i].output = th_arena_str(&k->memory, output);
	k->list[i].id = 0;
}

static void refuse(struct th_hook_looks *k, size_t i, struct th_str why)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf output TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&output);

	th_buf_printf(&text, TH_ERROR_MARK "%.*s", TH_FMT(th_utf8_cut(why, 4000)));
	th_jw_str(&w, th_buf_str(&text));
	answer(k, i, TH_OUTCOME_REFUSED, th_buf_str(&output));
}

/* Where there is no room for all, the event has those that came first. */
static void note(struct th_hook_looks *k, const struct th_call *c, struct th_str arguments)
{
	struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(SEEN_MAX);
	struct th_jw w = th_jw(&one);

	th_jw_object(&w);
	th_jw_kstr(&w, "tool", c->tool);
	th_jw_kstr(&w, "arguments", th_utf8_cut(arguments, TH_KIB));
	th_jw_object_end(&w);
	if (k->seen.len + one.len + 2 > SEEN_MAX)
		return;
	th_buf_add_char(&k->seen, k->seen.len ? ',' : '[');
	th_buf_add(&k->seen, th_buf_str(&one));
}

void th_hook_looks_print(const struct th_hook_looks *k, struct th_jw *w)
{
	struct th_buf list TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(SEEN_MAX);

	if (!k->seen.len)
		return;
	th_buf_add(&list, th_buf_str(&k->seen));
	th_buf_add_char(&list, ']');
	th_jw_kraw(w, "looked", th_buf_str(&list));
}

/* Why it must not run; empty: it may. */
static struct th_str objection(struct th_live *l, const struct th_hook_looks *k,
			       const struct th_call *c, struct th_buf *arguments,
			       char digest[static TH_SHA256_HEX_SIZE + 1], struct th_arena *a)
{
	const struct th_tool_row *row = c->computer || c->native ? NULL : th_live_tool(l, c->tool);
	struct th_str unusable = { 0 };
	struct th_verdict v;
	bool given = false;

	for (size_t i = 0; i < k->spec_count; i++)
		given |= th_str_eq(k->specs[i].name, c->tool);
	if (!given || !row || !may_look(row))
		return TH_STR("you have no such tool");
	th_live_usable(l, row, c, arguments, a, &unusable);
	if (unusable.len)
		return unusable;
	th_call_digest(c->tool, th_buf_str(arguments), digest);
	v = th_live_verdict(l, c, &row->spec, TH_CLASS_R, th_buf_str(arguments), digest, unusable,
			    a);
	if (v.policy == TH_POLICY_RUN)
		return TH_STR("");
	return v.reason.len ? v.reason : TH_STR("the agent may not do this by itself");
}

static void begin(struct th_live *l, struct th_hook_looks *k, size_t i, int64_t timeout_ms)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_effect_call effect = { .class = TH_CLASS_R,
					 .tool = k->calls[i].tool,
					 .timeout_ms = TH_MAX(timeout_ms, (int64_t)1),
					 .epoch = l->epoch };
	struct look *look = &k->list[i];
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_str why;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	why = objection(l, k, &k->calls[i], &arguments, digest, &a);
	if (why.len) {
		refuse(k, i, why);
		return;
	}
	note(k, &k->calls[i], th_buf_str(&arguments));
	th_driver_random_id(l->driver, look->effect_id);
	effect.effect_id = th_str_of(look->effect_id);
	effect.arguments = th_buf_str(&arguments);
	effect.digest = th_str_of(digest);
	look->id = ++l->asked;
	l->driver->world.ops->tool_run(
	    l->driver->world.ctx, th_live_ticket_of(l, TH_TICKET_LOOK, look->id), &effect, false);
}

bool th_hook_looks_open(const struct th_hook_looks *k)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->list[i].id)
			return true;
	return k->asking;
}

bool th_hook_looks_begin(struct th_live *l, struct th_hook_looks *k, int64_t timeout_ms)
{
	k->asking = true;
	for (size_t i = 0; i < k->count; i++)
		begin(l, k, i, timeout_ms);
	k->asking = false;
	return th_hook_looks_open(k);
}

bool th_hook_looks_done(struct th_live *l, struct th_hook_looks *k, struct th_ticket t,
			const struct th_effect_result *r)
{
	for (size_t i = 0; i < k->count; i++) {
		if (!k->list[i].id || k->list[i].id != t.seq)
			continue;
		forget(l, &k->list[i]);
		answer(k, i, r->status, r->output);
		return true;
	}
	return false;
}

enum th_code th_hook_looks_close(struct th_hook_looks *k, struct th_err *err)
{
	if (k->memory.no_memory)
		return th_fail(err, TH_ELIMIT, "what the model looked at is too long");
	assert(k->group_count < TH_COUNT(k->groups));
	k->groups[k->group_count++] = (struct th_group){ .kind = TH_GROUP_RESULTS,
							 .results = k->results,
							 .result_count = k->count };
	k->count = 0;
	return TH_OK;
}
