/* SPDX-License-Identifier: Apache-2.0 */
#include "model_wire/frame.h"

#include "base/limits.h"

static const struct th_agent_model_settings *extras(const struct th_request_options *o)
{
	return o->extra && o->agent ? o->agent->settings : NULL;
}

static void merge(const struct th_json *base, const struct th_json *patch, struct th_jw *w);

/* `base` may be NULL; the member `last` of it is left to the caller. */
static void merge_members(const struct th_json *base, const struct th_json *patch,
			  struct th_str last, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(base);

	while (th_json_next(&it)) {
		const struct th_json *own = th_json_getn(patch, it.key);

		if ((own && th_json_is_null(own)) || th_str_eq(it.key, last))
			continue;
		th_jw_key(w, it.key);
		if (own)
			merge(it.val, own, w);
		else
			th_jw_json(w, it.val);
	}
	for (it = th_json_iter(patch); th_json_next(&it);) {
		bool first = th_json_getn(patch, it.key) == it.val;

		if (th_json_is_null(it.val) || !first || th_json_getn(base, it.key))
			continue;
		th_jw_key(w, it.key);
		merge(NULL, it.val, w);
	}
}

static void merge(const struct th_json *base, const struct th_json *patch, struct th_jw *w)
{
	if (!th_json_is_object(patch)) {
		th_jw_json(w, patch);
		return;
	}
	th_jw_object(w);
	merge_members(th_json_is_object(base) ? base : NULL, patch, TH_STR(""), w);
	th_jw_object_end(w);
}

/* A body without groups is an object whose last member is their list. */
static enum th_code merge_body(struct th_str plain, struct th_str extra, struct th_buf *out,
			       struct th_err *err)
{
	struct th_json_doc *body TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *patch TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it, last = { 0 };
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(plain, &body, err);

	if (code)
		return th_prefix(err, code, "the request");
	code = th_json_parse(extra, &patch, err);
	if (code)
		return th_prefix(err, code, "settings.extra_body");
	for (it = th_json_iter(th_json_root(body)); th_json_next(&it);)
		last = it;
	th_jw_object(&w);
	merge_members(th_json_root(body), th_json_root(patch), last.key, &w);
	th_jw_key(&w, last.key);
	th_jw_json(&w, last.val);
	th_jw_object_end(&w);
	return TH_OK;
}

static enum th_code frame(const struct th_request_options *o, struct th_buf *out, size_t *ret_at,
			  struct th_err *err)
{
	o->profile->wire->head(o, out);
	*ret_at = out->len;
	o->profile->wire->tail(o, out);
	return th_buf_check(out, "the request", err);
}

enum th_code th_request_frame(const struct th_request_options *o, struct th_buf *out,
			      size_t *ret_at, struct th_err *err)
{
	const struct th_agent_model_settings *s = extras(o);
	struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	enum th_code code;

	if (!s || !s->extra_body.len)
		return frame(o, out, ret_at, err);
	code = frame(o, &plain, ret_at, err);
	if (!code)
		code = merge_body(th_buf_str(&plain), s->extra_body, out, err);
	*ret_at = out->len - TH_MIN(out->len, strlen("]}"));
	return code ? code : th_buf_check(out, "the request", err);
}

void th_request_headers(const struct th_request_options *o, struct th_buf *out)
{
	const struct th_agent_model_settings *s = extras(o);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;

	if (o->profile->wire->headers)
		o->profile->wire->headers(o, out);
	if (!s || !s->extra_headers.len || th_json_parse(s->extra_headers, &doc, NULL))
		return;
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);)
		th_buf_printf(out, "%.*s: %.*s\n", TH_FMT(it.key), TH_FMT(th_json_str(it.val)));
}
