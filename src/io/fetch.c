/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c - HTTP requests through libcurl's multi_socket interface.
 *
 * Memory in flight is what counts with thousands of sessions, so: small
 * receive buffers, the upload buffer given back as soon as the body is sent,
 * answer heads kept only once there is one, header lists in one block.
 *
 * CPU: requests run in lanes, see fetch_internal.h, a descriptor stays registered while its
 * connection idles in curl's cache (a request on a kept connection costs no epoll_ctl), easy
 * handles are used again, and the deadlines of a request are one lazy timer: a byte that arrives
 * only notes the time.
 *
 * curl must not be re-entered from its callbacks.  So requests are added from
 * a deferred call, a cancel inside a callback only marks, and on_done is
 * called from outside curl.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>

#include "io/fetch_internal.h"
#include "io/files.h"

#define RECEIVE_SIZE 2048L /* curl's receive buffer of one request */
#define UPLOAD_SIZE_MAX 65536L
#define UPLOADS_LARGE_MAX 128
#define SPARES_MIN 64 /* easy handles kept for use again, or as many as requests run */
/* curl 7.88 loses the first piece of a body that is longer than its upload buffer when it is the
 * first on a new HTTP/2 connection (found by test); its HTTP/2 was written anew for 8.1. */
#define HTTP2_SINCE 0x080100u

/* ---- small things ---- */

static void list_init(struct th_fetch *sentinel)
{
	sentinel->prev = sentinel->next = sentinel;
}

void th_fetch_list_append(struct th_fetch *sentinel, struct th_fetch *x)
{
	assert(!x->next);
	x->prev = sentinel->prev;
	x->next = sentinel;
	sentinel->prev->next = x;
	sentinel->prev = x;
}

void th_fetch_list_remove(struct th_fetch *x)
{
	if (!x->next)
		return;
	x->prev->next = x->next;
	x->next->prev = x->prev;
	x->prev = x->next = NULL;
}

static struct th_fetch *find(const struct th_fetcher *f, struct th_fetch_id id)
{
	if (id.index >= f->slot_count || f->slots[id.index].generation != id.generation)
		return NULL;
	return f->slots[id.index].fetch;
}

/* ---- deadlines ---- */

static uint64_t due_of(uint64_t since_ms, uint64_t span_ms)
{
	return span_ms ? since_ms + span_ms : UINT64_MAX;
}

/* The timer may be early, never late: bytes only note their time, the timer looks again. */
void th_fetch_arm(struct th_fetch *x)
{
	uint64_t due = due_of(x->started_ms, x->total_ms), at = th_fetch_now(x);
	if (x->connected && !x->held)
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
	struct th_fetch *x = (struct th_fetch *)ctx;
	uint64_t at = th_fetch_now(x);
	if (at >= due_of(x->started_ms, x->total_ms))
		th_fetch_finish(x, TH_FETCH_TIMEOUT_TOTAL, CURLE_OK);
	else if (x->connected && !x->held && at >= due_of(x->byte_ms, x->byte_idle_ms))
		th_fetch_finish(x, TH_FETCH_TIMEOUT_BYTE, CURLE_OK);
	else if (x->head_done && at >= due_of(x->event_ms, x->event_idle_ms))
		th_fetch_finish(x, TH_FETCH_TIMEOUT_EVENT, CURLE_OK);
	else
		th_fetch_arm(x);
}

/* ---- ending ---- */

/* Takes the request out of everything; afterwards its id is a miss. */
static void detach(struct th_fetch *x)
{
	struct th_fetcher *f = x->f;
	struct th_fetch_slot *slot = &f->slots[x->index];

	assert(f->depth == 0);
	th_fetch_list_remove(x);
	th_timer_stop(&x->timer);
	if (x->added) {
		f->depth++;
		th_libcurl.multi_remove_handle(x->lane->multi, x->easy);
		f->depth--;
	}
	if (slot->fetch == x) {
		slot->fetch = NULL;
		slot->generation = slot->generation == UINT32_MAX ? 1 : slot->generation + 1;
		slot->next_free = f->slot_free;
		f->slot_free = x->index;
		f->count--;
	}
	explicit_bzero(x->block, x->lines_size);
	free(x->block);
	x->block = NULL;
}

static void free_spare(struct th_fetch *x)
{
	th_libcurl.easy_cleanup(x->easy);
	th_libcurl.url_cleanup(x->url);
	free(x);
}

/* For use again by the next request; only the easy handle is worth keeping. */
static void recycle(struct th_fetch *x)
{
	struct th_fetcher *f = x->f;
	free(x->head);
	x->head = NULL;
	if (f->spare_count >= TH_MAX(f->count, (uint32_t)SPARES_MIN) || f->closing) {
		free_spare(x);
		return;
	}
	x->next = f->spares;
	f->spares = x;
	f->spare_count++;
}

/* Its connection was in use until now. */
static void note_use(struct th_fetch *x)
{
	long port = 0;

	if (th_libcurl.easy_getinfo(x->easy, CURLINFO_LOCAL_PORT, &port) == CURLE_OK && port > 0)
		x->f->uses[port % TH_FETCH_USES] =
		    (struct th_fetch_use){ (uint16_t)port, th_fetch_now(x) };
}

/* Has the kept connection that curl has chosen rested so long that its server may be closing it? */
static bool rested(const struct th_fetch *x, int local_port)
{
	const struct th_fetch_use *use = &x->f->uses[(unsigned)local_port % TH_FETCH_USES];
	long made = 0;

	if (th_libcurl.easy_getinfo(x->easy, CURLINFO_NUM_CONNECTS, &made) == CURLE_OK && made > 0)
		return false;
	return local_port <= 0 || use->port != local_port ||
	       th_fetch_now(x) >= use->at_ms + x->f->rest_ms;
}

void th_fetch_finish(struct th_fetch *x, enum th_fetch_end end, CURLcode code)
{
	struct th_fetch_result result = { .end = end,
					  .head =
					      th_fetch_head_view(x->head_done ? x->head : NULL) };
	result.received = x->received;
	result.sent = x->connected;
	result.duration_ms = th_fetch_now(x) - TH_MIN(x->started_ms, th_fetch_now(x));
	th_fetch_describe(x, end, code, &result.err);
	if (end == TH_FETCH_OK || end == TH_FETCH_STATUS)
		note_use(x);
	detach(x);
	if (x->on_done && !x->dead)
		x->on_done(x->ctx, &result);
	recycle(x);
}

void th_fetch_reap(struct th_fetcher *f)
{
	while (f->dead.next != &f->dead) {
		struct th_fetch *x = f->dead.next;
		detach(x);
		recycle(x);
	}
}

/* ---- starting ---- */

#define SET(option, value)                                                          \
	do {                                                                        \
		CURLcode set_code = th_libcurl.easy_setopt(x->easy, option, value); \
		assert(set_code == CURLE_OK || set_code == CURLE_OUT_OF_MEMORY);    \
		(void)set_code;                                                     \
	} while (0)

static int on_prereq(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
	struct th_fetch *x = (struct th_fetch *)ctx;
	(void)ip;
	(void)local_ip;
	(void)port;
	if (x->once && !x->fresh && rested(x, local_port)) {
		x->stale = true;
		return CURL_PREREQFUNC_ABORT;
	}
	x->connected = true;
	x->byte_ms = th_fetch_now(x);
	th_fetch_arm(x);
	return x->dead ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* What is the same for all requests of a fetcher. */
static struct th_fetch *fetch_new(struct th_fetcher *f)
{
	struct th_fetch *x = f->spares;
	if (x) {
		f->spares = x->next;
		f->spare_count--;
		x->next = NULL;
		return x;
	}
	x = (struct th_fetch *)th_alloc(sizeof(*x));
	x->f = f;
	x->easy = th_libcurl.easy_init();
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
	SET(CURLOPT_UPLOAD_BUFFERSIZE, TH_FETCH_UPLOAD_SIZE);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_HTTP_VERSION,
	    (long)(f->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	SET(CURLOPT_OPENSOCKETFUNCTION, th_fetch_open_socket);
	SET(CURLOPT_OPENSOCKETDATA, f);
	SET(CURLOPT_CLOSESOCKETFUNCTION, th_fetch_close_socket);
	SET(CURLOPT_CLOSESOCKETDATA, f);
	SET(CURLOPT_PREREQFUNCTION, on_prereq);
	SET(CURLOPT_PREREQDATA, x);
	SET(CURLOPT_HEADERFUNCTION, th_fetch_on_header_line);
	SET(CURLOPT_HEADERDATA, x);
	SET(CURLOPT_WRITEFUNCTION, th_fetch_on_body);
	SET(CURLOPT_WRITEDATA, x);
	SET(CURLOPT_READFUNCTION, th_fetch_read_body);
	SET(CURLOPT_READDATA, x);
	SET(CURLOPT_SEEKFUNCTION, th_fetch_seek_body);
	SET(CURLOPT_SEEKDATA, x);
	if (f->allows)
		SET(CURLOPT_PROXY, "");
	if (f->ca_file)
		SET(CURLOPT_CAINFO, f->ca_file);
	if (f->ca_dir)
		SET(CURLOPT_CAPATH, f->ca_dir);
	return x;
}

static void set_method(struct th_fetch *x, const struct th_fetch_request *r)
{
	struct th_str method = th_str_of(r->method);
	bool post = th_str_is(method, "POST");

	x->uploading = x->body_size > 0 && !x->small;
	if (x->uploading && x->body_size > (uint64_t)TH_FETCH_UPLOAD_SIZE &&
	    x->f->count <= UPLOADS_LARGE_MAX)
		SET(CURLOPT_UPLOAD_BUFFERSIZE,
		    (long)TH_MIN(x->body_size, (uint64_t)UPLOAD_SIZE_MAX));
	SET(CURLOPT_CUSTOMREQUEST, NULL);
	SET(CURLOPT_NOBODY, 0L);
	if (post || th_str_is(method, "PUT") || x->body_size > 0) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDS,
		    x->body_size ? x->small : ""); /* NULL: by th_fetch_read_body */
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body_size);
	} else {
		SET(CURLOPT_HTTPGET, 1L);
	}
	if (th_str_is(method, "HEAD") && !x->body_size)
		SET(CURLOPT_NOBODY, 1L);
	else if (!post && !(th_str_is(method, "GET") && !x->body_size))
		SET(CURLOPT_CUSTOMREQUEST, r->method);
}

/* Parsed: curl would do it again, and put it together again, for each request.  As text too, or it
 * would make that of the other.  False: out of memory. */
static bool set_url(struct th_fetch *x)
{
	CURLU *old = x->url;

	x->url = th_libcurl.url_dup(x->f->url_parsed);
	x->url_number = x->url ? x->f->url_number : 0;
	SET(CURLOPT_URL, x->f->url_checked);
	SET(CURLOPT_CURLU, x->url);
	th_libcurl.url_cleanup(old);
	return x->url;
}

static uint32_t slot_take(struct th_fetcher *f, struct th_fetch *x)
{
	if (f->slot_free == UINT32_MAX) {
		uint32_t count = f->slot_count ? f->slot_count * 2 : 16;
		f->slots = (struct th_fetch_slot *)th_realloc(f->slots, count * sizeof(*f->slots));
		for (uint32_t i = count; i-- > f->slot_count;) {
			f->slots[i] =
			    (struct th_fetch_slot){ .generation = 1, .next_free = f->slot_free };
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

/* Of a slot; NULL: out of memory. */
static struct th_fetch_lane *lane_of(struct th_fetcher *f, uint32_t index)
{
	size_t at = index / TH_FETCH_LANE;

	while (at >= f->lane_count) {
		struct th_fetch_lane *lane = th_fetch_lane_new(f);
		if (!lane)
			return NULL;
		f->lanes = (struct th_fetch_lane **)th_realloc(f->lanes, (f->lane_count + 1) *
									     sizeof(*f->lanes));
		f->lanes[f->lane_count++] = lane;
	}
	return f->lanes[at];
}

enum th_code th_fetch_start(struct th_fetcher *f, const struct th_fetch_request *r,
			    struct th_fetch_id *ret, struct th_err *err)
{
	uint64_t size = 0;
	assert(!f->closing);
	enum th_code code = th_fetch_check(f, r, &size, err);
	if (code)
		return code;
	struct th_fetch *x = fetch_new(f);
	if (!x)
		return th_fail(err, TH_ENOMEM, "curl has no memory for a request");
	*x = (struct th_fetch){
		.f = f,
		.easy = x->easy,
		.url = x->url,
		.url_number = x->url_number,
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
		.once = r->once,
		.fresh = r->once && size == 0,
	};
	x->index = slot_take(f, x);
	x->generation = f->slots[x->index].generation;
	x->lane = lane_of(f, x->index);
	if (!x->lane) {
		detach(x);
		recycle(x);
		return th_fail(err, TH_ENOMEM, "curl has no memory for a request");
	}
	SET(CURLOPT_HTTPHEADER, th_fetch_lines(x, r));
	if (x->url_number != f->url_number && !set_url(x)) {
		detach(x);
		recycle(x);
		return th_fail(err, TH_ENOMEM, "curl has no memory for a URL");
	}
	SET(CURLOPT_PIPEWAIT, f->http2 && th_str_istarts(r->url, TH_STR("https:")) ? 1L : 0L);
	SET(CURLOPT_UNIX_SOCKET_PATH, r->unix_path);
	SET(CURLOPT_ACCEPT_ENCODING, r->compressed ? "" : NULL); /* "": all that it can undo */
	SET(CURLOPT_FRESH_CONNECT, x->fresh ? 1L : 0L);
	SET(CURLOPT_CONNECTTIMEOUT_MS,
	    (long)TH_MIN(r->connect_ms ? r->connect_ms : INT32_MAX, (uint64_t)INT32_MAX));
	set_method(x, r);
	th_timer_init(&x->timer, f->loop, on_deadline, x);
	x->started_ms = th_fetch_now(x);
	th_fetch_arm(x);
	th_fetch_list_append(&f->pending, x);
	th_loop_defer(f->loop, &f->kick);
	*ret = (struct th_fetch_id){ x->index, x->generation };
	return TH_OK;
}

void th_fetch_again(struct th_fetch *x)
{
	struct th_fetcher *f = x->f;

	assert(x->stale && !x->connected && !x->head && x->piece == 0 && x->offset == 0);
	th_fetch_list_remove(x);
	f->depth++;
	th_libcurl.multi_remove_handle(x->lane->multi, x->easy);
	f->depth--;
	x->added = x->stale = false;
	x->fresh = true;
	SET(CURLOPT_FRESH_CONNECT, 1L);
	th_fetch_list_append(&f->pending, x);
	th_loop_defer(f->loop, &f->kick);
}

void th_fetch_alive(struct th_fetcher *f, struct th_fetch_id id)
{
	struct th_fetch *x = find(f, id);
	if (x)
		x->event_ms = th_fetch_now(x);
}

void th_fetch_hold(struct th_fetcher *f, struct th_fetch_id id, bool hold)
{
	struct th_fetch *x = find(f, id);

	if (!x || x->held == hold)
		return;
	x->held = hold;
	if (hold)
		return;
	x->byte_ms = th_fetch_now(x);
	th_fetch_arm(x);
	f->depth++;
	th_libcurl.easy_pause(x->easy, CURLPAUSE_CONT);
	f->depth--;
	if (f->depth == 0)
		th_fetch_reap(f);
}

void th_fetch_cancel(struct th_fetcher *f, struct th_fetch_id id)
{
	struct th_fetch *x = find(f, id);
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
	th_fetch_list_remove(x);
	th_fetch_list_append(&f->dead, x);
}

size_t th_fetch_count(const struct th_fetcher *f)
{
	return f->count;
}

/* ---- the fetcher ---- */

static bool curl_started;

static void start_curl(void)
{
	curl_started = th_libcurl.global_init(CURL_GLOBAL_NOTHING) == CURLE_OK;
}

const char *th_fetcher_missing(void)
{
	return th_libcurl_open();
}

enum th_code th_fetcher_new(struct th_loop *l, struct th_fetcher **ret, struct th_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT; /* stores have fetchers on other threads */
	const char *missing = th_libcurl_open();

	if (missing)
		return th_fail(err, TH_EUNSUPPORTED, "%s", missing);
	if (pthread_once(&once, start_curl) || !curl_started)
		return th_fail(err, TH_EIO, "libcurl does not start");
	struct th_fetcher *f = (struct th_fetcher *)th_alloc(sizeof(*f));
	f->loop = l;
	f->rest_ms = TH_FETCH_REST_MS;
	f->ready_fd = epoll_create1(EPOLL_CLOEXEC);
	enum th_code code = f->ready_fd < 0
				? th_fail_errno(err, errno, "watch descriptors")
				: th_poll_new(l, f->ready_fd, th_fetch_on_ready, f, &f->ready, err);
	if (code) {
		th_fd_close(&f->ready_fd);
		free(f);
		return code;
	}
	f->slot_free = UINT32_MAX;
	list_init(&f->pending);
	list_init(&f->dead);
	list_init(&f->uploads);
	f->kick.fn = th_fetch_on_kick;
	f->kick.ctx = f;
	f->http2 = th_libcurl.version_info(CURLVERSION_NOW)->version_num >= HTTP2_SINCE;
	f->ca_file = getenv("SSL_CERT_FILE") ?: getenv("CURL_CA_BUNDLE");
	f->ca_dir = getenv("SSL_CERT_DIR");
	*ret = f;
	return TH_OK;
}

void th_fetcher_only(struct th_fetcher *f, th_fetch_allows_fn *fn, void *ctx)
{
	f->allows = fn;
	f->allows_ctx = ctx;
}

struct th_fetcher *th_fetcher_free(struct th_fetcher *f)
{
	if (!f)
		return NULL;
	assert(f->depth == 0);
	f->closing = true;
	for (uint32_t i = 0; i < f->slot_count; i++)
		if (f->slots[i].fetch)
			th_fetch_finish(f->slots[i].fetch, TH_FETCH_CANCELLED, CURLE_OK);
	while (f->spares) {
		struct th_fetch *x = f->spares;
		f->spares = x->next;
		free_spare(x);
	}
	for (size_t i = 0; i < f->lane_count; i++)
		th_fetch_lane_free(f->lanes[i]);
	free(f->lanes);
	th_loop_undefer(f->loop, &f->kick);
	for (size_t i = 0; i < f->watch_count; i++)
		if (f->watches[i])
			th_fetch_watch_free(f->watches[i]);
	free(f->watches);
	f->ready = th_poll_free(f->ready);
	th_fd_close(&f->ready_fd);
	free(f->slots);
	free(f->url_checked);
	th_libcurl.url_cleanup(f->url_parsed);
	free(f);
	return NULL;
}
