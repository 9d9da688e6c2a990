/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_hooks.c - hooks that are programs; secrets in commands, and out of what is written. */
#include "openhands.h"

#include <string.h>

#include "agents/agent_secret.h"
#include "agents/hook.h"
#include "base/limits.h"
#include "base/mask.h"

/* ---- hooks ---- */

static bool matcher(const struct oh_case *c, struct th_buf *found)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_hook_program list[1];
	struct th_err err = { 0 };
	struct th_arena a;
	size_t count = 0;
	bool good = false, matches;

	th_arena_init(&a, TH_MIB);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "matcher", th_json_get_str(c->input, "matcher"));
	th_jw_kraw(&w, "hooks", TH_STR("[{\"command\":\"x\"}]"));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (th_json_parse(th_buf_str(&text), &doc, &err) ||
	    th_hooks_read(TH_HOOK_ON_PRE_TOOL_USE, th_json_root(doc), &a, list, &count, 1, &err)) {
		th_buf_printf(found, "%s%s", err.code == TH_EUNSUPPORTED ? OH_DEVIATES : "",
			      err.msg);
	} else {
		matches = th_hook_matches(&list[0], th_json_get_str(c->input, "tool"), true);
		good = matches == th_json_bool(c->expected, !matches);
		th_buf_add_cstr(found, matches ? "true" : "false");
	}
	th_json_free(doc);
	th_arena_deinit(&a);
	th_buf_deinit(&text);
	return good;
}

/* "pre_tool_use" -> "PreToolUse" */
static void pascal(struct th_str name, struct th_buf *out)
{
	bool large = true;

	for (size_t i = 0; i < name.len; i++) {
		char ch = name.ptr[i];

		if (ch != '_')
			th_buf_add_char(out, large && ch >= 'a' ? (char)(ch - 32) : ch);
		large = ch == '_';
	}
}

/* Each of the expected lists is a part of what was read. */
static bool same_lists(const struct th_json *want, const struct th_json *const *lists,
		       struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(want);
	bool good = true;

	while (good && th_json_next(&it)) {
		struct th_buf a = TH_BUF_INIT(TH_MIB), b = TH_BUF_INIT(TH_MIB);

		good = false;
		th_json_print(it.val, &a);
		for (int i = 0; i < TH_HOOK_EVENT_COUNT; i++)
			if (th_str_is(it.key, th_hook_event_name((enum th_hook_event)i)) &&
			    lists[i]) {
				th_json_print(lists[i], &b);
				good = th_str_eq(th_buf_str(&a), th_buf_str(&b));
			}
		th_buf_add(found, th_buf_str(&b));
		th_buf_deinit(&a);
		th_buf_deinit(&b);
	}
	return good;
}

/* A file of the expected hooks, with the other names and in a wrapper; or one with an event that
 * nobody knows. */
static bool file(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *lists[TH_HOOK_EVENT_COUNT];
	struct th_json_iter it = th_json_iter(c->input);
	struct th_buf text = TH_BUF_INIT(TH_MIB), name = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&text);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	bool bad = false, good;

	th_jw_object(&w);
	while (th_json_next(&it))
		if (th_str_starts(it.key, TH_STR("unknown"))) {
			bad = true;
			th_jw_key(&w, th_json_str(it.val));
			th_jw_raw(&w, TH_STR("[]"));
		}
	if (!bad) {
		th_jw_key(&w, TH_STR("hooks"));
		th_jw_object(&w);
		for (it = th_json_iter(c->expected); th_json_next(&it);) {
			th_buf_clear(&name);
			pascal(it.key, &name);
			th_jw_key(&w, th_buf_str(&name));
			th_jw_json(&w, it.val);
		}
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	good = !th_json_parse(th_buf_str(&text), &doc, &err) &&
	       !th_hooks_file_read(th_json_root(doc), lists, &err);
	if (bad) {
		good = !good && th_str_find(th_json_str(c->expected), th_str_of(err.msg)) >= 0;
		th_buf_add_cstr(found, err.msg);
	} else if (good) {
		good = same_lists(c->expected, lists, found);
	}
	th_json_free(doc);
	th_buf_deinit(&text);
	th_buf_deinit(&name);
	return good;
}

bool oh_hook(const struct oh_case *c, struct th_buf *found)
{
	return th_json_get(c->input, "matcher") ? matcher(c, found) : file(c, found);
}

/* ---- secrets ---- */

/* Does the name stand in the command, in any case? */
static bool stands_in(struct th_str command, struct th_str name)
{
	for (size_t i = 0; i + name.len <= command.len; i++)
		if (th_str_ieq(th_str_sub(command, i, name.len), name))
			return true;
	return false;
}

/* The secrets of the cases that name none. */
static const char *const known[][2] = { { "GITHUB_TOKEN", "ghp_abc123" } };

bool oh_secret(const struct oh_case *c, struct th_buf *found)
{
	struct th_str command = th_json_get_str(c->input, "command");
	struct th_json_iter it = th_json_iter(c->expected);
	bool good = true, inside = true;

	for (size_t i = 0; i < TH_COUNT(known); i++)
		if (!th_json_get(c->expected, known[i][0]))
			good &= !th_secret_named(command, th_str_of(known[i][0]));
	while (th_json_next(&it))
		if (!th_secret_named(command, it.key)) {
			good = false;
			inside &= stands_in(command, it.key);
		}
	/* A part of another word is not the name. */
	th_buf_add_cstr(found, !good && inside ? OH_DEVIATES "it is only a part of a word"
					       : "other secrets");
	return good;
}

/* ---- masking ---- */

/* Ours has as many stars as the secret has bytes; theirs is a mark of its own. */
static bool same_masked(struct th_str ours, struct th_str theirs)
{
	static const char *const marks[] = { "<secret_hidden>", "<secret-hidden>" };
	size_t i = 0, k = 0;

	while (k < theirs.len) {
		bool mark = false;

		for (size_t m = 0; m < TH_COUNT(marks) && !mark; m++) {
			mark =
			    th_str_starts(th_str_sub(theirs, k, theirs.len), th_str_of(marks[m]));
			k += mark ? strlen(marks[m]) : 0;
		}
		if (mark && (i == ours.len || ours.ptr[i] != '*'))
			return false;
		while (mark && i < ours.len && ours.ptr[i] == '*')
			i++;
		if (!mark && (i == ours.len || ours.ptr[i++] != theirs.ptr[k++]))
			return false;
	}
	return i == ours.len;
}

/* *ret_short: one of them is too short to be told from other text, and a session does not begin
 * with it. */
static struct th_mask *mask_of(const struct th_json *secrets, bool *ret_short)
{
	struct th_json_iter it = th_json_iter(secrets);
	struct th_mask *m = th_mask_new();
	struct th_err err = { 0 };
	struct th_secret *s;

	*ret_short = false;
	while (th_json_next(&it)) {
		s = th_secret_new(th_json_str(it.val));
		*ret_short |= th_mask_add(m, s, &err) == TH_EUSAGE;
		th_secret_free(s);
	}
	for (size_t i = 0; !secrets && i < TH_COUNT(known); i++) {
		s = th_secret_new(th_str_of(known[i][1]));
		*ret_short |= th_mask_add(m, s, &err) == TH_EUSAGE;
		th_secret_free(s);
	}
	th_mask_build(m);
	return m;
}

bool oh_mask(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *event = th_json_get(c->input, "event");
	struct th_buf theirs = TH_BUF_INIT(TH_MIB);
	bool is_short, masked, good;
	struct th_mask *m = mask_of(th_json_get(c->input, "secrets"), &is_short);

	if (event) {
		th_json_print(event, found);
		th_json_print(c->expected, &theirs);
	} else {
		th_buf_add(found, th_json_get_str(c->input, "text"));
		th_buf_add(&theirs, th_json_str(c->expected));
	}
	masked = th_mask_apply_buf(m, found);
	th_mask_free(m);
	good = same_masked(th_buf_str(found), th_buf_str(&theirs));
	if (!good && (is_short || masked)) {
		th_buf_clear(found);
		th_buf_add_cstr(found, masked ? OH_DEVIATES "it is masked in this form, too"
					      : OH_DEVIATES "a secret has at least 8 bytes");
	}
	th_buf_deinit(&theirs);
	return good;
}
