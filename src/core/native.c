/* SPDX-License-Identifier: Apache-2.0 */
#include "core/native.h"

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

/* One word of a command line for /bin/sh. */
static void put_word(struct th_buf *out, struct th_str word)
{
	th_buf_add_char(out, '\'');
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] == '\'')
			th_buf_add_cstr(out, "'\\''");
		else
			th_buf_add_char(out, word.ptr[i]);
	}
	th_buf_add_char(out, '\'');
}

/* A program with its arguments, folder and variables as a command line. */
static void put_exec(const struct th_json *action, struct th_arena *a, struct th_buf *out)
{
	struct th_str folder = th_json_get_str(action, "working_directory");
	struct th_json_iter it = th_json_iter(th_json_get(action, "env"));
	bool env = th_json_count(th_json_get(action, "env")) > 0;

	if (folder.len) {
		th_buf_add_cstr(out, "cd ");
		put_word(out, folder);
		th_buf_add_cstr(out, " && ");
	}
	th_buf_add_cstr(out, env ? "env" : "");
	while (env && th_json_next(&it)) {
		struct th_buf pair;

		buf_init(&pair, a);
		th_buf_add(&pair, it.key);
		th_buf_add_char(&pair, '=');
		th_buf_add(&pair, th_json_str(it.val));
		th_buf_add_char(out, ' ');
		put_word(out, th_buf_str(&pair));
		buf_deinit(&pair, a);
	}
	for (it = th_json_iter(th_json_get(action, "command")); th_json_next(&it);) {
		th_buf_add_cstr(out, env || it.index > 0 ? " " : "");
		put_word(out, th_json_str(it.val));
	}
}

static bool are_strings(const struct th_json *list)
{
	struct th_json_iter it = th_json_iter(list);
	bool good = th_json_is_array(list) && th_json_count(list) > 0;

	while (good && th_json_next(&it))
		good = th_json_str(it.val).ptr;
	return good;
}

/* False: it cannot be read, and nothing is written. */
static bool put_commands(enum th_native kind, const struct th_json *item, struct th_arena *a,
			 struct th_buf *out)
{
	const struct th_json *action = th_json_get(item, "action");
	const char *member = kind == TH_NATIVE_SHELL ? "commands" : "command";
	struct th_buf line;
	struct th_jw w = th_jw(out);
	bool good;

	if (!are_strings(th_json_get(action, member)))
		return false;
	/* Nobody else's rights are had here. */
	if (th_json_get_str(action, "user").len)
		return false;
	buf_init(&line, a);
	if (kind == TH_NATIVE_LOCAL_SHELL)
		put_exec(action, a, &line);
	good = !line.failed; /* never a part of it */
	if (good) {
		th_jw_object(&w);
		th_jw_key(&w, TH_STR("commands"));
		if (kind == TH_NATIVE_SHELL) {
			th_jw_json(&w, th_json_get(action, member));
		} else {
			th_jw_array(&w);
			th_jw_str(&w, th_buf_str(&line));
			th_jw_array_end(&w);
		}
		put_times(action, &w);
		th_jw_object_end(&w);
	}
	buf_deinit(&line, a);
	return good;
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
		assert(false);
		break;
	}
	*ret_arguments = th_arena_str(a, th_buf_str(&out));
	buf_deinit(&out, a);
}

/* All commands in one line of the function. */
static void put_script(const struct th_json *commands, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(commands);
	struct th_buf line = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(out);

	while (th_json_next(&it)) {
		th_buf_add_cstr(&line, it.index > 0 ? "\n" : "");
		th_buf_add(&line, th_json_str(it.val));
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_buf_str(&line));
	th_jw_object_end(&w);
	th_buf_deinit(&line);
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
		    th_json_get(th_json_root(doc), "commands")) {
			put_script(th_json_get(th_json_root(doc), "commands"), &out);
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
