/* SPDX-License-Identifier: Apache-2.0 */
#include "events/native.h"

#include "base/limits.h"
#include "base/text.h"

#define PATCH_TOOL "apply_patch"

struct row {
	const char *type;
	enum th_native kind;
};

static const struct row rows[] = {
	{ "shell_call", TH_NATIVE_SHELL },         { "local_shell_call", TH_NATIVE_LOCAL_SHELL },
	{ "apply_patch_call", TH_NATIVE_PATCH },   { "custom_tool_call", TH_NATIVE_CUSTOM },
	{ "mcp_approval_request", TH_NATIVE_MCP },
};

enum th_native th_native_of_type(struct th_str type)
{
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(type, rows[i].type))
			return rows[i].kind;
	return TH_NATIVE_NONE;
}

bool th_native_is_item(enum th_native kind)
{
	return kind != TH_NATIVE_NONE && kind < TH_NATIVE_BASH;
}

bool th_native_is_theirs(const struct th_json *v)
{
	return th_str_starts(th_json_get_str(th_json_get(v, "environment"), "type"),
			     TH_STR("container"));
}

const char *th_native_id_member(enum th_native kind)
{
	return kind == TH_NATIVE_MCP ? "id" : "call_id";
}

/* In the ledger path running out of memory is the arena's to say. */
static void buf_init(struct th_buf *b, const struct th_arena *a)
{
	if (a->may_fail)
		th_buf_init_try(b, 2 * TH_ANSWER_MAX);
	else
		th_buf_init(b, 2 * TH_ANSWER_MAX);
}

static void buf_deinit(struct th_buf *b, struct th_arena *a)
{
	a->no_memory |= b->no_memory;
	th_buf_deinit(b);
}

/* ---- patches ----------------------------------------------------------------------------- */

/* What holds operations: the item, or the JSON that stands in a string of it. */
static const struct th_json *operations_of(const struct th_json *item, struct th_arena *a,
					   struct th_json_doc **ret_doc)
{
	struct th_str type = th_json_get_str(item, "type"), text;
	enum th_code code;

	*ret_doc = NULL;
	if (th_str_is(type, "apply_patch_call"))
		return item;
	if (!th_str_ieq(th_json_get_str(item, "name"), TH_STR(PATCH_TOOL)))
		return NULL;
	text = th_json_get_str(item, th_str_is(type, "custom_tool_call") ? "input" : "arguments");
	code = a->may_fail ? th_json_try_parse(text, ret_doc, NULL)
			   : th_json_parse(text, ret_doc, NULL);
	a->no_memory |= code == TH_ENOMEM;
	return code ? NULL : th_json_root(*ret_doc);
}

static bool is_operation(const struct th_json *v)
{
	return th_json_get_str(v, "type").len && th_json_get_str(v, "path").len;
}

/* The `index`th of them; NULL: there are no more. */
static const struct th_json *operation_at(const struct th_json *holder, size_t index)
{
	const struct th_json *list = th_json_get(holder, "operations");

	if (th_json_is_array(holder))
		list = holder;
	if (th_json_is_array(list))
		return th_json_at(list, index);
	if (index > 0)
		return NULL;
	if (th_json_is_object(th_json_get(holder, "operation")))
		return th_json_get(holder, "operation");
	return !th_str_is(th_json_get_str(holder, "type"), "apply_patch_call") &&
		       is_operation(holder)
		   ? holder
		   : NULL;
}

static bool is_one_line(struct th_str s)
{
	return s.len && th_str_find_char(s, '\n') < 0 && th_str_find_char(s, '\r') < 0;
}

/* No line of it may be read as another file's: what it changes is what it says. */
static bool is_one_diff(struct th_str diff)
{
	while (diff.len) {
		struct th_str line = th_str_split(&diff, '\n');

		if (th_str_starts(line, TH_STR("***")) &&
		    !th_str_starts(line, TH_STR("*** End of File")))
			return false;
	}
	return true;
}

static bool put_operation(const struct th_json *v, struct th_buf *out)
{
	struct th_str type = th_json_get_str(v, "type"), path = th_json_get_str(v, "path");
	struct th_str diff = th_json_get_str(v, "diff"), to = th_json_get_str(v, "move_to");
	bool adds = th_str_is(type, "create_file"), updates = th_str_is(type, "update_file");

	if ((!adds && !updates && !th_str_is(type, "delete_file")) || !is_one_line(path) ||
	    (to.len && (!updates || !is_one_line(to))) || !is_one_diff(diff))
		return false;
	if ((adds || updates) && !diff.len && !to.len)
		return false;
	th_buf_printf(out, "*** %s File: %.*s\n",
		      adds      ? "Add"
		      : updates ? "Update"
				: "Delete",
		      TH_FMT(path));
	if (to.len)
		th_buf_printf(out, "*** Move to: %.*s\n", TH_FMT(to));
	if (adds || updates)
		th_buf_add(out, diff);
	if (out->ptr[out->len - 1] != '\n')
		th_buf_add_char(out, '\n');
	return true;
}

/* {"patch": …}; false: it cannot be read, and nothing is written. */
static bool put_patch(const struct th_json *item, struct th_arena *a, struct th_buf *out)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *holder = operations_of(item, a, &doc), *v;
	struct th_buf patch;
	struct th_str text = th_json_get_str(item, "input");
	struct th_jw w = th_jw(out);
	bool good = true;
	size_t count = 0;

	buf_init(&patch, a);
	if (!holder && text.len) { /* a text that is the envelope already */
		th_buf_add(&patch, text);
	} else {
		th_buf_add_cstr(&patch, "*** Begin Patch\n");
		while (good && (v = operation_at(holder, count))) {
			good = put_operation(v, &patch);
			count++;
		}
		good = good && count > 0;
		th_buf_add_cstr(&patch, "*** End Patch\n");
	}
	if (good && !patch.failed) {
		th_jw_object(&w);
		th_jw_kstr(&w, "patch", th_buf_str(&patch));
		th_jw_object_end(&w);
	}
	good = good && !patch.failed;
	th_json_free(doc);
	buf_deinit(&patch, a);
	return good;
}

enum th_native th_native_of(const struct th_json *item, struct th_arena *a)
{
	struct th_str type = th_json_get_str(item, "type");
	enum th_native kind = th_native_of_type(type);
	struct th_json_doc *doc = NULL;
	const struct th_json *holder;

	if (kind == TH_NATIVE_SHELL && th_native_is_theirs(item))
		return TH_NATIVE_NONE;
	if (kind != TH_NATIVE_CUSTOM && !th_str_is(type, "function_call"))
		return kind;
	if (!th_str_ieq(th_json_get_str(item, "name"), TH_STR(PATCH_TOOL)))
		return kind;
	holder = operations_of(item, a, &doc);
	if (operation_at(holder, 0) || kind == TH_NATIVE_CUSTOM)
		kind = TH_NATIVE_PATCH;
	th_json_free(doc);
	return kind;
}

struct th_str th_native_operation(const struct th_json *item, struct th_arena *a)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *holder = operations_of(item, a, &doc);
	struct th_str ret = { NULL, 0 };

	if (operation_at(holder, 0) && !operation_at(holder, 1))
		ret = th_json_text(operation_at(holder, 0), a);
	th_json_free(doc);
	return ret;
}

/* ---- commands ---------------------------------------------------------------------------- */

/* By the first of the names that it has; 0 and null say nothing. */
static void put_number(const struct th_json *action, const char *const *names, bool zero,
		       struct th_jw *w)
{
	for (size_t i = 0; names[i]; i++) {
		const struct th_json *v = th_json_get(action, names[i]);

		if (th_json_is_null(v) || (!zero && th_json_int(v, -1) == 0))
			continue;
		th_jw_key(w, th_str_of(names[0]));
		th_jw_json(w, v);
		return;
	}
}

static void put_times(const struct th_json *action, struct th_jw *w)
{
	static const char *const times[] = { "timeout_ms", "timeoutMs", "timeout", NULL };
	static const char *const lengths[] = { "max_output_length", "maxOutputLength", NULL };

	put_number(action, times, false, w);
	put_number(action, lengths, true, w);
}

static bool are_strings(const struct th_json *list)
{
	struct th_json_iter it = th_json_iter(list);
	bool good = th_json_is_array(list) && th_json_count(list) > 0;

	while (good && th_json_next(&it))
		good = th_json_str(it.val).ptr;
	return good;
}

static bool is_variable(struct th_str name)
{
	bool good = name.len > 0 && !(name.ptr[0] >= '0' && name.ptr[0] <= '9');

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		good = good && ((c >= '0' && c <= '9') || c == '_' ||
				((c | 0x20) >= 'a' && (c | 0x20) <= 'z'));
	}
	return good;
}

/* Texts by names that are variables'; none, or null, is fine. */
static bool are_variables(const struct th_json *env)
{
	struct th_json_iter it = th_json_iter(env);
	bool good = th_json_is_null(env) || th_json_is_object(env);

	while (good && th_json_next(&it))
		good = is_variable(it.key) && th_json_str(it.val).ptr;
	return good;
}

/* A program and its arguments, never a shell's text; its variables are set by env(1). */
static bool put_exec(const struct th_json *action, struct th_arena *a, struct th_jw *w)
{
	const struct th_json *folder = th_json_get(action, "working_directory");
	const struct th_json *env = th_json_get(action, "env");
	const struct th_json *words = th_json_get(action, "command");
	struct th_json_iter it = th_json_iter(env);
	bool sets = th_json_count(env) > 0;

	/* env takes a first word with = for one more variable.  Nobody else's rights are had here.
	 */
	if (!are_strings(words) || !are_variables(env) || th_json_get_str(action, "user").len ||
	    (!th_json_is_null(folder) && !th_json_str(folder).ptr) ||
	    (sets && th_str_find_char(th_json_str(th_json_at(words, 0)), '=') >= 0))
		return false;
	th_jw_object(w);
	th_jw_key(w, TH_STR("argv"));
	th_jw_array(w);
	if (sets)
		th_jw_str(w, TH_STR("env"));
	while (th_json_next(&it))
		th_jw_str(w, th_arena_printf(a, "%.*s=%.*s", TH_FMT(it.key),
					     TH_FMT(th_json_str(it.val))));
	for (it = th_json_iter(words); th_json_next(&it);)
		th_jw_str(w, th_json_str(it.val));
	th_jw_array_end(w);
	if (th_json_str(folder).len)
		th_jw_kstr(w, "folder", th_json_str(folder));
	return true;
}

/* False: it cannot be read, and nothing is written. */
static bool put_commands(enum th_native kind, const struct th_json *item, struct th_arena *a,
			 struct th_buf *out)
{
	const struct th_json *action = th_json_get(item, "action");
	const struct th_json *commands = th_json_get(action, "commands");
	struct th_jw w = th_jw(out);

	if (kind == TH_NATIVE_LOCAL_SHELL) {
		if (!put_exec(action, a, &w))
			return false;
	} else {
		if (!are_strings(commands) || th_json_get_str(action, "user").len)
			return false;
		th_jw_object(&w);
		th_jw_key(&w, TH_STR("commands"));
		th_jw_json(&w, commands);
	}
	put_times(action, &w);
	th_jw_object_end(&w);
	return true;
}

/* ---- calls ------------------------------------------------------------------------------- */

static void put_member(const char *key, const struct th_json *v, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (!th_json_is_null(v)) {
		th_jw_key(&w, th_str_of(key));
		th_jw_json(&w, v);
	}
	th_jw_object_end(&w);
}

void th_native_read(enum th_native kind, const struct th_json *item, struct th_arena *a,
		    struct th_str *ret_tool, struct th_str *ret_arguments)
{
	struct th_buf out;
	struct th_str name = th_json_get_str(item, "name");

	buf_init(&out, a);
	switch (kind) {
	case TH_NATIVE_SHELL:
	case TH_NATIVE_LOCAL_SHELL:
		*ret_tool = TH_STR("shell");
		if (!put_commands(kind, item, a, &out))
			put_member("action", th_json_get(item, "action"), &out);
		break;
	case TH_NATIVE_PATCH:
		*ret_tool = TH_STR(PATCH_TOOL);
		if (!put_patch(item, a, &out))
			put_member("operation", th_json_get(item, "operation"), &out);
		break;
	case TH_NATIVE_CUSTOM:
		*ret_tool = th_arena_str(a, name);
		put_member("input", th_json_get(item, "input"), &out);
		break;
	case TH_NATIVE_MCP:
		*ret_tool = th_arena_printf(
		    a, "%.*s.%.*s", TH_FMT(th_json_get_str(item, "server_label")), TH_FMT(name));
		th_buf_add(&out, th_json_get_str(item, "arguments"));
		break;
	case TH_NATIVE_NONE:
	case TH_NATIVE_BASH:
	case TH_NATIVE_EDITOR:
	case TH_NATIVE_MEMORY:
	case TH_NATIVE_COUNT:
		assert(false);
		break;
	}
	*ret_arguments = th_arena_str(a, th_buf_str(&out));
	buf_deinit(&out, a);
}

/* What was called, in the one text that the function has: to be read, nothing runs it. */
static void put_script(const struct th_json *arguments, struct th_buf *out)
{
	const struct th_json *argv = th_json_get(arguments, "argv");
	bool words = th_json_is_array(argv);
	struct th_json_iter it = th_json_iter(words ? argv : th_json_get(arguments, "commands"));
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(out);

	while (th_json_next(&it)) {
		th_buf_add_cstr(&text, it.index == 0 ? "" : words ? " " : "\n");
		th_buf_add(&text, th_json_str(it.val));
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_buf_str(&text));
	th_jw_object_end(&w);
	th_buf_deinit(&text);
}

void th_native_as_function(enum th_native kind, const struct th_json *item, struct th_arena *a,
			   struct th_str *ret_name, struct th_str *ret_arguments)
{
	struct th_buf out = TH_BUF_INIT(2 * TH_ANSWER_MAX);
	struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(&out);

	th_native_read(kind, item, a, ret_name, ret_arguments);
	if (kind == TH_NATIVE_SHELL || kind == TH_NATIVE_LOCAL_SHELL) {
		if (!th_json_parse(*ret_arguments, &doc, NULL) &&
		    (th_json_get(th_json_root(doc), "commands") ||
		     th_json_get(th_json_root(doc), "argv"))) {
			put_script(th_json_root(doc), &out);
			*ret_arguments = th_arena_str(a, th_buf_str(&out));
		}
	} else if (kind == TH_NATIVE_MCP) {
		*ret_name = TH_STR("mcp_approval_request");
		th_jw_object(&w);
		th_jw_kstr(&w, "server_label", th_json_get_str(item, "server_label"));
		th_jw_kstr(&w, "name", th_json_get_str(item, "name"));
		th_jw_kstr(&w, "arguments", th_json_get_str(item, "arguments"));
		th_jw_object_end(&w);
		*ret_arguments = th_arena_str(a, th_buf_str(&out));
	}
	th_json_free(doc);
	th_buf_deinit(&out);
}
