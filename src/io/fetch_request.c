/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_request.c - what is sent: is it well formed, its header lines in one
 * block, and its body piece by piece.
 */
#include "io/fetch_internal.h"

#define SMALL_BODY_MAX 4096 /* goes out with the head, in one packet */
#define URL_MAX (16 * TH_KIB)

/* ---- the request's body ---- */

size_t th_fetch_read_body(char *to, size_t size, size_t count, void *ctx)
{
	struct th_fetch *x = (struct th_fetch *)ctx;
	size_t room = size * count, put = 0;

	if (x->dead)
		return CURL_READFUNC_ABORT;
	x->byte_ms = th_fetch_now(x);
	while (put < room && x->piece < x->body_count) {
		struct th_str piece = x->body[x->piece];
		size_t n = TH_MIN(room - put, piece.len - x->offset);
		if (n)
			memcpy(to + put, piece.ptr + x->offset, n);
		put += n;
		x->offset += n;
		if (x->offset == piece.len) {
			x->piece++;
			x->offset = 0;
		}
	}
	return put;
}

/* curl sends again when a kept connection turned out to be dead; not what has begun to leave and
 * must not be there twice. */
int th_fetch_seek_body(void *ctx, curl_off_t offset, int origin)
{
	struct th_fetch *x = (struct th_fetch *)ctx;
	if (x->dead || origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->body_size)
		return CURL_SEEKFUNC_FAIL;
	if (x->once && (x->piece > 0 || x->offset > 0))
		return CURL_SEEKFUNC_FAIL;
	x->piece = 0;
	x->offset = 0;
	uint64_t skip = (uint64_t)offset;
	while (x->piece < x->body_count && skip >= x->body[x->piece].len)
		skip -= x->body[x->piece++].len;
	x->offset = (size_t)skip;
	return CURL_SEEKFUNC_OK;
}

/* ---- is it well formed? ---- */

static bool is_token(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= ' ' || s.ptr[i] >= 127 || strchr("()<>@,;:\\\"/[]?={}", s.ptr[i]))
			return false;
	return s.len > 0;
}

/* No line end, no NUL: a value cannot become another header. */
static bool is_value(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] == '\r' || s.ptr[i] == '\n' || s.ptr[i] == '\0')
			return false;
	return true;
}

static enum th_code check_url(struct th_fetcher *f, struct th_str url, struct th_err *err)
{
	if (f->url_checked && th_str_eq(url, th_str_of(f->url_checked)))
		return TH_OK;
	if (url.len > URL_MAX)
		return th_fail(err, TH_EUSAGE, "a URL of %zu bytes is too long", url.len);
	if (!th_str_istarts(url, TH_STR("http://")) && !th_str_istarts(url, TH_STR("https://")))
		return th_fail(err, TH_EUSAGE, "not an http:// or https:// URL: %.*s",
			       TH_FMT(th_str_sub(url, 0, 80)));
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 127)
			return th_fail(err, TH_EUSAGE,
				       "a URL must not hold blanks or control characters");
	char *text = (char *)th_alloc(url.len + 1);
	memcpy(text, url.ptr, url.len);
	CURLU *parsed = th_libcurl.url();
	char *user = NULL;
	CURLUcode code = th_libcurl.url_set(parsed, CURLUPART_URL, text, 0);
	if (code == CURLUE_OK && th_libcurl.url_get(parsed, CURLUPART_USER, &user, 0) == CURLUE_OK)
		code = CURLUE_USER_NOT_ALLOWED;
	th_libcurl.free(user);
	if (code) {
		th_libcurl.url_cleanup(parsed);
		free(text);
		return th_fail(err, TH_EUSAGE, "bad URL: %s", th_libcurl.url_strerror(code));
	}
	free(f->url_checked);
	th_libcurl.url_cleanup(f->url_parsed);
	f->url_checked = text;
	f->url_parsed = parsed;
	f->url_number++;
	return TH_OK;
}

enum th_code th_fetch_check(struct th_fetcher *f, const struct th_fetch_request *r,
			    uint64_t *ret_size, struct th_err *err)
{
	uint64_t size = 0;
	enum th_code code = check_url(f, r->url, err);
	if (code)
		return code;
	if (!r->method || !is_token(th_str_of(r->method)))
		return th_fail(err, TH_EUSAGE, "bad HTTP method");
	for (size_t i = 0; i < r->header_count; i++)
		if (!is_token(th_str_of(r->headers[i].name)) || !is_value(r->headers[i].value))
			return th_fail(err, TH_EUSAGE, "the header %.64s is not one line of text",
				       r->headers[i].name);
	if (r->secret_header && !is_token(th_str_of(r->secret_header)))
		return th_fail(err, TH_EUSAGE, "bad name of the header with the key");
	if (r->secret && !is_value(th_secret_expose(r->secret)))
		return th_fail(err, TH_EUSAGE,
			       "the key holds a line end: is there more than one line in it?");
	for (size_t i = 0; i < r->body_count; i++)
		size += r->body[i].len;
	if (size > TH_REQUEST_MAX)
		return th_fail(err, TH_ELIMIT, "a request of %llu bytes is too large",
			       (unsigned long long)size);
	if (f->count >= TH_SESSIONS_MAX)
		return th_fail(err, TH_ELIMIT, "%u requests run already", f->count);
	*ret_size = size;
	return TH_OK;
}

/* Two passes over the same code: first counts, then writes. */
struct lines {
	struct curl_slist *nodes;
	char *text;
	size_t count, size;
};

static void add_line(struct lines *l, struct th_str a, struct th_str b, struct th_str c)
{
	if (l->nodes) {
		char *to = l->text + l->size;
		l->nodes[l->count].data = to;
		l->nodes[l->count].next = &l->nodes[l->count + 1];
		memcpy(to, a.ptr, a.len);
		memcpy(to + a.len, b.ptr, b.len);
		if (c.len)
			memcpy(to + a.len + b.len, c.ptr, c.len);
		to[a.len + b.len + c.len] = '\0';
	}
	l->count++;
	l->size += a.len + b.len + c.len + 1;
}

static void add_lines(struct lines *l, const struct th_fetch_request *r)
{
	bool has_type = false, has_agent = false;
	for (size_t i = 0; i < r->header_count; i++) {
		struct th_str name = th_str_of(r->headers[i].name), value = r->headers[i].value;
		has_type = has_type || th_str_ieq(name, TH_STR("content-type"));
		has_agent = has_agent || th_str_ieq(name, TH_STR("user-agent"));
		add_line(l, name, value.len ? TH_STR(": ") : TH_STR(";"), value);
	}
	if (r->secret && r->secret_header)
		add_line(l, th_str_of(r->secret_header), TH_STR(": "), th_secret_expose(r->secret));
	else if (r->secret)
		add_line(l, TH_STR("Authorization"), TH_STR(": Bearer "),
			 th_secret_expose(r->secret));
	if (!has_type) /* curl would say it is a web form */
		add_line(l, TH_STR("Content-Type"), TH_STR(":"), TH_STR(""));
	if (!has_agent)
		add_line(l, TH_STR("User-Agent"), TH_STR(": "), TH_STR("thole"));
	add_line(l, TH_STR("Expect"), TH_STR(":"),
		 TH_STR("")); /* no round trip for "100 Continue" */
}

struct curl_slist *th_fetch_lines(struct th_fetch *x, const struct th_fetch_request *r)
{
	struct lines count = {}, write = {};
	add_lines(&count, r);
	/* curl sends what it has in one piece again without asking. */
	size_t small = x->body_size <= SMALL_BODY_MAX && !x->once ? (size_t)x->body_size : 0;
	x->lines_size = count.count * sizeof(struct curl_slist) + count.size;
	x->block = th_realloc(NULL, x->lines_size + small); /* all of it is written below */
	write.nodes = (struct curl_slist *)x->block;
	write.text = (char *)(write.nodes + count.count);
	add_lines(&write, r);
	assert(write.count == count.count && write.size == count.size);
	write.nodes[write.count - 1].next = NULL;
	if (small) {
		x->small = write.text + write.size;
		(void)!th_fetch_read_body(x->small, 1, small, x);
	}
	return write.nodes;
}
