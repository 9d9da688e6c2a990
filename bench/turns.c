/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.c - the runtime's own cost of a turn: many sessions, an in-process
 * tool of class R, a scripted model on loopback, events in a store.
 *
 *	turns url=http://127.0.0.1:PORT/l0/n50/k0/v1 store=sqlite:/tmp/b.db
 *	      sessions=64 hist=0 stream=0 mode=turns|growth|memory model=gpt-4.1
 *
 * turns:  CPU and wall time per turn over all sessions.
 * growth: one session; CPU per turn around turn 50 and around turn 800, with
 *         the bytes sent, so that the transfer can be told apart.
 * memory: resident memory per session when all requests are in flight.
 */
#include "bench.h"

#include "runtime/runtime.h"

struct bench {
	struct th_runtime *rt;
	long sessions, started, finished, turns;
	const char *mode;
	long rss_before;
	struct th_timer timer;
	long hist;
	double mark_cpu[4]; /* growth: at the edges of the two windows */
	long mark_turn[4];
	int marks;
};

static void weather(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct bench *b = ctx;
	struct th_effect_result r = {
		.status = TH_OUTCOME_DONE,
		.output = TH_STR("\"The weather in Paris is sunny, 21 degrees.\""),
	};

	b->turns++;
	if (b->marks < 4 && b->turns == b->mark_turn[b->marks])
		b->mark_cpu[b->marks++] = bench_cpu_us();
	th_driver_tool_done(d, call->ticket, &r);
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *s,
		    const struct th_err *err)
{
	struct bench *b = ctx;

	(void)h;
	if (err || s->state != TH_STATE_FINISHED) {
		fprintf(stderr, "turns: a session ended %s: %s%s\n", th_state_name(s->state),
			s->reason.ptr, err ? err->msg : "");
		exit(1);
	}
	if (++b->finished == b->sessions)
		th_loop_stop(th_runtime_loop(b->rt));
}

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	struct bench *b = ctx;
	struct th_buf text;
	struct th_err failure;

	if (err) {
		fprintf(stderr, "turns: %s\n", err->msg);
		exit(1);
	}
	th_buf_init(&text, TH_MESSAGE_MAX);
	while ((long)text.len < b->hist)
		th_buf_add_cstr(&text, "The quick brown fox jumps over the lazy dog. ");
	th_buf_add_cstr(&text, "What is the weather in Paris?");
	if (th_driver_message(th_runtime_driver(b->rt), h, th_buf_str(&text), &failure)) {
		fprintf(stderr, "turns: %s\n", failure.msg);
		exit(1);
	}
	th_buf_deinit(&text);
	b->started++;
}

static void on_timer(void *ctx)
{
	struct bench *b = ctx;
	long rss = bench_rss_kb();

	printf("{\"bench\":\"memory\",\"sessions\":%ld,\"hist\":%ld,\"idle_kb\":%ld,\"rss_kb\":%ld,"
	       "\"per_session_kb\":%.1f}\n",
	       b->sessions, b->hist, b->rss_before, rss,
	       (double)(rss - b->rss_before) / (double)b->sessions);
	exit(0);
}

static void start_all(struct bench *b, const struct th_agent *agent)
{
	struct th_observer observer = { .rest = on_rest, .ctx = b };
	struct th_start start = { .agent = agent };
	struct th_err err;

	for (long i = 0; i < b->sessions; i++)
		if (th_runtime_start(b->rt, &start, false, &observer, on_ready, b, &err)) {
			fprintf(stderr, "turns: %s\n", err.msg);
			exit(1);
		}
}

static void growth_report(const struct bench *b)
{
	double early =
	    (b->mark_cpu[1] - b->mark_cpu[0]) / (double)(b->mark_turn[1] - b->mark_turn[0]);
	double late =
	    (b->mark_cpu[3] - b->mark_cpu[2]) / (double)(b->mark_turn[3] - b->mark_turn[2]);

	printf("{\"bench\":\"growth\",\"cpu_us_turn_50\":%.1f,\"cpu_us_turn_800\":%.1f,\"ratio\":%."
	       "3f}\n",
	       early, late, late / early);
}

int main(int argc, char **argv)
{
	struct bench b = {
		.sessions = bench_number(argc, argv, "sessions", 64),
		.mode = bench_option(argc, argv, "mode", "turns"),
		.hist = bench_number(argc, argv, "hist", 0),
		.mark_turn = { 30, 70, 780, 820 },
	};
	struct th_agent_model_settings settings = { TH_SETTINGS_UNSET,
						    .stream =
							bench_number(argc, argv, "stream", 0) };
	struct th_agent_limits limits = { .turns = 100000 };
	struct th_str names[] = { TH_STR("get_weather") };
	struct th_agent agent = {
		.name = TH_STR("bench"),
		.instructions = TH_STR("You are a helpful assistant."),
		.model = th_str_of(bench_option(argc, argv, "model", "gpt-4.1")),
		.base_url = th_str_of(
		    bench_option(argc, argv, "url", "http://127.0.0.1:9100/l0/n50/k0/v1")),
		.settings = &settings,
		.limits = &limits,
		.tools = { names, 1 },
	};
	struct th_runtime_options options = {
		.store_url = th_str_of(bench_option(argc, argv, "store", "memory:")),
		.store_create = true,
	};
	struct th_tool_row row = {
		.spec = { .name = TH_STR("get_weather"),
			  .description = TH_STR("Get the weather for a city"),
			  .schema = TH_STR(
			      "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},"
			      "\"unit\":{\"type\":\"string\"}},\"required\":[\"city\",\"unit\"],"
			      "\"additionalProperties\":false}"),
			  .class = TH_CLASS_R },
		.local = weather,
		.ctx = &b,
	};
	struct th_config *config = NULL;
	struct th_err err = { 0 };
	double cpu, wall;
	long turns;

	if (th_config_load(TH_STR(""), &config, &err))
		goto fail;
	options.config = config;
	if (th_runtime_new(&options, &b.rt, &err) || th_runtime_tool(b.rt, &row, &err))
		goto fail;
	b.rss_before = bench_rss_kb();
	if (strcmp(b.mode, "memory") == 0) {
		th_timer_init(&b.timer, th_runtime_loop(b.rt), on_timer, &b);
		th_timer_start(&b.timer, (uint64_t)bench_number(argc, argv, "hold_ms", 3000), 0);
	}
	cpu = bench_cpu_us();
	wall = bench_wall_us();
	start_all(&b, &agent);
	th_loop_run(th_runtime_loop(b.rt));
	cpu = bench_cpu_us() - cpu;
	wall = bench_wall_us() - wall;
	turns = b.turns + b.sessions;
	if (strcmp(b.mode, "growth") == 0)
		growth_report(&b);
	else
		printf(
		    "{\"bench\":\"turns\",\"sessions\":%ld,\"turns\":%ld,\"stream\":%s,\"store\":"
		    "\"%.*s\","
		    "\"cpu_us_turn\":%.2f,\"wall_us_turn\":%.2f,\"turns_s\":%.0f,\"rss_kb\":%ld}\n",
		    b.sessions, turns, settings.stream ? "true" : "false", 6, options.store_url.ptr,
		    cpu / (double)turns, wall / (double)turns, (double)turns / wall * 1e6,
		    bench_rss_kb());
	b.rt = th_runtime_free(b.rt);
	th_config_free(config);
	return 0;
fail:
	fprintf(stderr, "turns: %s\n", err.msg);
	return 1;
}
