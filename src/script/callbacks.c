/* SPDX-License-Identifier: Apache-2.0 */
#include "script/callbacks.h"

#include "base/text.h"
#include "script/script.h"

/* What a row's function needs; in the session's arena. */
struct script_tool {
	const struct th_script_code *code;
	const struct th_agent_command *tool;
};

/* ---- asking ------------------------------------------------------------------------------- */

/* What a function printed, as JSON: null when that is nothing. */
static void put_said(const struct th_script *s, size_t before, struct th_buf *out)
{
	struct th_str said = th_script_said(s);
	struct th_jw w = th_jw(out);

	said = th_str_trim(th_str_sub(said, before, said.len));
	th_buf_clear(out);
	if (said.len)
		th_jw_str(&w, said);
	else
		th_jw_null(&w);
}

static enum th_code check_name(struct th_str function, struct th_err *err)
{
	if (function.len <= TH_SCRIPT_NAME_MAX)
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "a function's name has at most %d bytes, not %zu as \"%.*s…\"",
		       TH_SCRIPT_NAME_MAX, function.len, TH_FMT(th_utf8_cut(function, 40)));
}

/* `said`: what it prints is the answer, not what it returns. */
static enum th_code run(const struct th_script_code *c, struct th_str function,
			struct th_str arguments, bool said, struct th_buf *out, struct th_err *err)
{
	char name[TH_SCRIPT_NAME_MAX + 1];
	struct th_script *s = NULL;
	size_t before = 0;
	enum th_code code = check_name(function, err);

	if (code)
		return code;
	memcpy(name, function.ptr, function.len);
	name[function.len] = '\0';
	code = th_script_new(c->name, c->source, NULL, &s, err);
	if (!code)
		before = th_script_said(s).len;
	if (!code)
		code = th_script_call(s, name, arguments, out, err);
	if (!code && said)
		put_said(s, before, out);
	th_script_free(s);
	return code;
}

static enum th_asked ask(void *ctx, const struct th_code_ask *q, struct th_buf *answer,
			 struct th_err *err)
{
	const struct th_script_code *c = ctx;
	/* Texts for the model have no functions of their own; a script may have this one. */
	struct th_str function = q->kind == TH_ASK_TEXT ? TH_STR("text") : q->function;
	struct th_buf arguments = TH_BUF_INIT(TH_EVENT_DATA_MAX * 3);
	enum th_code code;

	th_buf_add_char(&arguments, '[');
	th_buf_add(&arguments, q->input);
	th_buf_add_char(&arguments, ']');
	code = th_buf_check(&arguments, "what the script is given", err);
	if (!code)
		code =
		    run(c, function, th_buf_str(&arguments), q->kind == TH_ASK_HOOK, answer, err);
	th_buf_deinit(&arguments);
	if (code == TH_ENOENT)
		return TH_ASKED_NOTHING;
	return code ? TH_ASKED_FAILED : TH_ASKED_ANSWERED;
}

static bool has(void *ctx, enum th_ask_kind kind, struct th_str function)
{
	struct th_err ignored;

	return !th_script_code_check(ctx, kind == TH_ASK_TEXT ? TH_STR("text") : function,
				     &ignored);
}

static const struct th_callbacks_ops ops = { .ask = ask, .has = has };

/* ---- tools -------------------------------------------------------------------------------- */

/* A string as it is, anything else as JSON text. */
static void put_result(struct th_str value, struct th_buf *text)
{
	if (!th_json_unescape(value, text))
		th_buf_add(text, value);
}

static void run_tool(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	const struct script_tool *tool = ctx;
	struct th_effect_result result = { .status = TH_OUTCOME_DONE };
	struct th_buf arguments = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_buf value = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX);
	struct th_buf text = TH_BUF_INIT(TH_SCRIPT_VALUE_MAX), shown = TH_BUF_INIT(TH_MIB);
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_err err = { 0 };
	struct th_jw w = th_jw(&arguments);

	th_jw_array(&w);
	th_jw_raw(&w, call->arguments);
	th_jw_object(&w);
	th_jw_kstr(&w, "session", call->session_id);
	th_jw_kstr(&w, "tool", call->tool);
	th_jw_kstr(&w, "call_id", call->call_id);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (run(tool->code, tool->tool->script, th_buf_str(&arguments), false, &value, &err)) {
		result.status = TH_OUTCOME_FAILED;
		th_buf_printf(&text, TH_ERROR_MARK "%s", err.msg);
	} else
		put_result(th_buf_str(&value), &text);
	th_text_clip(&shown, th_buf_str(&text), TH_TOOL_OUTPUT_MODEL_MAX);
	w = th_jw(&output);
	th_jw_str(&w, th_buf_str(&shown));
	result.output = th_buf_str(&output);
	th_driver_tool_done(d, call->ticket, &result);
	th_buf_deinit(&arguments);
	th_buf_deinit(&value);
	th_buf_deinit(&text);
	th_buf_deinit(&shown);
	th_buf_deinit(&output);
}

enum th_code th_script_code_bind(const struct th_script_code *c, struct th_tool_row *rows,
				 size_t count, struct th_arena *a, struct th_err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct script_tool *tool;

		if (!rows[i].command || !rows[i].command->script.len)
			continue;
		if (!c)
			return th_fail(
			    err, TH_EUSAGE,
			    "the tool \"%.*s\" is a function of a script, and there is none",
			    TH_FMT(rows[i].spec.name));
		tool = TH_NEW(a, struct script_tool);
		if (!tool)
			return th_fail(err, TH_ELIMIT, "the agent's tools take too much memory");
		*tool = (struct script_tool){ c, rows[i].command };
		rows[i].local = run_tool;
		rows[i].ctx = tool;
	}
	return TH_OK;
}

/* ---- the agent's ---------------------------------------------------------------------------- */

bool th_script_code_init(const struct th_agent *agent, struct th_script_code *ret)
{
	*ret = (struct th_script_code){ 0 };
	if (!agent->script.len)
		return false;
	ret->name = agent->script_file.len ? agent->script_file : TH_STR("script");
	ret->source = agent->script;
	ret->callbacks = (struct th_callbacks){ &ops, ret };
	return true;
}

enum th_code th_script_code_check(const struct th_script_code *c, struct th_str function,
				  struct th_err *err)
{
	struct th_script *s = NULL;
	struct th_buf name = TH_BUF_INIT(TH_SCRIPT_NAME_MAX);
	enum th_code code = check_name(function, err);

	th_buf_add(&name, function);
	if (!code)
		code = th_script_new(c->name, c->source, NULL, &s, err);
	if (!code && function.len && (strlen(name.ptr) != name.len || !th_script_has(s, name.ptr)))
		code = th_fail(err, TH_ENOENT, "the script has no function \"%.*s\"",
			       TH_FMT(th_utf8_cut(function, 80)));
	th_script_free(s);
	th_buf_deinit(&name);
	return code;
}
