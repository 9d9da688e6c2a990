/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_messages.c - events as the messages that a model of Chat Completions
 * gets.  Members that only upstream's own classes have are not compared.
 */
#include "openhands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/agent.h"
#include "history/history.h"
#include "models/model.h"
#include "providers/wires.h"

#define CALL(id, tool)                                                        \
	"{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"" tool \
	"\",\"arguments\":\"{}\"}"
#define SAID(text)                                                                             \
	"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\"," \
	"\"text\":\"" text "\"}]}"

struct talk {
	struct th_agent agent;
	struct th_request_options options;
	struct th_history *history;
	uint64_t seq;
};

static void begin(struct talk *t)
{
	static const struct th_profile profile = { .name = "chat", .wire = &th_wire_chat };

	*t = (struct talk){ 0 };
	t->options = (struct th_request_options){ .profile = &profile,
						  .model = TH_STR("m"),
						  .agent = &t->agent };
	t->history = th_history_new(&t->options);
}

static void append(struct talk *t, enum th_event_kind kind, struct th_str data)
{
	const struct th_event ev = { .seq = ++t->seq, .kind = kind, .data = data };
	struct th_err err = { 0 };

	if (th_history_add(t->history, &ev, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		abort();
	}
}

static void say(struct talk *t, const char *text)
{
	struct th_buf data = TH_BUF_INIT(TH_MIB);

	th_buf_printf(&data, "{\"role\":\"user\",\"content\":\"%s\"}", text);
	append(t, TH_EV_MESSAGE, th_buf_str(&data));
	th_buf_deinit(&data);
}

static void answer(struct talk *t, const char *items)
{
	struct th_buf data = TH_BUF_INIT(TH_MIB);

	append(t, TH_EV_MODEL_REQUESTED, TH_STR("{\"model\":\"m\",\"turn\":1,\"attempt\":1}"));
	th_buf_printf(&data, "{\"status\":\"completed\",\"items\":[%s]}", items);
	append(t, TH_EV_MODEL_ANSWERED, th_buf_str(&data));
	th_buf_deinit(&data);
}

static void outcome(struct talk *t, const char *id, enum th_outcome_status status,
		    struct th_str text)
{
	struct th_buf data = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&data);

	th_jw_object(&w);
	th_jw_kstr(&w, "call_id", th_str_of(id));
	th_jw_kstr(&w, "status", th_str_of(th_outcome_name(status)));
	th_jw_kstr(&w, "output", text);
	th_jw_object_end(&w);
	append(t, TH_EV_OUTCOME, th_buf_str(&data));
	th_buf_deinit(&data);
}

/* The messages, as a JSON list. */
static void end(struct talk *t, struct th_buf *out)
{
	struct th_slice *slices;
	size_t count = th_history_slices(t->history, 0, &slices);

	th_buf_add_char(out, '[');
	for (size_t i = 0; i < count; i++)
		th_buf_add(out, slices[i].bytes);
	th_buf_add_char(out, ']');
	free(slices);
	th_history_free(t->history);
}

/* Text of a message: a string, or parts. */
static void put_texts(const struct th_json *content, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(content);

	if (th_json_str(content).len)
		th_jw_str(w, th_json_str(content));
	while (th_json_is_array(content) && th_json_next(&it))
		th_jw_str(w, th_json_get_str(it.val, "text"));
}

static bool same_texts(const struct th_json *a, const struct th_json *b)
{
	struct th_buf one = TH_BUF_INIT(TH_MIB), two = TH_BUF_INIT(TH_MIB);
	struct th_jw v = th_jw(&one), w = th_jw(&two);
	bool same;

	th_jw_array(&v);
	put_texts(a, &v);
	th_jw_array_end(&v);
	th_jw_array(&w);
	put_texts(b, &w);
	th_jw_array_end(&w);
	same = th_str_eq(th_buf_str(&one), th_buf_str(&two));
	th_buf_deinit(&one);
	th_buf_deinit(&two);
	return same;
}

/* "ObservationEvent think ok", "AgentErrorEvent boom". */
bool oh_message(const struct oh_case *c, struct th_buf *found)
{
	struct th_str event = th_json_get_str(c->input, "event");
	bool failed = th_str_starts(event, TH_STR("AgentError"));
	bool refused = th_str_starts(event, TH_STR("UserReject"));
	ptrdiff_t at = th_str_find(event, TH_STR(" "));
	struct th_str rest = at < 0 ? TH_STR("") : th_str_sub(event, (size_t)at + 1, event.len);
	struct th_json_doc *doc = NULL;
	const struct th_json *message;
	struct talk t;
	bool good;

	begin(&t);
	if (th_str_starts(event, TH_STR("MessageEvent"))) {
		say(&t, "x");
	} else {
		at = th_str_find(rest, TH_STR(" "));
		if (!failed && !refused && at >= 0)
			rest = th_str_sub(rest, (size_t)at + 1, rest.len);
		if (refused) /* the words of a refusal are the driver's */
			rest = th_json_get_str(th_json_at(th_json_get(c->expected, "content"), 0),
					       "text");
		answer(&t, CALL("c1", "think"));
		outcome(&t, "c1",
			failed    ? TH_OUTCOME_FAILED
			: refused ? TH_OUTCOME_REFUSED
				  : TH_OUTCOME_DONE,
			rest);
	}
	end(&t, found);
	if (th_json_parse(th_buf_str(found), &doc, NULL))
		return false;
	message = th_json_at(th_json_root(doc), th_json_count(th_json_root(doc)) - 1);
	good = th_str_eq(th_json_get_str(message, "role"), th_json_get_str(c->expected, "role")) &&
	       th_str_eq(th_json_get_str(message, "tool_call_id"),
			 th_json_get_str(c->expected, "tool_call_id")) &&
	       same_texts(th_json_get(message, "content"), th_json_get(c->expected, "content"));
	th_json_free(doc);
	return good;
}

static bool same_calls(const struct th_json *calls, const struct th_json *ids)
{
	struct th_json_iter it = th_json_iter(ids);

	if (th_json_count(calls) != th_json_count(ids))
		return false;
	while (th_json_next(&it))
		if (!th_str_eq(th_json_get_str(th_json_at(calls, it.index), "id"),
			       th_json_str(it.val)))
			return false;
	return true;
}

/* A message against one of the case; *ret_split: of one with several texts ours has the first. */
static bool same_message(const struct th_json *list, size_t *at, const struct th_json *want,
			 bool *ret_split)
{
	const struct th_json *texts = th_json_get(want, "text");
	const struct th_json *m = th_json_at(list, *at);
	struct th_json_iter it = th_json_iter(texts);
	size_t n = 0;

	if (!m || !th_str_eq(th_json_get_str(m, "role"), th_json_get_str(want, "role")) ||
	    !same_calls(th_json_get(m, "tool_calls"), th_json_get(want, "tool_calls")) ||
	    !th_str_eq(th_json_get_str(m, "tool_call_id"), th_json_get_str(want, "tool_call_id")))
		return false;
	for (; th_json_next(&it); n++) {
		m = th_json_at(list, *at + n);
		if (!m || !th_str_eq(th_json_get_str(m, "content"), th_json_str(it.val)))
			return false;
	}
	*ret_split |= n > 1;
	*at += TH_MAX(n, (size_t)1);
	return true;
}

/* "user", "action1(R)", "obs1", "user a": answers with the same letter are one. */
bool oh_messages(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->input, "events"));
	const struct th_json *list;
	struct th_json_doc *doc = NULL;
	struct th_buf calls = TH_BUF_INIT(TH_MIB);
	struct talk t;
	size_t at = 0;
	bool good = true, split = false;

	begin(&t);
	while (th_json_next(&it)) {
		struct th_str event = th_json_str(it.val);
		struct th_buf text = TH_BUF_INIT(TH_KIB);

		th_buf_printf(&text, "%.*s", TH_FMT(event));
		th_buf_add_char(&text, '\0');
		if (th_str_starts(event, TH_STR("action"))) {
			th_buf_printf(&calls,
				      "%s{\"type\":\"function_call\",\"call_id\":\"c%c\",\"name\":"
				      "\"think\",\"arguments\":\"{}\"}",
				      calls.len ? "," : SAID("x") ",", event.ptr[6]);
		} else if (th_str_starts(event, TH_STR("obs"))) {
			char id[3] = { 'c', event.ptr[3], 0 };

			th_buf_add_char(&calls, '\0');
			if (calls.len > 1)
				answer(&t, calls.ptr);
			th_buf_clear(&calls);
			outcome(&t, id, TH_OUTCOME_DONE, TH_STR("ok"));
		} else {
			say(&t, event.len > 5 ? text.ptr + 5 : "hi");
		}
		th_buf_deinit(&text);
	}
	end(&t, found);
	if (th_json_parse(th_buf_str(found), &doc, NULL))
		return false;
	list = th_json_root(doc);
	it = th_json_iter(c->expected);
	while (good && th_json_next(&it))
		good = same_message(list, &at, it.val, &split);
	good &= at == th_json_count(list);
	th_json_free(doc);
	th_buf_deinit(&calls);
	if (!good || !split)
		return good;
	th_buf_clear(found);
	th_buf_add_cstr(found, OH_DEVIATES "each message stays one");
	return false;
}
