/* SPDX-License-Identifier: Apache-2.0 */
#include "store/s3.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "store/s3_internal.h"
#include "wire/s3_answer.h"
#include "wire/sigv4.h"

#define ANSWER_ERROR_MAX (64 * TH_KIB) /* of what says why not */
#define HEAD_MAX (8 * TH_KIB)

struct th_s3 {
	char *origin;    /* "https://HOST:PORT" */
	char *authority; /* as the header Host has it */
	char *base;      /* "/BUCKET" */
	char *prefix;    /* "" or "a/b/" */
	char *region;
	struct th_loop *loop; /* NULL until the first call */
	struct th_fetcher *fetcher;
	struct th_s3_keys keys;
};

/* One request under way. */
struct call {
	struct run *run;
	struct th_s3_request *request;
	struct th_buf url, authorization;
	struct th_timer timer;
	unsigned tries;
	char time[TH_SIGV4_TIME_SIZE];
	char payload[TH_SHA256_HEX_SIZE + 1];
};

struct run {
	struct th_s3 *s;
	struct th_s3_request *list;
	size_t count, next, under_way;
	uint64_t until_ms;
	enum th_code code;
	struct th_err *err;
};

/* ---- the URL ---- */

static bool chars_ok(struct th_str s, const char *more)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i], low = c | 0x20;

		if ((low < 'a' || low > 'z') && (c < '0' || c > '9') && (!c || !strchr(more, c)))
			return false;
	}
	return true;
}

/* No empty part, none that means another. */
static bool path_ok(struct th_str path)
{
	while (path.len > 0) {
		struct th_str part = th_str_split(&path, '/');

		if (part.len == 0 || th_str_is(part, ".") || th_str_is(part, ".."))
			return false;
	}
	return true;
}

static char *text_of(struct th_str s, const char *behind)
{
	char *text = NULL;

	if (asprintf(&text, "%.*s%s", TH_FMT(s), behind) < 0)
		return NULL;
	return text;
}

static enum th_code fail_url(struct th_err *err)
{
	return th_fail(err, TH_EUSAGE,
		       "s3: needs a URL, as in s3:https://HOST/BUCKET/PREFIX?region=REGION, of "
		       "letters, digits and -_.; the key does not belong in it");
}

enum th_code th_s3_new(struct th_str rest, struct th_s3 **ret, struct th_err *err)
{
	struct th_str query = rest, url = th_str_split(&query, '?'), region = TH_STR("us-east-1");
	bool tls = th_str_starts(url, TH_STR("https://"));
	struct th_str path = th_str_sub(url, tls ? 8 : 7, url.len), host, bucket;
	const char *port = tls ? ":443" : ":80";

	if ((!tls && !th_str_starts(url, TH_STR("http://"))) || url.len > TH_S3_KEY_MAX)
		return fail_url(err);
	host = th_str_split(&path, '/');
	if (th_str_ends(path, TH_STR("/")))
		path = th_str_sub(path, 0, path.len - 1);
	if (query.len > 0) {
		if (!th_str_starts(query, TH_STR("region=")))
			return fail_url(err);
		region = th_str_sub(query, 7, query.len);
	}
	if (host.len == 0 || path.len == 0 || region.len == 0 || !chars_ok(host, "-.:[]") ||
	    !chars_ok(path, "-_./") || !path_ok(path) || !chars_ok(region, "-_"))
		return fail_url(err);
	bucket = th_str_split(&path, '/');
	struct th_s3 *s = th_try_alloc(sizeof(*s));
	if (!s)
		return th_fail_memory(err);
	s->origin = text_of(th_str_n(url.ptr, (size_t)(host.ptr + host.len - url.ptr)), "");
	if (th_str_ends(host, th_str_of(port)))
		host.len -= strlen(port);
	s->authority = text_of(host, "");
	if (asprintf(&s->base, "/%.*s/", TH_FMT(bucket)) < 0)
		s->base = NULL;
	s->prefix = text_of(path, path.len ? "/" : "");
	s->region = text_of(region, "");
	if (!s->origin || !s->authority || !s->base || !s->prefix || !s->region) {
		th_s3_free(s);
		return th_fail_memory(err);
	}
	*ret = s;
	return TH_OK;
}

struct th_s3 *th_s3_free(struct th_s3 *s)
{
	if (!s)
		return NULL;
	th_fetcher_free(s->fetcher);
	th_loop_free(s->loop);
	th_s3_keys_drop(&s->keys);
	free(s->origin);
	free(s->authority);
	free(s->base);
	free(s->prefix);
	free(s->region);
	free(s);
	return NULL;
}

struct th_str th_s3_prefix(const struct th_s3 *s)
{
	return th_str_of(s->prefix);
}

/* ---- one request ---- */

static void start(struct call *c);

static void call_end(struct call *c)
{
	struct run *r = c->run;

	th_timer_stop(&c->timer);
	th_buf_deinit(&c->url);
	th_buf_deinit(&c->authorization);
	free(c);
	if (--r->under_way == 0)
		th_loop_stop(r->s->loop);
}

static void next_begin(struct run *r);

static void settle(struct call *c, enum th_code code, const char *why)
{
	struct run *r = c->run;

	/* A list is of the bucket, and has no key. */
	if (code != TH_OK && r->code == TH_OK)
		r->code =
		    th_fail(r->err, code, "%s%s%s%.*s: %s", r->s->origin, r->s->base,
			    c->request->key.len ? r->s->prefix : "", TH_FMT(c->request->key), why);
	if (r->code == TH_OK)
		next_begin(r);
	call_end(c);
}

/* Worth another try: nobody was reached, or had time. */
static bool is_passing(const struct th_fetch_result *result)
{
	int status = result->head.status;

	if (result->end == TH_FETCH_STATUS)
		return status == 408 || status == 429 || status == 500 || status == 502 ||
		       status == 503 || status == 504;
	return result->end != TH_FETCH_OK && result->end != TH_FETCH_LIMIT &&
	       result->end != TH_FETCH_CANCELLED && result->end != TH_FETCH_TLS;
}

static void say_status(struct call *c, int status)
{
	struct th_str name = th_s3_error_name(th_buf_str(&c->request->answer));
	enum th_code code = status == 404                    ? TH_ENOENT
			    : status == 401 || status == 403 ? TH_EPERM
			    : status >= 500 || status == 429 ? TH_ECONN
							     : TH_EPROTO;
	char why[128];

	snprintf(why, sizeof(why), "HTTP status %d%s%.*s", status, name.len ? ", " : "",
		 TH_FMT(name));
	settle(c, code, status == 404 ? "it is not there" : why);
}

static void on_again(void *ctx)
{
	start(ctx);
}

static void on_done(void *ctx, const struct th_fetch_result *result)
{
	struct call *c = ctx;
	uint64_t pause_ms = (uint64_t)TH_PLACE_PAUSE_MS << c->tries, half;

	c->request->status = result->head.status;
	if (is_passing(result) && ++c->tries < TH_PLACE_TRIES_MAX &&
	    th_clock_ms() + pause_ms < c->run->until_ms) {
		th_random(&half, sizeof(half));
		th_timer_start(&c->timer, pause_ms / 2 + half % (pause_ms / 2 + 1), 0);
		return;
	}
	if (result->end == TH_FETCH_OK ||
	    (result->end == TH_FETCH_STATUS && result->head.status == 404 &&
	     c->request->missing_is_fine))
		settle(c, TH_OK, "");
	else if (result->end == TH_FETCH_STATUS)
		say_status(c, result->head.status);
	else
		settle(c, result->end == TH_FETCH_LIMIT ? TH_ELIMIT : TH_ECONN,
		       result->err.msg[0] ? result->err.msg : th_fetch_end_name(result->end));
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct call *c = ctx;

	th_buf_add(&c->request->answer, bytes);
	return !c->request->answer.failed;
}

/* Its signature counts for some minutes: each try has its own. */
static enum th_code sign(struct call *c, struct th_err *err)
{
	const struct th_s3 *s = c->run->s;
	const struct th_sigv4_header headers[] = {
		{ "host", th_str_of(s->authority) },
		{ "x-amz-content-sha256", th_str_of(c->payload) },
		{ "x-amz-date", th_str_of(c->time) },
		{ "x-amz-security-token",
		  s->keys.token ? th_secret_expose(s->keys.token) : TH_STR("") },
	};
	struct th_sigv4 sigv4 = {
		.method = c->request->method,
		.path = th_str_of(c->url.ptr + strlen(s->origin)),
		.query = c->request->query,
		.headers = headers,
		.header_count = s->keys.token ? 4 : 3,
		.payload = th_str_of(c->payload),
		.time = c->time,
		.region = th_str_of(s->region),
		.service = TH_STR("s3"),
		.key_id = th_secret_expose(s->keys.id),
		.secret = th_secret_expose(s->keys.secret),
	};

	sigv4.path = th_str_split(&sigv4.path, '?');
	th_buf_clear(&c->authorization);
	return th_sigv4_sign(&sigv4, &c->authorization, err);
}

static void start(struct call *c)
{
	struct th_s3 *s = c->run->s;
	struct th_err err = { 0 };
	struct th_fetch_id ignored;
	enum th_code code;

	th_sigv4_time((int64_t)(th_clock_wall_ms() / 1000), c->time);
	code = sign(c, &err);
	const struct th_fetch_header headers[] = {
		{ "authorization", th_buf_str(&c->authorization) },
		{ "x-amz-content-sha256", th_str_of(c->payload) },
		{ "x-amz-date", th_str_of(c->time) },
	};
	struct th_fetch_request request = {
		.method = c->request->method,
		.url = th_buf_str(&c->url),
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.secret = s->keys.token,
		.secret_header = s->keys.token ? "x-amz-security-token" : NULL,
		.body = &c->request->body,
		.body_count = c->request->body.len ? 1 : 0,
		.connect_ms = TH_PLACE_CONNECT_MS,
		.byte_idle_ms = TH_PLACE_IDLE_MS,
		.total_ms = TH_PLACE_CALL_MS,
		.body_max = c->request->answer_max,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = c,
	};

	th_buf_clear(&c->request->answer);
	if (code == TH_OK)
		code = th_fetch_start(s->fetcher, &request, &ignored, &err);
	if (code != TH_OK)
		settle(c, code, err.msg);
}

static void next_begin(struct run *r)
{
	const struct th_s3 *s = r->s;
	struct th_s3_request *q = &r->list[r->next];
	struct th_digest digest;
	struct call *c;

	if (r->next == r->count)
		return;
	r->next++;
	c = th_alloc(sizeof(*c));
	c->run = r;
	c->request = q;
	digest = th_sha256_of(q->body.ptr, q->body.len);
	th_digest_hex(&digest, c->payload);
	th_buf_init(&c->authorization, HEAD_MAX);
	th_buf_init(&c->url, 16 * TH_KIB);
	th_buf_printf(&c->url, "%s%s%s%.*s%s%.*s", s->origin, s->base, q->key.len ? s->prefix : "",
		      TH_FMT(q->key), q->query.len ? "?" : "", TH_FMT(q->query));
	th_timer_init(&c->timer, s->loop, on_again, c);
	r->under_way++;
	/* By the loop, so that an error of many comes to one after the other. */
	th_timer_start(&c->timer, 0, 0);
}

enum th_code th_s3_run(struct th_s3 *s, struct th_s3_request *list, size_t count,
		       struct th_err *err)
{
	struct run r = { .s = s, .list = list, .count = count, .err = err };
	enum th_code code = th_s3_keys_load(&s->keys, err);

	for (size_t i = 0; i < count; i++)
		th_buf_init_try(&list[i].answer, TH_MAX(list[i].answer_max, ANSWER_ERROR_MAX));
	if (code == TH_OK && !s->loop)
		code = th_loop_new(&s->loop, err);
	if (code == TH_OK && !s->fetcher)
		code = th_fetcher_new(s->loop, &s->fetcher, err);
	if (code != TH_OK)
		return code;
	r.until_ms = th_clock_ms() + TH_PLACE_WAIT_MS;
	while (r.next < count && r.under_way < TH_PLACE_CALLS_MAX)
		next_begin(&r);
	if (r.under_way > 0)
		th_loop_run(s->loop);
	return r.code;
}
