/* SPDX-License-Identifier: Apache-2.0 */
#include "model_wire/unified.h"

#include "base/limits.h"
#include "base/text.h"

/*
 * Whether `given` is `name`, or the snake case of a name in camel case:
 * generationConfig is generation_config too (JSON of protocol buffers).  No
 * other spelling is: a server reads neither INPUT nor in_put as input.
 */
static bool same_name(struct th_str given, struct th_str name)
{
	size_t i = 0;

	for (size_t j = 0; j < name.len; j++) {
		char c = name.ptr[j];
		bool upper = c >= 'A' && c <= 'Z';

		if (upper && i + 1 < given.len && given.ptr[i] == '_' &&
		    given.ptr[i + 1] == (c | 0x20))
			i += 2;
		else if (i < given.len && given.ptr[i] == c)
			i++;
		else
			return false;
	}
	return i == given.len;
}

/* Whether a raw key, which may have escapes, is the name. */
static bool raw_key_is(struct th_str raw, struct th_str name)
{
	struct th_buf quoted = TH_BUF_INIT(TH_JSON_SIZE_MAX), plain = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool same;

	if (th_str_find_char(raw, '\\') < 0)
		return same_name(raw, name);
	th_buf_add_char(&quoted, '"');
	th_buf_add(&quoted, raw);
	th_buf_add_char(&quoted, '"');
	same = th_json_unescape(th_buf_str(&quoted), &plain) && same_name(th_buf_str(&plain), name);
	th_buf_deinit(&quoted);
	th_buf_deinit(&plain);
	return same;
}

bool th_unified_has(struct th_str extra, const char *name)
{
	struct th_json_raw_iter it = th_json_raw_iter(extra);

	while (it.object && th_json_raw_next(&it))
		if (raw_key_is(it.key, th_str_of(name)))
			return true;
	return false;
}

enum th_code th_unified_is_request(struct th_str unified, struct th_err *err)
{
	struct th_json_doc *doc;
	enum th_code code = th_json_parse(unified, &doc, err);

	if (code)
		return th_prefix(err, code, "the request");
	if (!th_json_is_object(th_json_root(doc)))
		code = th_fail(err, TH_EPROTO, "the request must be an object");
	th_json_free(doc);
	return code;
}

enum th_code th_unified_check(struct th_str body, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_iter it, other;
	enum th_code code = th_json_parse(body, &doc, err);

	if (code)
		return th_prefix(err, code, "the request");
	if (!th_json_is_object(th_json_root(doc)))
		code = th_fail(err, TH_EPROTO, "the request must be a JSON object");
	else if (th_json_count(th_json_root(doc)) > TH_UNIFIED_MEMBERS_MAX)
		code = th_fail(err, TH_ELIMIT, "the request has more than %d members",
			       TH_UNIFIED_MEMBERS_MAX);
	for (it = th_json_iter(th_json_root(doc)); !code && th_json_next(&it);)
		for (other = it; !code && th_json_next(&other);)
			if (th_str_eq(it.key, other.key))
				code = th_fail(err, TH_EPROTO,
					       "the request has the member \"%.*s\" twice",
					       TH_FMT(th_utf8_cut(it.key, 40)));
	th_json_free(doc);
	return code;
}

static void put_member(struct th_jw *w, struct th_str key, struct th_str val)
{
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, key);
	th_buf_add(w->out, TH_STR("\":"));
	th_buf_add(w->out, val);
}

void th_unified_put_extra(struct th_jw *w, struct th_str extra)
{
	struct th_json_raw_iter it = th_json_raw_iter(extra);

	while (it.object && th_json_raw_next(&it))
		put_member(w, it.key, it.val);
}

void th_unified_extra(struct th_jw *w, struct th_str body, struct th_str again,
		      const char *const *without)
{
	struct th_json_doc *x = NULL, *y = NULL;
	struct th_json_raw_iter raw = th_json_raw_iter(body);
	struct th_json_iter it;

	th_jw_object(w);
	if (!th_json_parse(body, &x, NULL) && !th_json_parse(again, &y, NULL)) {
		for (it = th_json_iter(th_json_root(x));
		     th_json_next(&it) && th_json_raw_next(&raw);) {
			bool skip = th_json_equal(it.val, th_json_getn(th_json_root(y), it.key)) &&
				    th_json_getn(th_json_root(y), it.key);

			for (const char *const *name = without; *name && !skip; name++)
				skip = th_str_is(it.key, *name);
			if (!skip)
				put_member(w, raw.key, raw.val);
		}
	}
	th_jw_object_end(w);
	th_json_free(x);
	th_json_free(y);
}

struct th_str th_unified_raw(struct th_str element, const char *wire, size_t *ret_items)
{
	struct th_str raw = th_json_raw_get(element, "raw"), name = th_json_raw_get(raw, "wire");
	struct th_str none = { NULL, 0 };
	int64_t items;

	*ret_items = 1;
	if (name.len < 2 || !th_str_is(th_str_sub(name, 1, name.len - 2), wire))
		return none;
	if (th_str_i64(th_json_raw_get(raw, "items"), &items) && items > 0)
		*ret_items = (size_t)items;
	return th_json_raw_get(raw, "message");
}

void th_unified_put_raw(struct th_jw *w, const char *wire, struct th_str message, size_t items)
{
	th_jw_key(w, TH_STR("raw"));
	th_jw_object(w);
	th_jw_kstr(w, "wire", th_str_of(wire));
	th_jw_kraw(w, "message", message);
	th_jw_kint(w, "items", (int64_t)items);
	th_jw_object_end(w);
}

bool th_unified_equal(struct th_str a, struct th_str b)
{
	struct th_json_doc *x = NULL, *y = NULL;
	bool equal = !th_json_parse(a, &x, NULL) && !th_json_parse(b, &y, NULL) &&
		     th_json_equal(th_json_root(x), th_json_root(y));

	th_json_free(x);
	th_json_free(y);
	return equal;
}
