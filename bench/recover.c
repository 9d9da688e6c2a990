/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.c - a host with many sessions dies by kill -9 and starts again: the
 * store is opened and th_runtime_recover takes all sessions over: each log is
 * read and folded, so that it could go on.  No model is asked, and digests are
 * verify's business.
 *
 *	recover dir=/tmp sessions=10000 size=4600
 *
 * open_ms: of it, opening the store; all_ms: wall time; cpu_ms: this process.
 */
#include "bench.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/clock.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

#define TURNS 4
#define EVENTS (2 + 5 * TURNS)

struct bench {
	struct th_store *s;
	size_t count, taken;
	char (*names)[TH_UUID_TEXT_SIZE + 1];
};

static void die(const char *what, const struct th_err *err)
{
	fprintf(stderr, "recover: %s: %s\n", what, err->msg);
	exit(1);
}

static void event(struct th_event *ev, uint64_t seq, enum th_event_kind kind, uint64_t cause,
		  struct th_str call, struct th_str data)
{
	*ev = (struct th_event){ .seq = seq,
				 .ts_ms = 1700000000000 + (int64_t)seq,
				 .id = th_uuid_now(),
				 .source = TH_SOURCE_AGENT,
				 .kind = kind,
				 .cause = cause,
				 .call = call,
				 .data = data,
				 .build = TH_STR("0.1.0") };
}

static struct th_str text(struct th_arena *a, const char *data)
{
	return th_arena_str(a, th_str_of(data));
}

/* One turn: asked, answered, a command that is done. */
static void turn(struct th_arena *a, struct th_event *ev, uint64_t seq, int number,
		 struct th_str filler)
{
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_str call = th_arena_printf(a, "call_%d", number);
	const char *id = call.ptr;

	th_call_digest(TH_STR("shell"), TH_STR("{}"), digest);
	event(&ev[0], seq, TH_EV_MODEL_REQUESTED, 0, TH_STR(""),
	      text(a, "{\"model\":\"gpt-5.4\",\"turn\":1,\"attempt\":1,\"items\":1}"));
	event(&ev[1], seq + 1, TH_EV_MODEL_ANSWERED, seq, TH_STR(""),
	      th_arena_printf(
		  a,
		  "{\"response_id\":\"r\",\"model\":\"gpt-5.4\",\"status\":\"completed\","
		  "\"items\":[{\"type\":\"function_call\",\"id\":\"fc\",\"call_id\":\"%s\","
		  "\"name\":\"shell\",\"arguments\":\"{}\",\"status\":\"completed\"}],"
		  "\"usage\":{\"input\":10,\"output\":5,\"total\":15}}",
		  id));
	event(&ev[2], seq + 2, TH_EV_CALL, seq + 1, call,
	      th_arena_printf(
		  a,
		  "{\"call_id\":\"%s\",\"tool\":\"shell\",\"arguments\":{},\"class\":\"W\","
		  "\"digest\":\"%s\",\"policy\":\"run\"}",
		  id, digest));
	event(&ev[3], seq + 3, TH_EV_INTENT, seq + 2, call,
	      th_arena_printf(
		  a,
		  "{\"call_id\":\"%s\",\"effect_id\":\"0123456789abcdef0123456789abcd%02d\","
		  "\"epoch\":1,\"class\":\"W\",\"tool\":\"shell\",\"digest\":\"%s\","
		  "\"timeout_ms\":120000}",
		  id, number, digest));
	event(&ev[4], seq + 4, TH_EV_OUTCOME, seq + 3, call,
	      th_arena_printf(
		  a,
		  "{\"call_id\":\"%s\",\"effect_id\":\"0123456789abcdef0123456789abcd%02d\","
		  "\"status\":\"done\",\"output\":\"%.*s\"}",
		  id, number, TH_FMT(filler)));
}

/* Two events, then a turn at a time for all sessions, as a host with many would write them. */
static void fill(struct bench *b, struct th_arena *a, struct th_str filler)
{
	struct th_event first[2], turns[TURNS][5];
	struct th_digest *heads = th_alloc(b->count * sizeof(*heads));
	struct th_err err;

	event(&first[0], 1, TH_EV_SESSION_CREATED, 0, TH_STR(""),
	      text(a, "{\"agent\":{\"name\":\"bench\",\"base_url\":\"http://"
		      "127.0.0.1:9\"},\"model\":\"gpt-5.4\"}"));
	event(&first[1], 2, TH_EV_MESSAGE, 0, TH_STR(""),
	      text(a, "{\"role\":\"user\",\"content\":\"do it\"}"));
	for (int i = 0; i < TURNS; i++)
		turn(a, turns[i], 3 + 5 * (uint64_t)i, i, filler);
	for (int part = 0; part <= TURNS; part++) {
		const struct th_event *events = part ? turns[part - 1] : first;
		size_t n = part ? 5 : 2;

		for (size_t from = 0; from < b->count; from += 64) {
			size_t group = TH_MIN(b->count - from, (size_t)64);
			struct th_append appends[64];
			struct th_session_row rows[64];
			struct th_digest digests[64][5];
			struct th_batch batch = { .appends = appends, .append_count = group };

			for (size_t i = 0; i < group; i++) {
				struct th_str id = th_str_of(b->names[from + i]);
				struct th_digest head = heads[from + i];

				for (size_t k = 0; k < n; k++)
					digests[i][k] = head =
					    th_event_digest(&head, id, &events[k]);
				rows[i] = (struct th_session_row){ .session_id = id,
								   .agent = TH_STR("bench"),
								   .model = TH_STR("gpt-5.4"),
								   .state = TH_STR("running"),
								   .title = TH_STR("do it"),
								   .head_seq = events[n - 1].seq,
								   .head = head,
								   .epoch = 1,
								   .metadata = TH_STR("{}") };
				appends[i] = (struct th_append){ .create = part == 0,
								 .row = &rows[i],
								 .seq_before = events[0].seq - 1,
								 .head_before = heads[from + i],
								 .events = events,
								 .digests = digests[i],
								 .event_count = n };
				heads[from + i] = head;
			}
			if (b->s->kind->commit_now(b->s, &batch, &err))
				die("fill", &err);
		}
	}
	free(heads);
}

static void on_ready(void *ctx, struct th_str id, struct th_handle h, const struct th_err *err)
{
	struct bench *b = ctx;

	(void)id;
	(void)h;
	if (err)
		die("session", err);
	b->taken++;
}

int main(int argc, char **argv)
{
	const char *parent = bench_option(argc, argv, "dir", "/tmp");
	size_t size = (size_t)bench_number(argc, argv, "size", 4600);
	struct bench b = { .count = (size_t)bench_number(argc, argv, "sessions", 10000) };
	struct th_recover how = { .ready = on_ready, .ctx = &b };
	struct th_runtime_options runtime = { 0 };
	struct th_runtime *rt;
	struct th_config *config = NULL;
	struct th_store_options options = { .create = true };
	char dir[4096], url[4200], command[4200], *filler = th_alloc(size + 1);
	struct th_arena a;
	struct th_err err = { 0 };
	double start, opened, done, cpu;
	int status;
	pid_t pid;

	th_arena_init(&a, (size_t)1 << 30);
	snprintf(dir, sizeof(dir), "%s/thole-recover-XXXXXX", parent);
	if (!mkdtemp(dir) || th_config_load(TH_STR(""), &config, &err))
		return 1;
	snprintf(url, sizeof(url), "sqlite:%s/b.db", dir);
	memset(filler, 'f', size);
	b.names = th_alloc(b.count * sizeof(*b.names));

	for (size_t i = 0; i < b.count; i++) {
		struct th_uuid id = th_uuid_now();

		th_uuid_text(&id, b.names[i]);
	}
	pid = fork();
	if (pid == 0) {
		if (th_store_open(th_str_of(url), &options, &b.s, &err))
			die("open", &err);
		fill(&b, &a, th_str_n(filler, size));
		raise(SIGKILL);
	}
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		return 1;

	cpu = bench_cpu_us();
	start = bench_wall_us();
	runtime.store_url = th_str_of(url);
	runtime.config = config;
	if (th_runtime_new(&runtime, &rt, &err))
		die("open", &err);
	opened = bench_wall_us();
	if (th_runtime_recover(rt, &how, &err))
		die("recover", &err);
	done = bench_wall_us();
	cpu = bench_cpu_us() - cpu;
	if (b.taken != b.count)
		return 1;
	printf("{\"bench\":\"recover\",\"sessions\":%zu,\"events\":%zu,\"kb_each\":%.1f,"
	       "\"open_ms\":%.0f,\"all_ms\":%.0f,\"cpu_ms\":%.0f,\"events_per_s\":%.0f,"
	       "\"rss_mb\":%ld}\n",
	       b.count, b.count * EVENTS, (double)(TURNS * size) / 1024, (opened - start) / 1e3,
	       (done - start) / 1e3, cpu / 1e3, (double)(b.count * EVENTS) / (done - opened) * 1e6,
	       bench_rss_kb() / 1024);
	rt = th_runtime_free(rt);
	th_config_free(config);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}
