/* SPDX-License-Identifier: Apache-2.0 */
/* What the next agent is told of the history. */
#include "transcript_rig.h"

#include "transcript/nest.h"

#define OPEN                                                                                  \
	"{\"role\":\"assistant\",\"content\":\"For context, here is the conversation so far " \
	"between the user and the previous agent:\\n<CONVERSATION HISTORY>\\n"
#define CLOSE "\\n</CONVERSATION HISTORY>\"}"
#define TOLD(records) OPEN records CLOSE

static const struct th_nest_markers usual = { TH_STR_INIT(TH_NEST_START),
					      TH_STR_INIT(TH_NEST_END) };

static void is_nested(const struct th_transcript *transcript, const struct th_nest_markers *markers,
		      const char *want)
{
	struct th_buf marks = TH_BUF_INIT(TH_MIB);
	struct th_err err;

	if (th_nest(transcript, markers, &marks, &err))
		fail_msg("%s", err.msg);
	th_buf_add_char(&marks, '\0');
	assert_string_equal(marks.ptr, want);
	th_buf_deinit(&marks);
}

static void test_order(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("hi") },
		{ TH_EV_MODEL_ANSWERED, ANSWER(TEXT("one") "," CALL("function_call", "a") "," CALL(
					    "custom_tool_call", "b")) },
		{ TH_EV_OUTCOME, OUTCOME("a") },
		{ TH_EV_OUTCOME, OUTCOME("b") },
		{ TH_EV_MESSAGE, SAYS("and this") },
		{ TH_EV_MODEL_ANSWERED, ANSWER("{\"type\":\"reasoning\",\"summary\":[]}," TEXT(
					    "two") "," CALL("function_call", "c")) },
		{ TH_EV_OUTCOME, OUTCOME("c") },
	};
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, 1, lines);
	is_nested(&transcript, &usual, "[" TOLD("1. user: hi") "]");
	th_transcript_deinit(&transcript);
	fill(&transcript, TH_COUNT(lines), lines);
	is_nested(
	    &transcript, &usual,
	    "[" TOLD(
		"1. user: hi\\n2. {\\\"type\\\":\\\"message\\\",\\\"role\\\":"
		"\\\"assistant\\\",\\\"content\\\":[{\\\"type\\\":\\\"output_text\\\","
		"\\\"text\\\":\\\"one\\\"}]}\\n3. {\\\"type\\\":\\\"function_call\\\","
		"\\\"call_id\\\":\\\"a\\\",\\\"name\\\":\\\"f\\\"}") ",[2,2]," TOLD("1. "
										    "{\\\"type"
										    "\\\":"
										    "\\\"funct"
										    "ion_call_"
										    "output\\"
										    "\","
										    "\\\"call_"
										    "id\\\":"
										    "\\\"a\\\""
										    ","
										    "\\\"outpu"
										    "t\\\":"
										    "\\\"ok\\"
										    "\"}") ",["
											   "4,"
											   "2]"
											   ",["
											   "5,"
											   "0]"
											   "," TOLD("1. {\\\"type\\\":\\\"reasoning\\\",\\\"summary\\\":[]}") ",[6,1]," TOLD(
											       "1. "
											       "{\\"
											       "\"t"
											       "ype"
											       "\\"
											       "\":"
											       "\\"
											       "\"f"
											       "unc"
											       "tio"
											       "n_"
											       "cal"
											       "l\\"
											       "\","
											       "\\"
											       "\"c"
											       "all"
											       "_id"
											       "\\"
											       "\":"
											       "\\"
											       "\"c"
											       "\\"
											       "\","
											       "\\"
											       "\"n"
											       "ame"
											       "\\"
											       "\":"
											       "\\"
											       "\"f"
											       "\\"
											       "\"}"
											       "\\n"
											       "2. "
											       "{\\"
											       "\"t"
											       "ype"
											       "\\"
											       "\":"
											       "\\"
											       "\"f"
											       "unc"
											       "tio"
											       "n_"
											       "cal"
											       "l_"
											       "out"
											       "put"
											       "\\"
											       "\","
											       "\\"
											       "\"c"
											       "all"
											       "_id"
											       "\\"
											       "\":"
											       "\\"
											       "\"c"
											       "\\"
											       "\","
											       "\\"
											       "\"o"
											       "utp"
											       "ut"
											       "\\"
											       "\":"
											       "\\"
											       "\"o"
											       "k\\"
											       "\""
											       "}") "]");
	th_transcript_deinit(&transcript);
}

static void test_nothing(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_MESSAGE, SAYS("hi") },
		{ TH_EV_HANDOFF, "{\"history\":[]}" },
		{ TH_EV_MODEL_ANSWERED, ANSWER(TEXT("mine")) },
	};
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, 2, lines);
	is_nested(&transcript, &usual, "[" TOLD("(no previous turns recorded)") "]");
	th_transcript_deinit(&transcript);
	fill(&transcript, 3, lines);
	is_nested(&transcript, &usual, "[" TOLD("(no previous turns recorded)") ",[3,0]]");
	th_transcript_deinit(&transcript);
}

/* The records of what a session has before its run. */
static void is_told(const char *items, const struct th_nest_markers *markers, const char *want)
{
	struct th_buf added = TH_BUF_INIT(TH_MIB), given = TH_BUF_INIT(TH_MIB);
	struct line line = { TH_EV_ITEMS_ADDED, NULL };
	struct th_transcript transcript;

	th_buf_printf(&added, "{\"begins\":true,\"items\":[%s]}", items);
	th_buf_add_char(&added, '\0');
	line.data = added.ptr;
	fill(&transcript, 1, &line);
	th_buf_printf(&given, "[%s]", want);
	th_buf_add_char(&given, '\0');
	is_nested(&transcript, markers, given.ptr);
	th_transcript_deinit(&transcript);
	th_buf_deinit(&added);
	th_buf_deinit(&given);
}

static void test_records(void **state)
{
	static const struct {
		const char *item, *record;
	} cases[] = {
		{ "{\"role\":\"user\",\"content\":\"a line\"}", "user: a line" },
		{ "{\"role\":\"user\",\"content\":\"\"}", "user: " },
		{ "{\"role\":\"system\",\"content\":\"be kind\"}", "system: be kind" },
		{ "{\"role\":\"user\",\"content\":\"two\\nlines\"}",
		  "{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"two\\\\nlines\\\"}" },
		{ "{\"role\":\"user\",\"content\":\"two\\rlines\"}",
		  "{\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"two\\\\rlines\\\"}" },
		{ "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}",
		  "{\\\"role\\\":\\\"user\\\",\\\"content\\\":[{\\\"type\\\":\\\"input_text\\\","
		  "\\\"text\\\":\\\"x\\\"}]}" },
		{ "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"said\"}",
		  "assistant: said" },
		/* One line, whatever the provider wrote; and not what is for the provider's eyes.
		 */
		{ "{ \"type\" : \"web_search_call\",\n \"provider_data\" : "
		  "{\"a\":1},\n\"id\":\"w\" }",
		  "{\\\"type\\\":\\\"web_search_call\\\",\\\"id\\\":\\\"w\\\"}" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_buf want = TH_BUF_INIT(TH_MIB);

		th_buf_printf(&want, OPEN "1. %s" CLOSE, cases[i].record);
		th_buf_add_char(&want, '\0');
		is_told(cases[i].item, &usual, want.ptr);
		th_buf_deinit(&want);
	}
}

/* Of the run's own items, by where they stand, which are forwarded. */
static void test_forwarded(void **state)
{
	static const struct {
		const char *item;
		bool before, turn;
	} cases[] = {
		{ TEXT("said"), false, true },
		{ CALL("function_call", "x"), false, false },
		{ "{\"type\":\"function_call_output\",\"call_id\":\"x\",\"output\":\"\"}", false,
		  false },
		{ "{\"type\":\"reasoning\",\"summary\":[]}", false, false },
		{ "{\"type\":\"web_search_call\"}", true, true },
		{ CALL("computer_call", "x"), true, true },
		{ "{\"type\":\"compaction\"}", true, true },
		{ "{\"role\":\"user\",\"content\":\"more\"}", true, true },
		{ "{\"role\":\"assistant\",\"content\":\"more\"}", false, true },
		{ "{\"type\":\"program\"}", false, false },
		{ "{\"type\":\"program_output\"}", false, false },
		{ "{\"type\":\"web_search_call\",\"caller\":{\"type\":\"program\"}}", false,
		  false },
		{ "{\"type\":\"web_search_call\",\"caller\":{\"type\":\"direct\"}}", true, true },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases) * 2; i++) {
		bool turn = i % 2, forwarded = turn ? cases[i / 2].turn : cases[i / 2].before;
		struct th_buf first = TH_BUF_INIT(TH_MIB), last = TH_BUF_INIT(TH_MIB);
		struct th_buf marks = TH_BUF_INIT(TH_MIB);
		struct line lines[] = { { TH_EV_MESSAGE, SAYS("hi") },
					{ TH_EV_MODEL_ANSWERED, NULL },
					{ TH_EV_MODEL_ANSWERED, NULL } };
		struct th_transcript transcript;
		struct th_err err;

		th_buf_printf(&first, ANSWER("%s"), turn ? "" : cases[i / 2].item);
		th_buf_printf(&last, ANSWER("%s" CALL("function_call", "y")),
			      turn ? cases[i / 2].item : "");
		if (turn) {
			th_buf_clear(&last);
			th_buf_printf(&last, ANSWER("%s," CALL("function_call", "y")),
				      cases[i / 2].item);
		}
		th_buf_add_char(&first, '\0');
		th_buf_add_char(&last, '\0');
		lines[1].data = first.ptr;
		lines[2].data = last.ptr;
		fill(&transcript, 3, lines);
		assert_int_equal(th_nest(&transcript, &usual, &marks, &err), TH_OK);
		if ((th_str_find(th_buf_str(&marks),
				 turn ? TH_STR(",[3,0],") : TH_STR(",[2,0],")) >= 0) != forwarded)
			fail_msg("%s %s", cases[i / 2].item, turn ? "of the turn" : "before it");
		th_transcript_deinit(&transcript);
		th_buf_deinit(&first);
		th_buf_deinit(&last);
		th_buf_deinit(&marks);
	}
}

/* A nested history becomes records of the next one, never one record. */
static void test_told_apart(void **state)
{
	static const struct {
		const char *text, *records;
	} cases[] = {
		{ "1. user: hi\\n2. {\\\"type\\\":\\\"x\\\"}",
		  "1. user: hi\\n2. {\\\"type\\\":\\\"x\\\"}" },
		{ "(no previous turns recorded)", "(no previous turns recorded)" },
		{ "", "(no previous turns recorded)" },
		/* Those of earlier SDKs: lines that go on, items by their types, bare roles. */
		{ "1. user: one\\n  two\\n\\n2. assistant", "1. {\\\"role\\\":\\\"user\\\","
							    "\\\"content\\\":\\\"one\\\\n  two\\\"}"
							    "\\n2. assistant: " },
		{ "1. function_call: {\\\"name\\\":\\\"f\\\",\\\"type\\\":1}",
		  "1. {\\\"name\\\":\\\"f\\\",\\\"type\\\":\\\"function_call\\\"}" },
		{ "7. user (bob): hi\\n8. user ( ): x\\n9. (ann): y",
		  "1. user (bob): hi\\n2. user ( ): x\\n3. developer (ann): y" },
		{ "user: a\\nassistant (al): b", "1. user: a\\n2. assistant (al): b" },
		{ "prose that means nothing\\n1. : nothing\\n2. user: x", "1. user: x" },
		{ "1. {\\\"role\\\":\\\"user\\\",\\\"content\\\":\\\"a\\\","
		  "\\\"provider_data\\\":1}",
		  "1. user: a" },
		{ "1. {broken\\n2. user: {\\\"a\\\":1}", "1. user: {\\\"a\\\":1}" },
		{ "1. user:   spaced  ", "1. user: spaced" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_buf item = TH_BUF_INIT(TH_MIB), want = TH_BUF_INIT(TH_MIB);

		th_buf_printf(&item, OPEN "%s%s", cases[i].text,
			      cases[i].text[0] ? CLOSE : &CLOSE[2]);
		th_buf_printf(&want, OPEN "%s" CLOSE, cases[i].records);
		th_buf_add_char(&item, '\0');
		th_buf_add_char(&want, '\0');
		is_told(item.ptr, &usual, want.ptr);
		th_buf_deinit(&item);
		th_buf_deinit(&want);
	}
	/* With what stands around it, numbered anew. */
	is_told(SAYS("a") "," TOLD("1. user: b\\n2. user: c") "," SAYS("d"), &usual,
		TOLD("1. user: a\\n2. user: b\\n3. user: c\\n4. user: d"));
	is_told("{\"role\":\"assistant\",\"content\":\"For context, here is the conversation so "
		"far:\\n<CONVERSATION HISTORY>\\n1. user: b" CLOSE,
		&usual, TOLD("1. user: b"));
}

static size_t times(struct th_str text, const char *part)
{
	ptrdiff_t at;
	size_t n = 0;

	while ((at = th_str_find(text, th_str_of(part))) >= 0) {
		text = th_str_sub(text, (size_t)at + 1, text.len);
		n++;
	}
	return n;
}

/* What only looks like one is one record: its first words stand there once more. */
static void test_not_told_apart(void **state)
{
	static const struct th_nest_markers other = { TH_STR_INIT("[["), TH_STR_INIT("]]") };
	static const struct {
		const struct th_nest_markers *markers;
		const char *item;
		size_t times;
	} cases[] = {
		{ &usual, TOLD("1. user: b"), 1 },
		{ &other, TOLD("1. user: b"), 2 },
		{ &other, OPEN "1. user: b\\n]]\"}", 2 },
		{ &usual, OPEN "1. user: b\"}", 2 },
		{ &usual, OPEN "1. user: b" CLOSE, 1 },
		{ &usual,
		  "{\"role\":\"user\",\"content\":\"For context, here is the conversation so far:"
		  "\\n<CONVERSATION HISTORY>\\n1. user: b" CLOSE,
		  2 },
		{ &usual,
		  "{\"role\":\"assistant\",\"content\":\"For context, here is more:"
		  "\\n<CONVERSATION HISTORY>\\n1. user: b" CLOSE,
		  2 },
		{ &usual,
		  "{\"role\":\"assistant\",\"content\":\"For context, here is the conversation so "
		  "far:\\n</CONVERSATION HISTORY>\"}",
		  2 },
		{ &usual,
		  "{\"role\":\"assistant\",\"content\":\"For context, here is the conversation so "
		  "far:\"}",
		  2 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_buf marks = TH_BUF_INIT(TH_MIB), added = TH_BUF_INIT(TH_MIB);
		struct line line = { TH_EV_ITEMS_ADDED, NULL };
		struct th_transcript transcript;
		struct th_err err;

		th_buf_printf(&added, "{\"begins\":true,\"items\":[%s]}", cases[i].item);
		th_buf_add_char(&added, '\0');
		line.data = added.ptr;
		fill(&transcript, 1, &line);
		assert_int_equal(th_nest(&transcript, cases[i].markers, &marks, &err), TH_OK);
		if (times(th_buf_str(&marks), "For context") != cases[i].times)
			fail_msg("%s", cases[i].item);
		th_transcript_deinit(&transcript);
		th_buf_deinit(&marks);
		th_buf_deinit(&added);
	}
}

static void test_markers(void **state)
{
	static const struct th_nest_markers other = { TH_STR_INIT("[["), TH_STR_INIT("]]") };

	(void)state;
	is_told("{\"role\":\"assistant\",\"content\":\"For context, here is the conversation so "
		"far:\\n[[\\n1. user: b\\n]]\"}",
		&other,
		"{\"role\":\"assistant\",\"content\":\"For context, here is the conversation so "
		"far between the user and the previous agent:\\n[[\\n1. user: b\\n]]\"}");
}

/* What a program's own form is made of. */
static void test_transcript(void **state)
{
	static const struct line lines[] = {
		{ TH_EV_ITEMS_ADDED,
		  "{\"begins\":true,\"items\":[" TOLD(
		      "1. user: a\\n2. {\\\"type\\\":\\\"x\\\",\\\"provider_data\\\":1}") "]}" },
		{ TH_EV_MODEL_ANSWERED,
		  ANSWER(TEXT("one") ",{\"type\":\"y\",\"provider_data\":1}") },
	};
	struct th_buf items = TH_BUF_INIT(TH_MIB);
	struct th_transcript transcript;
	struct th_err err;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	assert_int_equal(th_nest_transcript(&transcript, &usual, &items, &err), TH_OK);
	th_buf_add_char(&items, '\0');
	assert_string_equal(items.ptr, "[" SAYS("a") ",{\"type\":\"x\"}," TEXT(
					   "one") ",{\"type\":\"y\",\"provider_data\":1}]");
	th_buf_deinit(&items);
	th_transcript_deinit(&transcript);
}

static void test_room(void **state)
{
	static const struct line lines[] = { { TH_EV_MESSAGE, SAYS("hi") },
					     { TH_EV_MODEL_ANSWERED, ANSWER(TEXT("one")) } };
	const size_t need = strlen("[" TOLD("1. user: hi") ",[2,0]]");
	struct th_transcript transcript;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	for (size_t i = 0; i <= need; i++) {
		struct th_buf marks;
		struct th_err err;

		th_buf_init(&marks, need - i);
		assert_int_equal(th_nest(&transcript, &usual, &marks, &err), i ? TH_ELIMIT : TH_OK);
		th_buf_deinit(&marks);
	}
	th_transcript_deinit(&transcript);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),      cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_records),    cmocka_unit_test(test_forwarded),
		cmocka_unit_test(test_told_apart), cmocka_unit_test(test_not_told_apart),
		cmocka_unit_test(test_markers),    cmocka_unit_test(test_transcript),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
