/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_stuck.c - histories that are loops, or not. */
#include "openhands.h"

#include <stdlib.h>

#include "agents/stuck.h"
#include "base/hash.h"

/* An event of a case: [kind, …]. */
static struct th_str word(const struct th_json *event, size_t at)
{
	return th_json_str(th_json_at(event, at));
}

static uint64_t digest(const struct th_json *v)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	uint64_t hash;

	th_json_print(v, &text);
	hash = th_hash64(text.ptr, text.len);
	th_buf_deinit(&text);
	return hash;
}

/* The lines of a text without white space around it. */
static size_t lines_of(struct th_str text, struct th_str *list, size_t size)
{
	size_t count = 0;

	for (text = th_str_trim(text); text.len; count++) {
		struct th_str line = th_str_split(&text, '\n');

		list[count % size] = line; /* the last ones stay */
	}
	return count;
}

/* Of Python's kernel, only these count as errors there, as its shell writes them: the error, the
 * folder, the interpreter.  *ret: what must be the same each time. */
static bool is_syntax_error(struct th_str text, uint64_t *ret)
{
	struct th_str list[3], first = th_str_trim(text), cell = th_str_split(&first, '\n'), line;
	size_t count = lines_of(text, list, 3), words = 0;

	static const char *const errors[] = {
		"SyntaxError: unterminated string literal (detected at line",
		"SyntaxError: invalid syntax. Perhaps you forgot a comma?",
		"SyntaxError: incomplete input"
	};

	if (count < 3 ||
	    !th_str_starts(list[(count - 2) % 3], TH_STR("[Jupyter current working directory:")) ||
	    !th_str_starts(list[(count - 1) % 3], TH_STR("[Jupyter Python interpreter:")))
		return false;
	line = list[count % 3]; /* the third from the end */
	while (words < TH_COUNT(errors) && th_str_find(line, th_str_of(errors[words])) < 0)
		words++;
	*ret = th_hash64(line.ptr, line.len);
	if (words == 0 || words == TH_COUNT(errors))
		return words == 0;
	/* The others stand in a whole message of a cell, which begins with its place. */
	cell = th_str_trim(cell);
	*ret ^= ~th_hash64(cell.ptr, cell.len);
	return count >= 6 && th_str_starts(cell, TH_STR("Cell In[1], line"));
}

/* What a case counts: an action and an observation are two events. */
struct history {
	struct th_stuck stuck;
	struct th_move call;              /* that waits for its result */
	size_t first[TH_STUCK_MOVES_MAX]; /* event with which a move begins */
	uint64_t actions[TH_STUCK_MOVES_MAX];
	size_t events, before; /* before: those that the last message of the user hides */
};

static void add(struct history *h, const struct th_move *move, size_t events)
{
	h->first[h->stuck.count % TH_STUCK_MOVES_MAX] = h->events;
	h->actions[h->stuck.count % TH_STUCK_MOVES_MAX] = move->action;
	h->events += events;
	th_stuck_add(&h->stuck, move);
}

/* `cells`: an error of Python's kernel is one, and a part of what was done. */
static void add_v0(struct history *h, const struct th_json *event, bool headless, bool cells)
{
	struct th_str kind = word(event, 0);
	struct th_move move = { .kind = TH_MOVE_CALL };
	uint64_t error;

	if (th_str_is(kind, "user")) {
		if (!headless)
			*h = (struct history){ .before = h->before + h->events + 1 };
	} else if (th_str_is(kind, "agentmsg")) {
		move.kind = TH_MOVE_MESSAGE;
		move.action = digest(th_json_at(event, 1));
		add(h, &move, 1);
	} else if (th_str_is(kind, "cond")) {
		move.kind = TH_MOVE_CONDENSED;
		add(h, &move, 1);
	} else if (th_str_is(kind, "run") || th_str_is(kind, "ipy")) {
		h->call = (struct th_move){ .kind = TH_MOVE_CALL, .action = digest(event) };
	} else {
		h->call.result = digest(th_json_at(event, 1));
		h->call.failed = th_str_is(kind, "err");
		if (cells && th_str_is(kind, "ipyout") && is_syntax_error(word(event, 1), &error)) {
			h->call.failed = true;
			h->call.action ^= error;
		}
		h->call.code =
		    th_str_is(kind, "out") ? digest(th_json_at(event, 2)) : h->call.result;
		add(h, &h->call, 2);
	}
}

/* Where the loop begins as upstream says it: of an action that is repeated, the first that is
 * equal, also before the loop; of three errors the fourth action from the end. */
static size_t start_of(const struct history *h, const struct th_stuck_finding *f)
{
	bool calls = f->rule->shape == TH_STUCK_CYCLE || f->rule->shape == TH_STUCK_ERRORS;
	size_t at = f->first;

	if (f->rule->shape == TH_STUCK_ERRORS && at > 0)
		at--;
	for (size_t i = 0; i < at && calls; i++)
		if (h->actions[i % TH_STUCK_MOVES_MAX] == h->actions[at % TH_STUCK_MOVES_MAX])
			at = i;
	return h->before + h->first[at % TH_STUCK_MOVES_MAX];
}

static bool look_v0(const struct oh_case *c, bool cells, struct history *h,
		    struct th_stuck_finding *ret)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->input, "history"));

	while (th_json_next(&it))
		add_v0(h, it.val, th_json_bool(th_json_get(c->input, "headless"), true), cells);
	return th_stuck_look(&h->stuck, &th_stuck_rules[TH_STUCK_RULES_OPENHANDS_V0], ret);
}

bool oh_stuck_v0(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *analysis = th_json_get(c->expected, "analysis");
	const struct th_stuck_rules *rules = &th_stuck_rules[TH_STUCK_RULES_OPENHANDS_V0];
	struct history h = { 0 }, cells = { 0 };
	struct th_stuck_finding f, errors;
	bool stuck = look_v0(c, false, &h, &f);

	/* Only for the rule about errors the kernel's are errors. */
	if ((!stuck || f.rule > rules->list) && look_v0(c, true, &cells, &errors) &&
	    errors.rule->shape == TH_STUCK_ERRORS) {
		stuck = true;
		f = errors;
	}
	if (!stuck) {
		th_buf_add(found, TH_STR("not stuck"));
		return !th_json_bool(th_json_get(c->expected, "stuck"), false);
	}
	th_buf_printf(found, "%s, %zu times, from %zu", f.rule->name, f.times, start_of(&h, &f));
	return th_json_bool(th_json_get(c->expected, "stuck"), false) &&
	       th_str_is(th_json_get_str(analysis, "loop_type"), f.rule->name) &&
	       th_json_get_int(analysis, "loop_start_idx", -1) == (int64_t)start_of(&h, &f);
}

bool oh_stuck_v1(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(th_json_get(c->input, "history"));
	struct th_stuck s = { 0 };
	const struct th_stuck_rules *rules = &th_stuck_rules[TH_STUCK_RULES_OPENHANDS_V1];
	const struct th_json *nudge = th_json_get(c->expected, "nudge");
	struct th_stuck_finding f, hint;
	bool stuck, told;

	while (th_json_next(&it)) {
		struct th_str kind = word(it.val, 0);
		struct th_move move = { .kind = TH_MOVE_CALL,
					.failed = th_str_is(kind, "ae"),
					.action = digest(th_json_at(it.val, 1)),
					.result = digest(th_json_at(it.val, 2)) };

		if (th_str_is(kind, "user")) {
			th_stuck_clear(&s);
			continue;
		}
		if (th_str_is(kind, "msg"))
			move.kind = TH_MOVE_MESSAGE;
		th_stuck_add(&s, &move);
	}
	stuck = th_stuck_look(&s, rules, &f);
	told = !stuck && th_stuck_hint(&s, rules, &hint);
	th_buf_add_cstr(found, stuck ? f.rule->name : told ? "not stuck, but told" : "not stuck");
	/* What a model is told is not worded as there. */
	return stuck == th_json_bool(th_json_get(c->expected, "stuck"), false) &&
	       told == (nudge && !th_json_is_null(nudge));
}
