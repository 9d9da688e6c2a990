/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/http1.h"

#include <llhttp.h>
#include <stdlib.h>

#include "base/limits.h"

struct span {
	uint32_t name, name_len, value, value_len; /* in `head` */
};

struct th_http1 {
	llhttp_t llhttp;
	struct th_buf head; /* method, target, names and values, one behind the other */
	struct th_buf body;
	struct span *headers;
	size_t header_count, header_cap;
	size_t method_len, target_len;
	size_t body_max;
	size_t extra;    /* bytes of chunk extensions and trailers */
	unsigned blanks; /* seen in the request line */
	char before;     /* the byte before */
	bool line_done;
	bool begun, at_head, whole, in_body;
	bool relay; /* of a proxy */
	enum th_code why;
	const char *what; /* why a callback refused it */
};

static int refuse(struct th_http1 *p, enum th_code why, const char *what)
{
	p->why = why;
	p->what = what;
	return HPE_USER;
}

static int add(struct th_http1 *p, const char *at, size_t len)
{
	th_buf_add_mem(&p->head, at, len);
	return p->head.failed ? refuse(p, TH_ELIMIT, "the head of the request is too large") : 0;
}

/* ---- what llhttp says ---- */

static int on_begin(llhttp_t *l)
{
	struct th_http1 *p = l->data;

	p->begun = true;
	return 0;
}

static int on_method(llhttp_t *l, const char *at, size_t len)
{
	struct th_http1 *p = l->data;

	p->method_len += len;
	return add(p, at, len);
}

static int on_target(llhttp_t *l, const char *at, size_t len)
{
	struct th_http1 *p = l->data;

	p->target_len += len;
	return add(p, at, len);
}

/* A trailer is read over: nobody here has a use for one. */
static int on_extra(llhttp_t *l, const char *at, size_t len)
{
	struct th_http1 *p = l->data;

	(void)at;
	p->extra += len;
	return p->extra > TH_HTTP1_EXTRA_MAX
		   ? refuse(p, TH_ELIMIT, "the chunks have too much beside their bytes")
		   : 0;
}

static int on_name(llhttp_t *l, const char *at, size_t len)
{
	struct th_http1 *p = l->data;
	struct span *last = p->header_count ? &p->headers[p->header_count - 1] : NULL;

	if (p->in_body)
		return on_extra(l, at, len);
	if (!last || last->value != 0) {
		if (p->header_count == TH_HTTP1_HEADERS_MAX)
			return refuse(p, TH_ELIMIT, "the request has too many headers");
		if (p->header_count == p->header_cap) {
			p->header_cap = p->header_cap ? 2 * p->header_cap : 16;
			p->headers = th_realloc(p->headers, p->header_cap * sizeof(*p->headers));
		}
		last = &p->headers[p->header_count++];
		*last = (struct span){ .name = (uint32_t)p->head.len };
	}
	last->name_len += (uint32_t)len;
	return add(p, at, len);
}

static int on_name_end(llhttp_t *l)
{
	struct th_http1 *p = l->data;

	if (!p->in_body)
		p->headers[p->header_count - 1].value = (uint32_t)p->head.len;
	return 0;
}

static int on_value(llhttp_t *l, const char *at, size_t len)
{
	struct th_http1 *p = l->data;

	if (p->in_body)
		return on_extra(l, at, len);
	p->headers[p->header_count - 1].value_len += (uint32_t)len;
	return add(p, at, len);
}

static bool is_digits(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	return s.len > 0 && s.len < 19;
}

static const char *bad_target(struct th_str target, bool relay)
{
	if (!target.len || (!relay && target.ptr[0] != '/'))
		return "the target of the request is not a path";
	for (size_t i = 0; i < target.len; i++)
		if ((unsigned char)target.ptr[i] <= ' ' || (unsigned char)target.ptr[i] >= 0x7f ||
		    target.ptr[i] == '#')
			return "the target of the request has a byte that no path has";
	return NULL;
}

/* A name that some read as the one of a length or a coding: where a proxy before us does, the two
 * of us would see two requests. */
static bool is_lookalike(struct th_str name)
{
	static const char *const names[] = { "content-length", "transfer-encoding" };

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		struct th_str want = th_str_of(names[i]);
		size_t at = 0;

		while (at < name.len && name.len == want.len &&
		       (name.ptr[at] == '_' ? want.ptr[at] == '-'
					    : (name.ptr[at] | 0x20) == want.ptr[at]))
			at++;
		if (at == want.len && memchr(name.ptr, '_', name.len))
			return true;
	}
	return false;
}

static const char *bad_head(const struct th_http1 *p)
{
	size_t hosts = th_http1_header_count(p, "host");
	size_t sizes = th_http1_header_count(p, "content-length");
	size_t codings = th_http1_header_count(p, "transfer-encoding");
	bool old = p->llhttp.http_major == 1 && p->llhttp.http_minor == 0;

	if (p->llhttp.http_major != 1 || p->llhttp.http_minor > 1)
		return "only HTTP/1.1 and HTTP/1.0 are spoken here";
	if (hosts != 1 && !(old && hosts == 0))
		return "the request needs one Host header";
	if (sizes > 1 || (sizes == 1 && !is_digits(th_http1_header(p, "content-length"))))
		return "the request needs one Content-Length, a number";
	if (codings > 0 &&
	    (sizes > 0 || old || codings > 1 ||
	     !th_str_ieq(th_http1_header(p, "transfer-encoding"), TH_STR("chunked"))))
		return "the only Transfer-Encoding taken here is chunked, alone";
	for (size_t i = 0; i < p->header_count; i++)
		if (is_lookalike(
			th_str_n(p->head.ptr + p->headers[i].name, p->headers[i].name_len)))
			return "Content-Length and Transfer-Encoding are written with a hyphen";
	return bad_target(th_http1_target(p), p->relay);
}

static int on_head(llhttp_t *l)
{
	struct th_http1 *p = l->data;
	const char *bad;

	for (size_t i = 0; i < p->header_count; i++) {
		struct span *h = &p->headers[i];

		while (h->value_len > 0 && (p->head.ptr[h->value + h->value_len - 1] == ' ' ||
					    p->head.ptr[h->value + h->value_len - 1] == '\t'))
			h->value_len--;
	}
	bad = bad_head(p);
	if (bad)
		return refuse(p, TH_EPROTO, bad);
	p->at_head = true;
	p->in_body = true;
	return HPE_PAUSED;
}

static int on_body(llhttp_t *l, const char *at, size_t len)
{
	struct th_http1 *p = l->data;

	if (!p->relay && len > p->body_max - p->body.len)
		return refuse(p, TH_EBUSY, "the body of the request is too large");
	th_buf_add_mem(&p->body, at, len);
	return 0;
}

static int on_chunk(llhttp_t *l)
{
	struct th_http1 *p = l->data;

	return !p->relay && l->content_length > p->body_max - p->body.len
		   ? refuse(p, TH_EBUSY, "the body of the request is too large")
		   : 0;
}

static int on_whole(llhttp_t *l)
{
	struct th_http1 *p = l->data;

	p->whole = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_message_begin = on_begin,
	.on_method = on_method,
	.on_url = on_target,
	.on_header_field = on_name,
	.on_header_field_complete = on_name_end,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_chunk_extension_name = on_extra,
	.on_chunk_extension_value = on_extra,
	.on_chunk_header = on_chunk,
	.on_body = on_body,
	.on_message_complete = on_whole,
};

/* ---- life ---- */

static void start(struct th_http1 *p)
{
	llhttp_init(&p->llhttp, HTTP_REQUEST, &settings);
	p->llhttp.data = p;
}

struct th_http1 *th_http1_new(void)
{
	struct th_http1 *p = th_alloc(sizeof(*p));

	th_buf_init(&p->head, TH_HTTP1_HEAD_MAX);
	th_buf_init(&p->body, TH_HTTP1_BODY_MAX);
	start(p);
	return p;
}

struct th_http1 *th_http1_new_relay(void)
{
	struct th_http1 *p = th_http1_new();

	p->relay = true;
	return p;
}

void th_http1_take_body(struct th_http1 *p, struct th_buf *out)
{
	th_buf_add(out, th_buf_str(&p->body));
	th_buf_clear(&p->body);
}

struct th_http1 *th_http1_free(struct th_http1 *p)
{
	if (p) {
		th_buf_deinit(&p->head);
		th_buf_deinit(&p->body);
		free(p->headers);
		free(p);
	}
	return NULL;
}

void th_http1_next(struct th_http1 *p)
{
	th_buf_deinit(&p->head);
	th_buf_deinit(&p->body);
	free(p->headers);
	p->headers = NULL;
	p->header_count = p->header_cap = 0;
	p->method_len = p->target_len = p->body_max = p->extra = 0;
	p->begun = p->at_head = p->whole = p->in_body = false;
	p->line_done = false;
	p->blanks = 0;
	p->before = '\0';
	p->why = TH_OK;
	start(p);
}

void th_http1_body_max(struct th_http1 *p, size_t max)
{
	p->body_max = TH_MIN(max, (size_t)TH_HTTP1_BODY_MAX);
}

bool th_http1_body_fits(const struct th_http1 *p)
{
	return p->relay || !(p->llhttp.flags & F_CONTENT_LENGTH) ||
	       p->llhttp.content_length <= p->body_max;
}

static enum th_http1_step bad(const struct th_http1 *p, llhttp_errno_t code, struct th_err *err)
{
	const char *reason = llhttp_get_error_reason(&p->llhttp);

	if (p->why)
		(void)th_fail(err, p->why, "%s", p->what);
	else
		(void)th_fail(err, TH_EPROTO, "this is not an HTTP/1.1 request: %s",
			      reason && reason[0] ? reason : llhttp_errno_name(code));
	return TH_HTTP1_BAD;
}

/* llhttp reads over several blanks in the request line, where another would find an empty target:
 * there are two, each alone. */
static bool is_good_line(struct th_http1 *p, struct th_str bytes)
{
	for (size_t i = 0; i < bytes.len && !p->line_done; i++) {
		char c = bytes.ptr[i];

		if (c == '\n')
			p->line_done =
			    p->before && p->before != '\n'; /* not an empty line before */
		else if (c == ' ' && (++p->blanks > 2 || p->before == ' '))
			return false;
		if (c != '\r')
			p->before = c;
	}
	return true;
}

enum th_http1_step th_http1_feed(struct th_http1 *p, struct th_str bytes, size_t *ret_used,
				 struct th_err *err)
{
	llhttp_errno_t code;

	*ret_used = 0;
	if (p->whole)
		return TH_HTTP1_WHOLE;
	if (p->why)
		return bad(p, HPE_USER, err);
	if (p->at_head) { /* a length that is not welcome is refused before its bytes come */
		p->at_head = false;
		if (!th_http1_body_fits(p)) {
			refuse(p, TH_EBUSY, "the body of the request is too large");
			return bad(p, HPE_USER, err);
		}
		llhttp_resume(&p->llhttp);
	}
	if (!p->line_done && !is_good_line(p, bytes)) {
		refuse(p, TH_EPROTO, "the request line has two blanks, each alone");
		return bad(p, HPE_USER, err);
	}
	code = llhttp_execute(&p->llhttp, bytes.ptr ? bytes.ptr : "", bytes.len);
	if (code == HPE_OK) {
		*ret_used = bytes.len;
		return TH_HTTP1_MORE;
	}
	if (code != HPE_PAUSED)
		return bad(p, code, err);
	*ret_used = (size_t)(llhttp_get_error_pos(&p->llhttp) - bytes.ptr);
	return p->whole ? TH_HTTP1_WHOLE : TH_HTTP1_HEAD;
}

/* ---- what was read ---- */

struct th_str th_http1_method(const struct th_http1 *p)
{
	return th_str_n(p->head.ptr, p->method_len);
}

struct th_str th_http1_target(const struct th_http1 *p)
{
	return th_str_n(p->head.ptr + p->method_len, p->target_len);
}

static struct th_http1_header header_at(const struct th_http1 *p, size_t i)
{
	const struct span *h = &p->headers[i];

	return (struct th_http1_header){ th_str_n(p->head.ptr + h->name, h->name_len),
					 th_str_n(p->head.ptr + h->value, h->value_len) };
}

bool th_http1_header_at(const struct th_http1 *p, size_t index, struct th_http1_header *ret)
{
	if (index >= p->header_count)
		return false;
	*ret = header_at(p, index);
	return true;
}

struct th_str th_http1_header(const struct th_http1 *p, const char *name)
{
	for (size_t i = 0; i < p->header_count; i++) {
		struct th_http1_header h = header_at(p, i);

		if (th_str_ieq(h.name, th_str_of(name)))
			return h.value;
	}
	return (struct th_str){ NULL, 0 };
}

size_t th_http1_header_count(const struct th_http1 *p, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < p->header_count; i++)
		count += th_str_ieq(header_at(p, i).name, th_str_of(name));
	return count;
}

bool th_http1_keep_alive(const struct th_http1 *p)
{
	return llhttp_should_keep_alive(&p->llhttp) != 0;
}

bool th_http1_chunks(const struct th_http1 *p)
{
	return p->llhttp.http_minor == 1;
}

bool th_http1_upgrade(const struct th_http1 *p)
{
	return p->llhttp.upgrade != 0;
}

bool th_http1_expects(const struct th_http1 *p)
{
	return th_str_ieq(th_http1_header(p, "expect"), TH_STR("100-continue"));
}

bool th_http1_has_body(const struct th_http1 *p)
{
	return (p->llhttp.flags & F_CHUNKED) ||
	       ((p->llhttp.flags & F_CONTENT_LENGTH) && p->llhttp.content_length > 0);
}

bool th_http1_begun(const struct th_http1 *p)
{
	return p->begun;
}

struct th_str th_http1_body(const struct th_http1 *p)
{
	return th_buf_str(&p->body);
}
