/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - the loop over libuv.
 *
 * All timers share one uv timer through a heap of pointers into the callers'
 * memory: starting and stopping costs no allocation and no handle that must be
 * closed later.  Deferred calls run from a prepare handle; an idle handle is
 * active exactly while some are queued, so the loop neither sleeps nor ends.
 */
#include "io/loop.h"

#include <stdlib.h>
#include <uv.h>

#include "base/limits.h"

_Static_assert(TH_WORKERS == 4,
	       "libuv's pool has 4 threads unless UV_THREADPOOL_SIZE says otherwise");

/* When a timer is due stands beside it: those that are compared lie in as many owners' memory. */
struct due {
	uint64_t at_ms, order;
	struct th_timer *timer;
};

struct th_loop {
	uv_loop_t uv;
	uv_timer_t timer;
	uv_prepare_t prepare;
	uv_idle_t idle;
	uv_check_t check;
	uint64_t woke_ms, slept_ms; /* when the pass began; when the one before was over */
	unsigned long_passes;
	struct th_deferred queue, last; /* sentinels of rings */
	uint64_t pass;
	struct due *heap; /* [1..heap_count], earliest first */
	size_t heap_count, heap_cap;
	uint64_t armed_ms, order;
};

static enum th_code fail_uv(struct th_err *err, int status, const char *what)
{
	return th_fail(err, status == UV_EMFILE || status == UV_ENFILE ? TH_ELIMIT : TH_EIO,
		       "%s: %s", what, uv_strerror(status));
}

/* ---- deferred calls ---- */

static void ring_unlink(struct th_deferred *d)
{
	d->prev->next = d->next;
	d->next->prev = d->prev;
	d->prev = d->next = NULL;
}

static void ring_append(struct th_deferred *ring, struct th_deferred *d)
{
	d->prev = ring->prev;
	d->next = ring;
	ring->prev->next = d;
	ring->prev = d;
}

static void on_idle(uv_idle_t *idle)
{
	(void)idle;
}

void th_loop_defer(struct th_loop *l, struct th_deferred *d)
{
	assert(d->fn);
	if (d->next)
		return;
	ring_append(d->last ? &l->last : &l->queue, d);
	uv_idle_start(&l->idle, on_idle);
}

void th_loop_undefer(struct th_loop *l, struct th_deferred *d)
{
	(void)l;
	if (d->next)
		ring_unlink(d); /* a last idle round does no harm */
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct th_loop *l = TH_CONTAINER_OF(prepare, struct th_loop, prepare);
	struct th_deferred later = { .prev = &later, .next = &later };

	l->pass++;
	for (;;) {
		struct th_deferred *d = l->queue.next != &l->queue ? l->queue.next : l->last.next;
		if (d == &l->last)
			break;
		ring_unlink(d);
		if (d->ran == l->pass) {
			ring_append(&later, d);
			continue;
		}
		d->ran = l->pass;
		d->fn(d->ctx);
	}
	while (later.next != &later) {
		struct th_deferred *d = later.next;
		ring_unlink(d);
		ring_append(d->last ? &l->last : &l->queue, d);
	}
	if (l->queue.next == &l->queue && l->last.next == &l->last)
		uv_idle_stop(&l->idle);
	l->slept_ms = uv_hrtime() / 1000000;
	if (l->slept_ms - l->woke_ms >= TH_LOOP_LONG_MS)
		l->long_passes++;
	else
		l->long_passes = 0;
}

/* After what the kernel had to say was done; the loop's time is that of its answer. */
static void on_check(uv_check_t *check)
{
	struct th_loop *l = TH_CONTAINER_OF(check, struct th_loop, check);

	l->woke_ms = uv_now(&l->uv);
	if (l->woke_ms > l->slept_ms + 1) /* it had nothing to do */
		l->long_passes = 0;
}

uint64_t th_loop_pass_number(const struct th_loop *l)
{
	return l->pass + 1;
}

unsigned th_loop_long_passes(const struct th_loop *l)
{
	return l->long_passes;
}

bool th_loop_pass_took(const struct th_loop *l, uint64_t ms)
{
	return uv_hrtime() / 1000000 >= uv_now(&l->uv) + ms;
}

/* ---- timers ---- */

static bool due_before(const struct due *a, const struct due *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void heap_put(struct th_loop *l, size_t slot, struct due d)
{
	l->heap[slot] = d;
	d.timer->slot = slot;
}

static size_t heap_up(struct th_loop *l, size_t slot, struct due d)
{
	while (slot > 1 && due_before(&d, &l->heap[slot / 2])) {
		heap_put(l, slot, l->heap[slot / 2]);
		slot /= 2;
	}
	heap_put(l, slot, d);
	return slot;
}

static void heap_down(struct th_loop *l, size_t slot, struct due d)
{
	for (;;) {
		size_t child = slot * 2;
		if (child > l->heap_count)
			break;
		if (child < l->heap_count && due_before(&l->heap[child + 1], &l->heap[child]))
			child++;
		if (!due_before(&l->heap[child], &d))
			break;
		heap_put(l, slot, l->heap[child]);
		slot = child;
	}
	heap_put(l, slot, d);
}

static void heap_add(struct th_loop *l, struct th_timer *t)
{
	if (l->heap_count + 1 >= l->heap_cap) {
		l->heap_cap = l->heap_cap ? l->heap_cap * 2 : 64;
		l->heap = (struct due *)th_realloc(l->heap, l->heap_cap * sizeof(*l->heap));
	}
	heap_up(l, ++l->heap_count, (struct due){ t->due_ms, ++l->order, t });
}

static void heap_remove(struct th_loop *l, struct th_timer *t)
{
	struct due last = l->heap[l->heap_count--];
	size_t slot = t->slot;
	t->slot = 0;
	if (last.timer != t)
		heap_down(l, heap_up(l, slot, last), last);
}

static void on_timer(uv_timer_t *timer);

/* Sleeping too short is harmless, too long is not: the uv timer is moved only to an earlier time.
 */
static void arm(struct th_loop *l)
{
	if (l->heap_count == 0) {
		uv_timer_stop(&l->timer);
		l->armed_ms = UINT64_MAX;
		return;
	}
	uint64_t due_ms = l->heap[1].at_ms, now_ms = uv_now(&l->uv);
	if (due_ms >= l->armed_ms)
		return;
	l->armed_ms = due_ms;
	uv_timer_start(&l->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void on_timer(uv_timer_t *timer)
{
	struct th_loop *l = TH_CONTAINER_OF(timer, struct th_loop, timer);
	uint64_t now_ms = uv_now(&l->uv), order = l->order;

	/* Timers started by these callbacks wait for the next iteration, also with no delay. */
	while (l->heap_count > 0 && l->heap[1].at_ms <= now_ms && l->heap[1].order <= order) {
		struct th_timer *t = l->heap[1].timer;
		heap_remove(l, t);
		if (t->repeat_ms) {
			t->due_ms = now_ms + t->repeat_ms;
			heap_add(l, t);
		}
		t->fn(t->ctx);
	}
	l->armed_ms = UINT64_MAX;
	arm(l);
}

void th_timer_init(struct th_timer *t, struct th_loop *l, th_timer_fn *fn, void *ctx)
{
	*t = (struct th_timer){ .loop = l, .fn = fn, .ctx = ctx };
}

void th_timer_start(struct th_timer *t, uint64_t delay_ms, uint64_t repeat_ms)
{
	struct th_loop *l = t->loop;
	assert(l && t->fn);
	if (t->held) {
		t->left_ms = delay_ms ? delay_ms : 1;
		t->repeat_ms = repeat_ms;
		return;
	}
	if (t->slot)
		heap_remove(l, t);
	/* The loop's own time is that of the iteration's start: a delay counts from now. */
	uint64_t now_ms = uv_hrtime() / 1000000;
	t->due_ms = delay_ms > UINT64_MAX / 2 ? UINT64_MAX / 2 : now_ms + delay_ms;
	t->repeat_ms = repeat_ms;
	heap_add(l, t);
	arm(l);
}

void th_timer_hold(struct th_timer *t)
{
	uint64_t now_ms = uv_hrtime() / 1000000;

	if (t->held)
		return;
	t->left_ms = !t->slot ? 0 : t->due_ms > now_ms ? t->due_ms - now_ms : 1;
	th_timer_stop(t);
	t->held = true;
}

void th_timer_go_on(struct th_timer *t)
{
	if (!t->held)
		return;
	t->held = false;
	if (t->left_ms > 0)
		th_timer_start(t, t->left_ms, t->repeat_ms);
}

void th_timer_stop(struct th_timer *t)
{
	t->held = false;
	if (!t->slot)
		return;
	heap_remove(t->loop, t);
	if (t->loop->heap_count == 0)
		arm(t->loop);
}

/* ---- the loop ---- */

enum th_code th_loop_new(struct th_loop **ret, struct th_err *err)
{
	struct th_loop *l = (struct th_loop *)th_alloc(sizeof(*l));
	int status = uv_loop_init(&l->uv);
	if (status) {
		free(l);
		return fail_uv(err, status, "make an event loop");
	}
	uv_timer_init(&l->uv, &l->timer);
	uv_prepare_init(&l->uv, &l->prepare);
	uv_idle_init(&l->uv, &l->idle);
	uv_check_init(&l->uv, &l->check);
	uv_prepare_start(&l->prepare, on_prepare);
	uv_unref((uv_handle_t *)&l->prepare);
	uv_check_start(&l->check, on_check);
	uv_unref((uv_handle_t *)&l->check);
	l->queue.prev = l->queue.next = &l->queue;
	l->last.prev = l->last.next = &l->last;
	l->armed_ms = UINT64_MAX;
	*ret = l;
	return TH_OK;
}

struct th_loop *th_loop_free(struct th_loop *l)
{
	if (!l)
		return NULL;
	assert(l->heap_count == 0);
	uv_close((uv_handle_t *)&l->timer, NULL);
	uv_close((uv_handle_t *)&l->prepare, NULL);
	uv_close((uv_handle_t *)&l->idle, NULL);
	uv_close((uv_handle_t *)&l->check, NULL);
	uv_run(&l->uv, UV_RUN_NOWAIT); /* spends a th_loop_stop that nobody ran into */
	uv_run(&l->uv, UV_RUN_DEFAULT);
	int status = uv_loop_close(&l->uv);
	assert(status == 0 && "a user of the loop outlived it");
	(void)status;
	free(l->heap);
	free(l);
	return NULL;
}

void th_loop_freep(struct th_loop **l)
{
	*l = th_loop_free(*l);
}

void th_loop_run(struct th_loop *l)
{
	uv_run(&l->uv, UV_RUN_DEFAULT);
}

void th_loop_stop(struct th_loop *l)
{
	uv_stop(&l->uv);
}

int th_loop_fd(const struct th_loop *l)
{
	return uv_backend_fd(&l->uv);
}

int th_loop_timeout_ms(const struct th_loop *l)
{
	return uv_backend_timeout(&l->uv);
}

bool th_loop_pass(struct th_loop *l)
{
	return uv_run(&l->uv, UV_RUN_NOWAIT) != 0;
}

uint64_t th_loop_now_ms(const struct th_loop *l)
{
	return uv_now(&l->uv);
}

/* ---- descriptors ---- */

struct th_poll {
	uv_poll_t uv;
	th_poll_fn *fn;
	void *ctx;
	unsigned events;
	bool closed;
};

static void on_poll(uv_poll_t *uv, int status, int events);

static void poll_apply(struct th_poll *p)
{
	int events = (p->events & TH_POLL_READ ? UV_READABLE : 0) |
		     (p->events & TH_POLL_WRITE ? UV_WRITABLE : 0) |
		     (p->events & TH_POLL_HANGUP ? UV_DISCONNECT : 0);
	int status = events ? uv_poll_start(&p->uv, events, on_poll) : uv_poll_stop(&p->uv);
	assert(status == 0);
	(void)status;
}

static void on_poll(uv_poll_t *uv, int status, int events)
{
	struct th_poll *p = TH_CONTAINER_OF(uv, struct th_poll, uv);
	if (status < 0) { /* libuv has stopped polling: go on, the owner will read the error */
		p->fn(p->ctx, TH_POLL_READ | TH_POLL_WRITE);
		if (!p->closed && p->events)
			poll_apply(p);
		return;
	}
	p->fn(p->ctx, (events & UV_READABLE ? TH_POLL_READ : 0u) |
			  (events & UV_WRITABLE ? TH_POLL_WRITE : 0u) |
			  (events & UV_DISCONNECT ? TH_POLL_HANGUP : 0u));
}

enum th_code th_poll_new(struct th_loop *l, int fd, th_poll_fn *fn, void *ctx, struct th_poll **ret,
			 struct th_err *err)
{
	struct th_poll *p = (struct th_poll *)th_alloc(sizeof(*p));
	int status = uv_poll_init(&l->uv, &p->uv, fd);
	if (status) {
		free(p);
		return fail_uv(err, status, "watch a descriptor");
	}
	p->fn = fn;
	p->ctx = ctx;
	*ret = p;
	return TH_OK;
}

void th_poll_set(struct th_poll *p, unsigned events)
{
	if (events == p->events)
		return;
	p->events = events;
	poll_apply(p);
}

unsigned th_poll_get(const struct th_poll *p)
{
	return p->events;
}

static void on_poll_closed(uv_handle_t *handle)
{
	free(TH_CONTAINER_OF((uv_poll_t *)handle, struct th_poll, uv));
}

struct th_poll *th_poll_free(struct th_poll *p)
{
	if (!p)
		return NULL;
	p->closed = true;
	uv_close((uv_handle_t *)&p->uv, on_poll_closed);
	return NULL;
}

/* ---- signals ---- */

struct th_signal {
	uv_signal_t uv;
	th_signal_fn *fn;
	void *ctx;
};

static void on_signal(uv_signal_t *uv, int signum)
{
	struct th_signal *s = TH_CONTAINER_OF(uv, struct th_signal, uv);
	s->fn(s->ctx, signum);
}

static void on_signal_closed(uv_handle_t *handle)
{
	free(TH_CONTAINER_OF((uv_signal_t *)handle, struct th_signal, uv));
}

enum th_code th_signal_new(struct th_loop *l, int signum, th_signal_fn *fn, void *ctx,
			   struct th_signal **ret, struct th_err *err)
{
	struct th_signal *s = (struct th_signal *)th_alloc(sizeof(*s));
	int status = uv_signal_init(&l->uv, &s->uv);
	if (status) {
		free(s);
		return fail_uv(err, status, "watch a signal");
	}
	s->fn = fn;
	s->ctx = ctx;
	status = uv_signal_start(&s->uv, on_signal, signum);
	uv_unref((uv_handle_t *)&s->uv);
	if (status) {
		th_signal_free(s);
		return fail_uv(err, status, "watch a signal");
	}
	*ret = s;
	return TH_OK;
}

struct th_signal *th_signal_free(struct th_signal *s)
{
	if (s)
		uv_close((uv_handle_t *)&s->uv, on_signal_closed);
	return NULL;
}

/* ---- workers ---- */

struct work {
	uv_work_t uv;
	th_work_fn *job, *done;
	void *ctx;
};

static void on_work(uv_work_t *uv)
{
	struct work *w = TH_CONTAINER_OF(uv, struct work, uv);
	w->job(w->ctx);
}

static void on_worked(uv_work_t *uv, int status)
{
	struct work *w = TH_CONTAINER_OF(uv, struct work, uv);
	th_work_fn *done = w->done;
	void *ctx = w->ctx;
	assert(status == 0);
	(void)status;
	free(w);
	done(ctx);
}

void th_work(struct th_loop *l, th_work_fn *job, th_work_fn *done, void *ctx)
{
	struct work *w = (struct work *)th_alloc(sizeof(*w));
	w->job = job;
	w->done = done;
	w->ctx = ctx;
	int status = uv_queue_work(&l->uv, &w->uv, on_work, on_worked);
	assert(status == 0);
	(void)status;
}

/* ---- waking ---- */

struct th_wake {
	uv_async_t uv;
	th_wake_fn *fn;
	void *ctx;
};

static void on_wake(uv_async_t *uv)
{
	struct th_wake *w = TH_CONTAINER_OF(uv, struct th_wake, uv);
	w->fn(w->ctx);
}

static void on_wake_closed(uv_handle_t *handle)
{
	free(TH_CONTAINER_OF((uv_async_t *)handle, struct th_wake, uv));
}

enum th_code th_wake_new(struct th_loop *l, th_wake_fn *fn, void *ctx, struct th_wake **ret,
			 struct th_err *err)
{
	struct th_wake *w = (struct th_wake *)th_try_alloc(sizeof(*w)); /* of the ledger path */
	if (!w)
		return th_fail_memory(err);
	int status = uv_async_init(&l->uv, &w->uv, on_wake);
	if (status) {
		free(w);
		return fail_uv(err, status, "make a wake-up");
	}
	w->fn = fn;
	w->ctx = ctx;
	*ret = w;
	return TH_OK;
}

void th_wake_send(struct th_wake *w)
{
	uv_async_send(&w->uv);
}

void th_wake_quiet(struct th_wake *w)
{
	uv_unref((uv_handle_t *)&w->uv);
}

struct th_wake *th_wake_free(struct th_wake *w)
{
	if (w)
		uv_close((uv_handle_t *)&w->uv, on_wake_closed);
	return NULL;
}
