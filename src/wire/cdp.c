/* SPDX-License-Identifier: Apache-2.0 */
/* cdp.c - see cdp.h. */
#include "wire/cdp.h"

#include "base/limits.h"
#include "wire/cbor.h"

/* A whole message, and what one reading may bring of the next. */
#define IN_MAX (TH_JSON_SIZE_MAX + TH_CDP_READ_MAX)

void th_cdp_in_init(struct th_cdp_in *in)
{
	*in = (struct th_cdp_in){ 0 };
	th_buf_init(&in->buf, IN_MAX);
}

void th_cdp_in_deinit(struct th_cdp_in *in)
{
	th_buf_deinit(&in->buf);
}

enum th_code th_cdp_in_add(struct th_cdp_in *in, struct th_str bytes, struct th_err *err)
{
	th_buf_drop(&in->buf, in->taken);
	in->taken = 0;
	th_buf_add(&in->buf, bytes);
	return th_buf_check(&in->buf, "a message of the browser", err);
}

bool th_cdp_in_next(struct th_cdp_in *in, struct th_str *ret)
{
	struct th_str rest = th_str_sub(th_buf_str(&in->buf), in->taken, SIZE_MAX);
	size_t size = th_cbor_message_size(rest);

	size = size == SIZE_MAX ? 1 : size;
	if (size == 0 || size > rest.len)
		return false;
	*ret = th_str_sub(rest, 0, size);
	in->taken += size;
	return true;
}

enum th_code th_cdp_read(struct th_str bytes, struct th_json_doc **ret_doc,
			 struct th_cdp_message *ret, struct th_err *err)
{
	/* Where names come from, why nodes are ignored, what they are related to. */
	static const char *const names[] = { "sources", "ignoredReasons", "relatedNodes",
					     "chromeRole", NULL };
	static const struct th_cbor_cut cut = { "nodes", names };
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	enum th_code code = th_cbor_to_json(bytes, &cut, &text, err);

	if (!code)
		code = th_json_parse(th_buf_str(&text), ret_doc, err);
	const struct th_json *root = code ? NULL : th_json_root(*ret_doc);

	*ret = (struct th_cdp_message){ 0 };
	if (code)
		return th_prefix(err, code == TH_ELIMIT ? code : TH_EPROTO,
				 "a message of the browser");
	ret->session = th_json_get_str(root, "sessionId");
	ret->id = th_json_get_int(root, "id", 0);
	ret->method = th_json_get_str(root, "method");
	if (!th_json_is_object(root) || ret->id < 0 || (ret->id > 0) == (ret->method.len > 0))
		return th_fail(err, TH_EPROTO,
			       "a message of the browser is neither an answer nor an event");
	if (ret->method.len > 0) {
		ret->params = th_json_get(root, "params");
		return TH_OK;
	}
	ret->result = th_json_get(root, "result");
	if (!ret->result)
		ret->error = th_json_get_str(th_json_get(root, "error"), "message");
	return TH_OK;
}

struct th_jw th_cdp_begin(struct th_buf *text, int64_t id, struct th_str session,
			  const char *method)
{
	struct th_jw w = th_jw(text);

	th_buf_clear(text);
	th_jw_object(&w);
	th_jw_kint(&w, "id", id);
	th_jw_kstr(&w, "method", th_str_of(method));
	if (session.len > 0)
		th_jw_kstr(&w, "sessionId", session);
	th_jw_name(&w, TH_STR("params"));
	th_jw_object(&w);
	return w;
}

enum th_code th_cdp_end(struct th_jw *w, struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;

	th_jw_object_end(w);
	th_jw_object_end(w);
	enum th_code code = th_buf_check(w->out, "a command to the browser", err);
	if (!code)
		code = th_json_parse(th_buf_str(w->out), &doc, err);
	if (code)
		return code;
	th_cbor_from_json(th_json_root(doc), out);
	return th_buf_check(out, "a command to the browser", err);
}
