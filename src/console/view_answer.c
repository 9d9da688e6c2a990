/* SPDX-License-Identifier: Apache-2.0 */
/* view_answer.c - what is said to the model, and what it answers. */
#include "console/view_parts.h"

#include "base/text.h"
#include "console/console.h"

#define THOUGHT_LINES_MAX 8

static bool is_call(const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	return th_str_ends(type, TH_STR("_call"));
}

/* All texts in a list of parts, one after the other. */
static void add_parts(const struct th_json *parts, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(parts);

	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (!text.ptr)
			text = th_json_get_str(it.val, "refusal");
		if (out->len && text.len)
			th_buf_add_char(out, '\n');
		th_buf_add(out, text);
	}
}

void th_view_show_message(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX * 2);
	const struct th_json *content = th_json_get(data, "content");

	if (th_json_str(content).ptr)
		th_buf_add(&text, th_json_str(content));
	else
		add_parts(content, &text);
	th_view_whole(v, ev, "message", TH_VIEW_BOLD, th_buf_str(&text), out);
}

static void show_items(struct th_view *v, const struct th_event *ev, const struct th_json *items,
		       bool final, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "reasoning") && !v->streamed_thought) {
			add_parts(th_json_get(it.val, "summary"), &text);
			if (!text.len)
				continue;
			th_view_begin(v, ev, "thinks", TH_VIEW_DIM, out);
			th_view_lines(v, th_buf_str(&text), TH_VIEW_DIM, THOUGHT_LINES_MAX, out);
		} else if (th_str_is(type, "message") && final && !v->streamed_text) {
			add_parts(th_json_get(it.val, "content"), &v->held);
		} else if (th_str_is(type, "message") && !v->streamed_text) {
			add_parts(th_json_get(it.val, "content"), &text);
			if (text.len)
				th_view_whole(v, ev, "says", TH_VIEW_PLAIN, th_buf_str(&text), out);
		}
	}
}

static void add_usage(const struct th_json *usage, struct th_buf *out)
{
	int64_t cached = th_json_get_int(usage, "cached", 0),
		in = th_json_get_int(usage, "input", -1);

	if (in < 0)
		return;
	th_cli_number(out, in);
	th_buf_add_cstr(out, " tokens in");
	if (cached > 0) {
		th_buf_add_cstr(out, " (");
		th_cli_number(out, cached);
		th_buf_add_cstr(out, " cached)");
	}
	th_buf_add_cstr(out, ", ");
	th_cli_number(out, TH_MAX(th_json_get_int(usage, "output", 0), 0));
	th_buf_add_cstr(out, " out, ");
}

void th_view_show_answer(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_json *items = th_json_get(data, "items");
	struct th_json_iter it = th_json_iter(items);
	struct th_ev_model_answered d;
	size_t calls = 0;
	bool incomplete;

	if (th_table_parse(&th_ev_model_answered_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	while (th_json_next(&it))
		calls += is_call(it.val);
	incomplete = th_str_is(d.status, "incomplete");
	/* The final text comes with its own event. */
	th_buf_clear(&v->held);
	v->held_ms = ev->ts_ms;
	show_items(v, ev, items, calls == 0 && !incomplete, out);
	v->many = calls > 1;
	if (!v->streamed_text || calls > 0)
		v->streamed_text = false;
	v->streamed_thought = false;
	if (incomplete) {
		th_buf_printf(&text, "the answer is cut short: %.*s", TH_FMT(d.reason));
		th_view_line(v, ev, "cut", TH_VIEW_RED, th_buf_str(&text), out);
		th_buf_clear(&text);
	}
	/* Its request says which turn it is, and may be left out of what is shown. */
	if (v->turn)
		th_buf_printf(&text, "%lld: ", (long long)v->turn);
	v->turn = 0;
	add_usage(th_json_get(data, "usage"), &text);
	if (th_json_get(data, "cost_nano")) {
		th_cli_cost(&text, d.cost_nano);
		th_buf_add_cstr(&text, ", ");
	}
	th_cli_time(&text, d.elapsed_ms);
	th_view_begin(v, ev, "turn", TH_VIEW_DIM, out);
	th_view_style(v, TH_VIEW_DIM, out);
	th_text_line(out, th_buf_str(&text), th_view_room(v));
	th_view_unstyle(v, TH_VIEW_DIM, out);
	th_buf_add_char(out, '\n');
}

void th_view_show_model_failed(struct th_view *v, const struct th_event *ev,
			       const struct th_json *data, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_ev_model_failed d;

	if (th_table_parse(&th_ev_model_failed_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	v->streamed_text = v->streamed_thought = false;
	th_buf_printf(&text, "%.*s", TH_FMT(d.class));
	if (d.http_status)
		th_buf_printf(&text, ", HTTP %lld", (long long)d.http_status);
	th_buf_printf(&text, ": %.*s", TH_FMT(th_utf8_cut(d.message, 2000)));
	if (d.retry) {
		th_buf_add_cstr(&text, "; again in ");
		th_cli_time(&text, d.retry_in_ms);
	} else if (d.next.len) {
		th_buf_printf(&text, "; goes on with %.*s", TH_FMT(th_utf8_cut(d.next, 200)));
	}
	th_view_line(v, ev,
		     d.retry      ? "retries"
		     : d.next.len ? "next model"
				  : "no answer",
		     d.retry || d.next.len ? TH_VIEW_YELLOW : TH_VIEW_RED, th_buf_str(&text), out);
}

void th_view_show_final(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	th_buf_clear(&v->held);
	if (v->streamed_text) /* it stands there already */
		v->streamed_text = false;
	else
		th_view_whole(v, ev, "says", TH_VIEW_BOLD, th_json_get_str(data, "output"), out);
}
