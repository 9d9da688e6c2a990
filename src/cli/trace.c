/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "driver/driver.h"
#include "trace/trace.h"

#define NAME_COLUMNS 44
#define DEPTH_MAX (8 * (1 + TH_DELEGATE_DEPTH_MAX)) /* of the tree, with room */
#define TRACES_MAX (1 + 4 * TH_DELEGATES_MAX)       /* drawn in one tree */
#define GROUPS_MAX 64                               /* lines of the table: agents and models */

/* The session's trace, and those of sessions that worked on its calls: [0] is its own. */
struct traces {
	struct th_store *store;
	struct th_trace *list[TRACES_MAX];
	size_t count;
	bool more; /* than fit */
};

static enum th_code see_event(void *ctx, const struct th_event *ev,
			      const struct th_digest *digest TH_UNUSED,
			      struct th_err *err TH_UNUSED)
{
	th_trace_event(ctx, ev);
	return TH_OK;
}

static void traces_free(struct traces *all)
{
	for (size_t i = 0; i < all->count; i++) {
		th_trace_deinit(all->list[i]);
		free(all->list[i]);
	}
}

static enum th_code read_trace(struct traces *all, struct th_str id, struct th_trace **ret,
			       struct th_err *err)
{
	struct th_trace *t = th_alloc(sizeof(*t));
	enum th_code code;

	th_trace_init(t);
	code = all->store->kind->read(all->store, id, 1, 0, see_event, t, err);
	if (code != TH_OK) {
		th_trace_deinit(t);
		free(t);
		return code;
	}
	*ret = all->list[all->count++] = t;
	return TH_OK;
}

/* ---- the tree ----------------------------------------------------------------------------- */

static void put_duration(struct th_buf *out, const struct th_span *s)
{
	int64_t ms = s->end_ms - s->start_ms;

	if (!s->end_ms)
		th_buf_add_cstr(out, "    open");
	else if (ms < 10000)
		th_buf_printf(out, "%5lld ms", (long long)ms);
	else if (ms < 600000)
		th_buf_printf(out, "%6.1f s", (double)ms / 1000);
	else
		th_buf_printf(out, "%4lld min", (long long)(ms / 60000));
}

static void put_name(struct th_buf *line, const struct th_span *s, int depth)
{
	th_buf_printf(line, "%*s%s", 2 * depth, "", th_span_name(s->kind));
	if (s->kind == TH_SPAN_TURN)
		th_buf_printf(line, " %lld", (long long)s->number);
	if (s->name.len) {
		th_buf_add_char(line, ' ');
		th_text_line(line, s->name, 60);
	}
	if (s->kind == TH_SPAN_MODEL && s->number > 1)
		th_buf_printf(line, ", try %lld", (long long)s->number);
}

static void put_rest(struct th_buf *out, const struct th_trace *t, size_t index)
{
	const struct th_span *s = &t->spans[index];
	struct th_trace_sum sum = th_trace_sum(t, index);

	if (sum.requests > 0 || sum.cost_nano > 0) {
		th_buf_printf(out, "  %lld in", (long long)sum.tokens_in);
		if (sum.tokens_cached)
			th_buf_printf(out, " (%lld cached)", (long long)sum.tokens_cached);
		th_buf_printf(out, ", %lld out", (long long)sum.tokens_out);
		if (sum.cost_nano > 0) {
			th_buf_add_cstr(out, ", ");
			th_cli_cost(out, sum.cost_nano);
		}
	}
	if (s->kind == TH_SPAN_TOOL)
		th_buf_printf(out, "  %s", th_class_name(s->class));
	if (s->status.len && !th_str_is(s->status, "completed")) {
		th_buf_add_cstr(out, "  ");
		th_text_line(out, s->status, 40);
	}
	if (s->child.len) {
		th_buf_add_cstr(out, "  by ");
		th_text_line(out, s->child, TH_SESSION_ID_MAX);
	}
	if (s->message.len) {
		th_buf_add_cstr(out, ": ");
		th_text_line(out, s->message, 80);
	}
}

static void draw(struct traces *all, const struct th_trace *t, size_t index, int depth,
		 struct th_buf *out);

static void draw_all(struct traces *all, const struct th_trace *t, int depth, struct th_buf *out)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->spans[i].parent == TH_SPAN_NONE)
			draw(all, t, i, depth, out);
}

/* What the session did that worked on a call: below it, once. */
static void draw_child(struct traces *all, const struct th_span *s, int depth, struct th_buf *out)
{
	struct th_trace *child;
	struct th_err ignored;

	if (!s->child.len)
		return;
	if (all->count == TRACES_MAX || depth > DEPTH_MAX) {
		all->more = true;
		return;
	}
	/* One that is not there was not begun. */
	if (read_trace(all, s->child, &child, &ignored) == TH_OK)
		draw_all(all, child, depth, out);
}

static void draw(struct traces *all, const struct th_trace *t, size_t index, int depth,
		 struct th_buf *out)
{
	const struct th_span *s = &t->spans[index];
	struct th_buf name = TH_BUF_INIT(TH_KIB);
	int pad;

	put_name(&name, s, depth);
	pad = NAME_COLUMNS - (int)th_utf8_count(th_buf_str(&name));
	th_buf_add(out, th_buf_str(&name));
	th_buf_printf(out, "%*s", TH_MAX(pad, 1), "");
	put_duration(out, s);
	put_rest(out, t, index);
	th_buf_add_char(out, '\n');
	th_buf_deinit(&name);
	for (size_t i = s->first_child; i != TH_SPAN_NONE; i = t->spans[i].next)
		draw(all, t, i, depth + 1, out);
	draw_child(all, s, depth + 1, out);
}

/* ---- who used what ------------------------------------------------------------------------ */

struct group {
	struct th_str agent, model;
	struct th_trace_sum sum;
};

static struct th_str agent_of(const struct th_trace *t, size_t index)
{
	while (index != TH_SPAN_NONE && t->spans[index].kind != TH_SPAN_AGENT)
		index = t->spans[index].parent;
	return index == TH_SPAN_NONE ? TH_STR("") : t->spans[index].name;
}

static struct group *group_of(struct group *groups, size_t *count, struct th_str agent,
			      struct th_str model)
{
	for (size_t i = 0; i < *count; i++)
		if (th_str_eq(groups[i].agent, agent) && th_str_eq(groups[i].model, model))
			return &groups[i];
	if (*count == GROUPS_MAX)
		return &groups[GROUPS_MAX - 1]; /* the last line holds all the others */
	groups[*count] = (struct group){ agent, model, { 0 } };
	return &groups[(*count)++];
}

static void put_sum(struct th_buf *out, const struct th_trace_sum *s)
{
	th_cli_count(out, s->requests, "request");
	th_buf_printf(out, ", %lld in (%lld cached), %lld out, ", (long long)s->tokens_in,
		      (long long)s->tokens_cached, (long long)s->tokens_out);
	if (s->cost_unknown && !s->cost_nano) {
		th_buf_add_cstr(out, "price not known\n");
		return;
	}
	if (s->cost_unknown)
		th_buf_add_cstr(out, "at least ");
	th_cli_cost(out, s->cost_nano);
	th_buf_add_char(out, '\n');
}

static struct th_trace_sum side_sum(const struct th_side_usage *u)
{
	return (struct th_trace_sum){ .requests = u->requests,
				      .tokens_in = u->tokens_in,
				      .tokens_out = u->tokens_out,
				      .cost_nano = u->cost_nano,
				      .cost_unknown = u->cost_unknown };
}

/* Lines of one trace; those of a call's own are in the trace of the session that worked on it. */
static void add_usage(const struct th_trace *t, struct group *groups, size_t *count,
		      struct th_trace_sum *all)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct th_span *s = &t->spans[i];
		struct th_trace_sum one, *both[2] = { all };

		if (s->kind == TH_SPAN_MODEL) {
			one = th_trace_sum(t, i);
			both[1] = &group_of(groups, count, agent_of(t, i), s->name)->sum;
		} else if (s->side.requests > 0) {
			one = side_sum(&s->side);
			both[1] = &group_of(groups, count, th_str_of(th_side_name(s->side_kind)),
					    s->side_model)
				       ->sum;
		} else {
			continue;
		}
		for (size_t k = 0; k < 2; k++) {
			both[k]->requests += one.requests;
			both[k]->tokens_in += one.tokens_in;
			both[k]->tokens_cached += one.tokens_cached;
			both[k]->tokens_out += one.tokens_out;
			both[k]->cost_nano += one.cost_nano;
			both[k]->cost_unknown |= one.cost_unknown;
		}
	}
}

static void put_usage(const struct traces *traces, struct th_buf *out)
{
	struct group groups[GROUPS_MAX];
	struct th_trace_sum all = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < traces->count; i++)
		add_usage(traces->list[i], groups, &count, &all);
	th_buf_add_cstr(out, "\nusage\n");
	for (size_t i = 0; i < count; i++) {
		th_buf_add_cstr(out, "  ");
		th_text_line(out, groups[i].agent, 40);
		th_buf_add_cstr(out, ", ");
		th_text_line(out, groups[i].model, 60);
		th_buf_add_cstr(out, ": ");
		put_sum(out, &groups[i].sum);
	}
	th_buf_add_cstr(out, "  the session: ");
	put_sum(out, &all);
}

static void draw_tree(struct traces *all, const struct th_trace *t, struct th_buf *out)
{
	draw_all(all, t, 0, out);
	put_usage(all, out);
	if (all->more)
		th_buf_printf(out,
			      "More than %d sessions worked for it; later ones are not here.\n",
			      TRACES_MAX - 1);
	if (t->full)
		th_buf_printf(out, "The log has more than %d spans; later ones are not here.\n",
			      TH_TRACE_SPANS_MAX);
}

/* The spans of the session alone; where it works for another, as part of that one's trace. */
static enum th_code print_otlp(struct th_store *store, struct th_str session_id,
			       const struct th_trace *trace, struct th_buf *out, struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_trace_origin origin;
	struct th_session_row row;
	enum th_code code;
	bool works;

	th_arena_init(&a, TH_MIB);
	code = store->kind->get(store, session_id, &a, &row, err);
	if (code != TH_OK)
		return code;
	works = th_trace_origin_read(th_delegated_by(row.metadata), &origin);
	if (!th_trace_otlp(trace, session_id, works ? &origin : NULL, 0, TH_STR(TH_VERSION), out))
		th_buf_add_cstr(out, "{\"resourceSpans\":[]}");
	th_buf_add_char(out, '\n');
	return TH_OK;
}

int th_cli_trace(struct th_store *store, struct th_str session_id, bool json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_TRACE_BODY_MAX);
	struct traces all TH_CLEANUP(traces_free) = { .store = store };
	struct th_trace *trace;
	struct th_err err = {};

	if (read_trace(&all, session_id, &trace, &err) != TH_OK)
		return th_cli_fail(&err);
	if (json) {
		if (print_otlp(store, session_id, trace, &out, &err) != TH_OK)
			return th_cli_fail(&err);
	} else {
		draw_tree(&all, trace, &out);
	}
	if (th_buf_check(&out, "the trace", &err) != TH_OK)
		return th_cli_fail(&err);
	return th_cli_print(&out, 0);
}
