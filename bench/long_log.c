/* SPDX-License-Identifier: Apache-2.0 */
/*
 * long_log.c - how long other sessions of a runtime wait while one with a very long
 * log is read and opened: the longest pass of the loop.
 *
 *	long_log store=sqlite:/tmp/long.db events=1000000 append=5
 *
 * The log has turns of five events, `append` events in an append.  *_ms: wall time of
 * the whole; *_pass_ms: the longest call of thole_runtime_dispatch meanwhile, or of the
 * function that began it, and *_pass_cpu_ms in CPU time of this thread, which a busy machine
 * does not lengthen; blocking_*: what the blocking function takes, which is one pass.
 */
#include "bench.h"

#include <poll.h>
#include <thole/thole.h>

#include "base/hash.h"
#include "core/session.h"
#include "events/event.h"
#include "io/clock.h"
#include "stores/stores.h"

#define ID "long"

static struct thole_error error;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "long_log: %s: %s\n", what, why);
	exit(1);
}

#define GOOD(call)                              \
	do {                                    \
		if ((call) != THOLE_OK)         \
			die(#call, error.text); \
	} while (0)

/* ---- the log ---- */

/* Event `seq` of the log; its data in `data`. */
static void event_at(uint64_t seq, struct th_event *ev, char data[512], char call[32])
{
	static const enum th_event_kind kinds[] = { TH_EV_MODEL_REQUESTED, TH_EV_MODEL_ANSWERED,
						    TH_EV_CALL, TH_EV_INTENT, TH_EV_OUTCOME };
	static char digest[TH_SHA256_HEX_SIZE + 1];
	unsigned long number = (unsigned long)(seq - 3) / 5;
	size_t step = (size_t)(seq - 3) % 5;

	*ev = (struct th_event){ .seq = seq,
				 .ts_ms = 1700000000000 + (int64_t)seq,
				 .source = TH_SOURCE_AGENT,
				 .build = TH_STR("0.1.0") };
	ev->id = th_uuid_now();
	call[0] = '\0';
	if (seq <= 2) {
		ev->kind = seq == 1 ? TH_EV_SESSION_CREATED : TH_EV_MESSAGE;
		snprintf(data, 512, "%s",
			 seq == 1 ? "{\"agent\":{\"name\":\"bench\",\"base_url\":\"http://"
				    "127.0.0.1:9\"},\"model\":\"gpt-5.4\"}"
				  : "{\"role\":\"user\",\"content\":\"do it\"}");
		ev->data = th_str_of(data);
		return;
	}
	if (!digest[0])
		th_call_digest(TH_STR("shell"), TH_STR("{}"), digest);
	ev->kind = kinds[step];
	ev->cause = step ? seq - 1 : 0;
	if (step >= 2)
		snprintf(call, 32, "call_%lu", number);
	ev->call = th_str_of(call);
	switch (step) {
	case 0:
		snprintf(data, 512,
			 "{\"model\":\"gpt-5.4\",\"turn\":%lu,\"attempt\":1,\"items\":1}",
			 number + 1);
		break;
	case 1:
		snprintf(data, 512,
			 "{\"response_id\":\"r\",\"model\":\"gpt-5.4\",\"status\":\"completed\","
			 "\"items\":[{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":"
			 "\"call_%lu\",\"name\":\"shell\",\"arguments\":\"{}\",\"status\":"
			 "\"completed\"}],\"usage\":{\"input\":10,\"output\":5,\"total\":15}}",
			 number);
		break;
	case 2:
		snprintf(data, 512,
			 "{\"call_id\":\"%s\",\"tool\":\"shell\",\"arguments\":{},\"class\":\"W\","
			 "\"digest\":\"%s\",\"policy\":\"run\"}",
			 call, digest);
		break;
	case 3:
		snprintf(data, 512,
			 "{\"call_id\":\"%s\",\"effect_id\":\"0123456789abcdef01234567%08lu\","
			 "\"epoch\":1,\"class\":\"W\",\"tool\":\"shell\",\"digest\":\"%s\","
			 "\"timeout_ms\":120000}",
			 call, number, digest);
		break;
	default:
		snprintf(data, 512,
			 "{\"call_id\":\"%s\",\"effect_id\":\"0123456789abcdef01234567%08lu\","
			 "\"status\":\"done\",\"output\":\"done, and nothing is left to be said\"}",
			 call, number);
	}
	ev->data = th_str_of(data);
}

struct appends {
	struct th_append list[1000];
	struct th_session_row rows[1000];
	struct th_event *events;
	struct th_digest *digests;
	char (*data)[512], (*calls)[32];
};

/* Up to event `count`. */
static void fill(const char *url, uint64_t count, uint64_t per_append)
{
	const struct th_store_options options = { .create = true };
	struct th_store *s = NULL;
	struct appends *a = calloc(1, sizeof(*a));
	size_t room = TH_COUNT(a->list) * (size_t)per_append, used;
	struct th_digest head = { { 0 } };
	struct th_err err = { 0 };

	if (th_store_open(th_str_of(url), &options, &s, &err))
		die(url, err.msg);
	a->events = calloc(room, sizeof(*a->events));
	a->digests = calloc(room, sizeof(*a->digests));
	a->data = calloc(room, sizeof(*a->data));
	a->calls = calloc(room, sizeof(*a->calls));
	for (uint64_t seq = 1; seq <= count;) {
		struct th_batch batch = { .appends = a->list };

		used = 0;
		while (seq <= count && batch.append_count < TH_COUNT(a->list)) {
			size_t n = (size_t)TH_MIN(per_append, count + 1 - seq),
			       i = batch.append_count++;

			a->list[i] = (struct th_append){ .create = seq == 1,
							 .row = &a->rows[i],
							 .seq_before = seq - 1,
							 .head_before = head,
							 .events = a->events + used,
							 .digests = a->digests + used,
							 .event_count = n };
			for (size_t k = 0; k < n; k++, used++, seq++) {
				event_at(seq, &a->events[used], a->data[used], a->calls[used]);
				head = a->digests[used] =
				    th_event_digest(&head, TH_STR(ID), &a->events[used]);
			}
			a->rows[i] = (struct th_session_row){ .session_id = TH_STR(ID),
							      .agent = TH_STR("bench"),
							      .model = TH_STR("gpt-5.4"),
							      .state = TH_STR("running"),
							      .title = TH_STR("do it"),
							      .head_seq = seq - 1,
							      .head = head,
							      .epoch = 1,
							      .metadata = TH_STR("{}") };
		}
		if (s->kind->commit_now(s, &batch, &err) || a->list[0].result)
			die("the log cannot be written", err.msg);
	}
	free(a->events);
	free(a->digests);
	free(a->data);
	free(a->calls);
	free(a);
	th_store_close(s);
}

/* ---- what others wait ---- */

struct watch {
	struct thole_runtime *rt;
	double longest_ms, longest_cpu_ms;
	uint64_t began_ns;
	size_t lines, stop_at;
	bool over;
	int code;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double ms_since(uint64_t ns)
{
	return (double)(th_clock_ns() - ns) / 1e6;
}

static void pass(struct watch *w)
{
	struct pollfd p = { .fd = thole_runtime_fd(w->rt), .events = POLLIN };
	uint64_t began, cpu;
	double took, took_cpu;

	(void)poll(&p, 1, thole_runtime_timeout_ms(w->rt));
	began = th_clock_ns();
	cpu = cpu_ns();
	GOOD(thole_runtime_dispatch(w->rt, &error));
	took = ms_since(began);
	took_cpu = (double)(cpu_ns() - cpu) / 1e6;
	w->longest_ms = TH_MAX(w->longest_ms, took);
	w->longest_cpu_ms = TH_MAX(w->longest_cpu_ms, took_cpu);
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct watch *w = ctx;

	(void)line;
	(void)len;
	return ++w->lines == w->stop_at;
}

static void on_done(void *ctx, int code, const struct thole_error *err)
{
	struct watch *w = ctx;

	(void)err;
	w->over = true;
	w->code = code;
}

static void print(const char *name, const struct watch *w)
{
	printf(", \"%s_ms\": %.1f, \"%s_pass_ms\": %.2f, \"%s_pass_cpu_ms\": %.2f", name,
	       ms_since(w->began_ns), name, w->longest_ms, name, w->longest_cpu_ms);
	fflush(stdout);
}

/* From event `from`, at most `count` lines. */
static void read_log(struct thole_runtime *rt, const char *name, uint64_t from, size_t count)
{
	struct watch w = { .rt = rt, .stop_at = count, .began_ns = th_clock_ns() };

	GOOD(thole_runtime_log_start(rt, ID, from, on_line, on_done, &w, NULL, &error));
	w.longest_ms = ms_since(w.began_ns);
	while (!w.over)
		pass(&w);
	print(name, &w);
}

int main(int argc, char **argv)
{
	const char *url = bench_option(argc, argv, "store", "memory:");
	uint64_t events = (uint64_t)bench_number(argc, argv, "events", 100000);
	const char *options[] = { "store", url, "model", "gpt-5.4", "api_key", "k", NULL };
	struct thole_session *session = NULL;
	struct thole_runtime *rt = NULL;
	struct watch w = { 0 };

	events = 2 + (events - 2) / 5 * 5; /* whole turns */
	fill(url, events, (uint64_t)bench_number(argc, argv, "append", 5));
	GOOD(thole_runtime_new(options, &rt, &error));
	printf("{\"bench\": \"long_log\", \"events\": %llu", (unsigned long long)events);
	read_log(rt, "page", 1, 100);
	read_log(rt, "last_page", events - 99, 100);
	read_log(rt, "log", 1, SIZE_MAX);
	w = (struct watch){ .rt = rt, .began_ns = th_clock_ns() };
	GOOD(thole_runtime_log(rt, ID, 1, on_line, &w, &error));
	printf(", \"blocking_log_ms\": %.1f", ms_since(w.began_ns));
	w = (struct watch){ .rt = rt, .began_ns = th_clock_ns() };
	GOOD(thole_session_open_start(rt, NULL, ID, &session, &error));
	w.longest_ms = ms_since(w.began_ns);
	while (thole_session_state(session) == THOLE_LOADING)
		pass(&w);
	print("open", &w);
	if (thole_session_state(session) == THOLE_LOST)
		die("the session", thole_session_reason(session));
	thole_session_free(session);
	GOOD(thole_runtime_run(rt, &error));
	w = (struct watch){ .rt = rt, .began_ns = th_clock_ns() };
	GOOD(thole_session_open(rt, NULL, ID, &session, &error));
	printf(", \"blocking_open_ms\": %.1f", ms_since(w.began_ns));
	printf(", \"rss_mib\": %.1f}\n", (double)bench_rss_kb() / 1024);
	thole_session_free(session);
	thole_runtime_free(rt);
	return 0;
}
