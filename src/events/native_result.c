/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_result.c - what became of such a call, as the API's own item.
 */
#include "base/limits.h"
#include "base/text.h"
#include "events/native.h"

struct result {
	const struct th_native_result *r;
	struct th_json_doc *item, *output, *evidence;
	struct th_jw *w;
	int64_t left; /* characters that may still be shown; -1: any number */
};

/* The texts of an output, one on each line. */
static void add_text(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	if (!th_json_is_array(output)) {
		th_buf_add(out, th_json_str(output));
		return;
	}
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		th_buf_add_cstr(out, text.len && out->len ? "\n" : "");
		th_buf_add(out, text);
	}
}

/* As much of a text as may still be shown. */
static struct th_str take(struct result *x, struct th_str s)
{
	struct th_str rest = s;
	uint32_t c;

	if (x->left < 0)
		return s;
	while (x->left > 0 && th_utf8_next(&rest, &c))
		x->left--;
	return th_str_sub(s, 0, s.len - rest.len);
}

static void put_text(struct result *x, const char *key)
{
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	add_text(th_json_root(x->output), &text);
	th_jw_kstr(x->w, key, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void put_outcome(const struct th_json *outcome, int code, struct th_jw *w)
{
	th_jw_key(w, TH_STR("outcome"));
	if (th_json_is_object(outcome)) {
		th_jw_json(w, outcome);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("exit"));
	th_jw_kint(w, "exit_code", code);
	th_jw_object_end(w);
}

static void put_command(struct result *x, struct th_str out, struct th_str err,
			const struct th_json *outcome, int code)
{
	th_jw_object(x->w);
	th_jw_kstr(x->w, "stdout", take(x, out));
	th_jw_kstr(x->w, "stderr", take(x, err));
	put_outcome(outcome, code, x->w);
	th_jw_object_end(x->w);
}

/* The smaller of the two that are said. */
static int64_t length_max(const struct result *x)
{
	const struct th_json *action = th_json_get(th_json_root(x->item), "action");
	int64_t asked = th_json_get_int(action, "max_output_length", -1);
	int64_t given = th_json_get_int(th_json_root(x->evidence), "max_output_length", -1);

	if (asked < 0)
		asked = th_json_get_int(action, "maxOutputLength", -1);
	return asked < 0 ? given : given < 0 ? asked : TH_MIN(asked, given);
}

/* What each command wrote: the executor's word, or a list that came as an item. */
static const struct th_json *commands_of(const struct result *x)
{
	const struct th_json *list = th_json_get(th_json_root(x->evidence), "commands");
	bool ran = x->r->status == TH_OUTCOME_DONE || x->r->status == TH_OUTCOME_FAILED;

	if (th_json_is_array(list) && ran)
		return list;
	list = th_json_root(x->output);
	return th_json_is_array(list) && th_json_get(th_json_at(list, 0), "outcome") ? list : NULL;
}

/* What was not run at all is no output of a command. */
static void put_shell_text(struct result *x)
{
	enum th_outcome_status status = x->r->status;
	bool ran = status == TH_OUTCOME_DONE || status == TH_OUTCOME_FAILED;
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	add_text(th_json_root(x->output), &text);
	put_command(x, ran ? th_buf_str(&text) : TH_STR(""), ran ? TH_STR("") : th_buf_str(&text),
		    NULL, status == TH_OUTCOME_DONE ? 0 : 1);
	th_buf_deinit(&text);
}

static void put_shell(struct result *x)
{
	const struct th_json *list = commands_of(x);
	struct th_json_iter it = th_json_iter(list);
	int64_t max = length_max(x);

	x->left = max;
	th_jw_key(x->w, TH_STR("output"));
	th_jw_array(x->w);
	while (list && th_json_next(&it))
		put_command(x, th_json_get_str(it.val, "stdout"), th_json_get_str(it.val, "stderr"),
			    th_json_get(it.val, "outcome"), 0);
	if (!list)
		put_shell_text(x);
	th_jw_array_end(x->w);
	if (max >= 0)
		th_jw_kint(x->w, "max_output_length", max);
}

static void put_approval(struct result *x)
{
	bool approve = x->r->status == TH_OUTCOME_DONE;
	struct th_str reason = th_json_get_str(th_json_root(x->evidence), "reason");

	th_jw_kstr(x->w, "approval_request_id", x->r->call_id);
	th_jw_kbool(x->w, "approve", approve);
	if (reason.len)
		th_jw_kstr(x->w, "reason", reason);
}

void th_native_put_result(enum th_native kind, const struct th_native_result *r, struct th_jw *w)
{
	static const char *const types[] = {
		[TH_NATIVE_SHELL] = "shell_call_output",
		[TH_NATIVE_LOCAL_SHELL] = "local_shell_call_output",
		[TH_NATIVE_PATCH] = "apply_patch_call_output",
		[TH_NATIVE_MCP] = "mcp_approval_response",
	};
	struct result x = { .r = r, .w = w };

	assert(th_native_is_item(kind) && kind != TH_NATIVE_CUSTOM);
	if (th_json_parse(r->item, &x.item, NULL))
		x.item = NULL;
	if (th_json_parse(r->output, &x.output, NULL))
		x.output = NULL;
	if (th_json_parse(r->evidence, &x.evidence, NULL))
		x.evidence = NULL;
	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(types[kind]));
	if (kind != TH_NATIVE_MCP)
		th_jw_kstr(w, "call_id", r->call_id);
	if (kind == TH_NATIVE_SHELL) {
		put_shell(&x);
	} else if (kind == TH_NATIVE_MCP) {
		put_approval(&x);
	} else {
		if (kind == TH_NATIVE_PATCH)
			th_jw_kstr(w, "status",
				   r->status == TH_OUTCOME_DONE ? TH_STR("completed")
								: TH_STR("failed"));
		put_text(&x, "output");
	}
	th_jw_object_end(w);
	th_json_free(x.item);
	th_json_free(x.output);
	th_json_free(x.evidence);
}
