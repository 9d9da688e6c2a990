/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condensers: what they leave out, and that what stays is a history that a
 * provider takes.
 */
#include "transcript/transcript_rig.h"

#include <stdio.h>

#include "context/condenser.h"

#define MODEL TH_EV_MODEL_ANSWERED
#define REASONING "{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]}"

static void condensed(const struct th_transcript *t, int64_t keep, size_t want_items,
		      const char *want)
{
	struct th_agent_compact options = { .own = { .condenser = TH_STR("recent"),
						     .keep = keep } };
	struct th_buf marks = TH_BUF_INIT(64 * TH_KIB);
	struct th_condense c = { .options = &options,
				 .transcript = t,
				 .reasons = TH_CONDENSE_ITEMS };
	struct th_condensed made;
	bool done = th_condense(&c, &marks, &made);

	assert_int_equal(done, want != NULL);
	assert_int_equal(made.items, want_items);
	if (want)
		assert_string_equal(marks.ptr, want);
	th_buf_deinit(&marks);
}

static void test_the_newest_stay(void **unused)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },
		{ MODEL, ANSWER(REASONING "," CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ MODEL, ANSWER(CALL("function_call", "b") "," CALL("function_call", "c")) },
		{ TH_EV_OUTCOME, OUTCOME("c") },
		{ TH_EV_OUTCOME, OUTCOME("b") },
		{ MODEL, ANSWER(TEXT("fine")) },
	};
	struct th_transcript t;

	(void)unused;
	fill(&t, TH_COUNT(lines), lines);
	assert_int_equal(t.count, 9);
	/* The answer with two calls is whole: 1, 2 and 3 are not more than 5. */
	for (int64_t keep = 2; keep <= 5; keep++)
		condensed(&t, keep, 7,
			  "[[1,0],{\"role\":\"user\",\"content\":\"[3 earlier items of this "
			  "conversation were left out here.]\"},[4,0],[4,1],[6,0],[5,1],[7,0]]");
	condensed(&t, 1, 3,
		  "[[1,0],{\"role\":\"user\",\"content\":\"[7 earlier items of this conversation "
		  "were left out here.]\"},[7,0]]");
	/* The task stays, so there is nothing to leave out. */
	condensed(&t, 6, 0, NULL);
	condensed(&t, 100, 0, NULL);
	th_transcript_deinit(&t);
}

/* The task under way stays too, and the note of the last time goes. */
static void test_what_is_pinned(void **unused)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },
		{ MODEL, ANSWER(TEXT("1")) },
		{ TH_EV_FINAL, "{\"output\":\"1\"}" },
		{ TH_EV_MESSAGE, SAYS("two") },
		{ TH_EV_CONDENSATION,
		  "{\"first_seq\":1,\"last_seq\":4,\"history\":[[1,0]," SAYS("note") ",[4,0]]}" },
		{ MODEL, ANSWER(CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ MODEL, ANSWER(CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("b") },
	};
	struct th_transcript t;

	(void)unused;
	fill(&t, TH_COUNT(lines), lines);
	condensed(&t, 2, 5,
		  "[[1,0],[4,0],{\"role\":\"user\",\"content\":\"[2 earlier items of this "
		  "conversation were left out here.]\"},[8,0],[9,0]]");
	condensed(&t, 4, 0, NULL); /* only the note would go */
	th_transcript_deinit(&t);
}

static uint32_t draw(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Random lists: messages, answers of 1 to 3 calls, results in any order, also late ones. */
static void random_list(struct th_transcript *t, uint32_t *state)
{
	static struct th_transcript_item items[64];
	static char ids[64][8];
	size_t open[64], open_count = 0, ids_used = 0, count = 0;

	for (uint64_t seq = 1; count < 60; seq++) {
		if (draw(state) % 3 == 0) {
			items[count++] = (struct th_transcript_item){ .kind = TH_TRANSCRIPT_MESSAGE,
								      .seq = seq };
		} else if (open_count && draw(state) % 2) {
			size_t pick = draw(state) % open_count;

			items[count++] =
			    (struct th_transcript_item){ .kind = TH_TRANSCRIPT_RESULT,
							 .seq = seq,
							 .call_id = th_str_of(ids[open[pick]]) };
			open[pick] = open[--open_count];
		} else {
			size_t of = 1 + draw(state) % 3;

			for (size_t i = 0; i < of; i++) {
				snprintf(ids[ids_used], sizeof(ids[0]), "c%zu", ids_used);
				items[count++] =
				    (struct th_transcript_item){ .kind = TH_TRANSCRIPT_OUTPUT,
								 .seq = seq,
								 .index = i,
								 .of = of,
								 .call_id =
								     th_str_of(ids[ids_used]) };
				open[open_count++] = ids_used++;
			}
		}
	}
	*t = (struct th_transcript){ .list = items, .count = count };
}

static void test_every_cut_is_legal(void **unused)
{
	uint32_t state = 7;

	(void)unused;
	for (int round = 0; round < 500; round++) {
		struct th_transcript t;
		struct th_condense c = { .transcript = &t };
		struct th_condense_plan p;

		random_list(&t, &state);
		th_condense_plan_init(&p, &c, false);
		for (size_t at = 0; at <= t.count; at++) {
			size_t cut = th_plan_cut_before(&p, at);

			assert_true(cut <= at);
			assert_int_equal(th_plan_cut_before(&p, cut), cut);
			assert_true(th_plan_cut_after(&p, at) >= at);
			assert_int_equal(th_plan_cut_after(&p, cut), cut);
			if (cut > 0 && cut < t.count)
				assert_false(t.list[cut].kind == TH_TRANSCRIPT_OUTPUT &&
					     t.list[cut - 1].seq == t.list[cut].seq);
			for (size_t i = cut; i < t.count; i++)
				for (size_t j = 0;
				     t.list[i].kind == TH_TRANSCRIPT_RESULT && j < cut; j++)
					assert_false(
					    t.list[j].kind == TH_TRANSCRIPT_OUTPUT &&
					    th_str_eq(t.list[j].call_id, t.list[i].call_id));
		}
		th_condense_plan_deinit(&p);
	}
}

/* ---- a summary --------------------------------------------------------------------------- */

static void summed(const struct th_transcript *t, struct th_agent_compact options, uint64_t read,
		   size_t want_items, const char *want)
{
	struct th_buf marks = TH_BUF_INIT(64 * TH_KIB);
	struct th_condense c = {
		.options = &options,
		.transcript = t,
		.summary = TH_STR("S"),
		.read_seq = read,
		.reasons = TH_CONDENSE_TOKENS,
		.pins = (size_t)(options.pins ?: TH_COMPACT_PINS_DEFAULT),
	};
	struct th_condensed made;
	bool done;

	options.own.condenser = TH_STR("summary");
	done = th_condense(&c, &marks, &made);
	assert_int_equal(done, want != NULL);
	assert_int_equal(made.items, want_items);
	if (want)
		assert_string_equal(marks.ptr, want);
	th_buf_deinit(&marks);
}

static void test_a_summary(void **unused)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },
		{ MODEL, ANSWER(CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ TH_EV_MESSAGE, SAYS("never delete a file") },
		{ MODEL, ANSWER(CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("b") },
		{ MODEL, ANSWER(CALL("function_call", "c")) },
		{ TH_EV_OUTCOME, OUTCOME("c") },
	};
	const char *both =
	    "[[1,0],[4,0],{\"role\":\"user\",\"content\":\"[4 earlier items of this "
	    "conversation were left out here. A summary of them:]\\n\\nS\"},[7,0],[8,0]]";
	struct th_transcript t;

	(void)unused;
	fill(&t, TH_COUNT(lines), lines);
	/* The user's rule stays where it was said, beside the summary. */
	summed(&t, (struct th_agent_compact){ .own.keep = 2 }, 8, 5, both);
	summed(&t, (struct th_agent_compact){ .own.keep = 1 }, 8, 5, both);
	/* What the model had not read when it was asked is in no summary. */
	summed(&t, (struct th_agent_compact){ .own.keep = 2 }, 6, 5, both);
	summed(&t, (struct th_agent_compact){ .own.keep = 2 }, 5, 7,
	       "[[1,0],[4,0],{\"role\":\"user\",\"content\":\"[2 earlier items of this "
	       "conversation were "
	       "left out here. A summary of them:]\\n\\nS\"},[5,0],[6,0],[7,0],[8,0]]");
	/* Where there is no room for it, it is named by its event. */
	summed(&t, (struct th_agent_compact){ .own.keep = 2, .pins = 20 }, 8, 4,
	       "[[1,0],{\"role\":\"user\",\"content\":\"[5 earlier items of this conversation were "
	       "left out "
	       "here. A summary of them:]\\n\\nS\\n\\n[Messages of the user that are not shown: "
	       "events "
	       "4.]\"},[7,0],[8,0]]");
	summed(&t, (struct th_agent_compact){ .own.keep = 2, .pins = 21 }, 8, 5, both);
	/* Nothing would go. */
	summed(&t, (struct th_agent_compact){ .own.keep = 8 }, 8, 0, NULL);
	summed(&t, (struct th_agent_compact){ .own.keep = 2 }, 2, 0, NULL);
	th_transcript_deinit(&t);
}

/* So many messages are named, and then it is only said that there are more. */
static void test_references_are_bounded(void **unused)
{
	static struct th_transcript_item items[TH_COMPACT_REFERENCES_MAX + 10];
	struct th_transcript t = { .list = items, .count = TH_COUNT(items), .task_at = 0 };
	struct th_agent_compact options = { .own = { .condenser = TH_STR("summary"), .keep = 1 } };
	struct th_condense c = { .options = &options,
				 .transcript = &t,
				 .reasons = TH_CONDENSE_TOKENS,
				 .pins = 1,
				 .summary = TH_STR("S"),
				 .read_seq = UINT64_MAX };
	struct th_condensed made;
	struct th_buf marks = TH_BUF_INIT(64 * TH_KIB);
	char last[32];

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(items); i++)
		items[i] = (struct th_transcript_item){ .kind = TH_TRANSCRIPT_MESSAGE,
							.seq = i + 1,
							.role = TH_STR("user"),
							.content = TH_STR("\"text\"") };
	assert_true(th_condense(&c, &marks, &made));
	assert_int_equal(made.items, 3);
	snprintf(last, sizeof(last), " %d, and later ones.]", TH_COMPACT_REFERENCES_MAX + 1);
	assert_non_null(strstr(marks.ptr, last));
	th_buf_deinit(&marks);
}

/* A summary that is as long as a book is cut. */
static void test_a_summary_is_bounded(void **unused)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },   { MODEL, ANSWER(TEXT("two")) },
		{ TH_EV_MESSAGE, SAYS("three") }, { MODEL, ANSWER(TEXT("four")) },
		{ TH_EV_MESSAGE, SAYS("five") },
	};
	struct th_agent_compact options = { .own = { .condenser = TH_STR("summary"), .keep = 1 } };
	struct th_buf marks = TH_BUF_INIT(TH_MIB), text = TH_BUF_INIT(TH_MIB);
	struct th_transcript t;

	(void)unused;
	fill(&t, TH_COUNT(lines), lines);
	for (size_t over = 0; over <= 1; over++) {
		struct th_condense c = { .options = &options,
					 .transcript = &t,
					 .reasons = TH_CONDENSE_TOKENS,
					 .pins = 1,
					 .read_seq = 5 };
		struct th_condensed made;

		th_buf_clear(&text);
		th_buf_clear(&marks);
		for (size_t i = 0; i < TH_COMPACT_SUMMARY_MAX - 1 + 2 * over; i++)
			th_buf_add_char(&text, over ? 'y' : 'x');
		c.summary = th_buf_str(&text);
		assert_true(th_condense(&c, &marks, &made));
		assert_int_equal(th_str_find(th_buf_str(&marks), c.summary) >= 0, !over);
	}
	th_buf_deinit(&marks);
	th_buf_deinit(&text);
	th_transcript_deinit(&t);
}

/* About half of the bytes go, whatever the number of items; the newest stays. */
static void test_half(void **unused)
{
	static struct th_transcript_item items[20];
	struct th_transcript t = { .list = items, .count = TH_COUNT(items) };
	struct th_buf marks = TH_BUF_INIT(64 * TH_KIB);
	char bytes[1000];
	struct th_condense c = { .transcript = &t };
	struct th_condensed made;

	(void)unused;
	memset(bytes, 'x', sizeof(bytes));
	for (size_t i = 0; i < TH_COUNT(items); i++)
		items[i] = (struct th_transcript_item){ .kind = TH_TRANSCRIPT_MESSAGE,
							.seq = i + 1,
							.content = th_str_n(bytes, 10) };
	assert_true(th_condense_half(&c, &marks, &made));
	assert_int_equal(made.items, 12); /* the first, the note, and ten */
	th_buf_clear(&marks);
	items[19].content = th_str_n(bytes, 1000);
	assert_true(th_condense_half(&c, &marks, &made));
	assert_int_equal(made.items, 3);
	th_buf_clear(&marks);
	t.count = 2;
	assert_false(th_condense_half(&c, &marks, &made));
	th_buf_deinit(&marks);
}

static void test_what_an_agent_may_name(void **unused)
{
	static const struct {
		const char *condenser, *from;
		enum th_code want;
		const char *says;
	} rows[] = {
		{ "recent", "", TH_OK, NULL },
		{ "", "shrink", TH_OK, NULL },
		{ "", "", TH_EUSAGE, "give either" },
		{ "recent", "shrink", TH_EUSAGE, "give either" },
		{ "newest", "", TH_EUSAGE,
		  "no condenser is called \"newest\"; there is summary, recent, noop, "
		  "observation_masking, " },
		{ "summary", "", TH_OK, NULL },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_agent_compact c = {
			.own = { .condenser = th_str_of(rows[i].condenser), .keep_first = -1 },
			.from = th_str_of(rows[i].from)
		};
		struct th_err err = { 0 };

		assert_int_equal(th_condenser_check(&c, &err), rows[i].want);
		if (rows[i].says)
			assert_non_null(strstr(err.msg, rows[i].says));
	}
	assert_int_equal(th_condenser_check(NULL, NULL), TH_OK);
}

/* The summary needs a place, and so does one of the newest. */
static void test_room(void **unused)
{
	static const struct {
		const char *condenser;
		int64_t size, first;
		enum th_code want;
	} rows[] = {
		{ "llm_summarizing", 10, 3, TH_OK }, { "llm_summarizing", 10, 4, TH_EUSAGE },
		{ "llm_summarizing", 4, 0, TH_OK },  { "llm_summarizing", 2, 0, TH_EUSAGE },
		{ "amortized", 10, 4, TH_OK },       { "amortized", 10, 5, TH_EUSAGE },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_agent_compact c = { .own = { .condenser =
								 th_str_of(rows[i].condenser),
							     .max_size = rows[i].size,
							     .keep_first = rows[i].first } };
		struct th_err err = { 0 };

		assert_int_equal(th_condenser_check(&c, &err), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_stay),
		cmocka_unit_test(test_what_is_pinned),
		cmocka_unit_test(test_a_summary),
		cmocka_unit_test(test_references_are_bounded),
		cmocka_unit_test(test_a_summary_is_bounded),
		cmocka_unit_test(test_half),
		cmocka_unit_test(test_every_cut_is_legal),
		cmocka_unit_test(test_what_an_agent_may_name),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
