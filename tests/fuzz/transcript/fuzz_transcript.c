/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of events -> what was said and done.  Whatever comes, its parts lie in
 * order and each item is JSON; what is printed and given back unchanged is
 * found again, item by item.
 */
#include <stdlib.h>

#include "transcript/transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct th_transcript *p)
{
	assert(p->count <= p->cap && p->task_at <= p->count);
	assert(p->answer_at <= p->results_at && p->results_at <= p->count);
}

/* False: an item is none that could be given back (of a log that no build of ours wrote). */
static bool print(const struct th_transcript *p, struct th_buf *out)
{
	struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(out);
	bool good;

	th_jw_array(&w);
	for (size_t i = 0; i < p->count; i++)
		th_transcript_print(&p->list[i], &w);
	th_jw_array_end(&w);
	good = th_json_parse(th_buf_str(out), &doc, NULL) == TH_OK;
	if (good && th_json_count(th_json_root(doc)) != p->count)
		abort();
	th_json_free(doc);
	return good;
}

/* Given back as it is, then narrowed to that: the same again. */
static void give_back(struct th_transcript *p)
{
	struct th_buf whole = TH_BUF_INIT(64 * TH_MIB), marks = TH_BUF_INIT(64 * TH_MIB),
		      again = TH_BUF_INIT(64 * TH_MIB);
	struct th_json_doc *doc = NULL, *marked = NULL;
	struct th_err err = {};

	if (!print(p, &whole) || th_json_parse(th_buf_str(&whole), &doc, NULL))
		goto out;
	if (th_transcript_mark(p, th_json_root(doc), &marks, &err)) {
		assert(err.msg[0]);
		goto out;
	}
	if (th_json_parse(th_buf_str(&marks), &marked, NULL) ||
	    th_transcript_keep(p, 1000000, th_json_root(marked), &err))
		abort();
	check(p);
	th_json_free(marked);
	marked = NULL;
	if (!print(p, &again) || th_json_parse(th_buf_str(&again), &marked, NULL) ||
	    !th_json_equal(th_json_root(doc), th_json_root(marked)))
		abort();
out:
	th_json_free(doc);
	th_json_free(marked);
	th_buf_deinit(&whole);
	th_buf_deinit(&marks);
	th_buf_deinit(&again);
}

static void feed(struct th_transcript *p, struct th_str rest)
{
	struct th_arena a;

	th_arena_init(&a, 64 * TH_MIB);
	for (uint64_t seq = 1; rest.len > 0; seq++) {
		struct th_json_doc *doc = NULL;
		struct th_event ev;
		struct th_err err = {};

		if (!th_json_parse(th_str_split(&rest, '\n'), &doc, NULL) &&
		    !th_event_parse(th_json_root(doc), &a, &ev, &err)) {
			ev.seq = seq;
			if (th_transcript_add(p, &ev, &err))
				assert(err.msg[0]);
			check(p);
		}
		th_json_free(doc);
	}
	th_arena_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int narrow = 0; narrow < 2; narrow++) {
		struct th_transcript p;
		size_t before;

		th_transcript_init(&p, narrow);
		feed(&p, th_str_n(data, size));
		give_back(&p);
		th_transcript_limit(&p, size % 7);
		check(&p);
		before = p.count;
		th_transcript_prune(&p);
		check(&p);
		assert(p.count <= before);
		before = p.count;
		th_transcript_prune(&p);
		assert(p.count == before);
		th_transcript_deinit(&p);
	}
	return 0;
}
