/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jsonrpc.h"

#include "base/limits.h"

static bool is_string(struct th_str raw)
{
	return raw.len >= 2 && raw.ptr[0] == '"';
}

static bool is_id(struct th_str raw)
{
	return raw.len <= TH_RPC_ID_MAX &&
	       (is_string(raw) ||
		(raw.len && (raw.ptr[0] == '-' || (raw.ptr[0] >= '0' && raw.ptr[0] <= '9'))));
}

static bool is_structured(struct th_str raw)
{
	return raw.len && (raw.ptr[0] == '{' || raw.ptr[0] == '[');
}

void th_rpc_read(struct th_str message, struct th_rpc *ret)
{
	static const char *const keys[] = {
		"jsonrpc", "id", "method", "params", "result", "error"
	};
	struct th_str v[TH_COUNT(keys)];

	*ret = (struct th_rpc){ .kind = TH_RPC_BROKEN };
	message = th_str_trim(message);
	if (!th_json_valid(message))
		return;
	ret->kind = TH_RPC_WRONG;
	if (!th_json_raw_is_object(message))
		return;
	th_json_raw_gets(message, TH_COUNT(keys), keys, v);
	if (is_id(v[1]))
		ret->id = v[1];
	if (!th_str_is(v[0], "\"2.0\"") || (v[1].len && !ret->id.len && !th_str_is(v[1], "null")))
		return;
	if (is_string(v[2])) {
		if (v[3].len && !is_structured(v[3]))
			return;
		ret->kind = v[1].len ? TH_RPC_REQUEST : TH_RPC_NOTIFICATION;
		if (v[1].len && !ret->id.len) /* an id of null is no id to answer to */
			ret->kind = TH_RPC_WRONG;
		ret->method = th_json_raw_inside(v[2]);
		ret->params = v[3];
		return;
	}
	/* Some write both, and null for the one that it is not. */
	if (v[4].len && th_str_is(v[5], "null"))
		v[5] = TH_STR("");
	else if (v[5].len && th_str_is(v[4], "null"))
		v[4] = TH_STR("");
	if (!v[2].len && v[4].len + v[5].len && !(v[4].len && v[5].len)) {
		ret->kind = v[4].len ? TH_RPC_RESULT : TH_RPC_ERROR;
		ret->value = v[4].len ? v[4] : v[5];
	}
}

/* The unit that \u escapes at `at`; -1: there is none. */
static int unit_at(struct th_str s, size_t at)
{
	int unit = 0;

	if (at + 6 > s.len || s.ptr[at] != '\\' || s.ptr[at + 1] != 'u')
		return -1;
	for (size_t i = at + 2; i < at + 6; i++) {
		char c = s.ptr[i], low = (char)(c | 0x20);
		bool digit = c >= '0' && c <= '9';

		if (!digit && (low < 'a' || low > 'f'))
			return -1;
		unit = unit << 4 | (digit ? c - '0' : low - 'a' + 10);
	}
	return unit;
}

bool th_rpc_mend(struct th_str message, struct th_buf *out)
{
	const char *escape;
	size_t at = 0, done = 0;

	while (at < message.len && (escape = memchr(message.ptr + at, '\\', message.len - at))) {
		at = (size_t)(escape - message.ptr);
		int unit = unit_at(message, at), next = unit_at(message, at + 6);

		if (unit < 0xd800 || unit > 0xdfff) {
			at += 2;
		} else if (unit <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) {
			at += 12;
		} else {
			th_buf_add(out, th_str_sub(message, done, at - done));
			th_buf_add_cstr(out, "\\ufffd");
			done = at += 6;
		}
	}
	if (done)
		th_buf_add(out, th_str_sub(message, done, message.len));
	return done > 0;
}

static void begin(struct th_jw *w, struct th_str id, const char *otherwise)
{
	th_jw_object(w);
	th_jw_kstr(w, "jsonrpc", TH_STR("2.0"));
	if (id.len || otherwise)
		th_jw_kraw(w, "id", id.len ? id : th_str_of(otherwise));
}

void th_rpc_print_call(struct th_str id, const char *method, struct th_str params,
		       struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	begin(&w, id, NULL);
	th_jw_kstr(&w, "method", th_str_of(method));
	if (params.len)
		th_jw_kraw(&w, "params", params);
	th_jw_object_end(&w);
}

void th_rpc_print_result(struct th_str id, struct th_str result, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	begin(&w, id, "null");
	th_jw_kraw(&w, "result", result.len ? result : TH_STR("{}"));
	th_jw_object_end(&w);
}

void th_rpc_print_error(struct th_str id, int code, struct th_str message, struct th_str data,
			struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	begin(&w, id, "null");
	th_jw_name(&w, TH_STR("error"));
	th_jw_object(&w);
	th_jw_kint(&w, "code", code);
	th_jw_kstr(&w, "message", message);
	if (data.len)
		th_jw_kraw(&w, "data", data);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
}
