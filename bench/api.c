/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.c - what an embedding program gets, measured through the C API alone.
 *
 *	api url=http://127.0.0.1:PORT/l500/n4/k0/v1 store=sqlite:/tmp/b.db mode=fleet sessions=1000
 *	    latency_ms=500
 *
 * fleet: all sessions at once; turns per second against what the model's latency allows, and CPU.
 *        ideal_percent counts from before the first session is made to the last one's end,
 *        steady_percent the turns between, from when each session has had one.
 * busy:  the same with a model that answers at once: CPU per turn. watch=1: a watcher is told
 *        everything (deltas, items, events); guard=1: a guardrail at each of the four stages;
 *        hook=1: a function hears of each of the seven hooks.
 * soak:  one session after the other; resident memory after the first tenth and at the end.
 */
#include "bench.h"

#include <thole/thole.h>

static struct {
	struct thole_runtime *rt;
	struct thole_agent *agent;
	const char *mode;
	long sessions, finished, calls, notes, checks, hooks;
	double first_us,
	    last_us; /* when each session has had its first turn with a call, its last */
	long last_calls;
	bool watch;
} b;

static struct thole_error err;

static void check(int code)
{
	if (code == THOLE_OK)
		return;
	fprintf(stderr, "api: %s\n", err.text);
	exit(1);
}

static void weather(void *ctx, struct thole_call *call)
{
	(void)ctx;
	b.calls++;
	if (b.calls % b.sessions == 0) {
		b.last_us = bench_wall_us();
		b.last_calls = b.calls;
		if (b.calls == b.sessions)
			b.first_us = b.last_us;
	}
	check(thole_call_done(call, "The weather in Paris is sunny, 21 degrees.", &err));
}

static void heard(void *ctx, struct thole_session *s, const struct thole_note *note)
{
	(void)ctx, (void)s, (void)note;
	b.hooks++;
}

/* Guardrails of every stage, all of which pass. */
static void passes(void *ctx, struct thole_call *call)
{
	(void)ctx;
	b.checks++;
	check(thole_call_done(call, NULL, &err));
}

static void on_note(void *ctx, struct thole_session *s, const struct thole_note *note)
{
	(void)ctx;
	b.notes++;
	if (thole_note_kind(note) != THOLE_NOTE_REST)
		return;
	if (thole_session_state(s) != THOLE_FINISHED) {
		fprintf(stderr, "api: a session ended %s: %s\n",
			thole_state_name(thole_session_state(s)), thole_session_reason(s));
		exit(1);
	}
	b.finished++;
	thole_session_free(s);
}

static void begin(void)
{
	unsigned kinds = THOLE_NOTE_REST;
	struct thole_session *s;

	if (b.watch)
		kinds |= THOLE_NOTE_DELTA | THOLE_NOTE_ITEM | THOLE_NOTE_AGENT | THOLE_NOTE_EVENT;
	check(thole_session_new(b.rt, b.agent, NULL, &s, &err));
	check(thole_session_watch(s, kinds, on_note, NULL, &err));
	check(thole_session_message(s, "What is the weather in Paris?", &err));
}

static void all_at_once(long latency_ms)
{
	double cpu = bench_cpu_us(), wall = bench_wall_us(), turns, rate, ideal, steady;

	for (long i = 0; i < b.sessions; i++)
		begin();
	check(thole_runtime_run(b.rt, &err));
	cpu = bench_cpu_us() - cpu;
	wall = bench_wall_us() - wall;
	turns = (double)(b.calls + b.finished);
	rate = turns / wall * 1e6;
	printf("{\"bench\":\"api "
	       "%s\",\"sessions\":%ld,\"turns\":%.0f,\"notes\":%ld,\"checks\":%ld,\"hooks\":%ld,"
	       "\"cpu_us_turn\":%.2f,\"turns_s\":%.1f,\"cpu_percent\":%.2f",
	       b.mode, b.sessions, turns, b.notes, b.checks, b.hooks, cpu / turns, rate,
	       cpu / wall * 100);
	if (latency_ms > 0) {
		ideal = (double)b.sessions * 1000 / (double)latency_ms;
		steady = (double)(b.last_calls - b.sessions) / (b.last_us - b.first_us) * 1e6;
		printf(",\"ideal_percent\":%.2f,\"steady_percent\":%.2f", rate / ideal * 100,
		       steady / ideal * 100);
	}
	printf(",\"rss_kb\":%ld}\n", bench_rss_kb());
}

static void one_after_the_other(void)
{
	double cpu = bench_cpu_us(), wall = bench_wall_us();
	long early = 0, late;

	for (long i = 0; i < b.sessions; i++) {
		if (i == b.sessions / 10)
			early = bench_rss_kb();
		begin();
		check(thole_runtime_run(b.rt, &err));
	}
	late = bench_rss_kb();
	cpu = bench_cpu_us() - cpu;
	wall = bench_wall_us() - wall;
	printf("{\"bench\":\"api soak\",\"sessions\":%ld,\"early_kb\":%ld,\"late_kb\":%ld,"
	       "\"growth_percent\":%.3f,\"cpu_us_session\":%.1f,\"wall_us_session\":%.1f}\n",
	       b.finished, early, late, (double)(late - early) / (double)early * 100,
	       cpu / (double)b.finished, wall / (double)b.finished);
}

int main(int argc, char **argv)
{
	const char *options[] = {
		"store",    bench_option(argc, argv, "store", "memory:"),
		"model",    "gpt-4.1",
		"base_url", bench_option(argc, argv, "url", "http://127.0.0.1:9100/v1"),
		NULL
	};
	struct thole_tool *tool;

	b.mode = bench_option(argc, argv, "mode", "busy");
	b.sessions = bench_number(argc, argv, "sessions", 64);
	b.watch = bench_number(argc, argv, "watch", 0);
	check(thole_runtime_new(options, &b.rt, &err));
	check(thole_agent_new("bench", &b.agent, &err));
	check(thole_agent_set(b.agent, "instructions", "You are a helpful assistant.", &err));
	check(thole_agent_set_json(b.agent, "settings",
				   bench_number(argc, argv, "stream", 0) ? "{\"stream\":true}"
									 : "{\"stream\":false}",
				   &err));
	check(thole_agent_tool(b.agent, "get_weather", weather, NULL, &tool, &err));
	check(thole_tool_describe(tool, "Get the weather for a city", &err));
	check(
	    thole_tool_schema(tool,
			      "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},"
			      "\"unit\":{\"type\":\"string\"}},\"required\":[\"city\",\"unit\"],"
			      "\"additionalProperties\":false}",
			      false, &err));
	check(thole_tool_class(tool, THOLE_CLASS_READ, &err));
	if (bench_number(argc, argv, "guard", 0)) {
		static const char *const names[] = { "input", "output", "tool_input",
						     "tool_output" };

		for (int i = 0; i < 4; i++)
			check(thole_agent_guardrail(b.agent, names[i], (enum thole_stage)i, true,
						    passes, NULL, &err));
	}
	for (int i = 0; bench_number(argc, argv, "hook", 0) && i <= THOLE_HOOK_TOOL_END; i++)
		check(thole_agent_hook(b.agent, (enum thole_hook)i, false, heard, NULL, &err));
	if (strcmp(b.mode, "soak") == 0)
		one_after_the_other();
	else
		all_at_once(bench_number(argc, argv, "latency_ms", 0));
	thole_agent_free(b.agent);
	return thole_runtime_free(b.rt);
}
