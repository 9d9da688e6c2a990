/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - a person in the agent's place (driver/person.h). */
#include <stdlib.h>

#include "api/api.h"

int th_api_check_person(struct thole_session *s, const char *by, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	return code ? code : th_api_text(by, "who it is", 1, TH_USER_MAX, err);
}

enum th_code th_api_take(struct thole_session *s, const char *by, struct th_err *err)
{
	enum th_code code = th_driver_take(s->rt->driver, s->handle, th_str_of(by), err);

	/* What was under way when its last runtime ended is found out, and nothing else happens. */
	if (!code && s->stored && !s->resumed) {
		s->resumed = true;
		code = th_driver_find_out(s->rt->driver, s->handle, err);
	}
	return code;
}

int thole_session_take(struct thole_session *s, const char *by, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_open(s, err);

	if (!code)
		code = th_api_text(by, "who it is", 1, TH_USER_MAX, err);
	if (code)
		return code;
	if (!s->opening)
		return th_api_out(th_api_take(s, by, &e), &e, err);
	if (s->take_later || s->message_later || s->resume_later)
		return th_api_fail(err, TH_EBUSY,
				   "something was said already, which waits until it is open");
	s->take_later = th_api_copy(th_str_of(by));
	return TH_OK;
}

int thole_session_give(struct thole_session *s, const char *by, const char *note,
		       const char *reason, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_person(s, by, err);

	if (!code && note)
		code = th_api_text(note, "the note", 0, TH_NOTE_MAX, err);
	if (!code && reason)
		code = th_api_text(reason, "the reason", 0, TH_PATH_LEN_MAX, err);
	if (code)
		return code;
	return th_api_out(th_driver_give(s->rt->driver, s->handle, th_str_of(by), th_str_of(note),
					 th_str_of(reason), &e),
			  &e, err);
}

int thole_session_control(const struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);

	if (s && s->take_later)
		return THOLE_CONTROL_WAITS;
	if (!f || s->lost || !th_session_control(f)->taken)
		return THOLE_CONTROL_AGENT;
	return th_session_at_rest(f) ? THOLE_CONTROL_PERSON : THOLE_CONTROL_WAITS;
}

const char *thole_session_holder(const struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);

	if (s && s->take_later)
		return s->take_later;
	return f && !s->lost && th_session_control(f)->taken ? th_session_control(f)->by.ptr : NULL;
}

/* ---- inputs ---- */

/* The first text of the result. */
static void text_of(const struct th_effect_result *r, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(r->output);

	if (r->why.len) {
		th_buf_add(out, r->why);
		return;
	}
	if (th_json_unescape(r->output, out))
		return;
	while (th_json_raw_next(&it)) {
		struct th_str text = th_json_raw_get(it.val, "text");

		if (text.len && th_json_unescape(text, out))
			return;
	}
}

void th_api_input_over(void *ctx, const struct th_effect_result *r)
{
	struct thole_session *s = ctx;
	const struct th_str none = { 0 };
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXEC_OUTPUT_MAX);

	if (s->freed)
		return;
	text_of(r, &text);
	th_api_tell(s, TH_NOTE_INPUT, th_str_of(th_outcome_name(r->status)), th_buf_str(&text),
		    none, none, 0, NULL);
}

void th_api_input_note(const struct thole_note *n)
{
	struct thole_session *s = n->session;
	thole_input_fn *fn = s->input_fn;

	s->input_fn = NULL;
	if (fn && !s->freed)
		fn(s->input_ctx, s, n->name, n->text);
}

int th_api_input(struct thole_session *s, const struct th_person_input *in, th_person_fn *over,
		 thole_input_fn *fn, void *ctx, struct thole_error *err)
{
	struct th_err e = { 0 };
	enum th_code code;

	s->input_fn = fn;
	s->input_ctx = ctx;
	code = th_driver_input(s->rt->driver, s->handle, in, over, s, &e);
	if (code)
		s->input_fn = NULL;
	return th_api_out(code, &e, err);
}

int th_api_check_input(const struct thole_session *s, thole_input_fn *fn, struct thole_error *err)
{
	if (!fn)
		return th_api_fail(err, TH_EUSAGE, "fn is NULL");
	return s->input_fn ? th_api_fail(err, TH_EBUSY, "an input before this one is under way")
			   : TH_OK;
}

/* The agent's shell, by the name that it has there; NULL: it has none. */
static const char *shell_of(const struct thole_session *s)
{
	static const char *const names[] = { "bash", "execute_bash", "terminal" };

	for (size_t i = 0; i < TH_COUNT(names); i++)
		if (th_driver_has_tool(s->rt->driver, s->handle, th_str_of(names[i])))
			return names[i];
	return NULL;
}

int thole_session_type(struct thole_session *s, const char *by, const char *text,
		       thole_input_fn *fn, void *ctx, struct thole_error *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&json);
	int code = th_api_check_person(s, by, err);

	if (!code)
		code = th_api_text(text, "the text", 1, TH_BASH_INPUT_MAX, err);
	if (!code)
		code = th_api_check_input(s, fn, err);
	if (!code && !shell_of(s))
		code = th_api_fail(err, TH_EUNSUPPORTED, "the agent has no shell (tool bash)");
	if (code)
		return code;
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_str_of(text));
	th_jw_kbool(&w, "typed", true);
	th_jw_object_end(&w);
	const struct th_person_input in = { .by = th_str_of(by),
					    .tool = th_str_of(shell_of(s)),
					    .arguments = th_buf_str(&json),
					    .class = TH_CLASS_W };

	return th_api_input(s, &in, th_api_input_over, fn, ctx, err);
}

int thole_session_input(struct thole_session *s, const char *by, const char *actions,
			thole_input_fn *fn, void *ctx, struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&json);
	int code = th_api_check_person(s, by, err);

	if (!code)
		code = th_api_text(actions, "the actions", 2, TH_EVENT_DATA_MAX / 4, err);
	if (!code)
		code = th_api_check_input(s, fn, err);
	if (!code &&
	    (th_json_parse(th_str_of(actions), &doc, NULL) || !th_json_is_array(th_json_root(doc))))
		code = th_api_fail(err, TH_EUSAGE, "the actions are no JSON list");
	if (code)
		return code;
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("actions"));
	th_jw_json(&w, th_json_root(doc));
	th_jw_kbool(&w, "whole", true);
	th_jw_object_end(&w);
	const struct th_person_input in = { .by = th_str_of(by),
					    .tool = TH_STR("computer"),
					    .arguments = th_buf_str(&json),
					    .class = TH_CLASS_W };

	return th_api_input(s, &in, th_api_input_over, fn, ctx, err);
}
