/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/openhands_write.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/text.h"
#include "events/effect.h"
#include "forms/openhands_tools.h"

void th_openhands_writer_init(struct th_openhands_writer *x, struct th_openhands_log *log,
			      const struct th_trajectory_out *out)
{
	*x = (struct th_openhands_writer){ .log = log, .out = out };
	th_arena_init(&x->memory, TH_EXPORT_SIZE_MAX);
}

void th_openhands_writer_deinit(struct th_openhands_writer *x)
{
	th_arena_deinit(&x->memory);
	th_json_free(x->tools);
	free(x->seqs);
	free(x->calls);
	*x = (struct th_openhands_writer){ 0 };
}

size_t th_openhands_writer_size(const struct th_openhands_writer *x)
{
	const struct th_openhands_log *log = x->log;

	return x->memory.used + log->memory.used + log->cap * sizeof(*log->list) +
	       log->slot_count * sizeof(*log->slots) + x->seq_cap * sizeof(*x->seqs) +
	       x->call_cap * sizeof(*x->calls);
}

static const struct th_openhands_form *form_of(const struct th_openhands_writer *x)
{
	return x->log->version == TH_OPENHANDS_V0 ? &th_openhands_form_v0 : &th_openhands_form_v1;
}

/* ---- one event of theirs ---- */

struct piece {
	struct th_buf text;
	struct th_jw w;
};

/* The first event of one of ours has its id; the others have ids made of it. */
static void begin(struct th_openhands_writer *x, struct piece *p, const struct th_event *ev,
		  size_t which)
{
	struct th_buf stamp TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64);
	struct th_uuid id = ev->id;
	char text[TH_UUID_TEXT_SIZE + 1];

	for (size_t i = 0; which && i < sizeof(which); i++)
		id.bytes[15 - i] ^= (uint8_t)(which >> (8 * i));
	th_uuid_text(&id, text);
	th_step_time(ev->ts_ms, &stamp);
	x->id = th_arena_str(&x->memory, th_str_of(text));
	/* Theirs has no zone. */
	x->stamp = th_arena_str(&x->memory, th_str_sub(th_buf_str(&stamp), 0, stamp.len - 1));
	th_buf_init(&p->text, TH_JSON_SIZE_MAX);
	p->w = th_jw(&p->text);
}

static enum th_code push(struct th_openhands_writer *x, uint64_t seq, struct th_str text,
			 struct th_err *err)
{
	size_t at = x->log->count;
	enum th_code code = th_openhands_log_add(x->log, text, err);

	if (code)
		return code;
	if (at == x->seq_cap) {
		x->seq_cap = TH_MAX(2 * x->seq_cap, (size_t)64);
		x->seqs = th_realloc(x->seqs, x->seq_cap * sizeof(*x->seqs));
	}
	x->seqs[at] = seq;
	return TH_OK;
}

static enum th_code end(struct th_openhands_writer *x, struct piece *p, uint64_t seq,
			struct th_err *err)
{
	enum th_code code = th_buf_check(&p->text, "an event", err);

	if (!code && p->text.len)
		code = push(x, seq, th_buf_str(&p->text), err);
	th_buf_deinit(&p->text);
	return code;
}

/* ---- calls ---- */

static struct th_openhands_call *call_of(struct th_openhands_writer *x, struct th_str id)
{
	for (size_t i = x->call_count; i-- > 0;)
		if (th_str_eq(x->calls[i].call_id, id))
			return &x->calls[i];
	return NULL;
}

static struct th_openhands_call *add_call(struct th_openhands_writer *x, struct th_str id,
					  struct th_str tool, struct th_str arguments, bool invalid)
{
	struct th_openhands_call *c;

	if (x->call_count == x->call_cap) {
		x->call_cap = TH_MAX(2 * x->call_cap, (size_t)16);
		x->calls = th_realloc(x->calls, x->call_cap * sizeof(*x->calls));
	}
	c = &x->calls[x->call_count++];
	*c = (struct th_openhands_call){
		.call_id = th_arena_str(&x->memory, id),
		.tool = th_arena_str(&x->memory, tool),
		.arguments = th_arena_str(&x->memory, arguments),
		.is_object =
		    th_str_starts(th_str_trim(arguments), TH_STR("{")) && th_json_valid(arguments),
		.invalid = invalid,
	};
	return c;
}

static enum th_code put_call(struct th_openhands_writer *x, const struct th_event *ev, size_t which,
			     struct th_openhands_call *c, struct th_err *err)
{
	bool first = x->said.len || x->thought.len;
	struct piece p;
	enum th_code code;

	begin(x, &p, ev, which);
	c->event = x->log->version == TH_OPENHANDS_V1
		       ? x->id
		       : th_arena_printf(&x->memory, "%zu", x->log->count);
	form_of(x)->action(x, c, first, &p.w);
	code = end(x, &p, ev->seq, err);
	x->said = x->thought = (struct th_str){ NULL, 0 };
	return code;
}

static enum th_code put_result(struct th_openhands_writer *x, const struct th_event *ev,
			       size_t which, const struct th_openhands_call *c,
			       struct th_str status, const struct th_json *output,
			       struct th_err *err)
{
	struct piece p;

	begin(x, &p, ev, which);
	form_of(x)->result(x, c, status, output, &p.w);
	return end(x, &p, ev->seq, err);
}

/* ---- messages ---- */

static enum th_code put_message(struct th_openhands_writer *x, const struct th_event *ev,
				size_t which, const char *role, const struct th_json *content,
				struct th_err *err)
{
	struct piece p;

	begin(x, &p, ev, which);
	form_of(x)->message(x, role, content, &p.w);
	return end(x, &p, ev->seq, err);
}

/* What an answer said, when no call of it came. */
static enum th_code put_said(struct th_openhands_writer *x, const struct th_event *ev,
			     struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&json);
	enum th_code code = TH_OK;

	if (x->said.len) {
		th_jw_str(&w, x->said);
		code = th_json_parse(th_buf_str(&json), &doc, err);
		if (!code)
			code = put_message(x, ev, 1, "assistant", th_json_root(doc), err);
	}
	x->said = x->thought = (struct th_str){ NULL, 0 };
	return code;
}

/* ---- events ---- */

static enum th_code on_created(struct th_openhands_writer *x, const struct th_event *ev,
			       const struct th_json *v, struct th_err *err)
{
	const struct th_json *agent = th_json_get(v, "agent");
	struct th_str tools = th_json_raw_get(
	    th_json_raw_get(th_json_raw_get(ev->data, "metadata"), TH_OPENHANDS_MEMBER),
	    TH_OPENHANDS_TOOLS);
	struct piece p;

	if (x->has_tools && tools.len && !x->tools && th_json_parse(tools, &x->tools, err) != TH_OK)
		return err->code;
	x->imported = th_json_get(th_json_get(v, "metadata"), "openhands") != NULL;
	x->turns_max = th_json_get_int(th_json_get(agent, "limits"), "turns", 100);
	th_openhands_goal_created(&x->goal, v);
	if (x->imported)
		return TH_OK;
	begin(x, &p, ev, 0);
	form_of(x)->system(x, th_json_get_str(agent, "instructions"), &p.w);
	return end(x, &p, ev->seq, err);
}

static void on_answered(struct th_openhands_writer *x, const struct th_json *v)
{
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf thought TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_iter it = th_json_iter(th_json_get(v, "items")), part;

	while (th_json_next(&it)) {
		bool reasoning = th_str_is(th_json_get_str(it.val, "type"), "reasoning");
		const struct th_json *content =
		    th_json_get(it.val, reasoning ? "summary" : "content");

		part = th_json_iter(content);
		while (th_json_next(&part))
			th_buf_add(reasoning ? &thought : &said, th_json_get_str(part.val, "text"));
		th_buf_add(&said, th_json_str(content));
	}
	x->said = th_arena_str(&x->memory, th_buf_str(&said));
	x->thought = th_arena_str(&x->memory, th_buf_str(&thought));
	x->answer = th_arena_str(&x->memory, th_json_get_str(v, "response_id"));
}

/* "medium" as MEDIUM. */
static struct th_str upper(struct th_openhands_writer *x, struct th_str word)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	for (size_t i = 0; i < word.len; i++)
		th_buf_add_char(&text, word.ptr[i] >= 'a' && word.ptr[i] <= 'z'
					   ? (char)(word.ptr[i] & ~0x20)
					   : word.ptr[i]);
	return th_arena_str(&x->memory, th_buf_str(&text));
}

static enum th_code on_call(struct th_openhands_writer *x, const struct th_event *ev,
			    const struct th_json *v, struct th_err *err)
{
	struct th_openhands_call *c;
	bool unknown = th_json_bool(th_json_get(v, "unknown"), false);
	bool refused = th_str_is(th_json_get_str(v, "policy"), "refuse");

	c = add_call(x, th_json_get_str(v, "call_id"), th_json_get_str(v, "tool"),
		     th_json_raw_get(ev->data, "arguments"), unknown || refused);
	c->of_client =
	    th_openhands_tool_takes(th_json_root(x->tools), c->tool, th_json_get(v, "arguments"));
	c->risk = upper(x, th_json_get_str(v, "risk"));
	return put_call(x, ev, 0, c, err);
}

/* A call that nobody began, or whose arguments its tool could not read.  What a tool refused after
 * it had looked is its result. */
static bool never_acted(const struct th_json *outcome)
{
	struct th_str status = th_json_get_str(outcome, "status");

	if (th_str_is(status, "refused") && th_json_get_str(outcome, "effect_id").len)
		return th_str_starts(th_outcome_sentence(th_json_get_str(outcome, "output")),
				     TH_STR(TH_ARGUMENTS_MARK));
	return th_str_is(status, "refused") || th_str_is(status, "not_started");
}

/* Its action is none there. */
static enum th_code drop_action(struct th_openhands_writer *x, struct th_openhands_call *c,
				struct th_err *err)
{
	ptrdiff_t at = th_openhands_log_find(x->log, c->event);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&text);
	struct th_json_iter it;
	enum th_code code = TH_OK;

	if (x->log->version != TH_OPENHANDS_V1 || at < 0)
		return TH_OK;
	code = th_json_parse(x->log->list[at].text, &doc, err);
	if (code)
		return code;
	c->invalid = true;
	it = th_json_iter(th_json_root(doc));
	th_jw_object(&w);
	while (th_json_next(&it)) {
		if (th_str_is(it.key, "action"))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	x->log->list[at].text = th_arena_str(&x->memory, th_buf_str(&text));
	return th_buf_check(&text, "an event", err);
}

static enum th_code on_outcome(struct th_openhands_writer *x, const struct th_event *ev,
			       const struct th_json *v, struct th_err *err)
{
	struct th_openhands_call *c = call_of(x, th_json_get_str(v, "call_id"));
	struct th_str status = th_json_get_str(v, "status");
	enum th_code code = TH_OK;

	if (!c)
		return TH_OK;
	if (!c->rejection.len && never_acted(v))
		code = drop_action(x, c, err);
	return code ?: put_result(x, ev, 0, c, status, th_json_get(v, "output"), err);
}

static void on_decided(struct th_openhands_writer *x, const struct th_json *v)
{
	struct th_openhands_call *c = call_of(x, th_json_get_str(v, "call_id"));
	struct th_str why = th_json_get_str(v, "message");

	if (c && !th_json_bool(th_json_get(v, "approve"), false))
		c->rejection =
		    th_arena_str(&x->memory, why.len ? why : TH_STR("User rejected the action"));
}

static enum th_code on_item(struct th_openhands_writer *x, const struct th_event *ev, size_t which,
			    const struct th_json *item, struct th_err *err)
{
	struct th_str type = th_json_get_str(item, "type"), role = th_json_get_str(item, "role");
	const struct th_openhands_call *c;

	if (th_str_is(type, "function_call"))
		return put_call(x, ev, which,
				add_call(x, th_json_get_str(item, "call_id"),
					 th_json_get_str(item, "name"),
					 th_json_get_str(item, "arguments"), false),
				err);
	if (th_str_is(type, "function_call_output")) {
		const struct th_json *output = th_json_get(item, "output");
		bool failed = th_str_starts(th_json_str(output), TH_STR(TH_ERROR_MARK));

		c = call_of(x, th_json_get_str(item, "call_id"));
		return c ? put_result(x, ev, which, c, failed ? TH_STR("unknown") : TH_STR("done"),
				      output, err)
			 : TH_OK;
	}
	if (!role.len)
		return TH_OK;
	return put_message(x, ev, which, th_str_is(role, "assistant") ? "assistant" : "user",
			   th_json_get(item, "content"), err);
}

static enum th_code on_items(struct th_openhands_writer *x, const struct th_event *ev,
			     const struct th_json *v, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(v, "items"));
	enum th_code code = TH_OK;

	while (!code && th_json_next(&it))
		code = on_item(x, ev, it.index, it.val, err);
	return code;
}

static enum th_code on_failure(struct th_openhands_writer *x, const struct th_event *ev,
			       struct th_str class, struct th_str detail, struct th_err *err)
{
	struct piece p;

	x->failed = true;
	begin(x, &p, ev, 0);
	form_of(x)->failure(x, class, detail, &p.w);
	return end(x, &p, ev->seq, err);
}

static enum th_code on_state(struct th_openhands_writer *x, const struct th_event *ev,
			     const struct th_json *v, struct th_err *err)
{
	struct th_str to = th_json_get_str(v, "to"), reason = th_json_get_str(v, "reason");
	struct piece p;

	if (th_str_is(to, "limit") && th_str_find(reason, TH_STR("turns")) >= 0)
		return on_failure(x, ev, TH_STR("MaxIterationsReached"),
				  th_arena_printf(&x->memory,
						  "Agent reached maximum iterations limit (%lld).",
						  (long long)x->turns_max),
				  err);
	if (th_str_is(to, "limit"))
		return on_failure(x, ev, TH_STR("MaxBudgetReached"), reason, err);
	if (!th_str_is(to, "paused") || th_str_is(reason, TH_HELD_REASON))
		return TH_OK;
	begin(x, &p, ev, 0);
	form_of(x)->pause(x, &p.w);
	return end(x, &p, ev->seq, err);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The events of which the history that stays names an item, in order; free() them. */
static uint64_t *those_that_stay(const struct th_json *history, size_t *ret_count)
{
	struct th_json_iter it = th_json_iter(history);
	uint64_t *seqs = th_realloc(NULL, (th_json_count(history) + 1) * sizeof(*seqs));
	size_t count = 0;

	while (th_json_next(&it))
		seqs[count++] = th_json_uint(th_json_at(it.val, 0), 0);
	qsort(seqs, count, sizeof(*seqs), by_number);
	*ret_count = count;
	return seqs;
}

static enum th_code on_condensation(struct th_openhands_writer *x, const struct th_event *ev,
				    const struct th_json *v, struct th_err *err)
{
	uint64_t first = th_json_uint(th_json_get(v, "first_seq"), 0);
	uint64_t last = th_json_uint(th_json_get(v, "last_seq"), 0);
	size_t *forgotten = th_realloc(NULL, (x->log->count + 1) * sizeof(*forgotten));
	size_t count = 0, place = 0, stay_count;
	uint64_t *stay = those_that_stay(th_json_get(v, "history"), &stay_count);
	struct piece p;

	for (size_t i = 0; i < x->log->count; i++)
		if (x->seqs[i] >= first && x->seqs[i] <= last &&
		    !bsearch(&x->seqs[i], stay, stay_count, sizeof(*stay), by_number))
			forgotten[count++] = i;
		else if (!count)
			place++;
	begin(x, &p, ev, 0);
	form_of(x)->condense(x, forgotten, count, place, th_json_get_str(v, "summary"), &p.w);
	free(forgotten);
	free(stay);
	return end(x, &p, ev->seq, err);
}

/* A call that may still get a result of ours. */
static void note_theirs(struct th_openhands_writer *x, const struct th_json *event)
{
	const struct th_json *metadata = th_json_get(event, "tool_call_metadata");
	size_t at = x->log->count - 1;
	struct th_openhands_call *c;

	if (th_json_get(event, "action") && x->log->version == TH_OPENHANDS_V1) {
		c = add_call(x, th_json_get_str(event, "tool_call_id"),
			     th_json_get_str(event, "tool_name"),
			     th_json_get_str(th_json_get(event, "tool_call"), "arguments"), false);
		c->event = x->log->list[at].id;
	} else if (th_json_get(event, "action")) {
		struct th_str number = th_arena_printf(&x->memory, "%llu",
						       (unsigned long long)x->log->list[at].number);
		struct th_str id = th_json_get_str(metadata, "tool_call_id");
		struct th_str tool = th_json_get_str(metadata, "function_name");

		c = add_call(
		    x, id.len ? id : th_arena_printf(&x->memory, "event_%.*s", TH_FMT(number)),
		    tool.len ? tool : th_json_get_str(event, "action"), TH_STR("{}"), false);
		c->event = number;
	}
}

/* ---- a goal ---- */

#define GOAL_PLACE 2 /* of its event among those of one of ours, behind what is said of that */

/* What an event says of it beside what it says itself. */
static enum th_code follow_goal(struct th_openhands_writer *x, const struct th_event *ev,
				const struct th_json *v, struct th_err *err)
{
	bool judged;
	const char *status = th_openhands_goal_step(&x->goal, ev, v, &x->memory, &judged);
	struct piece p;

	if (!status || !form_of(x)->goal)
		return TH_OK;
	begin(x, &p, ev, GOAL_PLACE);
	form_of(x)->goal(x, status, judged ? v : NULL, &p.w);
	return end(x, &p, ev->seq, err);
}

/* As it came from there; true: that is all of the event. */
static bool is_theirs(struct th_openhands_writer *x, const struct th_event *ev,
		      const struct th_json *v, enum th_code *ret_code, struct th_err *err)
{
	const char *form =
	    x->log->version == TH_OPENHANDS_V0 ? TH_FORM_OPENHANDS_V0 : TH_FORM_OPENHANDS_V1;
	const struct th_json *origin = th_json_get(v, "origin");
	struct th_str verbatim = th_json_raw_get(th_json_raw_get(ev->data, "origin"), "event");

	*ret_code = TH_OK;
	if (!origin)
		return false;
	if (th_json_get(origin, "view"))
		return true;
	if (!th_str_is(th_json_get_str(origin, "form"), form) || !verbatim.len)
		return false; /* of the other generation: told anew */
	*ret_code = push(x, ev->seq, verbatim, err);
	if (!*ret_code)
		note_theirs(x, th_json_get(origin, "event"));
	return true;
}

static enum th_code on_event(struct th_openhands_writer *x, const struct th_event *ev,
			     const struct th_json *v, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (is_theirs(x, ev, v, &code, err))
		return code;
	if (ev->kind == TH_EV_SESSION_CREATED)
		return on_created(x, ev, v, err);
	if (ev->kind == TH_EV_MESSAGE)
		return put_message(x, ev, 0,
				   th_str_is(th_json_get_str(v, "role"), "user") &&
					   ev->source != TH_SOURCE_ENVIRONMENT
				       ? "user"
				       : "system",
				   th_json_get(v, "content"), err);
	if (ev->kind == TH_EV_CALL)
		return on_call(x, ev, v, err);
	if (ev->kind == TH_EV_OUTCOME)
		return on_outcome(x, ev, v, err);
	if (ev->kind == TH_EV_ITEMS_ADDED)
		return on_items(x, ev, v, err);
	if (ev->kind == TH_EV_STATE_CHANGED)
		return on_state(x, ev, v, err);
	if (ev->kind == TH_EV_CONDENSATION)
		return on_condensation(x, ev, v, err);
	if (ev->kind == TH_EV_ERROR)
		return on_failure(x, ev, th_json_get_str(v, "class"), th_json_get_str(v, "message"),
				  err);
	if (ev->kind == TH_EV_FINAL && th_json_get_str(v, "instead_of").len)
		return put_message(x, ev, 0, "assistant", th_json_get(v, "output"), err);
	return TH_OK;
}

enum th_code th_openhands_write(struct th_openhands_writer *x, const struct th_event *ev,
				struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(ev->data, &doc, err);

	if (code)
		return code;
	/* Once something else than its calls comes, the answer had none. */
	if (ev->kind == TH_EV_MODEL_REQUESTED || ev->kind == TH_EV_MESSAGE ||
	    ev->kind == TH_EV_FINAL || ev->kind == TH_EV_STATE_CHANGED || ev->kind == TH_EV_ERROR ||
	    ev->kind == TH_EV_ITEMS_ADDED || ev->kind == TH_EV_MODEL_ANSWERED ||
	    (ev->kind == TH_EV_VERDICT && x->goal.on))
		code = put_said(x, ev, err);
	if (ev->kind == TH_EV_MODEL_ANSWERED)
		on_answered(x, th_json_root(doc));
	if (ev->kind == TH_EV_APPROVAL_DECIDED)
		on_decided(x, th_json_root(doc));
	if (ev->kind == TH_EV_MESSAGE || ev->kind == TH_EV_SESSION_FORKED)
		x->finished = x->failed = false;
	if (ev->kind == TH_EV_FINAL)
		x->finished = true;
	code = code ?: on_event(x, ev, th_json_root(doc), err);
	code = code ?: follow_goal(x, ev, th_json_root(doc), err);
	return !code && x->memory.no_memory
		   ? th_fail(err, TH_ELIMIT, "the session is larger than %zu bytes",
			     (size_t)TH_EXPORT_SIZE_MAX)
		   : code;
}

enum th_code th_openhands_write_end(struct th_openhands_writer *x, struct th_err *err)
{
	const struct th_event none = { .seq = UINT64_MAX };

	return put_said(x, &none, err);
}
