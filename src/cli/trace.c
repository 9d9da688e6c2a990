/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "core/trace.h"

#define NAME_COLUMNS 44
#define GROUPS_MAX 64 /* lines of the table: agents and models */

static enum th_code see_event(void *ctx, const struct th_event *ev,
			      const struct th_digest *digest TH_UNUSED,
			      struct th_err *err TH_UNUSED)
{
	th_trace_event(ctx, ev);
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
	if (s->message.len) {
		th_buf_add_cstr(out, ": ");
		th_text_line(out, s->message, 80);
	}
}

static void draw(const struct th_trace *t, size_t index, int depth, struct th_buf *out)
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
		draw(t, i, depth + 1, out);
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
	th_cli_cost(out, s->cost_nano);
	if (s->cost_unknown)
		th_buf_add_cstr(out, " and what has no price");
	th_buf_add_char(out, '\n');
}

static void put_usage(const struct th_trace *t, struct th_buf *out)
{
	struct group groups[GROUPS_MAX], all = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct th_trace_sum one;
		struct group *both[2] = { &all };

		if (t->spans[i].kind != TH_SPAN_MODEL)
			continue;
		one = th_trace_sum(t, i);
		both[1] = group_of(groups, &count, agent_of(t, i), t->spans[i].name);
		for (size_t k = 0; k < 2; k++) {
			both[k]->sum.requests += one.requests;
			both[k]->sum.tokens_in += one.tokens_in;
			both[k]->sum.tokens_cached += one.tokens_cached;
			both[k]->sum.tokens_out += one.tokens_out;
			both[k]->sum.cost_nano += one.cost_nano;
			both[k]->sum.cost_unknown |= one.cost_unknown;
		}
	}
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
	put_sum(out, &all.sum);
}

int th_cli_trace(struct th_store *store, struct th_str session_id, bool json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_TRACE_BODY_MAX);
	struct th_trace trace TH_CLEANUP(th_trace_deinit);
	struct th_err err = {};

	th_trace_init(&trace);
	if (store->kind->read(store, session_id, 1, 0, see_event, &trace, &err) != TH_OK)
		return th_cli_fail(&err);
	if (json) {
		if (!th_trace_otlp(&trace, session_id, 0, TH_STR(TH_VERSION), &out))
			th_buf_add_cstr(&out, "{\"resourceSpans\":[]}");
		th_buf_add_char(&out, '\n');
	} else {
		for (size_t i = 0; i < trace.count; i++)
			if (trace.spans[i].parent == TH_SPAN_NONE)
				draw(&trace, i, 0, &out);
		put_usage(&trace, &out);
		if (trace.full)
			th_buf_printf(&out,
				      "The log has more than %d spans; later ones are not here.\n",
				      TH_TRACE_SPANS_MAX);
	}
	if (th_buf_check(&out, "the trace", &err) != TH_OK)
		return th_cli_fail(&err);
	return th_cli_print(&out, 0);
}
