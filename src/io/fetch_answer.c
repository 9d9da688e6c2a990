/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_answer.c - what comes: the head, of which little is kept, the body,
 * and what the end is called.
 */
#include "io/clock.h"
#include "io/fetch_internal.h"

#define RETRY_AFTER_MS_MAX (24 * 3600 * 1000)

static const char *const end_names[TH_FETCH_END_COUNT] = {
#define X(id, text) [TH_FETCH_##id] = text,
	TH_FETCH_ENDS(X)
#undef X
};

const char *th_fetch_end_name(enum th_fetch_end end)
{
	assert(end < TH_FETCH_END_COUNT);
	return end_names[end];
}

/* ---- the answer ---- */

static size_t keep_text(char to[static TH_FETCH_TEXT_MAX], struct th_str value)
{
	size_t len = TH_MIN(value.len, (size_t)TH_FETCH_TEXT_MAX);
	memcpy(to, value.ptr, len);
	return len;
}

static int64_t clamp_ms(double ms)
{
	return ms < 0 ? -1 : (int64_t)TH_MIN(ms, (double)RETRY_AFTER_MS_MAX);
}

/* Seconds, or an HTTP date. */
static int64_t retry_after_of(struct th_str value)
{
	char text[64];
	double seconds;
	if (th_str_f64(value, &seconds))
		return clamp_ms(seconds * 1000);
	if (value.len >= sizeof(text))
		return -1;
	memcpy(text, value.ptr, value.len);
	text[value.len] = '\0';
	time_t date = th_libcurl.getdate(text, NULL);
	if (date == (time_t)-1)
		return -1;
	double wait_ms = (double)date * 1000 - (double)th_clock_wall_ms();
	return clamp_ms(TH_MAX(wait_ms, 0.0));
}

static void note_header(struct th_answer_head *h, struct th_str name, struct th_str value)
{
	double ms;
	if (th_str_ieq(name, TH_STR("content-type"))) {
		h->content_type_len = keep_text(h->content_type, value);
	} else if (th_str_ieq(name, TH_STR("x-request-id")) ||
		   th_str_ieq(name, TH_STR("request-id"))) {
		if (!h->request_id_len)
			h->request_id_len = keep_text(h->request_id, value);
	} else if (th_str_ieq(name, TH_STR("retry-after-ms"))) {
		if (th_str_f64(value, &ms) && ms >= 0) {
			h->retry_after_ms = clamp_ms(ms);
			h->has_retry_ms = true;
		}
	} else if (th_str_ieq(name, TH_STR("retry-after"))) {
		if (!h->has_retry_ms)
			h->retry_after_ms = retry_after_of(value);
	} else if (th_str_ieq(name, TH_STR("x-should-retry"))) {
		h->should_retry = th_str_ieq(value, TH_STR("true"))    ? 1
				  : th_str_ieq(value, TH_STR("false")) ? 0
								       : -1;
	}
}

struct th_fetch_head th_fetch_head_view(const struct th_answer_head *h)
{
	if (!h)
		return (struct th_fetch_head){ .retry_after_ms = -1,
					       .should_retry = -1,
					       .content_type = TH_STR(""),
					       .request_id = TH_STR("") };
	return (struct th_fetch_head){
		.status = h->status,
		.retry_after_ms = h->retry_after_ms,
		.should_retry = h->should_retry,
		.content_type = { h->content_type, h->content_type_len },
		.request_id = { h->request_id, h->request_id_len },
	};
}

static bool end_of_head(struct th_fetch *x)
{
	if (x->informational)
		return true;
	x->head_done = true;
	x->event_ms = th_fetch_now(x);
	th_fetch_arm(x);
	struct th_fetch_head view = th_fetch_head_view(x->head);
	if (x->on_head && !x->on_head(x->ctx, &view))
		x->stopped = true;
	return !x->stopped && !x->dead;
}

static int status_of(struct th_str line)
{
	int64_t status;
	(void)th_str_split(&line, ' ');
	struct th_str digits = th_str_split(&line, ' ');
	return digits.len == 3 && th_str_i64(digits, &status) ? (int)status : 0;
}

size_t th_fetch_on_header_line(char *ptr, size_t size, size_t count, void *ctx)
{
	struct th_fetch *x = (struct th_fetch *)ctx;
	struct th_str line = th_str_n(ptr, size * count);
	size_t len = line.len;

	if (x->dead)
		return 0;
	x->byte_ms = th_fetch_now(x);
	x->head_size += len; /* informational heads and trailers count too */
	if (x->head_size > TH_HTTP_HEADER_MAX) {
		x->over_limit = true;
		return 0;
	}
	if (x->head_done)
		return len;
	line = th_str_trim(line);
	if (th_str_starts(line, TH_STR("HTTP/"))) {
		if (!x->head)
			x->head = (struct th_answer_head *)th_alloc(sizeof(*x->head));
		*x->head = (struct th_answer_head){ .status = status_of(line),
						    .retry_after_ms = -1,
						    .should_retry = -1 };
		x->informational = x->head->status >= 100 && x->head->status < 200;
		return len;
	}
	if (!x->head)
		return len;
	if (line.len == 0)
		return end_of_head(x) ? len : 0;
	struct th_str name = th_str_trim(th_str_split(&line, ':')), value = th_str_trim(line);
	if (x->informational)
		return len;
	note_header(x->head, name, value);
	if (x->on_header)
		x->on_header(x->ctx, name, value);
	return x->dead ? 0 : len;
}

size_t th_fetch_on_body(char *ptr, size_t size, size_t count, void *ctx)
{
	struct th_fetch *x = (struct th_fetch *)ctx;
	size_t len = size * count;

	if (x->dead || x->stopped)
		return 0;
	x->byte_ms = th_fetch_now(x);
	if (x->held)
		return CURL_WRITEFUNC_PAUSE; /* curl gives the same bytes again */
	if (x->received + len > x->body_max) {
		x->over_limit = true;
		return 0;
	}
	x->received += len;
	if (x->on_data && !x->on_data(x->ctx, th_str_n(ptr, len)))
		x->stopped = true;
	return x->stopped || x->dead ? 0 : len;
}

/* ---- how a request ends ---- */

enum th_fetch_end th_fetch_end_of(const struct th_fetch *x, CURLcode code)
{
	if (x->over_limit)
		return TH_FETCH_LIMIT;
	if (x->stopped)
		return TH_FETCH_CANCELLED;
	switch ((int)code) {
	case CURLE_OK:
		if (!x->head_done) /* curl takes the end of a connection for the end of the head */
			return TH_FETCH_CUT;
		return x->head->status >= 200 && x->head->status <= 299 ? TH_FETCH_OK
									: TH_FETCH_STATUS;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_INTERFACE_FAILED:
	case CURLE_PROXY:
		return TH_FETCH_CONNECT;
	case CURLE_OPERATION_TIMEDOUT: /* the only deadline curl was given */
		return TH_FETCH_TIMEOUT_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_USE_SSL_FAILED:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_SSL_ENGINE_SETFAILED:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_SHUTDOWN_FAILED:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_CLIENTCERT:
		return TH_FETCH_TLS;
	case CURLE_OUT_OF_MEMORY: /* what curl 7.88 says of one header line over its own limit */
		return x->head_done ? TH_FETCH_CUT : TH_FETCH_LIMIT;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
	case CURLE_URL_MALFORMAT:
	case CURLE_TOO_MANY_REDIRECTS:
		return TH_FETCH_PROTOCOL;
	case 100: /* CURLE_TOO_LARGE, curl 8.6 and later */
		return TH_FETCH_LIMIT;
	default:
		return TH_FETCH_CUT;
	}
}

/* libcurl's "Failed to connect to HOST port N after 0 ms: Couldn't connect to server" says it
 * thrice. */
static void fail_connect(const char *why, struct th_err *ret)
{
	static const char begin[] = "Failed to connect to ";
	struct th_str rest = th_str_of(why);
	ptrdiff_t end;

	if (!th_str_starts(rest, th_str_of(begin))) {
		th_fail(ret, TH_ECONN, "cannot connect: %s", why);
		return;
	}
	rest = th_str_sub(rest, sizeof(begin) - 1, rest.len);
	end = th_str_find(rest, TH_STR(": Co"));
	th_fail(ret, TH_ECONN, "cannot connect to %.*s",
		TH_FMT(end < 0 ? rest : th_str_sub(rest, 0, (size_t)end)));
}

void th_fetch_describe(const struct th_fetch *x, enum th_fetch_end end, CURLcode code,
		       struct th_err *ret)
{
	const char *why = x->why[0] ? x->why
			  : code    ? th_libcurl.easy_strerror(code)
				    : "its head is not whole";
	switch (end) {
	case TH_FETCH_OK:
	case TH_FETCH_STATUS:
		break;
	case TH_FETCH_CONNECT:
		fail_connect(why, ret);
		break;
	case TH_FETCH_TLS:
		th_fail(ret, TH_ECONN, "TLS: %s", why);
		break;
	case TH_FETCH_CUT:
		th_fail(ret, TH_ECONN, "the connection was cut before the answer was whole: %s",
			why);
		break;
	case TH_FETCH_PROTOCOL:
		th_fail(ret, TH_EPROTO, "the answer is not HTTP: %s", why);
		break;
	case TH_FETCH_TIMEOUT_CONNECT:
		th_fail(ret, TH_ETIMEOUT, "no connection in time");
		break;
	case TH_FETCH_TIMEOUT_BYTE:
		th_fail(ret, TH_ETIMEOUT, "no byte came for %llu ms",
			(unsigned long long)x->byte_idle_ms);
		break;
	case TH_FETCH_TIMEOUT_EVENT:
		th_fail(ret, TH_ETIMEOUT, "bytes came, but no whole event for %llu ms",
			(unsigned long long)x->event_idle_ms);
		break;
	case TH_FETCH_TIMEOUT_TOTAL:
		th_fail(ret, TH_ETIMEOUT, "not finished within %llu ms",
			(unsigned long long)x->total_ms);
		break;
	case TH_FETCH_LIMIT:
		if (x->head_done)
			th_fail(ret, TH_ELIMIT, "the answer is larger than %zu bytes", x->body_max);
		else
			th_fail(ret, TH_ELIMIT, "the answer's headers are larger than %zu bytes",
				TH_HTTP_HEADER_MAX);
		break;
	case TH_FETCH_CANCELLED:
		th_fail(ret, TH_ECANCELED, "cancelled");
		break;
	case TH_FETCH_END_COUNT:
		assert(false);
	}
}
