/* SPDX-License-Identifier: Apache-2.0 */
/* cdp.c - see cdp.h. */
#include "wire/cdp.h"

#include "base/limits.h"

/* A whole message, its NUL, and what one reading may bring of the next. */
#define IN_MAX (TH_JSON_SIZE_MAX + TH_CDP_READ_MAX + 1)

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
	in->looked -= in->taken;
	in->taken = 0;
	th_buf_add(&in->buf, bytes);
	return th_buf_check(&in->buf, "a message of the browser", err);
}

bool th_cdp_in_next(struct th_cdp_in *in, struct th_str *ret)
{
	const char *from = in->buf.ptr + in->looked;
	const char *end = memchr(from, '\0', in->buf.len - in->looked);

	if (!end) {
		in->looked = in->buf.len;
		return false;
	}
	*ret = th_str_n(in->buf.ptr + in->taken, (size_t)(end - in->buf.ptr) - in->taken);
	in->taken = in->looked = (size_t)(end - in->buf.ptr) + 1;
	return true;
}

enum th_code th_cdp_read(struct th_str text, struct th_json_doc **ret_doc,
			 struct th_cdp_message *ret, struct th_err *err)
{
	enum th_code code = th_json_parse(text, ret_doc, err);
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

struct th_jw th_cdp_begin(struct th_buf *out, int64_t id, struct th_str session, const char *method)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kint(&w, "id", id);
	th_jw_kstr(&w, "method", th_str_of(method));
	if (session.len > 0)
		th_jw_kstr(&w, "sessionId", session);
	th_jw_name(&w, TH_STR("params"));
	th_jw_object(&w);
	return w;
}

void th_cdp_end(struct th_jw *w)
{
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_buf_add_char(w->out, '\0');
}
