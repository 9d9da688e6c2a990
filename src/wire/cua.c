/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/cua.h"

#include <math.h>

#include "base/text.h"

enum th_code th_cua_parse(struct th_str message, struct th_json_doc **ret_doc,
			  struct th_cua_command *ret, struct th_err *err)
{
	const struct th_json *root, *params;
	struct th_err why = { 0 };

	*ret = (struct th_cua_command){ 0 };
	if (th_json_parse(message, ret_doc, &why))
		return th_fail(err, TH_EPROTO, "Invalid JSON: %s", why.msg);
	root = th_json_root(*ret_doc);
	params = th_json_get(root, "params");
	ret->name = th_json_get_str(root, "command");
	if (!ret->name.len)
		return th_fail(err, TH_EPROTO, "Command is required");
	if (!th_json_is_null(params) && !th_json_is_object(params))
		return th_fail(err, TH_EPROTO, "params must be an object");
	ret->params = params ? params : root;
	ret->flat = !params;
	return TH_OK;
}

bool th_cua_number(const struct th_json *params, const char *name, int32_t *ret)
{
	const struct th_json *v = th_json_get(params, name);
	double number = th_json_num(v, NAN);
	int64_t whole;

	if (th_json_str(v).ptr && th_str_i64(th_json_str(v), &whole))
		number = (double)whole;
	if (!(fabs(number) <= 1e9))
		return false;
	*ret = (int32_t)lround(number);
	return true;
}

static void print_string(struct th_str *rest, struct th_buf *out)
{
	uint32_t c;

	th_buf_add_char(out, '"');
	*rest = th_str_sub(*rest, 1, rest->len);
	while (rest->len) {
		size_t plain = 0;

		while (plain < rest->len && rest->ptr[plain] != '"' && rest->ptr[plain] != '\\' &&
		       (unsigned char)rest->ptr[plain] < 0x7f)
			plain++;
		th_buf_add_mem(out, rest->ptr, plain);
		*rest = th_str_sub(*rest, plain, rest->len);
		if (!rest->len)
			return;
		if (rest->ptr[0] == '"') {
			*rest = th_str_sub(*rest, 1, rest->len);
			break;
		}
		if (rest->ptr[0] == '\\') {
			th_buf_add_mem(out, rest->ptr, TH_MIN(rest->len, (size_t)2));
			*rest = th_str_sub(*rest, 2, rest->len);
		} else if (rest->ptr[0] == 0x7f) { /* json.dumps lets it be */
			th_buf_add_char(out, 0x7f);
			*rest = th_str_sub(*rest, 1, rest->len);
		} else {
			(void)th_utf8_next(rest, &c);
			if (c > 0xffff)
				th_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
					      0xdc00 + ((c - 0x10000) & 0x3ff));
			else
				th_buf_printf(out, "\\u%04x", c);
		}
	}
	th_buf_add_char(out, '"');
}

void th_cua_print(struct th_str json, struct th_buf *out)
{
	while (json.len) {
		char c = json.ptr[0];

		if (c == '"') {
			print_string(&json, out);
			continue;
		}
		th_buf_add_char(out, c);
		if (c == ',' || c == ':')
			th_buf_add_char(out, ' ');
		json = th_str_sub(json, 1, json.len);
	}
}

void th_cua_print_line(struct th_str json, struct th_buf *out)
{
	th_buf_add_cstr(out, "data: ");
	th_cua_print(json, out);
	th_buf_add_cstr(out, "\n\n");
}

void th_cua_print_flat(struct th_str json, const char *member, struct th_buf *out)
{
	struct th_str result = member ? th_json_raw_get(json, member) : json;

	if (!th_str_is(th_json_raw_get(json, "success"), "true") || !result.len ||
	    th_json_raw_get(json, "result").len) {
		th_buf_add(out, json);
		return;
	}
	th_buf_add(out, th_str_sub(json, 0, json.len - 1));
	th_buf_add_cstr(out, ",\"result\":");
	th_buf_add(out, result);
	th_buf_add_char(out, '}');
}

void th_cua_print_error(struct th_str text, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kbool(&w, "success", false);
	th_jw_kstr(&w, "error", text);
	th_jw_object_end(&w);
}
