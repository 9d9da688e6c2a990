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
#include "paper.h"

#define TURNS 850
#define WINDOW 20

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Processor time when a request is handed over, in seconds. */
static void on_request(void *own)
{
	*(double *)own = cpu_seconds();
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
	struct paper *w = paper_new();
	struct th_agent_limits limits = { .turns = 100000 };
	struct th_agent agent = { .name = TH_STR("bench"), .limits = &limits };
	struct th_tool_row tool = {
		.spec = { .name = TH_STR("weather"),
			  .schema = TH_STR("{\"type\":\"object\"}"),
			  .class = TH_CLASS_R },
		.local = paper_weather,
		.ctx = w,
	};
	struct th_session_config o = { .agent = &agent, .tools = &tool, .tool_count = 1 };
	struct th_ev_session_created created = { 0 };
	struct th_buf body = TH_BUF_INIT(TH_MIB);
	struct th_err err = { 0 };
	double early = 1e9, late = 1e9, built = 0;
	bool good = false;

	if (th_model_resolve(th_str_of(wires[wire].model), &o.first.profile, &o.first.model, &err))
		goto out;
	created.model = o.first.model;
	w->forgetful = true;
	w->on_request = on_request;
	w->own = &built;
	if (paper_create(w, &o, &created, &err) ||
	    th_driver_message(w->driver, w->h, TH_STR("go"), &err))
		goto out;
	paper_settle(w);
	for (int turn = 1; turn <= TURNS && w->request->open; turn++) {
		double from;

		th_buf_clear(&body);
		th_buf_printf(&body, "%s%d%s%d%s", wires[wire].before, turn, wires[wire].between,
			      turn, wires[wire].after);
		from = cpu_seconds();
		paper_say(w, w->request, body.ptr);
		/* The best of each window: other processes take their share. */
		if (abs(turn - 50) <= WINDOW)
			early = TH_MIN(early, built - from);
		if (abs(turn - 800) <= WINDOW)
			late = TH_MIN(late, built - from);
		good = turn == TURNS;
	}
	if (good)
		printf("{\"bench\":\"request\",\"wire\":\"%s\",\"us_turn_50\":%.1f,"
		       "\"us_turn_800\":%.1f,\"ratio\":%.2f}\n",
		       o.first.profile->wire->name, early * 1e6, late * 1e6, late / early);
out:
	if (!good)
		fprintf(stderr, "request: %s ends early: %s\n", wires[wire].model, err.msg);
	paper_free(w);
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
