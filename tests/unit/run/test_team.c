/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_team.c - the driver with several agents and their code, in a world of
 * paper: what is asked, when, what becomes of the answers, and what a restart
 * asks again.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/driver.h"

#define EVENTS_MAX 256
#define ASKS_MAX 16

struct world {
	struct th_driver *driver;
	struct th_handle h;
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
	struct {
		struct th_event ev;
		char *call, *data;
	} log[EVENTS_MAX];
	size_t count;
	bool flush, model_open, cancelled;
	struct th_ticket model;
	char *body;
	int64_t clock;
	uint8_t random;
	size_t runs;
	bool early; /* something was asked, or ran, before what led to it was durable */
	/* The agent's code: what it says, at once or (LATER) when the test says so. */
	const char *says[TH_ASK_COUNT];
	bool later[TH_ASK_COUNT];
	struct {
		struct th_ticket ticket;
		enum th_ask_kind kind;
		char function[32], input[2048];
	} asks[ASKS_MAX];
	size_t ask_count, cancels;
};

static int64_t now(void *ctx)
{
	return ((struct world *)ctx)->clock += 10;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	memset(ptr, ++((struct world *)ctx)->random, len);
}

static void flush_soon(void *ctx)
{
	((struct world *)ctx)->flush = true;
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	(void)ctx, (void)t, (void)delay_ms;
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct world *w = ctx;

	w->batch = batch;
	w->done = done;
	w->done_ctx = done_ctx;
}

static enum th_code no_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	(void)ctx, (void)hash, (void)out;
	return th_fail(err, TH_ENOENT, "no such blob");
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	struct world *w = ctx;
	struct th_digest none = { { 0 } };
	enum th_code code = TH_OK;

	(void)id;
	for (size_t i = from - 1; i < w->count && (to == 0 || i < to) && !code; i++)
		code = fn(fn_ctx, &w->log[i].ev, &none, err);
	return code;
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct world *w = ctx;
	struct th_buf body = TH_BUF_INIT(TH_MIB);

	(void)err;
	for (size_t i = 0; i < call->body_count; i++)
		th_buf_add(&body, call->body[i]);
	free(w->body);
	w->body = th_buf_steal(&body, NULL);
	w->model = t;
	w->model_open = true;
	return TH_OK;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct world *w = ctx;

	(void)t;
	w->model_open = false;
	w->cancelled = true;
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *ids, size_t count)
{
	(void)ctx, (void)id, (void)ids, (void)count;
}

static void fatal(void *ctx, const struct th_err *err)
{
	(void)ctx, (void)err;
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = no_blob,
	.read = read_log,
	.model_call = model_call,
	.model_cancel = model_cancel,
	.tool_forget = tool_forget,
	.fatal = fatal,
};

static void make_durable(struct world *w)
{
	struct th_batch *batch = w->batch;
	struct th_err err = { 0 };

	w->batch = NULL;
	for (size_t i = 0; i < batch->append_count; i++)
		for (size_t j = 0; j < batch->appends[i].event_count; j++) {
			const struct th_event *ev = &batch->appends[i].events[j];

			assert_true(w->count < EVENTS_MAX);
			w->log[w->count].call = strndup(ev->call.ptr, ev->call.len);
			w->log[w->count].data = strndup(ev->data.ptr, ev->data.len);
			w->log[w->count].ev = *ev;
			w->log[w->count].ev.call = th_str_of(w->log[w->count].call);
			w->log[w->count].ev.data = th_str_of(w->log[w->count].data);
			w->log[w->count].ev.build = TH_STR("test");
			w->count++;
		}
	w->done(w->done_ctx, batch, TH_OK, &err);
}

static void settle(struct world *w)
{
	while (w->flush || w->batch) {
		if (w->flush) {
			w->flush = false;
			th_driver_flush(w->driver);
		}
		if (w->batch)
			make_durable(w);
	}
}

/* ---- the agents and their code ---- */

static enum th_asked on_ask(void *ctx, const struct th_code_ask *q, struct th_buf *answer,
			    struct th_err *err)
{
	struct world *w = ctx;

	(void)err;
	assert_true(w->ask_count < ASKS_MAX);
	w->asks[w->ask_count].ticket = q->ticket;
	w->asks[w->ask_count].kind = q->kind;
	snprintf(w->asks[w->ask_count].function, 32, "%.*s", TH_FMT(q->function));
	snprintf(w->asks[w->ask_count++].input, 2048, "%.*s", TH_FMT(q->input));
	w->early |= q->kind != TH_ASK_TEXT && th_driver_session(w->driver, w->h)->seq > w->count;
	if (w->later[q->kind])
		return TH_ASKED_LATER;
	if (!w->says[q->kind])
		return TH_ASKED_NOTHING;
	th_buf_add_cstr(answer, w->says[q->kind]);
	return TH_ASKED_ANSWERED;
}

static void on_cancel(void *ctx, struct th_ticket t)
{
	(void)t;
	((struct world *)ctx)->cancels++;
}

static const struct th_codes_ops code_ops = { .ask = on_ask, .cancel = on_cancel };

static void run_tool(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct world *w = ctx;
	struct th_tool_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	w->early |= call->ticket.seq > w->count;
	w->runs++;
	th_driver_tool_done(d, call->ticket, &r);
}

struct team {
	struct th_arena memory;
	struct th_json_doc *doc; /* the agents borrow from it */
	struct th_agent agents[4];
	struct th_outfit outfits[4];
	struct th_tool_row row;
	struct th_codes codes;
};

static struct team team;

static const struct th_outfit *dress(struct world *w, const char *definition)
{
	struct th_err err = { 0 };
	size_t count = 0;

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	memset(&team, 0, sizeof(team));
	th_arena_init(&team.memory, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &team.doc, &err), TH_OK);
	team.codes = (struct th_codes){ &code_ops, w };
	team.row = (struct th_tool_row){ .spec = { .name = TH_STR("weather"),
						   .schema = TH_STR("{\"type\":\"object\"}"),
						   .class = TH_CLASS_W },
					 .local = run_tool,
					 .ctx = w };
	for (; count < 4; count++) {
		struct th_outfit *o = &team.outfits[count];
		struct th_agent *a = &team.agents[count];

		if (th_team_agent(th_json_root(team.doc), count, &team.memory, a, &err))
			break;
		o->agent = a;
		o->tools = &team.row;
		o->tool_count = 1;
		o->codes = &team.codes;
		assert_int_equal(
		    th_model_resolve(TH_STR("gpt-5.4"), &o->first.profile, &o->first.model, &err),
		    TH_OK);
	}
	team.outfits[0].members = &team.outfits[1];
	team.outfits[0].member_count = count - 1;
	return &team.outfits[0];
}

static struct world *begin(const char *definition, const char *task)
{
	struct world *w = calloc(1, sizeof(*w));
	struct th_world world = { &ops, w };
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_observer nobody = { 0 };
	struct th_err err = { 0 };

	w->clock = 1000000;
	w->driver = th_driver_new(&world, TH_STR("test"));
	if (th_driver_create(w->driver, TH_STR("a1"), dress(w, definition), &created, &nobody,
			     &w->h, &err))
		fail_msg("%s", err.msg);
	settle(w);
	if (task)
		assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(task), &err), TH_OK);
	return w;
}

static void restart(struct world *w, const char *definition)
{
	struct th_world world = { &ops, w };
	struct th_observer nobody = { 0 };
	struct th_err err = { 0 };
	struct th_session_row row = { .session_id = TH_STR("a1"),
				      .head_seq = w->count,
				      .epoch = 2 };

	th_driver_free(w->driver);
	w->flush = w->model_open = false;
	w->ask_count = 0;
	w->driver = th_driver_new(&world, TH_STR("test"));
	if (th_driver_open(w->driver, &row, dress(w, definition), &nobody, &w->h, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
}

static void end(struct world *w)
{
	th_driver_free(w->driver);
	for (size_t i = 0; i < w->count; i++) {
		free(w->log[i].call);
		free(w->log[i].data);
	}
	free(w->body);
	free(w);
}

static void answer(struct world *w, const char *items)
{
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_model_end done = { .ok = true, .http_status = 200, .hints = { -1, -1 } };
	struct th_ticket t = w->model;

	assert_true(w->model_open);
	w->model_open = false;
	th_buf_printf(
	    &body,
	    "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","
	    "\"output\":[%s],\"usage\":{\"input_tokens\":1,\"output_tokens\":1,"
	    "\"total_tokens\":2}}",
	    items);
	assert_true(th_driver_model_data(w->driver, t, th_buf_str(&body)));
	th_driver_model_done(w->driver, t, &done);
	th_buf_deinit(&body);
	settle(w);
}

#define TEXT(s)                                                                               \
	"{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"" s "\",\"annotations\":[]}]}"
#define CALL(id, name)                                                                             \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id "\",\"name\":\"" name \
	"\",\"arguments\":\"{}\",\"status\":\"completed\"}"

static const char *kinds(const struct world *w, size_t from)
{
	static char text[4096];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = from; i < w->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i > from ? " " : "",
					th_event_name(w->log[i].ev.kind));
	return text;
}

static const struct th_session *fold(const struct world *w)
{
	return th_driver_session(w->driver, w->h);
}

static void code_says(struct world *w, size_t ask, bool failed, const char *json)
{
	th_driver_code_done(w->driver, w->asks[ask].ticket, failed, th_str_of(json));
	settle(w);
}

#define DYNAMIC "{\"name\":\"a\",\"instructions_from\":\"who\"}"

static void test_instructions_are_asked_once_a_turn(void **unused)
{
	struct world *w = begin(DYNAMIC, "go");
	struct th_model_end cut = { .failure = TH_FAILURE_CUT, .hints = { -1, -1 } };

	(void)unused;
	w->says[TH_ASK_INSTRUCTIONS] = "\"Be swift.\"";
	settle(w);
	assert_non_null(strstr(w->body, "Be swift."));
	assert_non_null(strstr(w->log[2].data, "\"instructions\":\"Be swift.\""));
	/* A crash, and another try: the same words, not asked for again. */
	w->says[TH_ASK_INSTRUCTIONS] = "\"Be slow.\"";
	restart(w, DYNAMIC);
	assert_int_equal(w->ask_count, 0);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "Be swift."));
	th_driver_model_done(w->driver, w->model, &cut);
	settle(w);
	w->model_open = true;
	th_driver_timer(w->driver, (struct th_ticket){ w->h.index, w->h.generation, 0 });
	settle(w);
	assert_int_equal(w->ask_count, 0);
	answer(w, CALL("c1", "weather"));
	assert_non_null(strstr(w->body, "Be slow."));
	/* Those that stay the same are not written again. */
	w->model_open = true;
	answer(w, CALL("c2", "weather"));
	assert_null(strstr(w->log[w->count - 1].data, "instructions"));
	assert_false(w->early);
	end(w);

	w = begin(DYNAMIC, "go"); /* no such function */
	settle(w);
	assert_false(w->model_open);
	assert_int_equal(fold(w)->state, TH_STATE_FAILED);
	end(w);
}

#define CHECKED                                                                  \
	"{\"name\":\"a\",\"guardrails\":[{\"name\":\"in\",\"stage\":\"input\"}," \
	"{\"name\":\"out\",\"stage\":\"output\"},"                               \
	"{\"name\":\"before\",\"stage\":\"tool_input\"},"                        \
	"{\"name\":\"after\",\"stage\":\"tool_output\"}]}"

static void test_guardrails_answer_when_they_like(void **unused)
{
	struct world *w = begin(CHECKED, "my task");
	struct th_err err = { 0 };

	(void)unused;
	w->later[TH_ASK_GUARDRAIL] = true;
	settle(w);
	assert_true(w->model_open);
	assert_int_equal(w->ask_count, 1);
	assert_non_null(strstr(w->asks[0].input, "\"input\":\"my task\""));
	answer(w, CALL("c1", "weather"));
	assert_int_equal(w->ask_count, 2);
	assert_string_equal(w->asks[1].function, "before");
	code_says(w, 1, false, "false");
	assert_int_equal(w->runs, 0); /* the other one has not spoken */
	code_says(w, 0, false, "null");
	assert_int_equal(w->runs, 1);
	assert_string_equal(w->asks[2].function, "after");
	assert_non_null(strstr(w->asks[2].input, "sunny"));
	assert_false(w->model_open);
	code_says(w, 2, false, "{\"message\":\"cloudy\"}");
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "cloudy"));
	assert_null(strstr(w->body, "sunny"));
	answer(w, TEXT("a secret"));
	assert_string_equal(w->asks[3].function, "out");
	/* A crash while it thinks: it is asked again, and only it. */
	restart(w, CHECKED);
	assert_int_equal(w->ask_count, 1);
	assert_string_equal(w->asks[0].function, "out");
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("and this"), &err), TH_OK);
	settle(w);
	code_says(w, 0, false, "false");
	assert_true(w->model_open); /* what was said meanwhile is read */
	assert_non_null(strstr(w->body, "and this"));
	answer(w, TEXT("a secret"));
	code_says(w, 1, true, "it broke"); /* what fails lets nothing through */
	assert_int_equal(fold(w)->state, TH_STATE_FAILED);
	assert_non_null(strstr(w->log[w->count - 1].data, "it broke"));
	code_says(w, 1, false, "false"); /* a ticket that is over */
	/* Nobody sees later what was withheld. */
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("more"), &err), TH_OK);
	settle(w);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "more"));
	assert_null(strstr(w->body,
			   "\"m\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":"
			   "[{\"type\":\"output_text\",\"text\":\"a secret\",\"annotations\":[]}]},"
			   "{\"type\":\"message\",\"role\":\"user\",\"content\":\"more\""));
	assert_false(w->early);
	w->cancels = 0;
	end(w);
}

static void test_a_tripwire_cancels_the_request(void **unused)
{
	struct world *w = begin(CHECKED, "bad");

	(void)unused;
	w->later[TH_ASK_GUARDRAIL] = true;
	settle(w);
	assert_true(w->model_open);
	code_says(w, 0, false, "{\"tripped\":true,\"message\":\"no\"}");
	assert_true(w->cancelled);
	assert_string_equal(kinds(w, 3), "guardrail model_failed error");
	assert_non_null(strstr(w->log[5].data, "the guardrail in stopped the run: no"));
	end(w);
}

#define FILTERED                                                                            \
	"{\"name\":\"a\",\"instructions\":\"I am "                                          \
	"a.\",\"handoffs\":[{\"agent\":\"b\",\"filter\":\"cut\"},"                          \
	"{\"agent\":\"c\",\"nest\":true}],\"agents\":{\"b\":{\"instructions\":\"I am b.\"," \
	"\"handoffs\":[\"c\"]},\"c\":{\"instructions\":\"I am c.\"}}}"

static void test_a_filter_says_what_the_next_agent_sees(void **unused)
{
	struct world *w = begin(FILTERED, "my task");

	(void)unused;
	settle(w);
	assert_non_null(strstr(w->body, "I am a."));
	assert_non_null(strstr(w->body, "transfer_to_b"));
	answer(w, CALL("c1", "weather"));
	w->later[TH_ASK_FILTER] = true;
	answer(w, TEXT("over to b") "," CALL("c2", "transfer_to_b"));
	assert_int_equal(w->ask_count, 1);
	assert_non_null(strstr(w->asks[0].input, "assistant\\\": \\\"b"));
	assert_false(w->model_open);
	/* A crash before the answer: it is asked anew. */
	restart(w, FILTERED);
	assert_int_equal(w->ask_count, 1);
	code_says(w, 0, false,
		  "[{\"role\":\"user\",\"content\":\"my task\"},{\"role\":\"user\",\"content\":"
		  "\"be quick\"}]");
	assert_string_equal(kinds(w, w->count - 3), "outcome handoff model_requested");
	assert_non_null(strstr(w->log[w->count - 2].data, "[[2,0],{\"role\""));
	assert_non_null(strstr(w->body, "I am b."));
	assert_non_null(strstr(w->body, "my task"));
	assert_non_null(strstr(w->body, "be quick"));
	assert_null(strstr(w->body, "over to b"));
	assert_null(strstr(w->body, "weather\",\"arguments"));
	/* A replay makes the same request of the same log. */
	restart(w, FILTERED);
	assert_int_equal(w->ask_count, 0);
	assert_non_null(strstr(w->body, "be quick"));
	assert_null(strstr(w->body, "over to b"));
	/* And from there on history is the log again. */
	answer(w, CALL("c3", "transfer_to_c"));
	assert_non_null(strstr(w->body, "I am c."));
	assert_non_null(strstr(w->body, "be quick"));
	assert_non_null(strstr(w->body, "transfer_to_c"));
	answer(w, TEXT("done"));
	assert_int_equal(fold(w)->state, TH_STATE_FINISHED);
	end(w);

	w = begin(FILTERED, "my task");
	settle(w);
	answer(w, CALL("c1", "transfer_to_c"));
	assert_non_null(strstr(w->body, "1. user: my task"));
	assert_non_null(strstr(w->body, "</CONVERSATION HISTORY>"));
	end(w);

	w = begin(FILTERED, "my task");
	settle(w);
	w->says[TH_ASK_FILTER] = "\"nope\"";
	answer(w, CALL("c1", "transfer_to_b"));
	assert_int_equal(fold(w)->state, TH_STATE_FAILED);
	assert_int_equal(fold(w)->agent, 0);
	/* Whoever speaks next has it tried again. */
	w->says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"short\"}]";
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("again"), &(struct th_err){ 0 }),
			 TH_OK);
	settle(w);
	assert_int_equal(fold(w)->agent, 1);
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "short"));
	end(w);
}

static void forget_last(struct world *w, size_t count)
{
	for (; count > 0; count--) {
		free(w->log[--w->count].call);
		free(w->log[w->count].data);
	}
}

static size_t times(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* As a fork may: the result of the call is there, and the handoff is not. */
static void test_a_log_that_ends_within_a_handoff(void **unused)
{
	struct world *w = begin(FILTERED, "my task");
	size_t count;

	(void)unused;
	settle(w);
	w->says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"be quick\"}]";
	answer(w, CALL("c1", "transfer_to_b"));
	forget_last(w, 2);
	count = w->count;
	restart(w, FILTERED);
	assert_string_equal(kinds(w, count - 1), "outcome handoff model_requested");
	assert_int_equal(w->ask_count, 1);
	assert_int_equal(times(w->asks[0].input, "function_call_output"), 1);
	assert_non_null(strstr(w->body, "I am b."));
	assert_non_null(strstr(w->body, "be quick"));
	answer(w, CALL("c2", "transfer_to_c")); /* neither filter nor summary */
	forget_last(w, 2);
	count = w->count;
	restart(w, FILTERED);
	assert_string_equal(kinds(w, count - 1), "outcome handoff model_requested");
	assert_non_null(strstr(w->body, "I am c."));
	assert_int_equal(times(w->body, "function_call_output"), 1);
	end(w);
}

static void test_each_request_may_be_filtered(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\"}";
	struct world *w = begin(plain, "one");

	(void)unused;
	w->says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"one\"}]";
	settle(w);
	assert_true(w->model_open);
	answer(w, TEXT("yes"));
	w->says[TH_ASK_FILTER] = "[{\"role\":\"user\",\"content\":\"two\"}]";
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &(struct th_err){ 0 }),
			 TH_OK);
	settle(w);
	assert_null(strstr(w->body, "one"));
	assert_non_null(strstr(w->body, "two"));
	restart(w, plain);
	assert_null(strstr(w->body, "one"));
	assert_non_null(strstr(w->body, "two"));
	end(w);
}

/* A filter answers about what it was shown: where more was said since, it is asked again. */
static void test_what_is_said_while_a_filter_thinks(void **unused)
{
	static const char plain[] = "{\"name\":\"a\",\"input_filter\":\"last\"}";
	struct th_model_end busy = { .failure = TH_FAILURE_OVERLOADED, .hints = { -1, -1 } };
	struct world *w = begin(plain, "one");
	struct th_err err = { 0 };

	(void)unused;
	w->later[TH_ASK_FILTER] = true;
	settle(w);
	assert_int_equal(w->ask_count, 1);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &err), TH_OK);
	settle(w);
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"one\"}]");
	assert_false(w->model_open);
	assert_int_equal(w->ask_count, 2);
	code_says(w, 1, false, "[{\"role\":\"user\",\"content\":\"two\"}]");
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "two"));
	/* And between two tries; a mere try asks nothing. */
	th_driver_model_done(w->driver, w->model, &busy);
	settle(w);
	w->model_open = false;
	th_driver_timer(w->driver, (struct th_ticket){ w->h.index, w->h.generation, 0 });
	settle(w);
	assert_true(w->model_open);
	assert_int_equal(w->ask_count, 2);
	th_driver_model_done(w->driver, w->model, &busy);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("three"), &err), TH_OK);
	settle(w);
	w->model_open = false;
	th_driver_timer(w->driver, (struct th_ticket){ w->h.index, w->h.generation, 0 });
	settle(w);
	assert_false(w->model_open);
	assert_int_equal(w->ask_count, 3);
	assert_non_null(strstr(w->asks[2].input, "three"));
	end(w);

	/* The next agent hears of it, too. */
	w = begin(FILTERED, "one");
	settle(w);
	w->later[TH_ASK_FILTER] = true;
	answer(w, CALL("c1", "transfer_to_b"));
	assert_int_equal(w->ask_count, 1);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("two"), &err), TH_OK);
	settle(w);
	code_says(w, 0, false, "[{\"role\":\"user\",\"content\":\"one\"}]");
	assert_int_equal(w->ask_count, 2);
	assert_non_null(strstr(w->asks[1].input, "two"));
	code_says(w, 1, false, "[{\"role\":\"user\",\"content\":\"two\"}]");
	assert_true(w->model_open);
	assert_non_null(strstr(w->body, "two"));
	end(w);
}

static void test_what_follows_a_tool_waits_for_the_resume(void **unused)
{
	struct world *w = begin("{\"name\":\"a\",\"tool_use_behavior\":{\"code\":\"f\"}}", "go");
	struct th_err err = { 0 };

	(void)unused;
	settle(w);
	w->later[TH_ASK_TOOL_USE] = true;
	answer(w, CALL("c1", "weather"));
	assert_int_equal(w->ask_count, 1);
	assert_int_equal(th_driver_set_state(w->driver, w->h, TH_STATE_PAUSED, TH_STR(""), &err),
			 TH_OK);
	code_says(w, 0, true, "it broke");
	assert_int_equal(fold(w)->state, TH_STATE_PAUSED);
	assert_int_equal(th_driver_resume(w->driver, w->h, &err), TH_OK);
	settle(w);
	assert_int_equal(w->ask_count, 2);
	code_says(w, 1, false, "null");
	assert_true(w->model_open);
	end(w);
}

static void test_items_are_history(void **unused)
{
	struct world *w = begin("{\"name\":\"a\",\"history_items\":2}", NULL);
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(
	    th_driver_items_add(
		w->driver, w->h,
		TH_STR("[{\"role\":\"user\",\"content\":\"oldest\"},"
		       "{\"type\":\"function_call\",\"call_id\":\"z\",\"name\":\"f\",\"arguments\":"
		       "\"{}\"},"
		       "{\"type\":\"function_call_output\",\"call_id\":\"z\",\"output\":\"r\"},"
		       "{\"role\":\"assistant\",\"content\":\"before\"},"
		       "{\"role\":\"user\",\"content\":\"taken back\"}]"),
		false, &err),
	    TH_OK);
	assert_int_equal(th_driver_items_add(w->driver, w->h, TH_STR("[{\"x\":1}]"), false, &err),
			 TH_EPROTO);
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 1, &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("now"), &err), TH_OK);
	settle(w);
	/* Two of before: the result whose call is not there any more goes, too. */
	assert_null(strstr(w->body, "oldest"));
	assert_null(strstr(w->body, "taken back"));
	assert_null(strstr(w->body, "function_call"));
	assert_non_null(strstr(w->body, "before"));
	assert_non_null(strstr(w->body, "now"));
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 0, &err), TH_EPROTO);
	answer(w, TEXT("done"));
	assert_int_equal(th_driver_items_remove(w->driver, w->h, 0, &err), TH_OK);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("anew"), &err), TH_OK);
	settle(w);
	assert_null(strstr(w->body, "now"));
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions_are_asked_once_a_turn),
		cmocka_unit_test(test_guardrails_answer_when_they_like),
		cmocka_unit_test(test_a_tripwire_cancels_the_request),
		cmocka_unit_test(test_a_filter_says_what_the_next_agent_sees),
		cmocka_unit_test(test_a_log_that_ends_within_a_handoff),
		cmocka_unit_test(test_each_request_may_be_filtered),
		cmocka_unit_test(test_what_is_said_while_a_filter_thinks),
		cmocka_unit_test(test_what_follows_a_tool_waits_for_the_resume),
		cmocka_unit_test(test_items_are_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
