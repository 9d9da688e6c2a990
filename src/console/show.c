/* SPDX-License-Identifier: Apache-2.0 */
#include "console/show.h"

#include <errno.h>
#include <unistd.h>

#include "base/text.h"
#include "console/console.h"
#include "core/policy.h"
#include "models/model.h"

#define QUESTION_LINES_MAX 64
#define LINE_COLUMNS_MAX 2000  /* of what a call does */
#define WHOLE_COLUMNS_MAX 8000 /* of its arguments as they are */

void th_show_init(struct th_show *s, enum th_output output, bool as_terminal,
		  const struct th_common *common)
{
	struct th_view_options vo = {
		.colour = th_cli_colour(STDOUT_FILENO) || as_terminal,
		.stream = th_cli_terminal(STDOUT_FILENO) || as_terminal,
		.columns = th_cli_columns(STDOUT_FILENO),
	};

	*s = (struct th_show){ .output = output, .common = common, .view = th_view_new(&vo) };
	th_buf_init(&s->out, 4 * TH_EVENT_DATA_MAX);
}

void th_show_deinit(struct th_show *s)
{
	s->view = th_view_free(s->view);
	th_buf_deinit(&s->out);
}

bool th_show_flush(struct th_show *s)
{
	bool good = s->out.len == 0 || th_cli_write(STDOUT_FILENO, th_buf_str(&s->out));
	int errnum = errno;

	th_buf_clear(&s->out);
	if (good || s->unwritable)
		return true;
	s->unwritable = true;
	if (errnum != EPIPE) /* who reads no more knows that */
		s->errnum = errnum;
	return false;
}

/* ---- what happens ---- */

static void print_quiet(struct th_show *s, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str text;

	if (ev->kind != TH_EV_FINAL || th_json_parse(ev->data, &doc, NULL) != TH_OK)
		return;
	text = th_json_get_str(th_json_root(doc), "output");
	if (!th_cli_terminal(STDOUT_FILENO)) {
		th_buf_add(&s->out, text); /* into a file: as it is */
		th_buf_add_char(&s->out, '\n');
		return;
	}
	do {
		th_text_line(&s->out, th_str_split(&text, '\n'), TH_MESSAGE_MAX);
		th_buf_add_char(&s->out, '\n');
	} while (text.len);
}

/* Whether the model's server said that the request is wrong, when it was asked last. */
static void note_refusal(struct th_show *s, const struct th_event *ev)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (ev->kind == TH_EV_MODEL_REQUESTED)
		s->refused = false;
	else if (ev->kind == TH_EV_MODEL_FAILED && th_json_parse(ev->data, &doc, NULL) == TH_OK)
		s->refused = th_str_is(th_json_get_str(th_json_root(doc), "class"),
				       th_failure_name(TH_FAILURE_REJECTED));
}

void th_show_session(struct th_show *s, struct th_str session_id)
{
	if (s->output == TH_OUTPUT_VIEW)
		th_view_note(s->view, "session", session_id, &s->out);
}

void th_show_event(struct th_show *s, struct th_str session_id, bool own, const struct th_event *ev)
{
	struct th_jw w = th_jw(&s->out);

	if (own)
		note_refusal(s, ev);
	switch (s->output) {
	case TH_OUTPUT_VIEW:
		th_view_event(s->view, ev, &s->out);
		break;
	case TH_OUTPUT_JSON:
		th_event_print(session_id, ev, &w);
		th_buf_add_char(&s->out, '\n');
		break;
	case TH_OUTPUT_QUIET:
		print_quiet(s, ev);
		break;
	}
}

void th_show_delta(struct th_show *s, enum th_delta_kind kind, struct th_str text)
{
	if (s->output == TH_OUTPUT_VIEW)
		th_view_delta(s->view, kind, text, &s->out);
}

void th_show_progress(struct th_show *s, struct th_str tool, struct th_str bytes)
{
	if (s->output == TH_OUTPUT_VIEW)
		th_view_progress(s->view, tool, bytes, &s->out);
}

/* ---- the question ---- */

static void put_lines(struct th_buf *out, struct th_str text)
{
	for (int i = 0; text.len && i < QUESTION_LINES_MAX; i++) {
		th_buf_add_cstr(out, i ? "\n        " : "");
		th_text_line(out, th_str_split(&text, '\n'), 4000);
	}
}

/* A question of the agent itself, or of a server of tools. */
static void show_asked(struct th_buf *out, const struct th_call *c)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *root;
	struct th_json_iter it;
	int number = 0;

	if (th_json_parse(c->arguments, &doc, NULL))
		return; /* it was checked when it was recorded */
	root = th_json_root(doc);
	th_buf_add_cstr(out, "\n  asks  ");
	put_lines(out, th_json_get_str(root, "question"));
	it = th_json_iter(th_json_get(root, "options"));
	while (th_json_next(&it)) {
		th_buf_printf(out, "\n  %4d  ", ++number);
		th_text_line(out, th_json_str(it.val), 1000);
	}
	th_buf_add_cstr(out, number ? "\nYour answer (a number, or a text; q: leave it waiting) "
				    : "\nYour answer (q: leave it waiting) ");
}

struct th_str th_show_answer(const struct th_json *options, struct th_str line)
{
	int64_t number;
	struct th_str chosen = { 0 };

	if (th_str_i64(line, &number) && number > 0)
		chosen = th_json_str(th_json_at(options, (size_t)number - 1));
	return chosen.len ? chosen : line;
}

/* Of a host it decides in every later task, too; of a call about others of its tool, where a person
 * is not asked about each of them. */
bool th_show_lasts(const struct th_call *c)
{
	return !c->question && (c->host.phase == TH_HOST_ASKED ||
				th_policy_sticks(true, c->class, c->each, c->safety_checks));
}

void th_show_question(struct th_show *s, struct th_str name, const struct th_call *c)
{
	th_view_break(s->view, &s->out);
	if (c->question) {
		show_asked(&s->out, c);
		return;
	}
	th_buf_add_cstr(&s->out, "\n  call  ");
	th_text_line(&s->out, name, 300);
	th_buf_add_cstr(&s->out, "\n  tool  ");
	th_text_line(&s->out, c->tool, 100);
	th_buf_add_cstr(&s->out, "\n  with  ");
	th_text_line(&s->out, c->arguments, TH_EVENT_DATA_MAX);
	if (c->safety_checks.len) {
		th_buf_add_cstr(&s->out, "\n  check ");
		th_text_line(&s->out, c->safety_checks, 4000);
	}
	th_buf_add_cstr(&s->out, "\n  why   ");
	th_text_line(&s->out, c->reason, 1000);
	th_buf_add_cstr(&s->out, "\nRun it? y: once   ");
	if (th_show_lasts(c))
		th_buf_printf(&s->out, "a: always (this %s)   ",
			      c->host.phase == TH_HOST_ASKED ? "host" : "tool");
	th_buf_printf(&s->out, "n: no   q: leave it waiting [%sN/q] ",
		      th_show_lasts(c) ? "y/a/" : "y/");
}

enum th_word th_show_word(struct th_str answer, bool lasts)
{
	if (th_str_ieq(answer, TH_STR("q")))
		return TH_WORD_KEEP;
	if (th_str_ieq(answer, TH_STR("y")) || th_str_ieq(answer, TH_STR("yes")))
		return TH_WORD_YES;
	if (lasts && (th_str_ieq(answer, TH_STR("a")) || th_str_ieq(answer, TH_STR("always"))))
		return TH_WORD_ALWAYS;
	if (!answer.len || th_str_ieq(answer, TH_STR("n")) || th_str_ieq(answer, TH_STR("no")))
		return TH_WORD_NO;
	return TH_WORD_NONE;
}

/* ---- the end ---- */

void th_cli_waits(struct th_str id, const struct th_common *o, const struct th_call *c,
		  struct th_buf *out)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool parked = c->phase == TH_CALL_PARKED;

	th_buf_add_cstr(out, parked ? "unknown:  " : "waits:    ");
	if (!th_view_call(c->tool, c->arguments, LINE_COLUMNS_MAX, out)) {
		th_buf_add_cstr(out, "\nwith:     ");
		th_text_line(out, c->arguments, WHOLE_COLUMNS_MAX);
	}
	if (c->safety_checks.len) {
		th_buf_add_cstr(out, "\ncheck:    ");
		th_text_line(out, c->safety_checks, LINE_COLUMNS_MAX);
	}
	th_buf_printf(out,
		      parked        ? "\nsettle:   %s settle "
		      : c->question ? "\nanswer:   %s answer "
				    : "\napprove:  %s approve ",
		      th_cli_program());
	th_cli_word(out, id);
	th_buf_add_cstr(out, c->question && !parked ? " \"TEXT\" " : " ");
	th_call_name(c, &name);
	th_cli_word(out, th_buf_str(&name));
	th_cli_same_log(o, out);
	th_buf_add_cstr(out, parked ? " --as done   (or not_started, unknown)" : "   (or reject)");
}

static void add_word(struct th_buf *out, struct th_str id)
{
	th_buf_add_char(out, ' ');
	th_cli_word(out, id);
}

struct waiting {
	struct th_buf *out;
	struct th_str id; /* of the session that a person talks to */
	const struct th_common *common;
};

static void put_waiting(void *ctx, const struct th_call *c)
{
	const struct waiting *w = ctx;

	th_buf_add_char(w->out, '\n');
	th_cli_waits(w->id, w->common, c, w->out);
}

/* Taken up as it is, what a guardrail stopped runs into it again: another task goes on. */
static bool guarded(const struct th_session *s)
{
	return s->state == TH_STATE_FAILED && s->tripped &&
	       th_str_ends(th_str_of(s->trip_class), TH_STR("_guardrail"));
}

/* A session keeps the agent that it began with, and so does its fork: with what the server refused
 * in it, it would be refused again. */
static void put_anew(struct th_str id, const struct th_common *common, struct th_buf *out)
{
	th_buf_printf(out, "\ngo on:    %s run -a FILE \"TASK\"", th_cli_program());
	th_cli_same_log(common, out);
	th_buf_printf(
	    out,
	    "   (where the agent is to blame, mend its file and begin a new session: this "
	    "one keeps the agent it has; or the same again: %s resume",
	    th_cli_program());
	add_word(out, id);
	th_cli_same_log(common, out);
	th_buf_add_char(out, ')');
}

/* A resume, a message and a fork would run into the same limit at once: what it may use in all, it
 * has used. */
static void put_used_up(const struct th_session *s, struct th_str id,
			const struct th_common *common, struct th_buf *out)
{
	const char *more = s->cost_nano_max ? "cost_usd=N" : s->tokens_max ? "tokens=N" : NULL;

	if (!more || s->items >= TH_SESSION_ITEMS_MAX || s->totals.unmetered) {
		th_buf_printf(out, "\ngo on:    %s run -a FILE \"TASK\"", th_cli_program());
		th_cli_same_log(common, out);
		th_buf_add_cstr(out, "   (another session)");
		return;
	}
	th_buf_printf(out, "\ngo on:    %s resume", th_cli_program());
	add_word(out, id);
	th_buf_printf(out, " --more %s", more);
	th_cli_same_log(common, out);
}

static void put_next(const struct th_session *s, struct th_str id, const struct th_common *common,
		     struct th_buf *out)
{
	bool other = guarded(s);

	th_buf_printf(out, other ? "\ngo on:    %s run -s" : "\ngo on:    %s resume",
		      th_cli_program());
	add_word(out, id);
	th_cli_same_log(common, out);
	if (!other)
		return;
	th_buf_printf(out, " \"TASK\"   (or the same again: %s resume", th_cli_program());
	add_word(out, id);
	th_cli_same_log(common, out);
	th_buf_add_char(out, ')');
}

void th_show_status(struct th_show *show, const struct th_session *s, struct th_str id, bool kept,
		    th_show_each_fn *each, void *ctx)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	int fd = show->output == TH_OUTPUT_VIEW ? STDOUT_FILENO : STDERR_FILENO;

	th_view_break(show->view, &text);
	th_view_summary(s, &text);
	if (s->reason.len && s->state != TH_STATE_FINISHED) {
		th_buf_add_cstr(&text, "\n");
		th_text_line(&text, th_buf_str(&s->reason), 1000);
	}
	if (!kept) {
		th_buf_add_cstr(&text, "\nlog:      none is kept (memory:)\n");
		(void)th_cli_write(fd, th_buf_str(&text));
		return;
	}
	th_buf_printf(&text, "\nlog:      %s log", th_cli_program());
	add_word(&text, id);
	th_cli_same_log(show->common, &text);
	if (s->state == TH_STATE_WAITING)
		each(ctx, put_waiting, &(struct waiting){ &text, id, show->common });
	if (s->state == TH_STATE_FAILED && show->refused)
		put_anew(id, show->common, &text);
	else if (s->state == TH_STATE_LIMIT && th_session_used_up(s))
		put_used_up(s, id, show->common, &text);
	else if (s->state != TH_STATE_FINISHED && s->state != TH_STATE_IDLE)
		put_next(s, id, show->common, &text);
	th_buf_add_char(&text, '\n');
	(void)th_cli_write(fd, th_buf_str(&text));
}
