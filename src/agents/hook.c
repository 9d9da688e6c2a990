/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/hook.h"

#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "rules/tool_names.h"

#define X(id, name, pascal) name,
static const char *const names[] = { TH_HOOK_EVENTS(X) NULL };
#undef X
#define X(id, name, pascal) pascal,
static const char *const pascal_names[] = { TH_HOOK_EVENTS(X) NULL };
#undef X

const char *th_hook_event_name(enum th_hook_event e)
{
	assert(e < TH_HOOK_EVENT_COUNT);
	return names[e];
}

/* ---- files ---- */

static enum th_code unknown_event(struct th_str name, struct th_err *err)
{
	return th_fail(err, TH_EUSAGE,
		       "Unknown event type '%.*s'. Valid types: post_tool_use, pre_tool_use, "
		       "session_end, session_start, stop, user_prompt_submit",
		       TH_FMT(th_utf8_cut(name, 80)));
}

/* By either name; -1: there is none. */
static int event_of(struct th_str name)
{
	int i = th_names_find(names, name);

	return i < 0 ? th_names_find(pascal_names, name) : i;
}

enum th_code th_hooks_file_read(const struct th_json *file,
				const struct th_json *ret[static TH_HOOK_EVENT_COUNT],
				struct th_err *err)
{
	const struct th_json *inner = th_json_get(file, "hooks");
	struct th_json_iter it = th_json_iter(file);

	memset(ret, 0, TH_HOOK_EVENT_COUNT * sizeof(*ret));
	if (th_json_is_object(inner)) {
		/* A description may stand there; hooks would be passed over. */
		while (th_json_next(&it))
			if (event_of(it.key) >= 0)
				return th_fail(err, TH_EUSAGE, "%s stands beside hooks",
					       names[event_of(it.key)]);
		file = inner;
	}
	if (!th_json_is_object(file))
		return th_fail(err, TH_EUSAGE, "it must be an object: event -> list");
	it = th_json_iter(file);
	while (th_json_next(&it)) {
		int i = event_of(it.key);

		if (i < 0)
			return unknown_event(it.key, err);
		if (ret[i])
			return th_fail(err, TH_EUSAGE, "%s is there twice", names[i]);
		if (!th_json_is_null(it.val))
			ret[i] = it.val;
	}
	return TH_OK;
}

#define TH_FIELDS_hook_entry(F)                                                               \
	F(hook_entry, str, type, "type", 0, "command, prompt or agent")                       \
	F(hook_entry, str, command, "command", TH_NONEMPTY, "a line for sh")                  \
	F(hook_entry, str, prompt, "prompt", TH_NONEMPTY, "a policy that a model decides by") \
	F(hook_entry, str, system_prompt, "system_prompt", TH_NONEMPTY,                       \
	  "agent: what stands before its prompt")                                             \
	F(hook_entry, strs, tools, "tools", 0, "agent: what it looks with")                   \
	F(hook_entry, int, max_iterations, "max_iterations", TH_POSITIVE,                     \
	  "agent: answers that it has, with the one that decides")                            \
	F(hook_entry, int, timeout, "timeout", TH_POSITIVE, "seconds")                        \
	F(hook_entry, bool, async, "async", 0, "nobody waits for it")
TH_STRUCT(hook_entry)
static const struct th_field hook_entry_fields[] = { TH_FIELDS_hook_entry(TH_FIELD_ROW) };
static const struct th_table hook_entry_table = {
	"hook_entry",
	"A hook.",
	hook_entry_fields,
	TH_COUNT(hook_entry_fields),
	sizeof(struct th_hook_entry),
	false,
};

/* What Python would take for a regular expression. */
static bool has_signs(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (strchr("|.*+?[]()^$\\", s.ptr[i]) && s.ptr[i])
			return true;
	return false;
}

/* An expression that is none is a name. */
static enum th_code read_matcher(struct th_str text, struct th_arena *a, struct th_hook_program *h,
				 struct th_err *err)
{
	bool slashes = text.len > 2 && text.ptr[0] == '/' && text.ptr[text.len - 1] == '/';
	enum th_code code = TH_OK;

	h->matcher = th_arena_str(a, th_str_is(text, "*") ? TH_STR("") : text);
	if (!h->matcher.ptr)
		return th_fail(err, TH_ELIMIT, "the hooks are too large");
	if (h->matcher.len && (slashes || has_signs(text)))
		code = th_regex_compile(slashes ? th_str_sub(text, 1, text.len - 2) : text, a,
					&h->pattern, err);
	if (code == TH_EUSAGE)
		code = TH_OK;
	return th_prefix(err, code, "matcher");
}

/* What only a hook of the type agent says. */
static enum th_code read_looks(const struct th_hook_entry *e, const struct th_json *v,
			       struct th_arena *a, struct th_hook_program *h, struct th_err *err)
{
	if (!h->looks && (e->system_prompt.len || e->max_iterations || th_json_get(v, "tools")))
		return th_fail(err, TH_EUSAGE,
			       "system_prompt, tools and max_iterations are of hooks of the type "
			       "agent");
	if (e->max_iterations > TH_HOOK_TURNS_MAX)
		return th_fail(err, TH_EUSAGE, "max_iterations is at most %d", TH_HOOK_TURNS_MAX);
	if (e->tools.count > TH_HOOK_TOOLS_MAX)
		return th_fail(err, TH_EUSAGE, "it has at most %d tools", TH_HOOK_TOOLS_MAX);
	h->turns = h->looks ? e->max_iterations ?: TH_HOOK_TURNS_DEFAULT : 1;
	h->any_tool = h->looks && !th_json_is_array(th_json_get(v, "tools"));
	h->tools.count = e->tools.count;
	h->tools.list = th_arena_alloc(a, (e->tools.count ?: 1) * sizeof(*h->tools.list));
	for (size_t i = 0; i < e->tools.count && h->tools.list; i++)
		h->tools.list[i] = th_arena_str(a, e->tools.list[i]);
	return a->no_memory || !h->tools.list ? th_fail(err, TH_ELIMIT, "the hooks are too large")
					      : TH_OK;
}

/* What it says, under the name that its type wants. */
static enum th_code read_text(const struct th_hook_entry *e, struct th_arena *a,
			      struct th_hook_program *h, struct th_err *err)
{
	const char *name = h->asks ? "prompt" : "command";
	struct th_str text = h->asks ? e->prompt : e->command, before = e->system_prompt;

	/* An agent's policy may stand in either, or in both. */
	if (h->looks && !text.len) {
		text = before;
		before = TH_STR("");
	}
	if (!text.len)
		return th_fail(err, TH_EUSAGE, "%s is missing", name);
	if ((h->asks ? e->command : e->prompt).len)
		return th_fail(err, TH_EUSAGE,
			       "a hook has a command or a prompt, as its type says");
	if (h->asks && e->async)
		return th_fail(err, TH_EUSAGE, "a hook of the type %s is waited for",
			       h->looks ? "agent" : "prompt");
	if (text.len + before.len > TH_HOOK_COMMAND_MAX)
		return th_fail(err, TH_ELIMIT, "%s has more than %zu bytes", name,
			       (size_t)TH_HOOK_COMMAND_MAX);
	if (memchr(text.ptr, '\0', text.len) ||
	    (before.len && memchr(before.ptr, '\0', before.len)))
		return th_fail(err, TH_EUSAGE, "%s holds a NUL byte", name);
	h->command = before.len ? th_arena_printf(a, "%.*s\n\n%.*s", TH_FMT(before), TH_FMT(text))
				: th_arena_str(a, text);
	return h->command.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the hooks are too large");
}

static enum th_code read_entry(const struct th_json *v, struct th_hook_program *h,
			       struct th_arena *a, struct th_err *err)
{
	struct th_str type = th_json_get_str(v, "type");
	struct th_hook_entry e;
	enum th_code code;

	h->looks = th_str_is(type, "agent");
	h->asks = h->looks || th_str_is(type, "prompt");
	if (type.len && !h->asks && !th_str_is(type, "command"))
		return th_fail(err, TH_EUNSUPPORTED,
			       "a hook of the type \"%.*s\" is not supported: command, prompt and "
			       "agent are",
			       TH_FMT(th_utf8_cut(type, 40)));
	code = th_table_parse(&hook_entry_table, v, a, &e, err);
	if (!code)
		code = read_text(&e, a, h, err);
	if (!code)
		code = read_looks(&e, v, a, h, err);
	if (code)
		return code;
	if (e.timeout > TH_HOOK_SECONDS_MAX)
		return th_fail(err, TH_EUSAGE, "timeout is at most %d seconds",
			       TH_HOOK_SECONDS_MAX);
	h->timeout_s = e.timeout ?: TH_HOOK_SECONDS_DEFAULT;
	h->async = e.async;
	return TH_OK;
}

static enum th_code read_group(enum th_hook_event event, const struct th_json *group,
			       struct th_arena *a, struct th_hook_program *list, size_t *count,
			       size_t max, size_t *number, struct th_err *err)
{
	struct th_hook_program shared = { .event = event };
	const struct th_json *hooks = th_json_get(group, "hooks");
	struct th_json_iter it = th_json_iter(group);
	enum th_code code = TH_OK;

	if (!th_json_is_object(group))
		return th_fail(err, TH_EUSAGE, "must be an object {matcher, hooks}");
	while (th_json_next(&it))
		if (!th_str_is(it.key, "matcher") && !th_str_is(it.key, "hooks"))
			return th_fail(err, TH_EUSAGE, "takes matcher and hooks, not \"%.*s\"",
				       TH_FMT(th_utf8_cut(it.key, 40)));
	if (!th_json_is_array(hooks))
		return th_fail(err, TH_EUSAGE, "hooks must be a list");
	code = read_matcher(th_json_get_str(group, "matcher"), a, &shared, err);
	it = th_json_iter(hooks);
	while (!code && th_json_next(&it)) {
		struct th_hook_program *h = &list[*count];

		if (*count == max)
			return th_fail(err, TH_ELIMIT,
				       "an agent has at most %d guardrails and hooks",
				       TH_GUARDRAILS_MAX);
		*h = shared;
		h->name = th_arena_printf(a, "%s %zu", names[event], ++*number);
		code = read_entry(it.val, h, a, err);
		++*count;
	}
	return code;
}

enum th_code th_hooks_read(enum th_hook_event event, const struct th_json *v, struct th_arena *a,
			   struct th_hook_program *list, size_t *count, size_t max,
			   struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);
	enum th_code code = TH_OK;
	size_t number = 0, at = 0;

	if (!th_json_is_null(v) && !th_json_is_array(v))
		return th_fail(err, TH_EUSAGE, "%s must be a list of {matcher, hooks}",
			       names[event]);
	while (!code && th_json_next(&it)) {
		code = read_group(event, it.val, a, list, count, max, &number, err);
		code = th_prefix(err, code, "%s[%zu]", names[event], at++);
	}
	return code;
}

/* ---- tools ---- */

static bool matches_name(const struct th_hook_program *h, struct th_str tool)
{
	return h->pattern ? th_regex_matches(h->pattern, tool) : th_str_eq(h->matcher, tool);
}

bool th_hook_matches(const struct th_hook_program *h, struct th_str tool, bool alike)
{
	const struct th_tool_called called = th_tool_called(tool, TH_TOOL_ANY);
	bool ret = !h->matcher.len;

	for (size_t i = 0; !ret && i < (alike ? called.count : called.same); i++)
		ret = matches_name(h, called.names[i]);
	return ret;
}

/* ---- what goes in and comes out ---- */

static void put_text(struct th_jw *w, const char *key, struct th_str text)
{
	th_jw_key(w, th_str_of(key));
	if (text.len)
		th_jw_str(w, text);
	else
		th_jw_raw(w, TH_STR("null"));
}

static void put_raw(struct th_jw *w, const char *key, struct th_str raw)
{
	th_jw_kraw(w, key, raw.len ? raw : TH_STR("null"));
}

void th_hook_input_print(const struct th_hook_input *in, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "event_type", th_str_of(pascal_names[in->event]));
	put_text(w, "session_id", in->session);
	put_text(w, "working_dir", in->folder);
	put_text(w, "tool_name", in->tool);
	put_raw(w, "tool_input", in->arguments);
	put_raw(w, "tool_response", in->response);
	put_text(w, "message", in->message);
	th_jw_kraw(w, "metadata", in->extra.len ? in->extra : TH_STR("{}"));
	th_jw_object_end(w);
}

static struct th_str text_of(const struct th_json *v, const char *name, struct th_arena *a)
{
	return th_arena_str(a,
			    th_utf8_cut(th_str_trim(th_json_get_str(v, name)), TH_HOOK_TEXT_MAX));
}

static bool is_no(struct th_str word)
{
	return th_str_ieq(word, TH_STR("deny")) || th_str_ieq(word, TH_STR("block"));
}

/* What it wrote.  Members of Claude Code's form, which other tools write, are read too. */
static void read_answer(const struct th_json *v, struct th_arena *a, struct th_hook_verdict *ret)
{
	const struct th_json *own = th_json_get(v, "hookSpecificOutput");
	const struct th_json *arguments = th_json_get(v, "updatedInput");
	const struct th_json *goes_on = th_json_get(v, "continue");

	/* What Python holds for false is a no. */
	if (is_no(th_json_get_str(v, "decision")) ||
	    is_no(th_json_get_str(own, "permissionDecision")) ||
	    (goes_on && !th_json_says(goes_on)))
		ret->refused = true;
	ret->reason = text_of(v, "reason", a);
	if (!ret->reason.len)
		ret->reason = text_of(own, "permissionDecisionReason", a);
	ret->context = text_of(v, "additionalContext", a);
	if (!ret->context.len)
		ret->context = text_of(own, "additionalContext", a);
	if (!th_json_is_object(arguments))
		arguments = th_json_get(own, "updatedInput");
	if (!th_json_is_object(arguments))
		return;
	ret->arguments = th_json_text(arguments, a);
	if (!ret->arguments.len) { /* and not the call as it was */
		ret->refused = true;
		ret->reason = TH_STR("the arguments that it gives are too large");
	}
}

static void fail(struct th_hook_verdict *v, struct th_str reason)
{
	*v = (struct th_hook_verdict){ .failed = true, .reason = reason };
}

struct th_hook_verdict th_hook_judge(const struct th_hook_program *h, const struct th_hook_end *end,
				     struct th_arena *a)
{
	struct th_hook_verdict v = { 0 };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str out = th_str_trim(end->out), said = th_str_trim(end->err);
	bool object = out.len && out.ptr[0] == '{';

	said = th_utf8_cut(said, TH_HOOK_TEXT_MAX);
	if (!end->exited) {
		fail(&v, end->why);
		return v;
	}
	if (end->status != 0 && end->status != 2) {
		fail(&v,
		     th_arena_printf(a, "it failed with exit status %lld%s%.*s",
				     (long long)end->status, said.len ? ": " : "", TH_FMT(said)));
		return v;
	}
	if (object && th_json_parse(out, &doc, NULL) && end->status == 0) {
		fail(&v, TH_STR("what it wrote is no JSON"));
		return v;
	}
	if (doc)
		read_answer(th_json_root(doc), a, &v);
	v.refused |= end->status == 2;
	if (v.refused && !v.reason.len)
		v.reason = said.len
			       ? th_arena_str(a, said)
			       : th_arena_printf(a, "the hook %.*s refuses it", TH_FMT(h->name));
	if (h->event != TH_HOOK_ON_PRE_TOOL_USE || v.refused)
		v.arguments = (struct th_str){ 0 };
	return v;
}
