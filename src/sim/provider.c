/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/provider.h"

#define ITEM_MAX (16 * TH_KIB)

static void add_text(struct th_sim_random *r, uint64_t n, struct th_buf *out)
{
	th_buf_printf(out,
		      "{\"type\":\"message\",\"id\":\"msg_%llu\",\"role\":\"assistant\",\"status\":"
		      "\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"answer "
		      "%llu\",\"annotations\":[]}]}",
		      (unsigned long long)n, (unsigned long long)th_sim_below(r, 1000));
}

static void add_reasoning(uint64_t n, struct th_buf *out)
{
	th_buf_printf(out,
		      "{\"type\":\"reasoning\",\"id\":\"rs_%llu\",\"summary\":[],"
		      "\"encrypted_content\":\"b3BhcXVl\"}",
		      (unsigned long long)n);
}

static void add_ask(struct th_sim_random *r, uint64_t n, struct th_buf *out)
{
	static const char *const names[] = { "ask_second", "ask_third", "ask_sim" };
	static const char *const arguments[] = { "{\\\"input\\\":\\\"help\\\"}",
						 "{\\\"input\\\":\\\"go\\\"}", "{}" };
	const char *name = names[th_sim_below(r, TH_COUNT(names))];
	size_t which = th_sim_below(r, 10);

	th_buf_printf(out,
		      "{\"type\":\"function_call\",\"id\":\"fc_%llu\",\"call_id\":\"call_%llu\","
		      "\"name\":\"%s\",\"arguments\":\"%s\",\"status\":\"completed\"}",
		      (unsigned long long)n, (unsigned long long)n, name,
		      arguments[which < TH_COUNT(arguments) ? which : 0]);
}

static void add_function(struct th_sim_random *r, uint64_t n, bool team, struct th_buf *out)
{
	static const char *const names[] = { "note",  "peek", "look",  "api",   "save",
					     "shell", "pay",  "shell", "shell", "nope" };
	static const char *const agents[] = { "transfer_to_sim", "transfer_to_second",
					      "transfer_to_third" };
	static const char *const arguments[] = { "{\\\"text\\\":\\\"a\\\"}", "{}",
						 "{\\\"text\\\":1}", "{\\\"text\\\":", "[1]" };
	size_t which = th_sim_below(r, 12);
	/* One draw a statement: a compiler may evaluate arguments in any order, and a seed is one
	 * story. */
	bool incomplete = th_sim_chance(r, 40);
	const char *name = names[th_sim_below(r, TH_COUNT(names))];
	if (team && th_sim_chance(r, 3))
		name = agents[th_sim_below(r, TH_COUNT(agents))];

	th_buf_printf(out,
		      "{\"type\":\"function_call\",\"id\":\"fc_%llu\",\"call_id\":\"call_%llu\","
		      "\"name\":\"%s\",\"arguments\":\"%s\",\"status\":\"%s\"}",
		      (unsigned long long)n, (unsigned long long)n, name,
		      arguments[which < TH_COUNT(arguments) ? which : 0],
		      incomplete ? "incomplete" : "completed");
}

static void add_computer(struct th_sim_random *r, uint64_t n, struct th_buf *out)
{
	static const char *const actions[] = {
		"{\"type\":\"click\",\"x\":10,\"y\":20,\"button\":\"left\"}",
		"{\"type\":\"screenshot\"}",
		"{\"type\":\"type\",\"text\":\"hello\"}",
		"{\"type\":\"keypress\",\"keys\":[\"CTRL\",\"A\"]}",
		"{\"type\":\"wait\"}",
		"{\"type\":\"fly\"}",
	};
	size_t count = 1 + th_sim_below(r, 3);

	th_buf_printf(out,
		      "{\"type\":\"computer_call\",\"id\":\"cu_%llu\",\"call_id\":\"call_%llu\","
		      "\"status\":\"completed\",\"actions\":[",
		      (unsigned long long)n, (unsigned long long)n);
	for (size_t i = 0; i < count; i++)
		th_buf_printf(
		    out, "%s%s", i ? "," : "",
		    actions[th_sim_below(r, th_sim_chance(r, 10) ? TH_COUNT(actions) : 5)]);
	th_buf_printf(
	    out, "],\"pending_safety_checks\":[%s]}",
	    th_sim_chance(r, 6)
		? "{\"id\":\"sc_1\",\"code\":\"malicious_instructions\",\"message\":\"careful\"}"
		: "");
}

static void draw_items(struct th_sim_random *r, uint64_t *numbers, bool final, bool team,
		       unsigned *asks, struct th_buf *items, struct th_buf *events)
{
	size_t calls = final ? 0 : 1 + th_sim_below(r, th_sim_chance(r, 4) ? 5 : 2);
	bool reasons = th_sim_chance(r, 4);
	size_t count = calls + reasons + final;

	for (size_t i = 0; i < count; i++) {
		struct th_buf item = TH_BUF_INIT(ITEM_MAX);
		uint64_t n = ++*numbers;

		if (reasons && i == 0)
			add_reasoning(n, &item);
		else if (final)
			add_text(r, n, &item);
		else if (th_sim_chance(r, 4))
			add_computer(r, n, &item);
		else if (asks && *asks > 0 && th_sim_chance(r, 3) && (*asks)--)
			add_ask(r, n, &item);
		else
			add_function(r, n, team, &item);
		if (i > 0)
			th_buf_add_char(items, ',');
		th_buf_add(items, th_buf_str(&item));
		th_buf_printf(events,
			      "event: response.output_item.done\ndata: {\"type\":"
			      "\"response.output_item.done\",\"output_index\":%zu,\"item\":%s}\n\n",
			      i, item.ptr);
		th_buf_deinit(&item);
	}
}

/* An answer that is one. */
static void draw_good(struct th_sim_random *r, uint64_t *numbers, bool final, bool team,
		      unsigned *asks, struct th_buf *out)
{
	struct th_buf items = TH_BUF_INIT(TH_MIB), events = TH_BUF_INIT(TH_MIB);
	bool cut_short = th_sim_chance(r, 40), stream = th_sim_chance(r, 2);
	uint64_t input = 10 + th_sim_below(r, 40), output = 5 + th_sim_below(r, 20);
	uint64_t number = ++*numbers;

	if (stream)
		th_buf_printf(out,
			      "event: response.created\ndata: {\"type\":\"response.created\","
			      "\"sequence_number\":0,\"response\":{\"id\":\"resp_%llu\"}}\n\n",
			      (unsigned long long)number);
	draw_items(r, numbers, final, team, asks, &items, &events);
	if (stream)
		th_buf_add(out, th_buf_str(&events));
	if (stream)
		th_buf_printf(
		    out, "event: response.%s\ndata: {\"type\":\"response.%s\",\"response\":",
		    cut_short ? "incomplete" : "completed", cut_short ? "incomplete" : "completed");
	th_buf_printf(out,
		      "{\"id\":\"resp_%llu\",\"object\":\"response\",\"status\":\"%s\",%s\"model\":"
		      "\"gpt-5.4\","
		      "\"output\":[%s],\"usage\":{\"input_tokens\":%llu,\"output_tokens\":%llu,"
		      "\"total_tokens\":%llu}}",
		      (unsigned long long)number, cut_short ? "incomplete" : "completed",
		      cut_short ? "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}," : "",
		      items.ptr, (unsigned long long)input, (unsigned long long)output,
		      (unsigned long long)(input + output));
	if (stream)
		th_buf_add_cstr(out, "}\n\n");
	th_buf_deinit(&items);
	th_buf_deinit(&events);
}

static void fail_with(struct th_sim_answer *a, int status, const char *body)
{
	th_buf_clear(&a->body);
	th_buf_add_cstr(&a->body, body);
	a->end.ok = false;
	a->end.status_only = true;
	a->end.http_status = status;
}

void th_sim_answer_draw(struct th_sim_random *r, uint64_t *numbers, unsigned final_in, bool team,
			unsigned *asks, struct th_sim_answer *ret)
{
	size_t at;

	*ret = (struct th_sim_answer){ .body = TH_BUF_INIT(4 * TH_MIB),
				       .end = {
					   .http_status = 200, .ok = true, .hints = { -1, -1 } } };
	draw_good(r, numbers, th_sim_chance(r, final_in), team, asks, &ret->body);
	switch (th_sim_below(r, 48)) {
	case 0:
		fail_with(ret, 429, "{\"error\":{\"code\":\"rate_limit_exceeded\"}}");
		ret->end.hints.retry_after_ms = (int64_t)th_sim_below(r, 5000);
		break;
	case 1:
		fail_with(ret, 503, "busy");
		break;
	case 2:
		fail_with(ret, 500, "");
		break;
	case 3: /* cut */
		th_buf_truncate(&ret->body, th_sim_below(r, ret->body.len + 1));
		ret->end.ok = false;
		ret->end.failure = TH_FAILURE_CUT;
		ret->end.message = TH_STR("the connection was closed");
		break;
	case 4: /* whole, as far as the transport knows */
		th_buf_truncate(&ret->body, th_sim_below(r, ret->body.len + 1));
		break;
	case 5: /* one byte is another */
		at = th_sim_below(r, ret->body.len);
		ret->body.ptr[at] = (char)th_sim_below(r, 256);
		break;
	case 6:
		ret->endless = true;
		th_buf_truncate(&ret->body, th_sim_below(r, ret->body.len + 1));
		ret->end.ok = false;
		ret->end.failure = TH_FAILURE_TIMEOUT;
		ret->end.message = TH_STR("silence");
		break;
	case 7:
		if (th_sim_chance(r, 4))
			fail_with(ret, 400,
				  *numbers % 2 ? "{\"error\":{\"message\":\"no\"}}"
					       : "{\"error\":{\"message\":\"gone\",\"code\":"
						 "\"previous_response_not_found\"}}");
		break;
	default:
		break;
	}
}

void th_sim_answer_not_yet(uint64_t *numbers, struct th_sim_answer *ret)
{
	++*numbers;
	th_buf_clear(&ret->body);
	th_buf_printf(&ret->body,
		      "{\"id\":\"resp_%llu\",\"object\":\"response\",\"status\":\"%s\",\"output\":"
		      "[]}",
		      (unsigned long long)*numbers, *numbers % 2 ? "queued" : "in_progress");
	ret->endless = false;
	ret->end = (struct th_model_end){ .http_status = 200, .ok = true, .hints = { -1, -1 } };
}
