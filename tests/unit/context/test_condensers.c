/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_condensers.c - each row of the table: what it leaves of one history, and
 * what holds for all of them on histories made at random.
 */
#include "transcript/transcript_rig.h"

#include <stdio.h>

#include "context/condenser.h"

#define MODEL TH_EV_MODEL_ANSWERED

/* A message and calls with their results: 1 + 2 * calls items. */
static void fill_calls(struct th_transcript *t, size_t calls)
{
	struct line lines[128] = { { TH_EV_MESSAGE, SAYS("task") } };
	static char text[128][160];

	assert_true(calls < 64);
	for (size_t i = 0; i < calls; i++) {
		snprintf(text[2 * i], sizeof(text[0]), ANSWER(CALL("function_call", "c%zu")), i);
		snprintf(text[2 * i + 1], sizeof(text[0]),
			 "{\"call_id\":\"c%zu\",\"status\":\"done\",\"output\":\"result %zu\"}", i,
			 i);
		lines[1 + 2 * i] = (struct line){ MODEL, text[2 * i] };
		lines[2 + 2 * i] = (struct line){ TH_EV_OUTCOME, text[2 * i + 1] };
	}
	fill(t, 1 + 2 * calls, lines);
}

static struct th_condense input(const struct th_agent_compact *options,
				const struct th_transcript *t)
{
	return (struct th_condense){ .options = options,
				     .transcript = t,
				     .reasons = TH_CONDENSE_ITEMS,
				     .fresh = t->count,
				     .pins = TH_COMPACT_PINS_DEFAULT };
}

/* "1 n 6 7": items by their event, n: the note, m: a mask. */
static void shape(struct th_str marks, struct th_buf *out)
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;

	assert_int_equal(th_json_parse(marks, &doc, NULL), TH_OK);
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it)) {
		if (out->len)
			th_buf_add_char(out, ' ');
		if (th_json_is_array(it.val))
			th_buf_printf(out, "%llu",
				      (unsigned long long)th_json_uint(th_json_at(it.val, 0), 0));
		else
			th_buf_add_char(out, th_json_get(it.val, "role") ? 'n' : 'm');
	}
	th_buf_add_char(out, '\0');
	th_json_free(doc);
}

static void left(size_t calls, struct th_agent_condenser own, unsigned reasons, const char *summary,
		 const char *want)
{
	struct th_agent_compact options = { .own = own };
	struct th_buf out = TH_BUF_INIT(TH_MIB), found = TH_BUF_INIT(TH_KIB);
	struct th_transcript t;
	struct th_condense c;
	struct th_condensed made;
	bool done;

	fill_calls(&t, calls);
	c = input(&options, &t);
	c.reasons = reasons;
	c.summary = th_str_of(summary);
	c.read_seq = UINT64_MAX;
	done = th_condense(&c, &out, &made);
	assert_int_equal(done, want != NULL);
	if (want) {
		shape(th_buf_str(&out), &found);
		assert_string_equal(found.ptr, want);
		assert_true(made.first_seq >= 1 && made.last_seq >= made.first_seq);
	}
	th_buf_deinit(&out);
	th_buf_deinit(&found);
	th_transcript_deinit(&t);
}

#define OWN(row, ...) ((struct th_agent_condenser){ .condenser = TH_STR(row), __VA_ARGS__ })

static void test_each(void **unused)
{
	(void)unused;
	left(5, OWN("noop", .keep_first = -1), TH_CONDENSE_LIMIT | TH_CONDENSE_ASKED, "", NULL);
	left(5, OWN("recent", .keep_first = 1, .max_events = 5), TH_CONDENSE_ITEMS, "",
	     "1 n 8 9 10 11");
	left(2, OWN("recent", .keep_first = 1, .max_events = 5), TH_CONDENSE_ITEMS, "", NULL);
	left(3, OWN("observation_masking", .keep_first = -1, .attention_window = 2),
	     TH_CONDENSE_ITEMS, "", "1 2 m 4 m 6 7");
	left(5, OWN("amortized", .keep_first = 1, .max_size = 8), 0, "", "1 n 10 11");
	left(3, OWN("amortized", .keep_first = 1, .max_size = 8), 0, "", NULL);
	left(3, OWN("amortized", .keep_first = 1, .max_size = 8), TH_CONDENSE_ASKED, "", "1 n 6 7");
	/* Asked for above that half, it is what stays; not half of what there is. */
	left(3, OWN("amortized", .keep_first = 1, .max_size = 10), TH_CONDENSE_ASKED, "",
	     "1 n 4 5 6 7");
	left(5, OWN("llm", .keep_first = 1, .max_size = 10), 0, "S", "1 n 10 11");
	left(5, OWN("structured", .keep_first = 1, .max_size = 10), 0, "S", "1 n 10 11");
	left(5, OWN("llm_summarizing", .keep_first = 1, .max_size = 10), 0, "S", "1 n 10 11");
	/* What it names stays, whole; then the newest. */
	left(5, OWN("llm_attention", .keep_first = 1, .max_size = 10), 0, "[5]",
	     "1 n 4 5 8 9 10 11");
	left(5, OWN("llm_attention", .keep_first = 1, .max_size = 10), 0, "[99]", "1 n 8 9 10 11");
	left(5, OWN("conversation_window", .keep_first = -1), TH_CONDENSE_ITEMS, "", NULL);
	left(5, OWN("conversation_window", .keep_first = -1), TH_CONDENSE_ASKED, "",
	     "1 n 8 9 10 11");
}

/* Masks go on to the next; the first that leaves something out is the last. */
static void test_a_pipeline(void **unused)
{
	struct th_agent_condenser list[] = {
		OWN("conversation_window", .keep_first = -1),
		OWN("observation_masking", .keep_first = -1, .attention_window = 4),
		OWN("amortized", .keep_first = 1, .max_size = 10),
		OWN("recent", .keep_first = -1, .keep = 1),
	};
	struct th_agent_compact options = { .own = OWN("pipeline", .keep_first = -1),
					    .condensers = { list, TH_COUNT(list) } };
	struct th_buf out = TH_BUF_INIT(TH_MIB), found = TH_BUF_INIT(TH_KIB);
	struct th_transcript t;
	struct th_condense c;
	struct th_condensed made;

	(void)unused;
	assert_int_equal(th_condenser_check(&options, NULL), TH_OK);
	fill_calls(&t, 5);
	c = input(&options, &t);
	c.reasons = 0;
	assert_true(th_condense(&c, &out, &made));
	assert_ptr_equal(made.by, &th_condenser_amortized);
	shape(th_buf_str(&out), &found);
	assert_string_equal(found.ptr, "1 n 8 9 10 11");
	th_buf_clear(&out);
	th_buf_clear(&found);
	c.reasons = TH_CONDENSE_ASKED;
	assert_true(th_condense(&c, &out, &made));
	assert_ptr_equal(made.by, &th_condenser_window);
	th_transcript_deinit(&t);
	/* Nothing is left out: what is masked is said. */
	fill_calls(&t, 4);
	c = input(&options, &t);
	c.reasons = 0;
	th_buf_clear(&out);
	assert_true(th_condense(&c, &out, &made));
	assert_ptr_equal(made.by, &th_condenser_observation);
	assert_int_equal(made.masked, 2);
	assert_int_equal(made.gone, 0);
	shape(th_buf_str(&out), &found);
	assert_string_equal(found.ptr, "1 2 m 4 m 6 7 8 9");
	th_transcript_deinit(&t);
	th_buf_deinit(&out);
	th_buf_deinit(&found);
}

static void test_what_is_asked(void **unused)
{
	static const struct {
		const char *name, *answer, *want;
	} rows[] = {
		{ "structured",
		  "Here: {\"user_context\":\"U\",\"completed_tasks\":\"C\",\"pending_tasks\":\"P\","
		  "\"branch_name\":\"b\"}",
		  "- **User context**: U\n- **Completed tasks**: C\n- **Pending tasks**: P\n"
		  "- **Branch name**: b" },
		{ "structured", "{\"user_context\":\"U\"}", NULL },
		{ "structured", "I will not.", NULL },
		{ "llm_attention", "```\n{\"ids\":[4,2]}\n```", "[4,2]" },
		{ "llm_attention", "{\"ids\":4}", NULL },
	};
	struct th_err err = { 0 };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf out = TH_BUF_INIT(TH_KIB);
		const struct th_condenser *row = th_condenser_find(th_str_of(rows[i].name));
		enum th_code code = row->read(th_str_of(rows[i].answer), &out, &err);

		assert_int_equal(code == TH_OK, rows[i].want != NULL);
		th_buf_add_char(&out, '\0');
		if (rows[i].want)
			assert_string_equal(out.ptr, rows[i].want);
		th_buf_deinit(&out);
	}
}

/* Each that asks gives the words first; those that see the items have them in it, cut. */
static void test_the_words(void **unused)
{
	(void)unused;
	for (size_t i = 0; th_condensers[i]; i++) {
		const struct th_condenser *row = th_condensers[i];
		struct th_agent_compact options = { .own = { .condenser = th_str_of(row->name),
							     .keep_first = -1 } };
		struct th_buf out = TH_BUF_INIT(TH_MIB);
		struct th_transcript t;
		struct th_condense c;
		struct th_condensed made;

		if (!row->ask)
			continue;
		fill_calls(&t, 60);
		c = input(&options, &t);
		assert_true(th_condense(&c, &out, &made));
		assert_ptr_equal(made.ask, row);
		th_buf_add_char(&out, '\0');
		assert_non_null(strstr(out.ptr, "Call no tool"));
		assert_int_equal(strstr(out.ptr, "<EVENT id=9>") != NULL,
				 made.own.max_event_length > 0);
		th_buf_deinit(&out);
		th_transcript_deinit(&t);
	}
}

static void test_numbers_that_do_not_fit(void **unused)
{
	static const struct {
		struct th_agent_condenser own;
		const char *says;
	} rows[] = {
		{ { .condenser = TH_STR_INIT("amortized"), .keep_first = 2, .max_size = 4 },
		  "keep_first (2) must be less than half of max_size (4)" },
		{ { .condenser = TH_STR_INIT("recent"), .keep_first = 4, .max_events = 4 },
		  "keep_first (4) must be less than max_events (4)" },
		{ { .condenser = TH_STR_INIT("noop"), .keep_first = -1, .keep = 1 },
		  "compact.keep: the condenser \"noop\" has no such number" },
		{ { .condenser = TH_STR_INIT("pipeline"), .keep_first = -1 },
		  "a pipeline needs at least one" },
	};
	struct th_agent_condenser list[TH_CONDENSERS_MAX + 1];
	struct th_agent_compact many = { .own = OWN("pipeline", .keep_first = -1) };
	struct th_agent_compact pins = { .own = OWN("recent", .keep_first = -1),
					 .pins = TH_COMPACT_PINS_MAX };
	struct th_err err = { 0 };

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_agent_compact options = { .own = rows[i].own };

		assert_int_equal(th_condenser_check(&options, &err), TH_EUSAGE);
		assert_non_null(strstr(err.msg, rows[i].says));
	}
	for (size_t i = 0; i < TH_COUNT(list); i++)
		list[i] = OWN("noop", .keep_first = -1);
	many.condensers = (struct th_objects){ list, TH_CONDENSERS_MAX };
	assert_int_equal(th_condenser_check(&many, &err), TH_OK);
	many.condensers.count++;
	assert_int_equal(th_condenser_check(&many, &err), TH_ELIMIT);
	list[0] = OWN("pipeline", .keep_first = -1);
	many.condensers.count = 1;
	assert_int_equal(th_condenser_check(&many, &err), TH_EUSAGE);
	many.own = OWN("noop", .keep_first = -1);
	assert_int_equal(th_condenser_check(&many, &err), TH_EUSAGE);
	assert_int_equal(th_condenser_check(&pins, &err), TH_OK);
	pins.pins++;
	assert_int_equal(th_condenser_check(&pins, &err), TH_ELIMIT);
	assert_non_null(strstr(err.msg, "compact.pins: at most 262144 bytes"));
}

/* A loop in which only the first answer thought is not parted, unless nothing else helps. */
static void test_a_thinking_loop(void **unused)
{
#define REASONING "{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[]}"
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },
		{ MODEL, ANSWER(TEXT("old")) },
		{ TH_EV_MESSAGE, SAYS("two") },
		{ MODEL, ANSWER(REASONING "," CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ MODEL, ANSWER(CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("b") },
		{ MODEL, ANSWER(REASONING "," CALL("function_call", "c")) },
		{ TH_EV_OUTCOME, OUTCOME("c") },
	};
	struct th_condense c = { 0 };
	struct th_condense_plan p;
	struct th_transcript t;

	(void)unused;
	fill(&t, TH_COUNT(lines), lines);
	c.transcript = &t;
	th_condense_plan_init(&p, &c, false);
	assert_int_equal(th_plan_cut_before(&p, 6), 3);
	assert_int_equal(th_plan_cut_after(&p, 6), 8);
	th_condense_plan_deinit(&p);
	th_condense_plan_init(&p, &c, true);
	assert_int_equal(th_plan_cut_before(&p, 6), 6);
	th_condense_plan_deinit(&p);
	th_transcript_deinit(&t);
}

/* The words of an earlier summary are not lost with a later one. */
static void test_a_summary_is_carried_on(void **unused)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("one") },
		{ MODEL, ANSWER(CALL("function_call", "a")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ TH_EV_CONDENSATION,
		  "{\"first_seq\":2,\"last_seq\":3,\"summary\":\"SUM\",\"history\":"
		  "[[1,0]," SAYS("[2 earlier items. A summary: SUM]") "]}" },
		{ MODEL, ANSWER(CALL("function_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("b") },
		{ MODEL, ANSWER(CALL("function_call", "c")) },
		{ TH_EV_OUTCOME, OUTCOME("c") },
	};
	struct th_agent_compact options = { .own = OWN("recent", .keep_first = -1, .keep = 2) };
	struct th_buf marks = TH_BUF_INIT(TH_MIB);
	struct th_transcript t;
	struct th_condense c;
	struct th_condensed made;

	(void)unused;
	fill(&t, TH_COUNT(lines), lines);
	c = input(&options, &t);
	assert_true(th_condense(&c, &marks, &made));
	th_buf_add_char(&marks, '\0');
	assert_string_equal(marks.ptr,
			    "[[1,0],{\"role\":\"user\",\"content\":\"[2 earlier items of this "
			    "conversation were left out here. A summary of what was before "
			    "them:]\\n\\nSUM\"},[7,0],[8,0]]");
	assert_true(th_str_is(made.summary, "SUM"));
	assert_int_equal(made.first_seq, 5);
	assert_int_equal(made.last_seq, 6);
	th_buf_deinit(&marks);
	th_transcript_deinit(&t);
}

/* ---- at random ---------------------------------------------------------------------------- */

static uint32_t draw(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

struct story {
	struct line lines[200];
	char text[200][400];
	size_t count, calls;
};

static void tell(struct story *s, enum th_event_kind kind, const char *data)
{
	snprintf(s->text[s->count], sizeof(s->text[0]), "%s", data);
	s->lines[s->count] = (struct line){ kind, s->text[s->count] };
	s->count++;
}

/* Messages, answers with 0 to 3 calls with and without reasoning, and their results in any order.
 */
static void story(struct story *s, uint32_t *state)
{
	char text[400];

	*s = (struct story){ 0 };
	tell(s, TH_EV_MESSAGE, SAYS("the task"));
	while (s->count < 120) {
		size_t calls = draw(state) % 4, first = s->calls;
		struct th_buf items = TH_BUF_INIT(TH_KIB);

		if (draw(state) % 5 == 0) {
			snprintf(text, sizeof(text), SAYS("rule %zu"), s->count);
			tell(s, TH_EV_MESSAGE, text);
		}
		if (draw(state) % 2)
			th_buf_add_cstr(&items, "{\"type\":\"reasoning\"}");
		for (size_t i = 0; i < calls; i++)
			th_buf_printf(&items,
				      "%s{\"type\":\"function_call\",\"call_id\":\"c%zu\",\"name\":"
				      "\"f\"}",
				      items.len ? "," : "", s->calls++);
		if (!calls)
			th_buf_printf(&items, "%s" TEXT("words"), items.len ? "," : "");
		snprintf(text, sizeof(text), ANSWER("%.*s"), TH_FMT(th_buf_str(&items)));
		tell(s, MODEL, text);
		th_buf_deinit(&items);
		for (size_t i = 0, from = draw(state); i < calls; i++) {
			snprintf(text, sizeof(text),
				 "{\"call_id\":\"c%zu\",\"status\":\"done\",\"output\":\"%s\"}",
				 first + (from + i) % calls, "some text that is a result");
			tell(s, TH_EV_OUTCOME, text);
		}
	}
}

/* Calls and results are there together, and answers are whole. */
static void assert_legal(const struct th_transcript *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct th_transcript_item *item = &t->list[i];
		size_t same = 0, at = 0;

		for (size_t j = 0; j < t->count; j++)
			if (item->call_id.len && j != i &&
			    th_str_eq(t->list[j].call_id, item->call_id)) {
				same++;
				at = j;
			}
		if (item->call_id.len) {
			assert_int_equal(same, 1);
			assert_true(item->kind == TH_TRANSCRIPT_OUTPUT ? at > i : at < i);
		}
		same = 0;
		for (size_t j = 0; item->kind == TH_TRANSCRIPT_OUTPUT && j < t->count; j++)
			same +=
			    t->list[j].kind == TH_TRANSCRIPT_OUTPUT && t->list[j].seq == item->seq;
		if (item->kind == TH_TRANSCRIPT_OUTPUT)
			assert_int_equal(same, item->of);
	}
}

static size_t messages(const struct th_transcript *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += th_condenser_said(&t->list[i]);
	return count;
}

static void step(struct th_transcript *t, uint64_t seq, struct th_str marks)
{
	struct th_buf data = TH_BUF_INIT(TH_MIB);
	struct th_event ev = { .seq = seq, .kind = TH_EV_CONDENSATION };
	struct th_err err;

	th_buf_printf(&data, "{\"first_seq\":1,\"last_seq\":1,\"history\":%.*s}", TH_FMT(marks));
	ev.data = th_buf_str(&data);
	assert_int_equal(th_transcript_add(t, &ev, &err), TH_OK);
	th_buf_deinit(&data);
}

static const char *const answers[] = { "S", "[3,9,14,27]" };

/* What each leaves is legal, has the task and the user's messages, and is left by it. */
static void test_what_holds_for_all(void **unused)
{
	static struct story s;
	struct th_agent_condenser part = OWN("amortized", .keep_first = 3, .max_size = 20);
	uint32_t state = 11;

	(void)unused;
	for (size_t round = 0; round < 60; round++) {
		const struct th_condenser *row = th_condensers[round % 12];
		struct th_agent_compact options = { .own = { .condenser = th_str_of(row->name),
							     .keep_first = -1 } };
		struct th_buf marks = TH_BUF_INIT(TH_MIB);
		struct th_transcript t;
		struct th_condensed made;
		struct th_condense c;
		size_t said, count;

		if (row == &th_condenser_pipeline)
			options.condensers = (struct th_objects){ &part, 1 };
		if (row->own.max_size)
			options.own.max_size = 20;
		if (row->own.attention_window)
			options.own.attention_window = 5;
		if (row == &th_condenser_recent)
			options.own.keep = 9;
		story(&s, &state);
		fill(&t, s.count, s.lines);
		said = messages(&t);
		count = t.count;
		c = input(&options, &t);
		c.reasons =
		    TH_CONDENSE_LIMIT | (row == &th_condenser_window ? TH_CONDENSE_ASKED : 0);
		c.tokens = 1000;
		c.tokens_max = 800;
		c.summary = th_str_of(row->ask ? answers[row == &th_condenser_attention] : "");
		c.read_seq = UINT64_MAX;
		if (!th_condense(&c, &marks, &made)) {
			assert_true(row == &th_condenser_noop || row == &th_condenser_browser);
			th_buf_deinit(&marks);
			th_transcript_deinit(&t);
			continue;
		}
		step(&t, s.count + 1, th_buf_str(&marks));
		assert_int_equal(t.count, made.items);
		assert_true(made.masked || t.count < count);
		assert_int_equal(messages(&t), said);
		assert_int_equal(t.list[0].seq, 1);
		assert_legal(&t);
		/* Again, for its numbers alone, it leaves all of it. */
		th_buf_clear(&marks);
		c.reasons = 0;
		c.fresh = 0;
		assert_false(!row->ask && th_condense(&c, &marks, &made));
		th_buf_deinit(&marks);
		th_transcript_deinit(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_a_pipeline),
		cmocka_unit_test(test_what_is_asked),
		cmocka_unit_test(test_the_words),
		cmocka_unit_test(test_numbers_that_do_not_fit),
		cmocka_unit_test(test_a_thinking_loop),
		cmocka_unit_test(test_a_summary_is_carried_on),
		cmocka_unit_test(test_what_holds_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
