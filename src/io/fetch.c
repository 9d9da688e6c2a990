/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c - HTTP requests through libcurl's multi_socket interface.
 *
 * Memory in flight is what counts with thousands of sessions, so: small
 * receive buffers, the upload buffer given back as soon as the body is sent,
 * answer heads kept only once there is one, header lists in one block.
 *
 * CPU: a descriptor stays registered while its connection idles in curl's
 * cache (a request on a kept connection costs no epoll_ctl), easy handles are
 * used again, and the deadlines of a request are one lazy timer: a byte that
 * arrives only notes the time.
 *
 * curl must not be re-entered from its callbacks.  So requests are added from
 * a deferred call, a cancel inside a callback only marks, and on_done is
 * called from outside curl.
 */
#include "io/fetch.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "io/clock.h"

#define RECEIVE_SIZE 2048L /* curl's receive buffer of one request */
#define UPLOAD_SIZE 16384L /* curl's minimum; larger ones only while few requests run */
#define UPLOAD_SIZE_MAX 65536L
#define UPLOADS_LARGE_MAX 128
#define SMALL_BODY_MAX 4096    /* goes out with the head, in one packet */
#define SPARE_HANDLES_MAX 64   /* easy handles kept for use again */
#define CONNECTIONS_MAX 16384L /* kept open; the descriptor limit usually comes first */
/* curl 7.88 loses the first piece of a body that is longer than its upload buffer when it is the
 * first on a new HTTP/2 connection (found by test); its HTTP/2 was written anew for 8.1. */
#define HTTP2_SINCE 0x080100u
#define URL_MAX (16 * TH_KIB)
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

/* One descriptor of curl's.  Once connected it is closed through us; before, curl closes it itself,
 * and may get the same number for its next try without a word. */
struct watch {
	struct th_fetcher *f;
	struct th_poll *poll;
	int fd;
	bool connected;
	bool wanted; /* curl asked for events; else it idles in the cache */
};

struct head {
	int status;
	int should_retry;
	int64_t retry_after_ms;
	bool has_retry_ms;
	size_t content_type_len, request_id_len;
	char content_type[TH_FETCH_TEXT_MAX], request_id[TH_FETCH_TEXT_MAX];
};

struct fetch {
	struct th_fetcher *f;
	struct fetch *prev, *next; /* in `pending`, `dead` or a spare */
	CURL *easy;
	void *block; /* header list and its strings, a small body; wiped, for the secret */
	size_t block_size;
	uint32_t index, generation;

	bool (*on_head)(void *, const struct th_fetch_head *);
	void (*on_header)(void *, struct th_str, struct th_str);
	bool (*on_data)(void *, struct th_str);
	void (*on_done)(void *, const struct th_fetch_result *);
	void *ctx;

	char *small; /* a small body in one piece, in `block` */
	const struct th_str *body;
	size_t body_count, piece, offset; /* where reading goes on */
	uint64_t body_size;

	struct th_timer timer;
	uint64_t started_ms, byte_ms, event_ms;
	uint64_t byte_idle_ms, event_idle_ms, total_ms;
	struct head *head;
	uint64_t received;
	size_t head_size, body_max;
	bool added, uploading, connected, head_done, informational, dead, stopped, over_limit;
	char why[CURL_ERROR_SIZE];
};

struct slot {
	struct fetch *fetch; /* NULL: free */
	uint32_t generation, next_free;
};

struct th_fetcher {
	struct th_loop *loop;
	CURLM *multi;
	struct th_timer timer; /* curl's */
	struct th_deferred kick;
	struct slot *slots;
	uint32_t slot_count, slot_free, count;
	struct watch **watches; /* by descriptor */
	size_t watch_count;
	struct fetch pending, dead, uploads; /* sentinels */
	struct fetch *spares;
	size_t spare_count;
	char *url_checked; /* the last URL found good: most requests go to the same */
	const char *ca_file, *ca_dir;
	unsigned depth; /* inside curl */
	bool timeout_due, closing, http2;
};

/* ---- small things ---- */

static void list_init(struct fetch *sentinel)
{
	sentinel->prev = sentinel->next = sentinel;
}

static void list_append(struct fetch *sentinel, struct fetch *x)
{
	assert(!x->next);
	x->prev = sentinel->prev;
	x->next = sentinel;
	sentinel->prev->next = x;
	sentinel->prev = x;
}

static void list_remove(struct fetch *x)
{
	if (!x->next)
		return;
	x->prev->next = x->next;
	x->next->prev = x->prev;
	x->prev = x->next = NULL;
}

static struct fetch *find(const struct th_fetcher *f, struct th_fetch_id id)
{
	if (id.index >= f->slot_count || f->slots[id.index].generation != id.generation)
		return NULL;
	return f->slots[id.index].fetch;
}

static uint64_t now(const struct fetch *x)
{
	return th_loop_now_ms(x->f->loop);
}

/* ---- curl's wishes: descriptors and one timer ---- */

static void act(struct th_fetcher *f, curl_socket_t fd, int events);

static void on_watch(void *ctx, unsigned events)
{
	struct watch *w = (struct watch *)ctx;
	if (!w->wanted) { /* an idle connection was closed by the other end; curl will notice when
			     it looks */
		th_poll_set(w->poll, 0);
		return;
	}
	act(w->f, w->fd,
	    (events & TH_POLL_READ ? CURL_CSELECT_IN : 0) |
		(events & TH_POLL_WRITE ? CURL_CSELECT_OUT : 0));
}

static struct watch *watch_of(struct th_fetcher *f, int fd)
{
	return (size_t)fd < f->watch_count ? f->watches[fd] : NULL;
}

static struct watch *watch_new(struct th_fetcher *f, int fd)
{
	if ((size_t)fd >= f->watch_count) {
		size_t count = TH_MAX((size_t)fd + 1, f->watch_count * 2);
		f->watches = (struct watch **)th_realloc(f->watches, count * sizeof(*f->watches));
		memset(f->watches + f->watch_count, 0,
		       (count - f->watch_count) * sizeof(*f->watches));
		f->watch_count = count;
	}
	struct watch *w = (struct watch *)th_alloc(sizeof(*w));
	*w = (struct watch){ .f = f, .fd = fd };
	f->watches[fd] = w;
	return w;
}

static void watch_free(struct watch *w)
{
	w->f->watches[w->fd] = NULL;
	th_poll_free(w->poll);
	free(w);
}

static struct fetch *fetch_of(CURL *easy)
{
	char *private = NULL;
	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
	return (struct fetch *)(void *)private;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *assigned)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	struct watch *w = watch_of(f, fd);
	(void)assigned;

	if (what == CURL_POLL_REMOVE) {
		if (w && !w->connected) {
			watch_free(w);
		} else if (w) {
			w->wanted = false;
			if (th_poll_get(w->poll) & TH_POLL_WRITE)
				th_poll_set(w->poll, TH_POLL_READ);
		}
		return 0;
	}
	if (!w)
		w = watch_new(f, fd);
	if (!w->poll && th_poll_new(f->loop, fd, on_watch, w, &w->poll, NULL))
		return -1;
	w->wanted = true;
	if (!w->connected) /* CURLINFO_ACTIVESOCKET would search all connections */
		w->connected = fetch_of(easy)->connected;
	th_poll_set(w->poll, (what & CURL_POLL_IN ? TH_POLL_READ : 0u) |
				 (what & CURL_POLL_OUT ? TH_POLL_WRITE : 0u));
	return 0;
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	int fd = socket(a->family, a->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->protocol);
	struct watch *w = fd >= 0 ? watch_of(f, fd) : NULL;
	(void)purpose;
	if (w && w->poll) {
		/* curl still takes this number for registered, but that was another socket. */
		unsigned events = th_poll_get(w->poll);
		w->poll = th_poll_free(w->poll);
		if (th_poll_new(f->loop, fd, on_watch, w, &w->poll, NULL) == TH_OK)
			th_poll_set(w->poll, events);
	}
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *ctx, curl_socket_t fd)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	struct watch *w = watch_of(f, fd);
	if (w)
		watch_free(w);
	return close(fd);
}

static void on_curl_timer(void *ctx)
{
	act((struct th_fetcher *)ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	(void)multi;
	if (timeout_ms > 0) {
		th_timer_start(&f->timer, (uint64_t)timeout_ms, 0);
		return 0;
	}
	th_timer_stop(&f->timer);
	if (timeout_ms == 0) {
		f->timeout_due = true;
		th_loop_defer(f->loop, &f->kick);
	}
	return 0;
}

/* ---- the request's body ---- */

static size_t read_body(char *to, size_t size, size_t count, void *ctx)
{
	struct fetch *x = (struct fetch *)ctx;
	size_t room = size * count, put = 0;

	if (x->dead)
		return CURL_READFUNC_ABORT;
	x->byte_ms = now(x);
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

/* curl sends again when a kept connection turned out to be dead. */
static int seek_body(void *ctx, curl_off_t offset, int origin)
{
	struct fetch *x = (struct fetch *)ctx;
	if (x->dead || origin != SEEK_SET || offset < 0 || (uint64_t)offset > x->body_size)
		return CURL_SEEKFUNC_FAIL;
	x->piece = 0;
	x->offset = 0;
	uint64_t skip = (uint64_t)offset;
	while (x->piece < x->body_count && skip >= x->body[x->piece].len)
		skip -= x->body[x->piece++].len;
	x->offset = (size_t)skip;
	return CURL_SEEKFUNC_OK;
}

/* The upload buffer (16 KiB) would stay until the answer is over: model answers take minutes. */
static void drop_upload_buffers(struct th_fetcher *f)
{
	for (struct fetch *x = f->uploads.next, *next; x != &f->uploads; x = next) {
		curl_off_t sent = 0;
		next = x->next;
		if (x->piece < x->body_count)
			continue;
		curl_easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
		if ((uint64_t)sent < x->body_size)
			continue;
		list_remove(x);
		x->uploading = false;
		curl_easy_setopt(x->easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_SIZE);
	}
}

/* ---- the answer ---- */

static void arm(struct fetch *x);

static int on_prereq(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
	struct fetch *x = (struct fetch *)ctx;
	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	x->connected = true;
	x->byte_ms = now(x);
	arm(x);
	return x->dead ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

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
	time_t date = curl_getdate(text, NULL);
	if (date == (time_t)-1)
		return -1;
	double wait_ms = (double)date * 1000 - (double)th_clock_wall_ms();
	return clamp_ms(TH_MAX(wait_ms, 0.0));
}

static void note_header(struct head *h, struct th_str name, struct th_str value)
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

static struct th_fetch_head head_view(const struct head *h)
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

static bool end_of_head(struct fetch *x)
{
	if (x->informational)
		return true;
	x->head_done = true;
	x->event_ms = now(x);
	arm(x);
	struct th_fetch_head view = head_view(x->head);
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

static size_t on_header_line(char *ptr, size_t size, size_t count, void *ctx)
{
	struct fetch *x = (struct fetch *)ctx;
	struct th_str line = th_str_n(ptr, size * count);
	size_t len = line.len;

	if (x->dead)
		return 0;
	x->byte_ms = now(x);
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
			x->head = (struct head *)th_alloc(sizeof(*x->head));
		*x->head = (struct head){ .status = status_of(line),
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

static size_t on_body(char *ptr, size_t size, size_t count, void *ctx)
{
	struct fetch *x = (struct fetch *)ctx;
	size_t len = size * count;

	if (x->dead || x->stopped)
		return 0;
	x->byte_ms = now(x);
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

static enum th_fetch_end end_of(const struct fetch *x, CURLcode code)
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

static void describe(const struct fetch *x, enum th_fetch_end end, CURLcode code,
		     struct th_err *ret)
{
	const char *why = x->why[0] ? x->why
			  : code    ? curl_easy_strerror(code)
				    : "its head is not whole";
	switch (end) {
	case TH_FETCH_OK:
	case TH_FETCH_STATUS:
		break;
	case TH_FETCH_CONNECT:
		th_fail(ret, TH_ECONN, "cannot connect: %s", why);
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

/* Takes the request out of everything; afterwards its id is a miss. */
static void detach(struct fetch *x)
{
	struct th_fetcher *f = x->f;
	struct slot *slot = &f->slots[x->index];

	assert(f->depth == 0);
	list_remove(x);
	th_timer_stop(&x->timer);
	if (x->added) {
		f->depth++;
		curl_multi_remove_handle(f->multi, x->easy);
		f->depth--;
	}
	if (slot->fetch == x) {
		slot->fetch = NULL;
		slot->generation = slot->generation == UINT32_MAX ? 1 : slot->generation + 1;
		slot->next_free = f->slot_free;
		f->slot_free = x->index;
		f->count--;
	}
	explicit_bzero(x->block, x->block_size);
	free(x->block);
	x->block = NULL;
}

/* For use again by the next request; only the easy handle is worth keeping. */
static void recycle(struct fetch *x)
{
	struct th_fetcher *f = x->f;
	free(x->head);
	x->head = NULL;
	if (f->spare_count == SPARE_HANDLES_MAX || f->closing) {
		curl_easy_cleanup(x->easy);
		free(x);
		return;
	}
	x->next = f->spares;
	f->spares = x;
	f->spare_count++;
}

static void finish(struct fetch *x, enum th_fetch_end end, CURLcode code)
{
	struct th_fetch_result result = { .end = end,
					  .head = head_view(x->head_done ? x->head : NULL) };
	result.received = x->received;
	result.sent = x->connected;
	result.duration_ms = now(x) - TH_MIN(x->started_ms, now(x));
	describe(x, end, code, &result.err);
	detach(x);
	if (x->on_done && !x->dead)
		x->on_done(x->ctx, &result);
	recycle(x);
}

static void reap(struct th_fetcher *f)
{
	while (f->dead.next != &f->dead) {
		struct fetch *x = f->dead.next;
		detach(x);
		recycle(x);
	}
}

static void pump(struct th_fetcher *f)
{
	CURLMsg *msg;
	int left;

	reap(f);
	drop_upload_buffers(f);
	while ((msg = curl_multi_info_read(f->multi, &left))) {
		CURLcode code = msg->data.result;
		struct fetch *x = fetch_of(msg->easy_handle);
		assert(msg->msg == CURLMSG_DONE);
		finish(x, end_of(x, code), code);
	}
}

static void act(struct th_fetcher *f, curl_socket_t fd, int events)
{
	int running;
	assert(f->depth == 0);
	f->depth++;
	CURLMcode code = curl_multi_socket_action(f->multi, fd, events, &running);
	f->depth--;
	assert(code == CURLM_OK);
	(void)code;
	pump(f);
}

/* ---- deadlines ---- */

static uint64_t due_of(uint64_t since_ms, uint64_t span_ms)
{
	return span_ms ? since_ms + span_ms : UINT64_MAX;
}

/* The timer may be early, never late: bytes only note their time, the timer looks again. */
static void arm(struct fetch *x)
{
	uint64_t due = due_of(x->started_ms, x->total_ms), at = now(x);
	if (x->connected)
		due = TH_MIN(due, due_of(x->byte_ms, x->byte_idle_ms));
	if (x->head_done)
		due = TH_MIN(due, due_of(x->event_ms, x->event_idle_ms));
	if (due == UINT64_MAX)
		th_timer_stop(&x->timer);
	else if (!th_timer_running(&x->timer) || x->timer.due_ms > due)
		th_timer_start(&x->timer, due > at ? due - at : 0, 0);
}

static void on_deadline(void *ctx)
{
	struct fetch *x = (struct fetch *)ctx;
	uint64_t at = now(x);
	if (at >= due_of(x->started_ms, x->total_ms))
		finish(x, TH_FETCH_TIMEOUT_TOTAL, CURLE_OK);
	else if (x->connected && at >= due_of(x->byte_ms, x->byte_idle_ms))
		finish(x, TH_FETCH_TIMEOUT_BYTE, CURLE_OK);
	else if (x->head_done && at >= due_of(x->event_ms, x->event_idle_ms))
		finish(x, TH_FETCH_TIMEOUT_EVENT, CURLE_OK);
	else
		arm(x);
}

/* ---- starting ---- */

static void on_kick(void *ctx)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	while (f->pending.next != &f->pending) {
		struct fetch *x = f->pending.next;
		list_remove(x);
		f->depth++;
		CURLMcode code = curl_multi_add_handle(f->multi, x->easy);
		f->depth--;
		if (code) {
			finish(x, TH_FETCH_LIMIT, CURLE_OUT_OF_MEMORY);
			continue;
		}
		x->added = true;
		if (x->uploading)
			list_append(&f->uploads, x);
	}
	if (f->timeout_due) {
		f->timeout_due = false;
		act(f, CURL_SOCKET_TIMEOUT, 0);
	}
}

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
	CURLU *parsed = curl_url();
	char *user = NULL;
	CURLUcode code = curl_url_set(parsed, CURLUPART_URL, text, 0);
	if (code == CURLUE_OK && curl_url_get(parsed, CURLUPART_USER, &user, 0) == CURLUE_OK)
		code = CURLUE_USER_NOT_ALLOWED;
	curl_free(user);
	curl_url_cleanup(parsed);
	if (code) {
		free(text);
		return th_fail(err, TH_EUSAGE, "bad URL: %s", curl_url_strerror(code));
	}
	free(f->url_checked);
	f->url_checked = text;
	return TH_OK;
}

static enum th_code check(struct th_fetcher *f, const struct th_fetch_request *r,
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

static struct curl_slist *build_lines(struct fetch *x, const struct th_fetch_request *r)
{
	struct lines count = {}, write = {};
	add_lines(&count, r);
	size_t small = x->body_size <= SMALL_BODY_MAX ? (size_t)x->body_size : 0;
	x->block_size = count.count * sizeof(struct curl_slist) + count.size + small;
	x->block = th_alloc(x->block_size);
	write.nodes = (struct curl_slist *)x->block;
	write.text = (char *)(write.nodes + count.count);
	add_lines(&write, r);
	assert(write.count == count.count && write.size == count.size);
	write.nodes[write.count - 1].next = NULL;
	if (small) {
		x->small = write.text + write.size;
		(void)!read_body(x->small, 1, small, x);
	}
	return write.nodes;
}

#define SET(option, value)                                                       \
	do {                                                                     \
		CURLcode set_code = curl_easy_setopt(x->easy, option, value);    \
		assert(set_code == CURLE_OK || set_code == CURLE_OUT_OF_MEMORY); \
		(void)set_code;                                                  \
	} while (0)

/* What is the same for all requests of a fetcher. */
static struct fetch *fetch_new(struct th_fetcher *f)
{
	struct fetch *x = f->spares;
	if (x) {
		f->spares = x->next;
		f->spare_count--;
		x->next = NULL;
		return x;
	}
	x = (struct fetch *)th_alloc(sizeof(*x));
	x->f = f;
	x->easy = curl_easy_init();
	if (!x->easy) {
		free(x);
		return NULL;
	}
	SET(CURLOPT_PRIVATE, x);
	SET(CURLOPT_ERRORBUFFER, x->why);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_BUFFERSIZE, RECEIVE_SIZE);
	SET(CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_SIZE);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_HTTP_VERSION,
	    (long)(f->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, f);
	SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
	SET(CURLOPT_CLOSESOCKETDATA, f);
	SET(CURLOPT_PREREQFUNCTION, on_prereq);
	SET(CURLOPT_PREREQDATA, x);
	SET(CURLOPT_HEADERFUNCTION, on_header_line);
	SET(CURLOPT_HEADERDATA, x);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, x);
	SET(CURLOPT_READFUNCTION, read_body);
	SET(CURLOPT_READDATA, x);
	SET(CURLOPT_SEEKFUNCTION, seek_body);
	SET(CURLOPT_SEEKDATA, x);
	if (f->ca_file)
		SET(CURLOPT_CAINFO, f->ca_file);
	if (f->ca_dir)
		SET(CURLOPT_CAPATH, f->ca_dir);
	return x;
}

static void set_method(struct fetch *x, const struct th_fetch_request *r)
{
	struct th_str method = th_str_of(r->method);
	bool post = th_str_is(method, "POST");

	x->uploading = x->body_size > 0 && !x->small;
	if (x->uploading && x->body_size > (uint64_t)UPLOAD_SIZE &&
	    x->f->count <= UPLOADS_LARGE_MAX)
		SET(CURLOPT_UPLOAD_BUFFERSIZE,
		    (long)TH_MIN(x->body_size, (uint64_t)UPLOAD_SIZE_MAX));
	SET(CURLOPT_CUSTOMREQUEST, NULL);
	SET(CURLOPT_NOBODY, 0L);
	if (post || th_str_is(method, "PUT") || x->body_size > 0) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDS, x->body_size ? x->small : ""); /* NULL: by read_body */
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body_size);
	} else {
		SET(CURLOPT_HTTPGET, 1L);
	}
	if (th_str_is(method, "HEAD") && !x->body_size)
		SET(CURLOPT_NOBODY, 1L);
	else if (!post && !(th_str_is(method, "GET") && !x->body_size))
		SET(CURLOPT_CUSTOMREQUEST, r->method);
}

static uint32_t slot_take(struct th_fetcher *f, struct fetch *x)
{
	if (f->slot_free == UINT32_MAX) {
		uint32_t count = f->slot_count ? f->slot_count * 2 : 16;
		f->slots = (struct slot *)th_realloc(f->slots, count * sizeof(*f->slots));
		for (uint32_t i = count; i-- > f->slot_count;) {
			f->slots[i] = (struct slot){ .generation = 1, .next_free = f->slot_free };
			f->slot_free = i;
		}
		f->slot_count = count;
	}
	uint32_t index = f->slot_free;
	f->slot_free = f->slots[index].next_free;
	f->slots[index].fetch = x;
	f->count++;
	return index;
}

enum th_code th_fetch_start(struct th_fetcher *f, const struct th_fetch_request *r,
			    struct th_fetch_id *ret, struct th_err *err)
{
	uint64_t size = 0;
	assert(!f->closing);
	enum th_code code = check(f, r, &size, err);
	if (code)
		return code;
	struct fetch *x = fetch_new(f);
	if (!x)
		return th_fail(err, TH_ENOMEM, "curl has no memory for a request");
	*x = (struct fetch){
		.f = f,
		.easy = x->easy,
		.on_head = r->on_head,
		.on_header = r->on_header,
		.on_data = r->on_data,
		.on_done = r->on_done,
		.ctx = r->ctx,
		.body = r->body,
		.body_count = r->body_count,
		.body_size = size,
		.byte_idle_ms = r->byte_idle_ms,
		.event_idle_ms = r->event_idle_ms,
		.total_ms = r->total_ms,
		.body_max = r->body_max ? r->body_max : TH_HTTP_BODY_MAX,
	};
	x->index = slot_take(f, x);
	x->generation = f->slots[x->index].generation;
	SET(CURLOPT_HTTPHEADER, build_lines(x, r));
	SET(CURLOPT_URL, f->url_checked);
	SET(CURLOPT_PIPEWAIT, f->http2 && th_str_istarts(r->url, TH_STR("https:")) ? 1L : 0L);
	SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_path);
	SET(CURLOPT_FRESH_CONNECT, r->once ? 1L : 0L);
	SET(CURLOPT_CONNECTTIMEOUT_MS,
	    (long)TH_MIN(r->connect_ms ? r->connect_ms : INT32_MAX, (uint64_t)INT32_MAX));
	set_method(x, r);
	th_timer_init(&x->timer, f->loop, on_deadline, x);
	x->started_ms = now(x);
	arm(x);
	list_append(&f->pending, x);
	th_loop_defer(f->loop, &f->kick);
	*ret = (struct th_fetch_id){ x->index, x->generation };
	return TH_OK;
}

void th_fetch_alive(struct th_fetcher *f, struct th_fetch_id id)
{
	struct fetch *x = find(f, id);
	if (x)
		x->event_ms = now(x);
}

void th_fetch_cancel(struct th_fetcher *f, struct th_fetch_id id)
{
	struct fetch *x = find(f, id);
	if (!x)
		return;
	x->dead = true;
	x->body_count = x->piece = 0;
	if (f->depth == 0) {
		detach(x);
		recycle(x);
		return;
	}
	/* Inside curl: the id is a miss from now on, the rest follows when curl has returned. */
	th_timer_stop(&x->timer);
	list_remove(x);
	list_append(&f->dead, x);
}

size_t th_fetch_count(const struct th_fetcher *f)
{
	return f->count;
}

/* ---- the fetcher ---- */

enum th_code th_fetcher_new(struct th_loop *l, struct th_fetcher **ret, struct th_err *err)
{
	static bool initialised;
	if (!initialised && curl_global_init(CURL_GLOBAL_NOTHING))
		return th_fail(err, TH_EIO, "libcurl does not start");
	initialised = true;
	struct th_fetcher *f = (struct th_fetcher *)th_alloc(sizeof(*f));
	f->multi = curl_multi_init();
	if (!f->multi) {
		free(f);
		return th_fail(err, TH_ENOMEM, "libcurl has no memory");
	}
	f->loop = l;
	f->slot_free = UINT32_MAX;
	list_init(&f->pending);
	list_init(&f->dead);
	list_init(&f->uploads);
	f->kick.fn = on_kick;
	f->kick.ctx = f;
	th_timer_init(&f->timer, l, on_curl_timer, f);
	f->http2 = curl_version_info(CURLVERSION_NOW)->version_num >= HTTP2_SINCE;
	f->ca_file = getenv("SSL_CERT_FILE") ?: getenv("CURL_CA_BUNDLE");
	f->ca_dir = getenv("SSL_CERT_DIR");
	curl_multi_setopt(f->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(f->multi, CURLMOPT_SOCKETDATA, f);
	curl_multi_setopt(f->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(f->multi, CURLMOPT_TIMERDATA, f);
	curl_multi_setopt(f->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX);
	*ret = f;
	return TH_OK;
}

struct th_fetcher *th_fetcher_free(struct th_fetcher *f)
{
	if (!f)
		return NULL;
	assert(f->depth == 0);
	f->closing = true;
	for (uint32_t i = 0; i < f->slot_count; i++)
		if (f->slots[i].fetch)
			finish(f->slots[i].fetch, TH_FETCH_CANCELLED, CURLE_OK);
	while (f->spares) {
		struct fetch *x = f->spares;
		f->spares = x->next;
		curl_easy_cleanup(x->easy);
		free(x);
	}
	f->depth++;
	curl_multi_cleanup(f->multi);
	th_timer_stop(&f->timer);
	th_loop_undefer(f->loop, &f->kick);
	for (size_t i = 0; i < f->watch_count; i++)
		if (f->watches[i])
			watch_free(f->watches[i]);
	free(f->watches);
	free(f->slots);
	free(f->url_checked);
	free(f);
	return NULL;
}

void th_fetcher_freep(struct th_fetcher **f)
{
	*f = th_fetcher_free(*f);
}
