/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/origin.h"

#include "agents/names.h"
#include "base/field.h"
#include "base/json.h"

#define X(id, name) name,
static const char *const origin_names[] = { TH_ORIGINS(X) NULL };
static const char *const guarded_names[] = { TH_GUARDED(X) NULL };
#undef X

const char *th_origin_name(enum th_origin o)
{
	assert(o < TH_ORIGIN_COUNT);
	return origin_names[o];
}

int th_origin_find(struct th_str name)
{
	return th_names_find(origin_names, name);
}

/* A list of names as bits. */
static enum th_code read_bits(const struct th_json *v, const char *member, const char *const *names,
			      unsigned *ret, struct th_buf *path, struct th_err *err)
{
	const struct th_json *list = th_json_get(v, member);
	struct th_json_iter it = th_json_iter(list);

	*ret = 0;
	th_buf_clear(path);
	th_buf_add_cstr(path, member);
	if (!th_json_is_array(list) || th_json_count(list) == 0)
		return th_fail(err, TH_EUSAGE, "must be a list of names");
	for (size_t i = 0; th_json_next(&it); i++) {
		int at = th_json_type(it.val) == TH_JSON_STR
			     ? th_names_find(names, th_json_str(it.val))
			     : -1;

		if (at < 0) {
			th_buf_printf(path, "[%zu]", i);
			return th_fail(err, TH_EUSAGE, "must be one of %s, %s, %s%s%s%s%s",
				       names[0], names[1], names[2], names[3] ? ", " : "",
				       names[3] ? names[3] : "", names[3] && names[4] ? ", " : "",
				       names[3] && names[4] ? names[4] : "");
		}
		*ret |= 1u << at;
	}
	return TH_OK;
}

enum th_code th_untrusted_read(struct th_str raw, struct th_untrusted *ret, struct th_buf *path,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = raw.len ? th_json_parse(raw, &doc, err) : TH_OK;
	const struct th_json *v = code || !doc ? NULL : th_json_root(doc);

	*ret = (struct th_untrusted){ 0, 0 };
	th_buf_clear(path);
	if (code || !raw.len || th_json_is_null(v))
		return code;
	if (th_str_is(th_json_str(v), TH_RULE_OF_TWO)) {
		ret->origins = TH_ORIGIN_BIT(TH_ORIGIN_WEB) | TH_ORIGIN_BIT(TH_ORIGIN_MCP);
		ret->ask = TH_GUARDED_BIT(TH_GUARDED_COUNT) - 1;
		return TH_OK;
	}
	if (!th_json_is_object(v) || th_json_count(v) != 2)
		return th_fail(err, TH_EUSAGE,
			       "must be " TH_RULE_OF_TWO " or {origins: [...], ask: [...]}");
	code = read_bits(v, "origins", origin_names, &ret->origins, path, err);
	return code ? code : read_bits(v, "ask", guarded_names, &ret->ask, path, err);
}
