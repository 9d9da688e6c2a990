/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uitars.c - UI-TARS 1.0 and 1.5: a thought and calls in text.
 *
 *	Thought: The button is there.
 *	Action: click(start_box='<|box_start|>(10,20)<|box_end|>')
 *
 * Boxes may be bare, in square brackets or <point> tags.  Several calls follow
 * one another.  `press` of a modifier keeps it down, of another key presses it.
 */
#include "dialects/uitars.h"
#include "dialects/call.h"
#include "dialects/space.h"

/* ---- the whole text ---- */

static const char *const labels[] = { "Thought:",  "Reflection:",  "Action_Summary:",  "Action:",
				      "Thought：", "Reflection：", "Action_Summary：", "Action：" };
#define ACTION 3 /* and the one of its fourth */

/* The label at the start of `s`, or -1. */
static int label_at(struct th_str s, size_t *ret_len)
{
	for (size_t i = 0; i < TH_COUNT(labels); i++)
		if (th_str_starts(s, th_str_of(labels[i]))) {
			*ret_len = strlen(labels[i]);
			return (int)(i % 4);
		}
	return -1;
}

/* What stands before the next label that begins a line; it and what follows stay in *s. */
static struct th_str take_part(struct th_str *s)
{
	struct th_str rest = *s, part;
	size_t len;

	while (rest.len) {
		struct th_str line = rest;

		while (line.len && (line.ptr[0] == ' ' || line.ptr[0] == '\t'))
			line = th_str_sub(line, 1, line.len);
		if (label_at(line, &len) >= 0) {
			rest = line;
			break;
		}
		th_str_split(&rest, '\n');
	}
	part = th_str_sub(*s, 0, s->len - rest.len);
	*s = rest;
	return part;
}

/* "computer.click" is click. */
static struct th_str bare_name(struct th_str name)
{
	for (size_t i = name.len; i > 0; i--)
		if (name.ptr[i - 1] == '.')
			return th_str_sub(name, i, name.len);
	return name;
}

/* Whether a call of UI-TARS' own begins in *s, after blanks, which are then cut off. */
static bool own_call_begins(struct th_str *s)
{
	struct th_str name;

	if (!th_call_begins(s))
		return false;
	name = *s;
	return th_uitars_knows(bare_name(th_str_trim(th_str_split(&name, '('))));
}

/* Calls until something else stands there; what is left stays in *s. */
static void say_calls(struct th_say *say, struct th_str *s)
{
	struct th_text_call call;
	struct th_word word;
	struct th_err err = { 0 };
	enum th_code code;

	do {
		struct th_str from;

		*s = th_str_trim(*s);
		while (s->len && (s->ptr[0] == ';' || s->ptr[0] == '`'))
			*s = th_str_sub(*s, 1, s->len);
		from = *s;
		code = th_call_read(s, say->a, &call, &err);
		call.name = bare_name(call.name);
		if (!code)
			code = th_uitars_word(say->c, &call, say->a, &word, &err);
		if (!code)
			code = th_say_word(say, &word, &err);
		if (code) {
			th_say_error(say, from, err.msg);
			*s = (struct th_str){ NULL, 0 };
		}
	} while (!code && th_call_begins(s));
}

/* "I click. Action: click(…)": the last label in a line that a call follows, when none begins one.
 * What stands before the label; *ret_call: what follows it. */
static bool find_inline(struct th_str s, struct th_str *ret_before, struct th_str *ret_call)
{
	bool found = false;

	for (size_t i = 0; i < s.len; i++) {
		struct th_str rest = th_str_sub(s, i, s.len);
		size_t len;

		if (s.ptr[i] != 'A' || label_at(rest, &len) != ACTION)
			continue;
		rest = th_str_sub(rest, len, rest.len);
		if (!own_call_begins(&rest))
			continue;
		*ret_before = th_str_sub(s, 0, i);
		*ret_call = rest;
		found = true;
	}
	return found;
}

/* A thought or a text, and the call that may follow it in its line. */
static bool say_inline(struct th_say *say, struct th_str part, bool thought)
{
	struct th_str before = part, call = { NULL, 0 };
	bool found = find_inline(part, &before, &call);

	if (thought)
		th_say_reasoning(say, before);
	else
		th_say_text(say, before);
	if (found)
		say_calls(say, &call);
	return found;
}

static struct th_str strip(struct th_str s, const char *open, const char *close)
{
	s = th_str_trim(s);
	if (!th_str_starts(s, th_str_of(open)))
		return s;
	s = th_str_trim(th_str_sub(s, strlen(open), s.len));
	if (th_str_ends(s, th_str_of(close)))
		s = th_str_sub(s, 0, s.len - strlen(close));
	return th_str_trim(s);
}

/* "<think>…</think>" and what the desktop application's models put around actions. */
static struct th_str unwrap(struct th_say *say, struct th_str s)
{
	ptrdiff_t end = th_str_find(s, TH_STR("</think>"));

	s = th_str_trim(s);
	end = th_str_find(s, TH_STR("</think>"));
	if (th_str_starts(s, TH_STR("<think>")) && end >= 0) {
		th_say_reasoning(say, th_str_sub(s, 7, (size_t)end - 7));
		s = th_str_trim(th_str_sub(s, (size_t)end + 8, s.len));
	}
	return strip(s, "<computer_env>", "</computer_env>");
}

static void say_text(struct th_say *say, struct th_str text)
{
	struct th_str s = unwrap(say, text), part;
	bool labelled = false, acted = false;
	size_t len = 0;

	if (th_str_starts(s, TH_STR("<answer>"))) {
		struct th_word last = { .verb = TH_VERB_END,
					.text = strip(s, "<answer>", "</answer>") };

		if (th_say_word(say, &last, NULL)) /* texts are never refused */
			th_say_text(say, text);
		return;
	}
	part = take_part(&s);
	if (own_call_begins(&part)) { /* a call without its label */
		say_calls(say, &part);
		acted = true;
		part = TH_STR("");
	}
	if (!s.len && !acted)
		acted = say_inline(say, part, false);
	else
		th_say_text(say, part);
	while (s.len) {
		int label = label_at(s, &len);

		labelled = true;
		s = th_str_sub(s, len, s.len);
		if (label == ACTION) {
			say_calls(say, &s); /* a label inside a text is not one */
			acted = true;
			th_say_text(say, take_part(&s));
		} else {
			struct th_str thought = take_part(&s);

			if (acted)
				break; /* it goes on without having looked */
			if (s.len)
				th_say_reasoning(say, thought);
			else
				acted = say_inline(say, thought, true);
		}
	}
	if (labelled && !acted)
		th_say_error(say, text, "there is no line that begins with \"Action:\"");
}

/* ---- decode ---- */

static enum th_code decode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_each(c, items, say_text, NULL,
			       "the answer was empty: write \"Thought: …\" and \"Action: …\"", out,
			       err);
}

/* ---- encode ---- */

static void put_box(const struct th_dialect_context *c, const char *name, struct th_point p,
		    struct th_buf *out)
{
	struct th_space_point at = th_dialect_place(c, p);
	bool tokens = !strcmp(c->profile->dialect->name, "uitars");

	th_buf_printf(out,
		      tokens ? "%s='<|box_start|>(%.10g,%.10g)<|box_end|>'" : "%s='(%.10g,%.10g)'",
		      name, at.x, at.y);
}

static enum th_code put_call(const struct th_dialect_context *c, const struct th_action *a,
			     struct th_buf *out, struct th_err *err)
{
	const char *why = th_uitars_unsayable(a), *word = th_uitars_word_of(a);

	if (!why && (a->kind == TH_ACTION_MOUSE_DOWN || a->kind == TH_ACTION_MOUSE_UP))
		why = "it is not in the vocabulary";
	if (!why && a->kind == TH_ACTION_WAIT && a->duration_ms != TH_UITARS_WAIT_MS)
		why = "five seconds only";
	if (why)
		return th_fail(err, TH_EUNSUPPORTED, "UI-TARS has no word for %s: %s",
			       th_action_name(a->kind), why);
	th_buf_printf(out, "%s(", word);
	if (a->has_at) {
		put_box(c, "start_box", a->at, out);
		th_buf_add_cstr(out, a->kind == TH_ACTION_SCROLL ? ", " : "");
	}
	if (a->kind == TH_ACTION_DRAG) {
		put_box(c, "start_box", a->path[0], out);
		th_buf_add_cstr(out, ", ");
		put_box(c, "end_box", a->path[1], out);
	} else if (a->kind == TH_ACTION_SCROLL) {
		th_buf_printf(out, "direction='%s'", th_uitars_direction(a));
	} else if (a->kind == TH_ACTION_TYPE) {
		th_buf_add_cstr(out, "content='");
		th_call_quote(out, a->text);
		th_buf_add_cstr(out, a->enter ? "\\n'" : "'");
	} else if (a->key_count) {
		th_buf_add_cstr(out, "key='");
		for (size_t i = 0; i < a->key_count; i++) {
			th_buf_add_cstr(out, i ? " " : "");
			th_call_quote(out, th_uitars_key(a->keys[i]));
		}
		th_buf_add_char(out, '\'');
	}
	th_buf_add_char(out, ')');
	return TH_OK;
}

static enum th_code write_text(const struct th_dialect_context *c, const struct th_said *said,
			       struct th_buf *out, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (said->thought.len)
		th_buf_printf(out, "Thought: %.*s\n", TH_FMT(said->thought));
	if (!said->count && !said->outcome) {
		th_buf_add(out, said->text);
		return TH_OK;
	}
	if (said->count && said->text.len)
		th_buf_printf(out, "%s%.*s\n",
			      said->thought.len ? "" : "Thought: ", TH_FMT(said->text));
	th_buf_add_cstr(out, "Action: ");
	for (size_t i = 0; !code && i < said->count; i++) {
		th_buf_add_cstr(out, i ? "\n\n" : "");
		code = put_call(c, &said->actions[i], out, err);
	}
	if (!code && said->outcome) {
		bool ask = !strcmp(said->outcome, TH_DIALECT_NEEDS_USER);

		th_buf_printf(out, "%s%s(content='", said->count ? "\n\n" : "",
			      ask ? "call_user" : "finished");
		th_call_quote(out, said->outcome_text);
		th_buf_add_cstr(out, "')");
	}
	return code;
}

static enum th_code encode(const struct th_dialect_context *c, struct th_str items,
			   struct th_buf *out, struct th_err *err)
{
	return th_dialect_write(c, items, write_text, out, err);
}

static const char *box_form(const struct th_dialect_context *c)
{
	return strcmp(c->profile->dialect->name, "uitars") ? "(x,y)"
							   : "<|box_start|>(x,y)<|box_end|>";
}

static void prompt(const struct th_dialect_context *c, struct th_buf *out)
{
	const char *box = box_form(c);

	th_buf_printf(out,
		      "You are a GUI agent. You are given a task and your action history, with "
		      "screenshots. You need to perform the next action to complete the task.\n\n"
		      "## Output Format\n```\nThought: ...\nAction: ...\n```\n\n## Action Space\n\n"
		      "click(start_box='%s')\nleft_double(start_box='%s')\n"
		      "right_single(start_box='%s')\nhover(start_box='%s')\n"
		      "drag(start_box='%s', end_box='%s')\nhotkey(key='')\n",
		      box, box, box, box, box, box);
	th_buf_printf(
	    out,
	    "type(content='') # Use \\n at the end of content to press Enter.\n"
	    "scroll(start_box='%s', direction='down or up or right or left')\n"
	    "wait() # Sleep for 5 seconds and take a screenshot to see what changed.\n"
	    "finished(content='xxx') # The task is done; say what came of it.\n"
	    "call_user() # The task cannot be done without the user.\n\n"
	    "## Note\n- Use English in `Thought`.\n- In `Thought`, say your plan and, in one "
	    "sentence, your next action and its target.\n",
	    box);
}

const struct th_dialect th_dialect_uitars = {
	.name = "uitars",
	.note = "UI-TARS 1.0: Thought and Action, boxes in tokens",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};

const struct th_dialect th_dialect_uitars15 = {
	.name = "uitars15",
	.note = "UI-TARS 1.5: Thought and Action",
	.prompt = prompt,
	.decode = decode,
	.encode = encode,
	.results_as_user = true,
};
