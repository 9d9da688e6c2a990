/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what a turn costs as the history grows, on every wire, without
 * transfer, store or tools: the time from an answer's bytes to the next request
 * handed over, around turn 50 and around turn 800.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "run/driver.h"

#define TURNS 850
#define WINDOW 20

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct world {
	struct th_driver *driver;
	struct th_handle h;
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
	bool flush, model_open, timed;
	struct th_ticket model, timer;
	int64_t clock;
	uint8_t random;
	double built; /* seconds of processor time when the request was handed over */
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
	struct world *w = ctx;

	(void)delay_ms;
	w->timer = t;
	w->timed = true;
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

static enum th_code no_log(void *ctx, struct th_str id, uint64_t from, uint64_t to, th_event_fn *fn,
			   void *fn_ctx, struct th_err *err)
{
	(void)ctx, (void)id, (void)from, (void)to, (void)fn, (void)fn_ctx;
	return th_fail(err, TH_ENOENT, "nothing is read here");
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct world *w = ctx;

	(void)call, (void)err;
	w->model = t;
	w->model_open = true;
	w->built = cpu_seconds();
	return TH_OK;
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	(void)t;
	((struct world *)ctx)->model_open = false;
}

static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	(void)ctx, (void)t;
	*ret_journal = TH_STR("journal");
	return true;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_tool_call *call, bool settle)
{
	(void)ctx, (void)t, (void)call, (void)settle;
	abort();
}

static void no_tool(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *ids, size_t count)
{
	(void)ctx, (void)id, (void)ids, (void)count;
}

static void fatal(void *ctx, const struct th_err *err)
{
	(void)ctx, (void)err;
	abort();
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = no_blob,
	.read = no_log,
	.model_call = model_call,
	.model_cancel = model_cancel,
	.tool_ready = tool_ready,
	.tool_run = tool_run,
	.tool_cancel = no_tool,
	.tool_forget = tool_forget,
	.fatal = fatal,
};

static void settle(struct world *w)
{
	struct th_err err = { 0 };

	while (w->flush || w->batch) {
		struct th_batch *batch;

		if (w->flush) {
			w->flush = false;
			th_driver_flush(w->driver);
		}
		batch = w->batch;
		w->batch = NULL;
		if (batch)
			w->done(w->done_ctx, batch, TH_OK, &err);
	}
}

static void weather(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_tool_result r = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"sunny\"") };

	(void)ctx;
	th_driver_tool_done(d, call->ticket, &r);
}

/* Behind %d of the first: what makes each call another one. */
static const struct {
	const char *model, *before, *between, *after;
} wires[] = {
	{ "gpt-5.4",
	  "{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[{\"type\":"
	  "\"function_call\",\"id\":\"fc_",
	  "\",\"name\":\"weather\",\"status\":\"completed\",\"arguments\":\"{}\",\"call_id\":\"c",
	  "\"}],\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}" },
	{ "chat:any",
	  "{\"id\":\"c\",\"choices\":[{\"index\":0,\"finish_reason\":\"tool_calls\",\"message\":{"
	  "\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"type\":\"function\",\"id\":"
	  "\"call_",
	  "\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"n\\\":", "}\"}}]}}]}" },
	{ "claude-sonnet-4-5",
	  "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"stop_reason\":\"tool_use\","
	  "\"content\":[{\"type\":\"tool_use\",\"name\":\"weather\",\"id\":\"toolu_",
	  "\",\"input\":{\"n\":", "}}],\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}" },
	{ "gemini-2.5-flash", "{\"responseId\":\"r",
	  "\",\"candidates\":[{\"finishReason\":\"STOP\",\"content\":{\"role\":\"model\",\"parts\":"
	  "["
	  "{\"functionCall\":{\"name\":\"weather\",\"args\":{\"n\":",
	  "}}}]}}]}" },
};

static bool measure(size_t wire)
{
	struct world w = { .clock = 1000000 };
	struct th_world world = { &ops, &w };
	struct th_agent_limits limits = { .turns = 100000 };
	struct th_agent agent = { .name = TH_STR("bench"), .limits = &limits };
	struct th_tool_row tool = {
		.spec = { .name = TH_STR("weather"),
			  .schema = TH_STR("{\"type\":\"object\"}"),
			  .class = TH_CLASS_R },
		.local = weather,
	};
	struct th_outfit o = { .agent = &agent, .tools = &tool, .tool_count = 1 };
	struct th_observer see = { .ctx = &w };
	struct th_ev_session_created created = { 0 };
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_err err = { 0 };
	double early = 1e9, late = 1e9;
	bool good = false;

	if (th_model_resolve(th_str_of(wires[wire].model), &o.first.profile, &o.first.model, &err))
		goto out;
	created.model = o.first.model;
	w.driver = th_driver_new(&world, TH_STR("bench"));
	if (th_driver_create(w.driver, TH_STR("a1"), &o, &created, &see, &w.h, &err) ||
	    th_driver_message(w.driver, w.h, TH_STR("go"), &err))
		goto out;
	settle(&w);
	for (int turn = 1; turn <= TURNS && w.model_open; turn++) {
		struct th_model_end done = { .http_status = 200, .ok = true, .hints = { -1, -1 } };
		struct th_ticket t = w.model;
		double from;

		th_buf_clear(&body);
		th_buf_printf(&body, "%s%d%s%d%s", wires[wire].before, turn, wires[wire].between,
			      turn, wires[wire].after);
		w.model_open = false;
		from = cpu_seconds();
		th_driver_model_data(w.driver, t, th_buf_str(&body));
		th_driver_model_done(w.driver, t, &done);
		settle(&w);
		/* The best of each window: other processes take their share. */
		if (abs(turn - 50) <= WINDOW)
			early = TH_MIN(early, w.built - from);
		if (abs(turn - 800) <= WINDOW)
			late = TH_MIN(late, w.built - from);
		good = turn == TURNS;
	}
	if (good)
		printf("{\"bench\":\"request\",\"wire\":\"%s\",\"us_turn_50\":%.1f,"
		       "\"us_turn_800\":%.1f,\"ratio\":%.2f}\n",
		       o.first.profile->wire->name, early * 1e6, late * 1e6, late / early);
out:
	if (!good)
		fprintf(stderr, "request: %s ends early: %s\n", wires[wire].model, err.msg);
	th_driver_free(w.driver);
	th_buf_deinit(&body);
	return good;
}

int main(void)
{
	bool good = true;

	for (size_t i = 0; i < TH_COUNT(wires); i++)
		good = measure(i) && good;
	return !good;
}
