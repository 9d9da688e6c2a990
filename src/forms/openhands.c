/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/openhands.h"

#include "base/limits.h"

/* Names that old versions wrote, and what they are called now. */
static const struct {
	const char *was, *now;
} renamed[] = {
	{ "is_confirmed", "confirmation_state" },
	{ "images_urls", "image_urls" },
};

/* Members that mean nothing any more. */
static const char *const dropped[] = { "keep_prompt",
				       "task_completed",
				       "translated_ipython_code",
				       "formatted_output_and_error",
				       "exit_code",
				       "command_id",
				       "timestamp",
				       "action",
				       "observation" };

static const char *const sources[] = { "agent", "user", "environment", "hook", NULL };

/* ---- rows ---- */

static const struct th_openhands_kind *rows(enum th_openhands v, size_t *ret_count)
{
	*ret_count = v == TH_OPENHANDS_V0 ? th_openhands_v0_count : th_openhands_v1_count;
	return v == TH_OPENHANDS_V0 ? th_openhands_v0 : th_openhands_v1;
}

bool th_openhands_generation(const struct th_json *event, enum th_openhands *ret)
{
	if (th_json_get_str(event, "kind").ptr) {
		*ret = TH_OPENHANDS_V1;
		return true;
	}
	*ret = TH_OPENHANDS_V0;
	return th_json_get_str(event, "action").ptr || th_json_get_str(event, "observation").ptr;
}

const struct th_openhands_kind *th_openhands_kind(enum th_openhands v, const struct th_json *event)
{
	enum th_openhands_shape shape = TH_OPENHANDS_FLAT;
	struct th_str name = th_json_get_str(event, "kind");
	size_t count;
	const struct th_openhands_kind *list = rows(v, &count);

	if (v == TH_OPENHANDS_V0) {
		shape =
		    th_json_get(event, "action") ? TH_OPENHANDS_ACTION : TH_OPENHANDS_OBSERVATION;
		name =
		    th_json_get_str(event, shape == TH_OPENHANDS_ACTION ? "action" : "observation");
	}
	for (size_t i = 0; i < count; i++)
		if (list[i].shape == shape && th_str_is(name, list[i].name))
			return &list[i];
	return NULL;
}

/* ---- members ---- */

/* What holds the members of a kind. */
static const struct th_json *members(const struct th_openhands_kind *kind,
				     const struct th_json *event)
{
	if (kind->shape == TH_OPENHANDS_FLAT)
		return event;
	return th_json_get(event, kind->shape == TH_OPENHANDS_ACTION ? "args" : "extras");
}

static const struct th_json *member(const struct th_openhands_kind *kind,
				    const struct th_json *fields, const char *name)
{
	const struct th_json *v = th_json_get(fields, name);

	for (size_t i = 0; !v && kind->shape != TH_OPENHANDS_FLAT && i < TH_COUNT(renamed); i++)
		if (strcmp(name, renamed[i].now) == 0)
			v = th_json_get(fields, renamed[i].was);
	return v;
}

const struct th_json *th_openhands_v0_get(const struct th_json *event, const char *name)
{
	const struct th_openhands_kind *kind = th_openhands_kind(TH_OPENHANDS_V0, event);

	return kind ? member(kind, members(kind, event), name) : NULL;
}

static const struct th_openhands_field *field_of(const struct th_openhands_kind *kind,
						 struct th_str name)
{
	for (size_t i = 0; i < kind->count; i++)
		if (th_str_is(name, kind->fields[i].name))
			return &kind->fields[i];
	return NULL;
}

static bool is_one_of(struct th_str name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count && list[i]; i++)
		if (th_str_is(name, list[i]))
			return true;
	return false;
}

static bool is_old(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(renamed); i++)
		if (th_str_is(name, renamed[i].was))
			return true;
	return is_one_of(name, dropped, TH_COUNT(dropped));
}

/* ---- strictness ---- */

static enum th_code unknown(enum th_openhands v, const struct th_json *event, struct th_err *err)
{
	struct th_str name = th_json_get_str(event, "kind");

	if (v == TH_OPENHANDS_V1 && name.ptr)
		return th_fail(err, TH_EPROTO, "unknown kind \"%.*s\"",
			       TH_FMT(th_str_sub(name, 0, TH_NAME_NEAR_MAX)));
	name = th_json_get_str(event, "action");
	if (v == TH_OPENHANDS_V0 && name.ptr)
		return th_fail(err, TH_EPROTO, "unknown action \"%.*s\"",
			       TH_FMT(th_str_sub(name, 0, TH_NAME_NEAR_MAX)));
	name = th_json_get_str(event, "observation");
	if (v == TH_OPENHANDS_V0 && name.ptr)
		return th_fail(err, TH_EPROTO, "unknown observation \"%.*s\"",
			       TH_FMT(th_str_sub(name, 0, TH_NAME_NEAR_MAX)));
	return th_fail(err, TH_EPROTO, "it is no event: it has neither %s",
		       v == TH_OPENHANDS_V1 ? "a kind nor members of one"
					    : "an action nor an observation");
}

static bool is_base(struct th_str name)
{
	static const char *const base[] = { "kind", "id", "timestamp", "source", "parent_id" };

	return is_one_of(name, base, TH_COUNT(base));
}

/* There is a list, or both ends of a range; a summary has a place. */
static bool range_fits(const struct th_json *fields)
{
	bool list = !th_json_is_null(th_json_get(fields, "forgotten_event_ids"));
	bool from = !th_json_is_null(th_json_get(fields, "forgotten_events_start_id"));
	bool to = !th_json_is_null(th_json_get(fields, "forgotten_events_end_id"));
	bool summary = !th_json_is_null(th_json_get(fields, "summary"));
	bool place = !th_json_is_null(th_json_get(fields, "summary_offset"));

	return list != (from && to) && summary == place;
}

static enum th_code check_source(const struct th_openhands_kind *kind, const struct th_json *event,
				 struct th_err *err)
{
	const struct th_json *v = th_json_get(event, "source");
	size_t count = kind->shape == TH_OPENHANDS_FLAT ? 4 : 3; /* V0 has no hooks */

	if (!v && (kind->source || kind->shape != TH_OPENHANDS_FLAT))
		return TH_OK;
	if (!v)
		return th_fail(err, TH_EPROTO, "%s: source is missing", kind->class);
	return is_one_of(th_json_str(v), sources, count)
		   ? TH_OK
		   : th_fail(err, TH_EPROTO,
			     "%s: source is \"%.*s\", not agent, user or environment", kind->class,
			     TH_FMT(th_str_sub(th_json_str(v), 0, TH_NAME_NEAR_MAX)));
}

enum th_code th_openhands_check(enum th_openhands v, const struct th_json *event,
				struct th_err *err)
{
	const struct th_openhands_kind *kind = th_openhands_kind(v, event);
	const struct th_json *fields = kind ? members(kind, event) : NULL;
	struct th_json_iter it = th_json_iter(fields);
	enum th_code code;

	if (!kind)
		return unknown(v, event, err);
	code = check_source(kind, event, err);
	while (!code && th_json_next(&it))
		if (!field_of(kind, it.key) &&
		    !(v == TH_OPENHANDS_V1 ? is_base(it.key) : is_old(it.key)))
			code = th_fail(err, TH_EPROTO, "%s has no member \"%.*s\"", kind->class,
				       TH_FMT(th_str_sub(it.key, 0, TH_NAME_NEAR_MAX)));
	for (size_t i = 0; !code && i < kind->count; i++)
		if (!kind->fields[i].otherwise && !member(kind, fields, kind->fields[i].name))
			code = th_fail(err, TH_EPROTO, "%s: %s is missing", kind->class,
				       kind->fields[i].name);
	if (!code && strcmp(kind->name, "condensation") == 0 && !range_fits(fields))
		code = th_fail(err, TH_EPROTO,
			       "%s: it names a list of events or both ends of a range, and a "
			       "summary together with its place",
			       kind->class);
	if (!code && v == TH_OPENHANDS_V1 && th_str_is(th_json_get_str(event, "id"), "__root__"))
		code = th_fail(err, TH_EPROTO, "%s: its id is the word for the root", kind->class);
	if (!code && v == TH_OPENHANDS_V1)
		code = th_openhands_v1_types(kind->class, event, err);
	return code;
}

/* ---- writing ---- */

/* The result of a command: old versions had its numbers beside it. */
static void put_metadata(const struct th_json *fields, struct th_jw *w)
{
	static const struct th_openhands_field rows[] = {
		{ "exit_code", "-1" },     { "pid", "-1" },
		{ "username", "null" },    { "hostname", "null" },
		{ "working_dir", "null" }, { "py_interpreter_path", "null" },
		{ "prefix", "\"\"" },      { "suffix", "\"\"" },
	};
	const struct th_json *metadata = th_json_get(fields, "metadata");
	const struct th_json *old[] = { th_json_get(fields, "exit_code"),
					th_json_get(fields, "command_id") };

	th_jw_object(w);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_json *v =
		    i < TH_COUNT(old) && old[i] ? old[i] : th_json_get(metadata, rows[i].name);

		th_jw_name(w, th_str_of(rows[i].name));
		if (v)
			th_jw_json(w, v);
		else
			th_jw_raw(w, th_str_of(rows[i].otherwise));
	}
	th_jw_object_end(w);
}

/* A call of the editor that was written as Python: its members, as JSON; else absent. */
static struct th_json_doc *editor_call(const struct th_json *fields)
{
	static const char begin[] = "print(file_editor(**", end[] = "))";
	struct th_str code = th_json_get_str(fields, "translated_ipython_code");
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_json_doc *doc = NULL;

	if (th_str_starts(code, th_str_of(begin)) && th_str_ends(code, th_str_of(end)) &&
	    th_python_to_json(
		th_str_sub(code, sizeof(begin) - 1, code.len - sizeof(begin) - sizeof(end) + 2),
		&text) &&
	    !text.failed && th_json_parse(th_buf_str(&text), &doc, NULL))
		doc = NULL;
	th_buf_deinit(&text);
	return doc;
}

static bool is_risk(const struct th_json *v)
{
	int64_t risk = th_json_int(v, 99);

	return risk >= -1 && risk <= 2;
}

static void put_member(const struct th_openhands_kind *kind, const struct th_json *fields,
		       const struct th_json *call, const struct th_openhands_field *f,
		       struct th_jw *w)
{
	const struct th_json *v = member(kind, fields, f->name);
	bool view = th_str_is(th_json_get_str(call, "command"), "view");

	if (th_json_get(call, f->name) && !(view && strcmp(f->name, "command") == 0))
		v = th_json_get(call, f->name);
	if (strcmp(f->name, "security_risk") == 0 && kind->shape == TH_OPENHANDS_ACTION &&
	    !is_risk(v))
		v = NULL;
	if (f->otherwise && !f->otherwise[0] && th_json_is_null(v))
		return;
	th_jw_name(w, th_str_of(f->name));
	if (kind->success == 2 && strcmp(f->name, "metadata") == 0)
		put_metadata(fields, w);
	else if (v)
		th_jw_json(w, v);
	else
		th_jw_raw(w, f->otherwise ? th_str_of(f->otherwise) : TH_STR("null"));
}

static void put_members(const struct th_openhands_kind *kind, const struct th_json *event,
			struct th_jw *w)
{
	const struct th_json *fields = members(kind, event);
	struct th_json_doc *call = editor_call(fields);

	for (size_t i = 0; i < kind->count; i++)
		put_member(kind, fields, call ? th_json_root(call) : NULL, &kind->fields[i], w);
	th_json_free(call);
}

static void put_given(const struct th_json *event, const char *name, struct th_jw *w)
{
	const struct th_json *v = th_json_get(event, name);

	if (th_json_is_null(v))
		return;
	th_jw_name(w, th_str_of(name));
	th_jw_json(w, v);
}

static void put_v1(const struct th_openhands_kind *kind, const struct th_json *event,
		   struct th_jw *w)
{
	th_jw_object(w);
	put_given(event, "id", w);
	put_given(event, "timestamp", w);
	if (th_json_get(event, "source"))
		put_given(event, "source", w);
	else
		th_jw_kstr(w, "source", th_str_of(kind->source));
	put_given(event, "parent_id", w);
	put_members(kind, event, w);
	th_jw_kstr(w, "kind", th_str_of(kind->name));
	th_jw_object_end(w);
}

static void put_v0(const struct th_openhands_kind *kind, const struct th_json *event,
		   struct th_jw *w)
{
	bool action = kind->shape == TH_OPENHANDS_ACTION;
	struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX), said = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw inside = th_jw(&text);
	struct th_json_doc *doc = NULL;
	const struct th_json *fields = NULL;

	th_jw_object(&inside);
	put_members(kind, event, &inside);
	th_jw_object_end(&inside);
	if (!th_json_parse(th_buf_str(&text), &doc, NULL))
		fields = th_json_root(doc);
	if (kind->say)
		kind->say(fields, th_json_get_str(event, "content"), &said);
	th_jw_object(w);
	if (th_json_get_int(event, "id", -1) >= 0)
		put_given(event, "id", w);
	put_given(event, "timestamp", w);
	put_given(event, "source", w);
	th_jw_kstr(w, "message", th_buf_str(&said));
	put_given(event, "cause", w);
	th_jw_kstr(w, action ? "action" : "observation", th_str_of(kind->name));
	put_given(event, "tool_call_metadata", w);
	put_given(event, "llm_metrics", w);
	if (!action)
		th_jw_kstr(w, "content", th_json_get_str(event, "content"));
	th_jw_kraw(w, action ? "args" : "extras", th_buf_str(&text));
	if (action && !th_json_is_null(th_json_get(event, "timeout")))
		th_jw_kreal(w, "timeout", th_json_num(th_json_get(event, "timeout"), 0));
	if (kind->success)
		th_jw_kbool(w, "success",
			    kind->success == 1 || th_json_get_int(th_json_get(fields, "metadata"),
								  "exit_code", -1) == 0);
	th_jw_object_end(w);
	th_json_free(doc);
	th_buf_deinit(&text);
	th_buf_deinit(&said);
}

enum th_code th_openhands_print(enum th_openhands v, const struct th_json *event, struct th_jw *w,
				struct th_err *err)
{
	enum th_code code = th_openhands_check(v, event, err);

	if (code)
		return code;
	if (v == TH_OPENHANDS_V1)
		put_v1(th_openhands_kind(v, event), event, w);
	else
		put_v0(th_openhands_kind(v, event), event, w);
	return TH_OK;
}
