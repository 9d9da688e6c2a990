/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/otlp.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/text.h"

struct body {
	struct body *next;
	char *text;
	size_t len;
	unsigned tries;
	struct th_str piece; /* what the fetcher sends: lives as long as this */
};

struct th_otlp {
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	char *url;
	const char *header;
	const struct th_secret *secret;
	uint64_t retry_first_ms, pause_ms, retry_ms, timeout_ms;
	struct body *first, **last; /* the first is under way, or waits for its next try */
	size_t waiting, waiting_size;
	bool under_way, draining, failed_try;
	struct th_fetch_id id;
	struct th_timer retry, patience;
	uint64_t sent, dropped;
};

static void start(struct th_otlp *o);

/* ---- the queue ---------------------------------------------------------------------------- */

static void drop_first(struct th_otlp *o)
{
	struct body *b = o->first;

	o->first = b->next;
	if (!o->first)
		o->last = &o->first;
	o->waiting--;
	o->waiting_size -= b->len;
	free(b->text);
	free(b);
	o->pause_ms = o->retry_first_ms;
}

static void settled(struct th_otlp *o)
{
	if (o->draining && (!o->first || o->failed_try))
		th_loop_stop(o->loop);
}

/* ---- sending ------------------------------------------------------------------------------ */

/* What a later try may change. */
static bool passing(const struct th_fetch_result *r)
{
	switch (r->end) {
	case TH_FETCH_STATUS:
		return r->head.status == 429 || r->head.status == 502 || r->head.status == 503 ||
		       r->head.status == 504;
	case TH_FETCH_CONNECT:
	case TH_FETCH_TIMEOUT_CONNECT:
	case TH_FETCH_TIMEOUT_BYTE:
	case TH_FETCH_TIMEOUT_EVENT:
	case TH_FETCH_TIMEOUT_TOTAL:
	case TH_FETCH_CUT:
		return true;
	case TH_FETCH_OK:
	case TH_FETCH_TLS:
	case TH_FETCH_LIMIT:
	case TH_FETCH_PROTOCOL:
	case TH_FETCH_CANCELLED:
	case TH_FETCH_END_COUNT:
		break;
	}
	return false;
}

static void on_retry(void *ctx)
{
	start(ctx);
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_otlp *o = ctx;

	o->under_way = false;
	if (r->end == TH_FETCH_OK) {
		o->sent++;
		drop_first(o);
		start(o);
	} else if (passing(r) && o->first->tries < TH_OTLP_TRIES_MAX) {
		uint64_t pause = o->pause_ms;

		if (r->head.retry_after_ms > 0)
			pause = TH_MIN((uint64_t)r->head.retry_after_ms, TH_OTLP_RETRY_MAX_MS);
		o->pause_ms = TH_MIN(2 * o->pause_ms, TH_OTLP_RETRY_MAX_MS);
		o->failed_try = true;
		o->retry_ms = pause;
		th_timer_start(&o->retry, pause, 0);
	} else {
		o->dropped++;
		o->failed_try = true;
		drop_first(o);
		start(o);
	}
	settled(o);
}

static void start(struct th_otlp *o)
{
	const struct th_fetch_header headers[] = {
		{ "Content-Type", TH_STR("application/json") },
		{ "User-Agent", TH_STR("thole/" TH_VERSION) },
	};
	struct th_fetch_request r = {
		.method = "POST",
		.url = th_str_of(o->url),
		.headers = headers,
		.header_count = TH_COUNT(headers),
		.secret = o->secret,
		.secret_header = o->header,
		.body_count = 1,
		.connect_ms = o->timeout_ms,
		.byte_idle_ms = o->timeout_ms,
		.total_ms = 3 * o->timeout_ms,
		.body_max = TH_MIB,
		.on_done = on_done,
		.ctx = o,
	};
	struct th_err err;

	while (o->first && !o->under_way) {
		o->first->tries++;
		r.body = &o->first->piece;
		if (!th_fetch_start(o->fetcher, &r, &o->id, &err)) {
			o->under_way = true;
			break;
		}
		o->dropped++; /* too large, or a header that is none: no later try helps */
		drop_first(o);
	}
}

void th_otlp_send(struct th_otlp *o, struct th_str body)
{
	struct body *b;

	if (o->waiting >= TH_OTLP_QUEUE_MAX ||
	    o->waiting_size + body.len > TH_OTLP_QUEUE_SIZE_MAX) {
		o->dropped++;
		return;
	}
	b = th_alloc(sizeof(*b));
	b->text = th_alloc(body.len + 1);
	memcpy(b->text, body.ptr, body.len);
	b->len = body.len;
	b->piece = th_str_n(b->text, b->len);
	*o->last = b;
	o->last = &b->next;
	o->waiting++;
	o->waiting_size += b->len;
	if (o->waiting == 1)
		start(o);
}

/* ---- beginning and end -------------------------------------------------------------------- */

enum th_code th_otlp_new(struct th_loop *l, struct th_fetcher *f,
			 const struct th_otlp_options *options, struct th_otlp **ret,
			 struct th_err *err)
{
	struct th_otlp *o;

	if (!th_str_istarts(options->url, TH_STR("http://")) &&
	    !th_str_istarts(options->url, TH_STR("https://")))
		return th_fail(err, TH_EUSAGE,
			       "the collector's URL (OTEL_EXPORTER_OTLP_ENDPOINT, or otlp in the "
			       "configuration) must begin with http:// or https://, which \"%.*s\" "
			       "does not",
			       TH_FMT(th_utf8_cut(options->url, 200)));
	if (memchr(options->url.ptr, '\0', options->url.len))
		return th_fail(err, TH_EUSAGE, "the collector's URL holds a NUL byte");
	o = th_alloc(sizeof(*o));
	o->loop = l;
	o->fetcher = f;
	o->url = th_alloc(options->url.len + 1);
	memcpy(o->url, options->url.ptr, options->url.len);
	o->header = options->header;
	o->secret = options->secret;
	o->retry_first_ms = options->retry_first_ms ?: TH_OTLP_RETRY_FIRST_MS;
	o->pause_ms = o->retry_first_ms;
	o->timeout_ms = options->timeout_ms ?: TH_OTLP_TIMEOUT_MS;
	o->last = &o->first;
	th_timer_init(&o->retry, l, on_retry, o);
	*ret = o;
	return TH_OK;
}

struct th_otlp *th_otlp_free(struct th_otlp *o)
{
	if (!o)
		return NULL;
	if (o->under_way)
		th_fetch_cancel(o->fetcher, o->id);
	th_timer_stop(&o->retry);
	while (o->first)
		drop_first(o);
	free(o->url);
	free(o);
	return NULL;
}

struct th_otlp_counts th_otlp_counts(const struct th_otlp *o)
{
	return (struct th_otlp_counts){ o->sent, o->dropped, o->waiting,
					th_timer_running(&o->retry) ? o->retry_ms : 0 };
}

static void out_of_patience(void *ctx)
{
	struct th_otlp *o = ctx;

	o->failed_try = true;
	settled(o);
}

void th_otlp_drain(struct th_otlp *o, uint64_t ms)
{
	o->draining = true;
	o->failed_try = th_timer_running(&o->retry);
	th_timer_init(&o->patience, o->loop, out_of_patience, o);
	th_timer_start(&o->patience, ms, 0);
	while (o->first && !o->failed_try)
		th_loop_run(o->loop);
	th_timer_stop(&o->patience);
	o->draining = false;
}
