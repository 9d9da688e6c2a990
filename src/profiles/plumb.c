/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/plumb.h"

#include "dialects/dialect.h"
#include "profiles/compose.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/limits.h"

/* ---- route ---- */

static const char *computer_name(enum th_computer_tool tool)
{
	switch (tool) {
	case TH_COMPUTER_PREVIEW:
		return "preview";
	case TH_COMPUTER_GA:
		return "native";
	case TH_COMPUTER_FUNCTION:
		return "function";
	case TH_COMPUTER_NATIVE:
		return "native";
	case TH_COMPUTER_DIALECT:
		return "dialect";
	case TH_COMPUTER_CLICK:
		return "click";
	case TH_COMPUTER_NONE:
		break;
	}
	return "none";
}

enum th_code th_plumb_route(struct th_str model, struct th_buf *out, struct th_err *err)
{
	const struct th_profile *p;
	struct th_composed composed;
	struct th_match match;
	struct th_jw w = th_jw(out);
	enum th_code code = th_model_compose(NULL, model, &composed, &match, err);

	if (code)
		return code;
	p = match.profile;
	th_jw_object(&w);
	th_jw_kstr(&w, "profile", th_str_of(p->name));
	th_jw_kstr(&w, "wire", th_str_of(p->wire->name));
	th_jw_kstr(&w, "dialect", th_str_of(p->dialect->name));
	th_jw_kstr(&w, "model", match.name);
	th_jw_key(&w, TH_STR("capabilities"));
	th_jw_object(&w);
	th_jw_kstr(&w, "computer", th_str_of(computer_name(p->computer)));
	th_jw_kbool(&w, "vision", p->vision);
	th_jw_kbool(&w, "reasoning", p->reasoning);
	th_jw_object_end(&w);
	if (composed.marks)
		th_jw_kbool(&w, "marks", true);
	if (composed.grounder) {
		th_jw_key(&w, TH_STR("grounder"));
		th_jw_object(&w);
		th_jw_kstr(&w, "profile", th_str_of(composed.grounder->name));
		th_jw_kstr(&w, "wire", th_str_of(composed.grounder->wire->name));
		th_jw_kstr(&w, "dialect", th_str_of(composed.grounder->dialect->name));
		th_jw_kstr(&w, "model", composed.grounder_name);
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	return TH_OK;
}

/* ---- decode ---- */

static void put_count(struct th_jw *w, const char *key, int64_t tokens)
{
	if (tokens >= 0)
		th_jw_kint(w, key, tokens);
}

static const char *status_name(enum th_answer_status status)
{
	switch (status) {
	case TH_ANSWER_COMPLETED:
		return "completed";
	case TH_ANSWER_INCOMPLETE:
		return "incomplete";
	case TH_ANSWER_FAILED:
		break;
	}
	return "failed";
}

static void put_error(const struct th_answer *a, struct th_jw *w)
{
	th_jw_key(w, TH_STR("error"));
	if (a->status != TH_ANSWER_FAILED) {
		th_jw_null(w);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "class", a->error_class);
	th_jw_kstr(w, "message", a->error_message);
	if (a->error_code.len)
		th_jw_kstr(w, "code", a->error_code);
	if (a->error_raw.len)
		th_jw_kraw(w, "raw", a->error_raw);
	th_jw_object_end(w);
}

void th_plumb_answer(const struct th_answer *a, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kraw(&w, "items", a->items);
	th_jw_key(&w, TH_STR("usage"));
	th_jw_object(&w);
	put_count(&w, "input", a->usage.input);
	put_count(&w, "cached", a->usage.cached);
	if (a->usage.written > 0)
		th_jw_kint(&w, "written", a->usage.written);
	put_count(&w, "output", a->usage.output);
	put_count(&w, "reasoning", a->usage.reasoning);
	put_count(&w, "total", a->usage.total);
	th_jw_object_end(&w);
	th_jw_kstr(&w, "status", th_str_of(status_name(a->status)));
	if (a->reason.len)
		th_jw_kstr(&w, "reason", a->reason);
	put_error(a, &w);
	if (a->response_id.len)
		th_jw_kstr(&w, "response_id", a->response_id);
	if (a->model.len)
		th_jw_kstr(&w, "model", a->model);
	if (a->raw.len)
		th_jw_kraw(&w, "raw", a->raw);
	th_jw_object_end(&w);
}

/* As a session has it: the dialect's words as actions on the screen, where there is one. */
static void put_translated(const struct th_dialect_context *c, struct th_answer *a,
			   struct th_buf *out)
{
	const struct th_dialect *dialect = c->profile->dialect;
	struct th_buf items = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_err err = { 0 };

	if (c->screen.width > 0 && dialect->decode && a->status != TH_ANSWER_FAILED) {
		if (dialect->decode(c, a->items, &items, &err)) {
			a->status = TH_ANSWER_FAILED;
			a->items = TH_STR("[]");
			a->error_class = th_str_of(th_failure_name(TH_FAILURE_LIMIT));
			a->error_message = th_str_of(err.msg);
		} else {
			a->items = th_buf_str(&items);
		}
	}
	th_plumb_answer(a, out);
	th_buf_deinit(&items);
}

void th_plumb_decode(const struct th_profile *profile, struct th_str body, int http_status,
		     struct th_buf *out)
{
	const struct th_dialect_context c = { .profile = profile };

	th_plumb_decode_on(&c, body, http_status, out);
}

void th_plumb_decode_on(const struct th_dialect_context *c, struct th_str body, int http_status,
			struct th_buf *out)
{
	const struct th_wire *wire = c->profile->wire;
	struct th_decoder *d = wire->decoder_new(c->profile, NULL, NULL);
	struct th_answer answer;

	(void)wire->feed(d, body);
	if (http_status == 0 || (http_status >= 200 && http_status < 300))
		wire->end(d, false, &answer);
	else
		wire->error(d, http_status, &answer);
	put_translated(c, &answer, out);
	wire->decoder_free(d);
}

void th_plumb_decode_text(const struct th_dialect_context *c, struct th_str text,
			  struct th_buf *out)
{
	struct th_buf items = TH_BUF_INIT(6 * TH_ANSWER_MAX + TH_KIB);
	struct th_jw w = th_jw(&items);
	struct th_answer answer = {
		.status = TH_ANSWER_COMPLETED,
		.usage = { -1, -1, -1, -1, -1, -1 },
	};

	th_buf_add(&items, TH_STR("[{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
				  "[{\"type\":\"output_text\",\"text\":"));
	th_jw_str(&w, th_str_sub(text, 0, TH_ANSWER_MAX));
	th_buf_add(&items, TH_STR(",\"annotations\":[]}]}]"));
	answer.items = th_buf_str(&items);
	put_translated(c, &answer, out);
	th_buf_deinit(&items);
}

/* ---- encode ---- */

static enum th_code take_tools(struct th_str input, const struct th_json *list, struct th_arena *a,
			       struct th_tool_spec *tools, struct th_err *err)
{
	struct th_json_raw_iter raw = th_json_raw_iter(th_json_raw_get(input, "tools"));
	struct th_json_iter it = th_json_iter(list);

	while (th_json_next(&it) && th_json_raw_next(&raw)) {
		struct th_tool_spec *t = &tools[it.index];

		t->name = th_arena_str(a, th_json_get_str(it.val, "name"));
		t->description = th_arena_str(a, th_json_get_str(it.val, "description"));
		t->schema = th_arena_str(a, th_json_raw_get(raw.val, "parameters"));
		t->strict = th_json_bool(th_json_get(it.val, "strict"), false);
		if (!t->name.len || !th_json_is_object(th_json_get(it.val, "parameters")))
			return th_fail(err, TH_EPROTO,
				       "tools[%zu] must have a name and parameters, an object",
				       it.index);
	}
	return TH_OK;
}

enum th_code th_plumb_tools(struct th_str input, struct th_arena *a, struct th_tool_spec **ret,
			    size_t *ret_count, struct th_err *err)
{
	struct th_json_doc *doc;
	const struct th_json *list;
	enum th_code code = th_json_parse(input, &doc, err);

	*ret_count = 0;
	if (code)
		return th_prefix(err, code, "the input");
	list = th_json_get(th_json_root(doc), "tools");
	*ret = th_arena_array(a, th_json_count(list) + 1, sizeof(**ret));
	if (!*ret || th_json_count(list) > TH_AGENT_TOOLS_MAX)
		code = th_fail(err, TH_ELIMIT, "more than %d tools", TH_AGENT_TOOLS_MAX);
	else if (th_json_is_array(list))
		code = take_tools(input, list, a, *ret, err);
	if (!code && th_json_is_array(list))
		*ret_count = th_json_count(list);
	th_json_free(doc);
	return code;
}
