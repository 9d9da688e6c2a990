/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_curl.c - what curl wants of the loop: descriptors watched, one timer,
 * requests added when it is not at work, and what is finished taken from it.
 *
 * The descriptors are in an epoll set of their own, which the loop watches as one: a pass takes so
 * many of those that are ready and no more.  When a thousand answers come at once, the first of
 * them are on their way through the store while the loop reads the next; otherwise all would wait
 * for the last, send their next requests together, and be answered together again.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/address.h"
#include "io/clock.h"
#include "io/fetch_internal.h"

#define CONNECTIONS_MAX \
	(4L * TH_FETCH_LANE) /* kept open by a lane: requests may go to several hosts */

/* One descriptor of curl's.  Once connected it is closed through us; before, curl closes it itself,
 * and may get the same number for its next try without a word. */
struct th_fetch_watch {
	struct th_fetcher *f;
	struct th_fetch_lane *lane; /* that asked for it last */
	int fd;
	uint32_t serial; /* what is said of another socket with this number is not taken for ours */
	uint32_t events; /* of epoll; 0: not in the set */
	bool connected;
	bool wanted; /* curl asked for events; else it idles in the cache */
};

/* ---- curl's wishes: descriptors and one timer ---- */

static void act(struct th_fetch_lane *lane, curl_socket_t fd, int events);

/* False: it cannot be watched. */
static bool watch_set(struct th_fetch_watch *w, uint32_t events)
{
	struct th_fetcher *f = w->f;
	struct epoll_event ev = { .events = events,
				  .data.u64 = (uint64_t)w->serial << 32 | (uint32_t)w->fd };
	int op = !events ? EPOLL_CTL_DEL : w->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (events == w->events)
		return true;
	/* A socket that curl has closed is in the set no more. */
	if (epoll_ctl(f->ready_fd, op, w->fd, &ev) != 0 && events &&
	    epoll_ctl(f->ready_fd, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, w->fd, &ev) !=
		0)
		return false;
	f->watched += (events != 0) - (w->events != 0);
	w->events = events;
	th_poll_set(f->ready, f->watched ? TH_POLL_READ : 0);
	return true;
}

static struct th_fetch_watch *watch_of(struct th_fetcher *f, int fd)
{
	return (size_t)fd < f->watch_count ? f->watches[fd] : NULL;
}

static struct th_fetch_watch *watch_new(struct th_fetcher *f, int fd)
{
	if ((size_t)fd >= f->watch_count) {
		size_t count = TH_MAX((size_t)fd + 1, f->watch_count * 2);
		f->watches =
		    (struct th_fetch_watch **)th_realloc(f->watches, count * sizeof(*f->watches));
		memset(f->watches + f->watch_count, 0,
		       (count - f->watch_count) * sizeof(*f->watches));
		f->watch_count = count;
	}
	struct th_fetch_watch *w = (struct th_fetch_watch *)th_alloc(sizeof(*w));
	*w = (struct th_fetch_watch){ .f = f, .fd = fd, .serial = ++f->serial };
	f->watches[fd] = w;
	return w;
}

void th_fetch_watch_free(struct th_fetch_watch *w)
{
	(void)watch_set(w, 0);
	w->f->watches[w->fd] = NULL;
	free(w);
}

static void on_watch(struct th_fetch_watch *w, uint32_t events)
{
	if (!w->wanted) { /* an idle connection was closed by the other end; curl will notice when
			     it looks */
		(void)watch_set(w, 0);
		return;
	}
	/* The next read or write finds the error. */
	if (events & (EPOLLERR | EPOLLHUP))
		events |= events & EPOLLERR ? EPOLLIN | EPOLLOUT : w->events;
	act(w->lane, w->fd,
	    (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0));
}

/* Some of those that are ready.  True: there may be more. */
static bool some_ready(struct th_fetcher *f)
{
	struct epoll_event list[TH_HTTP_READY_MAX];
	int count = epoll_wait(f->ready_fd, list, TH_HTTP_READY_MAX, 0);

	for (int i = 0; i < count; i++) {
		struct th_fetch_watch *w = watch_of(f, (int)(uint32_t)list[i].data.u64);

		if (w && w->events && w->serial == list[i].data.u64 >> 32)
			on_watch(w, list[i].events);
	}
	return count == TH_HTTP_READY_MAX;
}

/* Where many answers come at once, others come between. */
void th_fetch_on_ready(void *ctx, unsigned events)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	uint64_t until_ms = th_clock_ms() + TH_LOOP_SHARE_MS;

	(void)events;
	while (some_ready(f) && th_clock_ms() < until_ms)
		;
}

static struct th_fetch *fetch_of(CURL *easy)
{
	char *private = NULL;
	th_libcurl.easy_getinfo(easy, CURLINFO_PRIVATE, &private);
	return (struct th_fetch *)(void *)private;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *assigned)
{
	struct th_fetch_lane *lane = (struct th_fetch_lane *)ctx;
	struct th_fetcher *f = lane->f;
	struct th_fetch_watch *w = watch_of(f, fd);
	(void)assigned;

	if (what == CURL_POLL_REMOVE) {
		if (!w || w->lane != lane) /* the number is another lane's by now */
			return 0;
		if (!w->connected) {
			th_fetch_watch_free(w);
		} else {
			w->wanted = false;
			if (w->events & EPOLLOUT)
				(void)watch_set(w, EPOLLIN);
		}
		return 0;
	}
	if (!w)
		w = watch_new(f, fd);
	w->lane = lane;
	w->wanted = true;
	if (!w->connected) /* CURLINFO_ACTIVESOCKET would search all connections */
		w->connected = fetch_of(easy)->connected;
	return watch_set(w, (what & CURL_POLL_IN ? EPOLLIN : 0u) |
				(what & CURL_POLL_OUT ? EPOLLOUT : 0u))
		   ? 0
		   : -1;
}

static bool is_allowed(const struct th_fetcher *f, const struct curl_sockaddr *a)
{
	struct th_address to;

	return !f->allows || (th_address_of(&a->addr, &to) && f->allows(f->allows_ctx, &to));
}

curl_socket_t th_fetch_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	int fd = is_allowed(f, a)
		     ? socket(a->family, a->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->protocol)
		     : -1;
	struct th_fetch_watch *w = fd >= 0 ? watch_of(f, fd) : NULL;
	(void)purpose;
	if (w && w->events) {
		/* curl still takes this number for registered, but that was another socket. */
		uint32_t wanted = w->events;
		(void)watch_set(w, 0);
		w->serial = ++f->serial;
		(void)watch_set(w, wanted);
	}
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

int th_fetch_close_socket(void *ctx, curl_socket_t fd)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	struct th_fetch_watch *w = watch_of(f, fd);
	if (w)
		th_fetch_watch_free(w);
	return close(fd);
}

static void on_curl_timer(void *ctx)
{
	act((struct th_fetch_lane *)ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct th_fetch_lane *lane = (struct th_fetch_lane *)ctx;
	(void)multi;
	if (timeout_ms > 0) {
		th_timer_start(&lane->timer, (uint64_t)timeout_ms, 0);
		return 0;
	}
	th_timer_stop(&lane->timer);
	if (timeout_ms == 0) {
		lane->timeout_due = true;
		if (!lane->f->kicked)
			th_loop_defer(lane->f->loop, &lane->f->kick);
	}
	return 0;
}

/* ---- requests ---- */

/* The upload buffer (16 KiB) would stay until the answer is over: model answers take minutes. */
static void drop_upload_buffers(struct th_fetcher *f)
{
	for (struct th_fetch *x = f->uploads.next, *next; x != &f->uploads; x = next) {
		curl_off_t sent = 0;
		next = x->next;
		if (x->piece < x->body_count)
			continue;
		th_libcurl.easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
		if ((uint64_t)sent < x->body_size)
			continue;
		th_fetch_list_remove(x);
		x->uploading = false;
		th_libcurl.easy_setopt(x->easy, CURLOPT_UPLOAD_BUFFERSIZE, TH_FETCH_UPLOAD_SIZE);
	}
}

static void pump(struct th_fetch_lane *lane)
{
	CURLMsg *msg;
	int left;

	th_fetch_reap(lane->f);
	drop_upload_buffers(lane->f);
	while ((msg = th_libcurl.multi_info_read(lane->multi, &left))) {
		CURLcode code = msg->data.result;
		struct th_fetch *x = fetch_of(msg->easy_handle);
		assert(msg->msg == CURLMSG_DONE);
		if (x->stale && code == CURLE_ABORTED_BY_CALLBACK && !x->dead)
			th_fetch_again(x);
		else
			th_fetch_finish(x, th_fetch_end_of(x, code), code);
	}
}

static void act(struct th_fetch_lane *lane, curl_socket_t fd, int events)
{
	struct th_fetcher *f = lane->f;
	int running;
	assert(f->depth == 0);
	f->depth++;
	CURLMcode code = th_libcurl.multi_socket_action(lane->multi, fd, events, &running);
	f->depth--;
	assert(code == CURLM_OK);
	(void)code;
	pump(lane);
}

static bool is_pending(const struct th_fetcher *f)
{
	return f->pending.next != &f->pending;
}

static void add_some(struct th_fetcher *f)
{
	for (int i = 0; i < TH_HTTP_READY_MAX && is_pending(f); i++) {
		struct th_fetch *x = f->pending.next;
		th_fetch_list_remove(x);
		f->depth++;
		CURLMcode code = th_libcurl.multi_add_handle(x->lane->multi, x->easy);
		f->depth--;
		if (code) {
			th_fetch_finish(x, TH_FETCH_LIMIT, CURLE_OUT_OF_MEMORY);
			continue;
		}
		x->added = true;
		if (x->uploading)
			th_fetch_list_append(&f->uploads, x);
	}
}

static void act_where_due(struct th_fetcher *f)
{
	for (size_t i = 0; i < f->lane_count; i++) {
		struct th_fetch_lane *lane = f->lanes[i];
		if (!lane->timeout_due)
			continue;
		lane->timeout_due = false;
		act(lane, CURL_SOCKET_TIMEOUT, 0);
	}
}

/* Where many requests begin at once, others come between. */
void th_fetch_on_kick(void *ctx)
{
	struct th_fetcher *f = (struct th_fetcher *)ctx;
	uint64_t until_ms = th_clock_ms() + TH_LOOP_SHARE_MS;
	bool more;

	f->kicked = true;
	do {
		add_some(f);
		act_where_due(f);
	} while (is_pending(f) && th_clock_ms() < until_ms);
	f->kicked = false;
	more = is_pending(f);
	for (size_t i = 0; i < f->lane_count; i++)
		more |= f->lanes[i]->timeout_due;
	if (more)
		th_loop_defer(f->loop, &f->kick);
}

/* ---- lanes ---- */

struct th_fetch_lane *th_fetch_lane_new(struct th_fetcher *f)
{
	struct th_fetch_lane *lane = (struct th_fetch_lane *)th_alloc(sizeof(*lane));
	lane->f = f;
	lane->multi = th_libcurl.multi_init();
	if (!lane->multi) {
		free(lane);
		return NULL;
	}
	th_timer_init(&lane->timer, f->loop, on_curl_timer, lane);
	th_libcurl.multi_setopt(lane->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	th_libcurl.multi_setopt(lane->multi, CURLMOPT_SOCKETDATA, lane);
	th_libcurl.multi_setopt(lane->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	th_libcurl.multi_setopt(lane->multi, CURLMOPT_TIMERDATA, lane);
	th_libcurl.multi_setopt(lane->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX);
	return lane;
}

void th_fetch_lane_free(struct th_fetch_lane *lane)
{
	lane->f->depth++;
	th_libcurl.multi_cleanup(lane->multi);
	lane->f->depth--;
	th_timer_stop(&lane->timer);
	free(lane);
}
