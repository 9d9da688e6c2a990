/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.c - the words of a long session found again (the tool `history`).
 *
 *	search dir=/tmp events=100000
 *
 * first_ms: the first search, which makes the index; warm_ms: the slowest of many
 * others, of a word that is in each event, in few, or in none, and of one event
 * read whole.
 */
#include "bench.h"

#include <unistd.h>

#include "io/clock.h"
#include "store/search.h"
#include "stores/stores.h"

#define GROUP 1000

static void die(const char *what, const struct th_err *err)
{
	fprintf(stderr, "search: %s: %s\n", what, err->msg);
	exit(1);
}

static void fill(struct th_store *s, uint64_t events)
{
	static struct th_event list[GROUP];
	static struct th_digest digests[GROUP];
	static char data[GROUP][512];
	struct th_digest before = { 0 }, head;
	struct th_err err;

	for (uint64_t seq = 0; seq < events;) {
		struct th_session_row row = { .session_id = TH_STR("long"),
					      .user = TH_STR("a"),
					      .agent = TH_STR("a"),
					      .model = TH_STR("m"),
					      .state = TH_STR("running"),
					      .epoch = 1,
					      .metadata = TH_STR("{}") };
		struct th_append a = { .create = seq == 0,
				       .row = &row,
				       .seq_before = seq,
				       .head_before = before,
				       .events = list,
				       .digests = digests,
				       .event_count = TH_MIN((uint64_t)GROUP, events - seq) };
		struct th_batch batch = { .appends = &a, .append_count = 1 };

		head = before;
		for (size_t i = 0; i < a.event_count; i++) {
			uint64_t n = seq + i;

			snprintf(
			    data[i], sizeof(data[0]),
			    "{\"call_id\":\"c%llu\",\"status\":\"done\",\"output\":\"line %llu "
			    "of the build: compiled module_%llu in %llu ms, %s\"}",
			    (unsigned long long)n, (unsigned long long)n,
			    (unsigned long long)(n % 997), (unsigned long long)(n * 7 % 1000),
			    n % 1000 == 300 ? "the needle is here" : "nothing to say");
			list[i] =
			    (struct th_event){ .seq = n + 1,
					       .ts_ms = 1700000000000,
					       .id = th_uuid_now(),
					       .source = TH_SOURCE_AGENT,
					       .kind = n ? TH_EV_OUTCOME : TH_EV_SESSION_CREATED,
					       .data = th_str_of(data[i]),
					       .build = TH_STR("0") };
			digests[i] = th_event_digest(&head, TH_STR("long"), &list[i]);
			head = digests[i];
		}
		row.head = before = head;
		row.head_seq = seq += a.event_count;
		if (s->kind->commit_now(s, &batch, &err) || a.result)
			die("append", &err);
	}
}

static enum th_code count_hit(void *ctx, uint64_t seq, struct th_str label, struct th_str text,
			      struct th_err *err)
{
	(void)seq;
	(void)label;
	(void)text;
	(void)err;
	++*(size_t *)ctx;
	return TH_OK;
}

static double search(struct th_store *s, const char *words, uint64_t event, size_t *hits)
{
	const struct th_text_query q = { th_str_of(words), event, TH_SEARCH_HITS_MAX };
	double from = bench_wall_us();
	struct th_err err;

	*hits = 0;
	if (th_store_search(s, TH_STR("long"), &q, count_hit, hits, &err))
		die("search", &err);
	return (bench_wall_us() - from) / 1e3;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *words;
		uint64_t event;
	} rows[] = { { "build", 0 }, { "needle here", 0 }, { "absent", 0 }, { "", 301 } };
	uint64_t events = (uint64_t)bench_number(argc, argv, "events", 100000);
	const struct th_store_options o = { .create = true };
	struct th_store *s;
	struct th_err err;
	char url[512];
	double first, slowest = 0;
	size_t hits, needles = 0;

	snprintf(url, sizeof(url), "sqlite:%s/search-%d.db",
		 bench_option(argc, argv, "dir", "/tmp"), (int)getpid());
	if (th_store_open(th_str_of(url), &o, &s, &err))
		die("open", &err);
	fill(s, events);
	first = search(s, "needle", 0, &needles);
	for (size_t i = 0; i < 50; i++) {
		double ms = search(s, rows[i % TH_COUNT(rows)].words,
				   rows[i % TH_COUNT(rows)].event, &hits);

		slowest = TH_MAX(slowest, ms);
	}
	printf("{\"bench\":\"search\",\"events\":%llu,\"hits\":%zu,\"first_ms\":%.0f,\"warm_ms\":%."
	       "2f}\n",
	       (unsigned long long)events, needles, first, slowest);
	s->kind->close(s);
	return needles ? 0 : 1;
}
