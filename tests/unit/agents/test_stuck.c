/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules over an agent's last moves find, and what they let pass. */
#include "unit.h"

#include "agents/stuck.h"
#include "base/hash.h"

/*
 * Moves as words: "a1" is call a with result 1; with ":0" behind it, exit code 0; "a1!" failed;
 * "a1*7" shows screen 7; "\"x" is a message; "~" a condensation.
 */
static void add(struct th_stuck *s, const char *word)
{
	struct th_move m = { .kind = TH_MOVE_CALL, .action = (uint64_t)word[0] };

	if (word[0] == '"' || word[0] == '~')
		m.kind = word[0] == '~' ? TH_MOVE_CONDENSED : TH_MOVE_MESSAGE;
	if (m.kind == TH_MOVE_MESSAGE)
		m.action = (uint64_t)word[1];
	if (m.kind == TH_MOVE_CALL) {
		m.result = (uint64_t)word[1];
		m.code = (uint64_t)(word[2] == ':' ? word[3] : word[1]);
		m.failed = word[2] == '!';
		m.picture = word[2] == '*' ? (uint64_t)word[3] : 0;
	}
	th_stuck_add(s, &m);
}

static const struct row {
	enum th_stuck_rules_id rules;
	const char *moves;
	const char *name; /* NULL: nothing is found */
	size_t first, period;
} rows[] = {
	{ TH_STUCK_RULES_THOLE, "", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 a1 a1", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 a1 a1 a1", "repeated_call", 0, 1 },
	{ TH_STUCK_RULES_THOLE, "b1 a1 a1 a1 a1", "repeated_call", 1, 1 },
	{ TH_STUCK_RULES_THOLE, "a1 a1 a1 a2", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 a1 b1 a1 a1", NULL, 0, 0 },
	/* A log that grows is watched, not repeated. */
	{ TH_STUCK_RULES_THOLE, "a1 a2 a3 a4 a5 a6", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1! a2! a3!", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1! a2! a3! a4!", "repeated_error", 0, 1 },
	{ TH_STUCK_RULES_THOLE, "a1! b2! a3! a4!", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 b1 a1 b1 a1 b1", "repeated_round", 0, 2 },
	{ TH_STUCK_RULES_THOLE, "a1 b1 a1 b1 a1", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 b1 c1 a1 b1 c1 a1 b1 c1", "repeated_round", 0, 3 },
	{ TH_STUCK_RULES_THOLE,
	  "x1 a1 b1 c1 d1 e1 f1 g1 h1 a1 b1 c1 d1 e1 f1 g1 h1 a1 b1 c1 d1 e1 f1 g1 h1",
	  "repeated_round", 1, 8 },
	/* Rounds of nine are no cycle, but they bring nothing new. */
	{ TH_STUCK_RULES_THOLE,
	  "a1 b1 c1 d1 e1 f1 g1 h1 i1 a1 b1 c1 d1 e1 f1 g1 h1 i1 a1 b1 c1 d1 e1 f1 g1 h1 i1", NULL,
	  0, 0 },
	{ TH_STUCK_RULES_THOLE,
	  "a1 b1 c1 d1 e1 f1 g1 h1 i1 a1 b1 c1 d1 e1 f1 g1 h1 i1 a1 b1 c1 d1 e1 f1 g1 h1 i1 a1 b1 "
	  "c1 d1 e1 f1",
	  "nothing_new", 9, 1 },
	{ TH_STUCK_RULES_THOLE, "a1*7 b2*7 c3*7 d4*7 e5*7 f6*7 g7*7 h8*7 i9*7", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1*7 b2*7 c3*7 d4*7 e5*7 f6*7 g7*7 h8*7 i9*7 j0*7",
	  "screen_unchanged", 0, 1 },
	{ TH_STUCK_RULES_THOLE, "a1*7 b2*7 c3*7 d4*7 e5*8 f6*7 g7*7 h8*7 i9*7 j0*7", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "\"x \"x", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "\"x \"x \"x", "repeated_message", 0, 1 },
	{ TH_STUCK_RULES_THOLE, "\"x \"y \"x", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 ~ ~ ~", "condensed_again", 1, 1 },
	{ TH_STUCK_RULES_THOLE, "~ ~ a1 ~", NULL, 0, 0 },
	/* A history that is condensed after each call is a loop all the same. */
	{ TH_STUCK_RULES_THOLE, "a1 ~ a1 ~ a1 ~", NULL, 0, 0 },
	{ TH_STUCK_RULES_THOLE, "a1 ~ a1 ~ a1 ~ a1 ~", "repeated_call", 0, 1 },
	{ TH_STUCK_RULES_THOLE, "b1 a1! ~ a2! a3! ~ a4!", "repeated_error", 1, 1 },
	{ TH_STUCK_RULES_THOLE, "a1 b1 ~ a1 b1 ~ a1 b1 ~", "repeated_round", 0, 2 },
	{ TH_STUCK_RULES_THOLE, "\"x ~ \"x \"x", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1 ~ a1 ~ a1 ~ a1", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1 ~ a1 ~ a1 ~ a1", "repeating_action_observation", 0, 1 },
	/* What a command printed does not count, how it ended does. */
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1:0 a2:0 a3:0 a4:0", "repeating_action_observation", 0,
	  1 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1:0 a1:0 a1:1 a1:0", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1! a2! a3!", "repeating_action_error", 0, 1 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "\"x \"x \"x", "monologue", 0, 1 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "\"x \"x \"y", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1 b1 a1 b1 a1 b1", "repeating_action_observation_pattern",
	  0, 2 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1 b1 c1 a1 b1 c1 a1 b1 c1", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "~ ~ ~ ~ ~ ~ ~ ~ ~", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "~ ~ ~ ~ ~ ~ ~ ~ ~ ~", "context_window_error", 0, 1 },
	/* What is done behind messages does not undo them; what is done between them does. */
	{ TH_STUCK_RULES_OPENHANDS_V0, "\"x \"x \"x a1 ~", "monologue", 0, 1 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "\"x \"x a1 \"x", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V0, "a1 a1 \"x a1 a1", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1:0 a2:0 a3:0 a4:0", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1! a2! a3!", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1! a2! a3! a4!", "repeating_action_error", 0, 1 },
	/* Words between calls do not count. */
	{ TH_STUCK_RULES_OPENHANDS_V1, "b1 a1 \"x a1 \"y a1 a1 \"z", "repeating_action_observation",
	  1, 1 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1! \"x a2! \"x a3! \"x a4!", "repeating_action_error", 0,
	  1 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1 b2 \"x a1 b2 a1 \"y b2", "alternating_pattern", 0, 2 },
	{ TH_STUCK_RULES_THOLE, "a1 a1 \"x a1 a1", NULL, 0, 0 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "\"x \"y \"z", "monologue", 0, 1 },
	{ TH_STUCK_RULES_OPENHANDS_V1, "a1 b2 a1 b2 a1 b2", "alternating_pattern", 0, 2 },
};

static void test_rows(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct row *r = &rows[i];
		struct th_stuck s = { 0 };
		struct th_stuck_finding f;
		struct th_str words = th_str_of(r->moves);
		bool found;

		while (words.len)
			add(&s, th_str_split(&words, ' ').ptr);
		found = th_stuck_look(&s, &th_stuck_rules[r->rules], &f);
		if (found != (r->name != NULL))
			fail_msg("%s: %s", r->moves, found ? f.rule->name : "nothing");
		if (!found)
			continue;
		assert_string_equal(f.rule->name, r->name);
		assert_int_equal(f.first, r->first);
		assert_int_equal(f.period, r->period);
	}
}

/* It never looks further back than what is kept, and a clear forgets all. */
static void test_its_edge(void **unused)
{
	struct th_stuck s = { 0 };
	struct th_stuck_finding f;

	(void)unused;
	for (size_t i = 0; i < 3 * TH_STUCK_MOVES_MAX; i++)
		th_stuck_add(&s, &(struct th_move){ .action = i });
	assert_false(th_stuck_look(&s, th_stuck_rules, &f));
	for (size_t i = 0; i < 4; i++)
		add(&s, "a1");
	assert_true(th_stuck_look(&s, th_stuck_rules, &f));
	assert_int_equal(f.first, 3 * TH_STUCK_MOVES_MAX);
	th_stuck_clear(&s);
	assert_false(th_stuck_look(&s, th_stuck_rules, &f));
	for (size_t i = 0; i < 3; i++)
		add(&s, "a1");
	assert_false(th_stuck_look(&s, th_stuck_rules, &f));
}

static void test_words(void **unused)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_stuck_finding f = { &th_stuck_rules[0].list[0], 1, 4, 0 };

	(void)unused;
	th_stuck_print(&f, &text);
	assert_string_equal(text.ptr, "the last 4 calls were the same, with the same results");
	th_buf_clear(&text);
	f = (struct th_stuck_finding){ &th_stuck_rules[TH_STUCK_RULES_OPENHANDS_V0].list[3], 2, 3,
				       0 };
	th_stuck_print(&f, &text);
	assert_string_equal(text.ptr,
			    "the last 3 rounds of 2 calls were the same, and ended the same way");
	th_buf_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_its_edge),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
