/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_says.h - what a JSON text says at one place, compared as JSON: neither the order of other
 * members nor white space matters.  Includes unit.h.
 *
 * A path is names and indexes with dots between them: "tools.0.name".  -1 is the last element,
 * "call_id=c1" the first one whose member call_id is "c1"; "" is the whole text.
 */
#ifndef TH_TESTS_JSON_SAYS_H
#define TH_TESTS_JSON_SAYS_H

#include "unit.h"

#include "base/json.h"
#include "base/limits.h"

static inline const struct th_json *json_element(const struct th_json *v, struct th_str which)
{
	struct th_json_iter it = th_json_iter(v);
	struct th_str value = which, name = th_str_split(&value, '=');
	int64_t index;

	if (th_str_find_char(which, '=') < 0)
		return th_str_i64(which, &index)
			   ? th_json_at(
				 v, (size_t)(index < 0 ? (int64_t)th_json_count(v) + index : index))
			   : NULL;
	while (th_json_next(&it))
		if (th_str_eq(th_json_str(th_json_getn(it.val, name)), value))
			return it.val;
	return NULL;
}

static inline const struct th_json *json_at(const struct th_json *v, struct th_str path)
{
	while (v && path.len > 0) {
		struct th_str part = th_str_split(&path, '.');

		v = th_json_is_array(v) ? json_element(v, part) : th_json_getn(v, part);
	}
	return v;
}

/* `is` NULL: nothing is there. */
static inline void json_says(const char *json, const char *path, const struct th_json *is,
			     const char *file, int line)
{
	struct th_buf found = TH_BUF_INIT(64 * TH_KIB), wanted = TH_BUF_INIT(64 * TH_KIB);
	struct th_json_doc *doc = NULL;
	const struct th_json *v;

	if (!json || th_json_parse(th_str_of(json), &doc, NULL)) {
		print_message("no JSON: %s\n", json ? json : "NULL");
		_fail(file, line);
	}
	v = json_at(th_json_root(doc), th_str_of(path));
	if (is ? !v || !th_json_equal(v, is) : v != NULL) {
		th_json_print(v, &found);
		th_json_print(is, &wanted);
		print_message("\"%s\" is %.*s, not %.*s, in %s\n", path,
			      TH_FMT(v ? th_buf_str(&found) : TH_STR("not there")),
			      TH_FMT(is ? th_buf_str(&wanted) : TH_STR("absent")), json);
		_fail(file, line);
	}
	th_json_free(doc);
}

static inline void json_says_value(const char *json, const char *path, const char *is,
				   const char *file, int line)
{
	struct th_json_doc *doc = NULL;

	if (th_json_parse(th_str_of(is), &doc, NULL)) {
		print_message("what the test expects is no JSON: %s\n", is);
		_fail(file, line);
	}
	json_says(json, path, th_json_root(doc), file, line);
	th_json_free(doc);
}

static inline void json_says_text(const char *json, const char *path, const char *text,
				  const char *file, int line)
{
	struct th_buf quoted = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&quoted);

	th_jw_str(&w, th_str_of(text));
	json_says_value(json, path, quoted.ptr, file, line);
	th_buf_deinit(&quoted);
}

#define assert_json(json, path, is) json_says_value(json, path, is, __FILE__, __LINE__)
/* A string, without its quotes. */
#define assert_json_text(json, path, text) json_says_text(json, path, text, __FILE__, __LINE__)
#define assert_json_lacks(json, path) json_says(json, path, NULL, __FILE__, __LINE__)

#endif
