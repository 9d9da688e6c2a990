/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http_head.h"

#include "base/limits.h"

static bool is_token(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] <= ' ' || (unsigned char)s.ptr[i] >= 0x7f)
			return false;
	return s.len > 0;
}

static enum th_code read_first(struct th_str line, struct th_http_head *h, struct th_err *err)
{
	struct th_str target;

	h->method = th_str_split(&line, ' ');
	target = th_str_split(&line, ' ');
	h->path = th_str_split(&target, '?');
	if (!is_token(h->method) || !is_token(h->path) || h->path.ptr[0] != '/' ||
	    !th_str_starts(line, TH_STR("HTTP/1.")))
		return th_fail(err, TH_EPROTO, "this is no request of HTTP/1.1");
	return TH_OK;
}

static enum th_code read_size(struct th_str value, struct th_http_head *h, struct th_err *err)
{
	int64_t size;

	if (!th_str_i64(value, &size) || size < 0)
		return th_fail(err, TH_EPROTO, "Content-Length must be a number");
	if ((uint64_t)size > TH_HUMAN_BODY_MAX)
		return th_fail(err, TH_ELIMIT, "a body has at most %zu bytes", TH_HUMAN_BODY_MAX);
	h->body_size = (size_t)size;
	return TH_OK;
}

static enum th_code read_header(struct th_str name, struct th_str value, struct th_http_head *h,
				struct th_err *err)
{
	struct th_str bearer = TH_STR("Bearer ");

	if (th_str_ieq(name, TH_STR("content-length")))
		return read_size(value, h, err);
	if (th_str_ieq(name, TH_STR("transfer-encoding")))
		return th_fail(err, TH_EPROTO, "a body must come with its Content-Length");
	if (th_str_ieq(name, TH_STR("host")))
		h->host = value;
	else if (th_str_ieq(name, TH_STR("origin")))
		h->origin = value;
	else if (th_str_ieq(name, TH_STR("x-api-key")))
		h->token = value;
	else if (th_str_ieq(name, TH_STR("authorization")) && th_str_istarts(value, bearer))
		h->token = th_str_trim(th_str_sub(value, bearer.len, value.len));
	return TH_OK;
}

enum th_code th_http_head_read(struct th_str bytes, struct th_http_head *ret, struct th_err *err)
{
	ptrdiff_t end = th_str_find(bytes, TH_STR("\r\n\r\n"));
	struct th_str head = th_str_sub(bytes, 0, end >= 0 ? (size_t)end : 0);
	enum th_code code;

	*ret = (struct th_http_head){ 0 };
	if (end > (ptrdiff_t)TH_REQUEST_HEAD_MAX || (end < 0 && bytes.len > TH_REQUEST_HEAD_MAX))
		return th_fail(err, TH_ELIMIT, "the head of a request has at most %zu bytes",
			       TH_REQUEST_HEAD_MAX);
	if (end < 0)
		return TH_OK;
	code = read_first(th_str_trim(th_str_split(&head, '\n')), ret, err);
	while (head.len && !code) {
		struct th_str value = th_str_split(&head, '\n');
		struct th_str name = th_str_split(&value, ':');

		code = is_token(name) ? read_header(name, th_str_trim(value), ret, err)
				      : th_fail(err, TH_EPROTO, "a header has no name");
	}
	ret->size = (size_t)end + 4;
	return code;
}

static bool is_here(struct th_str host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_str name = th_str_of(names[i]);

		if (th_str_istarts(host, name) &&
		    (host.len == name.len || host.ptr[name.len] == ':'))
			return true;
	}
	return false;
}

bool th_http_head_local(const struct th_http_head *h)
{
	struct th_str scheme = TH_STR("http://");

	return is_here(h->host) &&
	       (!h->origin.len ||
		(th_str_istarts(h->origin, scheme) &&
		 th_str_ieq(th_str_sub(h->origin, scheme.len, h->origin.len), h->host)));
}
