/* SPDX-License-Identifier: Apache-2.0 */
/* browser_words.c - see browser_words.h. */
#include "dialects/browser_words.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/browser_rows.h"
#include "dialects/call.h"

#define MEMORY(size) (8 * (size) + 64 * TH_KIB)
#define SCREENFUL 600 /* where no screen is known */

/* One call that is being said as ours. */
struct say {
	const struct th_dialect_context *c;
	const char *name; /* as the model said it */
	struct th_jw w;   /* inside the step's object */
	struct th_err *err;
};

/* ---- members ---- */

static enum th_code bad(struct say *s, const char *member, const char *why)
{
	return th_fail(s->err, TH_EPROTO, "%s: %s: %s", s->name, member, why);
}

static void put_key(struct say *s, const char *name)
{
	th_jw_key(&s->w, th_str_of(name));
}

static enum th_code put_ref(struct say *s, const char *theirs, const char *ours,
			    const struct th_json *v)
{
	struct th_str text = th_str_trim(th_json_str(v));
	int64_t ref = th_json_int(v, 0);

	if (text.len && text.ptr[0] == 'e')
		text = th_str_sub(text, 1, text.len);
	if (text.len && !th_str_i64(text, &ref))
		ref = 0;
	if (ref <= 0)
		return bad(s, theirs,
			   !strcmp(ours, "tab") ? "must be the number of a tab, as tabs shows it"
						: "must be the number of an element in a snapshot, "
						  "such as 12 for [12 button \"OK\"]");
	put_key(s, ours);
	th_jw_int(&s->w, ref);
	return TH_OK;
}

static enum th_code put_keys(struct say *s, const char *theirs, const char *ours,
			     const struct th_json *v)
{
	struct th_str rest = th_json_str(v);

	if (th_json_is_array(v)) {
		put_key(s, ours);
		th_jw_json(&s->w, v);
		return TH_OK;
	}
	if (!rest.len)
		return bad(s, theirs, "must be a key or a chord, such as Control+A");
	put_key(s, ours);
	th_jw_array(&s->w);
	while (rest.len) {
		/* The key "+" stands at the end, alone or behind a plus. */
		ptrdiff_t at =
		    rest.len > 1 ? th_str_find(th_str_sub(rest, 1, rest.len), TH_STR("+")) : -1;
		size_t len = at < 0 ? rest.len : (size_t)at + 1;

		th_jw_str(&s->w, th_str_sub(rest, 0, len));
		rest = len + 1 < rest.len ? th_str_sub(rest, len + 1, rest.len) : TH_STR("");
	}
	th_jw_array_end(&s->w);
	return TH_OK;
}

static enum th_code put_seconds(struct say *s, const char *theirs, const char *ours, double value)
{
	if (!(value >= 0 && value <= 1e6))
		return bad(s, theirs, "must be a time");
	put_key(s, ours);
	th_jw_int(&s->w, TH_MAX((int64_t)value + ((double)(int64_t)value < value), INT64_C(1)));
	return TH_OK;
}

static enum th_code put_screenful(struct say *s, const char *theirs, const char *ours,
				  const struct th_json *v)
{
	int64_t by = s->c->screen.height > 0 ? s->c->screen.height : SCREENFUL;
	bool up = th_str_ieq(th_json_str(v), TH_STR("up"));

	if (!up && !th_str_ieq(th_json_str(v), TH_STR("down")))
		return bad(s, theirs, "must be up or down");
	put_key(s, ours);
	th_jw_int(&s->w, up ? -by : by);
	return TH_OK;
}

static enum th_code put_function(struct say *s, const char *theirs, const char *ours,
				 const struct th_json *v)
{
	struct th_str text = th_json_str(v);
	struct th_buf script = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	if (!text.len)
		return bad(s, theirs, "must be a function of JavaScript");
	th_buf_printf(&script, "(%.*s)()", TH_FMT(text));
	put_key(s, ours);
	th_jw_str(&s->w, th_buf_str(&script));
	th_buf_deinit(&script);
	return TH_OK;
}

static enum th_code put_tabs(struct say *s, const char *theirs, const char *ours,
			     const struct th_json *v)
{
	static const char *const words[][2] = {
		{ "list", "tabs" }, { "new", "open" }, { "close", "close" }, { "select", "tab" }
	};

	for (size_t i = 0; i < TH_COUNT(words); i++)
		if (th_str_is(th_json_str(v), words[i][0])) {
			th_jw_kstr(&s->w, ours, th_str_of(words[i][1]));
			if (i == 1)
				th_jw_kbool(&s->w, "new_tab", true);
			return TH_OK;
		}
	return bad(s, theirs, "must be list, new, close or select");
}

/* A field of a form: what it is set to depends on what it is. */
static enum th_code put_field(struct say *s, const struct th_json *field)
{
	struct th_str type = th_json_get_str(field, "type");
	const struct th_json *value = th_json_get(field, "value");
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	enum th_code code = TH_OK;

	if (th_json_type(value) == TH_JSON_STR)
		th_buf_add(&text, th_json_str(value));
	else if (!th_json_is_null(value))
		th_json_print(value, &text);
	th_jw_object(&s->w);
	if (th_str_is(type, "checkbox")) {
		code = bad(s, "fields",
			   "a checkbox is turned over by browser_click; the snapshot "
			   "shows whether it is checked");
	} else if (th_str_is(type, "radio")) {
		th_jw_kstr(&s->w, "action", TH_STR("click"));
	} else if (th_str_is(type, "combobox")) {
		th_jw_kstr(&s->w, "action", TH_STR("select"));
		put_key(s, "values");
		th_jw_array(&s->w);
		th_jw_str(&s->w, th_buf_str(&text));
		th_jw_array_end(&s->w);
	} else {
		th_jw_kstr(&s->w, "action", TH_STR("type"));
		th_jw_kstr(&s->w, "text", th_buf_str(&text));
		th_jw_kbool(&s->w, "clear", true);
	}
	if (!code)
		code = put_ref(s, "ref", "ref", th_json_get(field, "ref"));
	th_jw_object_end(&s->w);
	th_buf_deinit(&text);
	return code;
}

static enum th_code put_fields(struct say *s, const char *theirs, const char *ours,
			       const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_code code = TH_OK;

	if (!th_json_is_array(v) || !th_json_count(v) || th_json_count(v) > TH_ACTIONS_MAX)
		return th_fail(s->err, TH_EPROTO, "%s: %s: must be a list of 1 to %d fields",
			       s->name, theirs, TH_ACTIONS_MAX);
	put_key(s, ours);
	th_jw_array(&s->w);
	while (!code && th_json_next(&it))
		code = put_field(s, it.val);
	th_jw_array_end(&s->w);
	return code;
}

static bool is_nothing(const struct th_json *v)
{
	return th_json_is_null(v) || (th_json_type(v) == TH_JSON_BOOL && !th_json_bool(v, true)) ||
	       (th_json_type(v) == TH_JSON_INT && !th_json_int(v, 1));
}

static enum th_code put_member(struct say *s, enum th_browser_how how, const char *theirs,
			       const char *ours, const struct th_json *v)
{
	switch (how) {
	case TH_BROWSER_REF:
		return put_ref(s, theirs, ours, v);
	case TH_BROWSER_KEYS:
		return put_keys(s, theirs, ours, v);
	case TH_BROWSER_SECONDS:
		return put_seconds(s, theirs, ours, th_json_num(v, -1));
	case TH_BROWSER_MS:
		return put_seconds(s, theirs, ours, th_json_num(v, -1000) / 1000);
	case TH_BROWSER_SCREENFUL:
		return put_screenful(s, theirs, ours, v);
	case TH_BROWSER_FUNCTION:
		return put_function(s, theirs, ours, v);
	case TH_BROWSER_TABS:
		return put_tabs(s, theirs, ours, v);
	case TH_BROWSER_FIELDS:
		return put_fields(s, theirs, ours, v);
	case TH_BROWSER_REFUSED:
		return is_nothing(v) ? TH_OK : bad(s, theirs, ours);
	case TH_BROWSER_IGNORED:
		return TH_OK;
	case TH_BROWSER_NOT:
		th_jw_kbool(&s->w, ours, !th_json_bool(v, false));
		return TH_OK;
	case TH_BROWSER_TWICE:
		th_jw_kint(&s->w, ours, th_json_bool(v, false) ? 2 : 1);
		return TH_OK;
	case TH_BROWSER_GONE:
		th_jw_kbool(&s->w, "gone", true);
		break;
	case TH_BROWSER_COPY:
	case TH_BROWSER_LIST:
		break;
	}
	put_key(s, ours);
	if (how == TH_BROWSER_LIST && !th_json_is_array(v)) {
		th_jw_array(&s->w);
		th_jw_json(&s->w, v);
		th_jw_array_end(&s->w);
	} else {
		th_jw_json(&s->w, v);
	}
	return TH_OK;
}

/* ---- calls ---- */

/* What all of them may have, and nobody needs: what an element is called, what the model says of
 * its call. */
static bool is_aside(struct th_str member)
{
	return th_str_is(member, "element") || th_str_is(member, "summary") ||
	       th_str_is(member, "security_risk");
}

/* The members of one step; `w` stands in its object. */
static enum th_code put_step(struct say *s, const struct th_browser_row *row,
			     const struct th_json *args)
{
	struct th_json_iter it = th_json_iter(args);
	bool types = row->action && !strcmp(row->action, "type");
	enum th_code code = TH_OK;

	s->name = row->name;
	if (!row->action && !row->members[0].theirs)
		return th_fail(s->err, TH_EPROTO, "%s: %s", row->name, row->more);
	if (row->action)
		th_jw_kstr(&s->w, "action", th_str_of(row->action));
	if (row->more[0])
		th_jw_raw(&s->w, th_str_of(row->more));
	while (!code && th_json_next(&it)) {
		size_t i = 0;

		while (i < TH_BROWSER_MEMBERS_MAX && row->members[i].theirs &&
		       !th_str_is(it.key, row->members[i].theirs))
			i++;
		if (th_json_is_null(it.val) || is_aside(it.key))
			continue;
		if (i == TH_BROWSER_MEMBERS_MAX || !row->members[i].theirs)
			return th_fail(s->err, TH_EPROTO, "%s: it takes no argument \"%.*s\" here",
				       row->name, TH_FMT(th_utf8_cut(it.key, 60)));
		code = put_member(s, row->members[i].how, row->members[i].theirs,
				  row->members[i].ours, it.val);
	}
	/* Playwright's fills, unless it types slowly; OpenHands' has no such member. */
	if (types && !row->more[0] && !th_json_get(args, "slowly") && !th_json_get(args, "index"))
		th_jw_kbool(&s->w, "clear", true);
	return code;
}

/* A literal of Python's, as JSON. */
static enum th_code put_literal(struct say *s, const struct th_value *v, struct th_jw *w)
{
	enum th_code code = TH_OK;

	switch (v->kind) {
	case TH_VALUE_TEXT:
		th_jw_str(w, v->text);
		return TH_OK;
	case TH_VALUE_NUMBER:
		th_jw_real(w, v->number);
		return TH_OK;
	case TH_VALUE_WORD:
		if (th_str_is(v->text, "True") || th_str_is(v->text, "False"))
			th_jw_bool(w, v->text.ptr[0] == 'T');
		else if (th_str_is(v->text, "None"))
			th_jw_null(w);
		else
			return th_fail(s->err, TH_EPROTO, "only plain values can be arguments");
		return TH_OK;
	case TH_VALUE_LIST:
		th_jw_array(w);
		for (size_t i = 0; !code && i < v->count; i++)
			code = put_literal(s, &v->items[i], w); /* their depth has a limit */
		th_jw_array_end(w);
		return code;
	case TH_VALUE_NONE:
		break;
	}
	th_jw_null(w);
	return TH_OK;
}

/* The arguments by their names. */
static enum th_code named(struct say *s, const struct th_browser_row *row,
			  const struct th_text_call *call, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	size_t position = 0;
	enum th_code code = TH_OK;

	th_jw_object(&w);
	for (size_t i = 0; !code && i < call->count; i++) {
		struct th_str key = call->keys[i];

		if (!key.len) {
			if (position == TH_BROWSER_MEMBERS_MAX || !row->members[position].theirs)
				return th_fail(s->err, TH_EPROTO, "%s: too many arguments",
					       row->name);
			key = th_str_of(row->members[position++].theirs);
		}
		th_jw_key(&w, key);
		code = put_literal(s, &call->values[i], &w);
	}
	th_jw_object_end(&w);
	return code;
}

static enum th_code put_call(struct say *s, const struct th_text_call *call)
{
	const struct th_browser_row *row = th_browser_row_find(th_browser_code, call->name);
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *args = NULL;
	enum th_code code;

	if (!row)
		return th_fail(s->err, TH_EPROTO, "code: there is no %.*s here",
			       TH_FMT(th_utf8_cut(call->name, 60)));
	code = named(s, row, call, &text);
	if (!code)
		code = th_json_parse(th_buf_str(&text), &args, s->err);
	th_jw_object(&s->w);
	if (!code)
		code = put_step(s, row, th_json_root(args));
	th_jw_object_end(&s->w);
	th_json_free(args);
	th_buf_deinit(&text);
	return code;
}

/* BrowserGym's: calls, one after the other, read and never run. */
static enum th_code put_code(struct say *s, struct th_str text)
{
	struct th_arena a;
	enum th_code code = TH_OK;
	size_t count = 0;

	th_arena_init(&a, MEMORY(text.len));
	put_key(s, "steps");
	th_jw_array(&s->w);
	for (text = th_str_trim(text); !code && (text.len || !count); text = th_str_trim(text)) {
		struct th_text_call call;

		code = count++ == TH_ACTIONS_MAX
			   ? th_fail(s->err, TH_ELIMIT, "code: more than %d calls", TH_ACTIONS_MAX)
			   : th_call_read(&text, &a, &call, s->err);
		if (!code)
			code = put_call(s, &call);
		if (text.len && text.ptr[0] == ';')
			text = th_str_sub(text, 1, text.len);
	}
	th_jw_array_end(&s->w);
	th_arena_deinit(&a);
	return code;
}

static enum th_code put_arguments(const struct th_dialect_context *c,
				  const struct th_browser_row *row, const struct th_json *args,
				  struct th_buf *out, struct th_err *err)
{
	struct say s = { .c = c, .name = "code", .w = th_jw(out), .err = err };
	enum th_code code;

	th_jw_object(&s.w);
	code = row ? put_step(&s, row, args) : put_code(&s, th_json_get_str(args, "code"));
	th_jw_object_end(&s.w);
	return code ?: th_buf_check(out, "the arguments", err);
}

/* ---- items ---- */

static bool has_tool(const struct th_dialect_context *c, struct th_str name)
{
	for (size_t i = 0; i < c->tool_count; i++)
		if (th_str_eq(c->tools[i].name, name))
			return true;
	return false;
}

static void put_item(const struct th_dialect_context *c, const struct th_browser_row *row,
		     const struct th_json *args, struct th_str item, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(item);
	struct th_buf arguments = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_err err = { 0 };
	enum th_code code = put_arguments(c, row, args, &arguments, &err);

	th_jw_object(w);
	while (th_json_raw_next(&it)) {
		bool name = th_str_is(it.key, "name"), said = th_str_is(it.key, "arguments");

		if (name)
			th_jw_kstr(w, "name", TH_STR(TH_TOOL_BROWSER));
		if (said && code)
			th_jw_kraw(w, "arguments", it.val);
		else if (said)
			th_jw_kstr(w, "arguments", th_buf_str(&arguments));
		if (!name && !said && !th_str_is(it.key, "error")) {
			th_jw_name(w, it.key);
			th_jw_raw(w, it.val);
		} else if (!th_str_is(it.key, "error")) {
			th_jw_kraw(w, name ? "function" : "said", it.val);
		}
	}
	if (code)
		th_jw_kstr(w, "error", th_str_of(err.msg));
	th_jw_object_end(w);
	th_buf_deinit(&arguments);
}

/* True: it was one of those, and is written. */
static bool say_item(const struct th_dialect_context *c, const struct th_json *v,
		     struct th_str item, struct th_jw *w)
{
	struct th_str name = th_json_get_str(v, "name");
	bool call =
	    th_str_is(th_json_get_str(v, "type"), "function_call") && !th_json_get(v, "function");
	const struct th_browser_row *row =
	    call ? th_browser_row_find(th_browser_tools, name) : NULL;
	struct th_json_doc *args = NULL;
	bool ours = call && th_str_is(name, TH_TOOL_BROWSER), good;

	if (row ? has_tool(c, name) : !ours)
		return false;
	/* What is no object is refused as any call's. */
	good = !th_json_parse(th_json_get_str(v, "arguments"), &args, NULL) &&
	       th_json_is_object(th_json_root(args)) &&
	       (row || (th_json_get_str(th_json_root(args), "code").len &&
			!th_json_get(th_json_root(args), "action")));
	if (good)
		put_item(c, row, th_json_root(args), item, w);
	th_json_free(args);
	return good;
}

enum th_code th_browser_words(const struct th_dialect_context *c, struct th_str items,
			      struct th_buf *out, bool *ret, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_raw_iter raw = th_json_raw_iter(items);
	struct th_jw w = th_jw(out);
	struct th_json_iter it;

	*ret = false;
	if (!has_tool(c, TH_STR(TH_TOOL_BROWSER)) ||
	    th_str_find(items, TH_STR(TH_TOOL_BROWSER)) < 0 || th_json_parse(items, &doc, NULL))
		return TH_OK;
	th_jw_array(&w);
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it) && th_json_raw_next(&raw);)
		if (say_item(c, it.val, raw.val, &w))
			*ret = true;
		else
			th_jw_raw(&w, raw.val);
	th_jw_array_end(&w);
	th_json_free(doc);
	return *ret ? th_buf_check(out, "the answer's items", err) : TH_OK;
}
