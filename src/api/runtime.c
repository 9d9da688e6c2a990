/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - runtimes of the C API: options, the loop, the queue of what the caller is to hear.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api/api.h"
#include "io/clock.h"

/* ---- options ----------------------------------------------------------------------------------
 */

// clang-format off
#define OPTIONS(X) \
	X(store) X(model) X(base_url) X(api_key) X(api_key_file) X(config) X(models) X(sandbox) X(program)
// clang-format on

struct options {
#define X(name) struct th_str name;
	OPTIONS(X)
#undef X
};

static struct th_str *option_find(struct options *o, const char *name)
{
#define X(field)                       \
	if (strcmp(name, #field) == 0) \
		return &o->field;
	OPTIONS(X)
#undef X
	return NULL;
}

static int options_read(const char *const *list, struct options *o, struct thole_error *err)
{
	static const char *const names[] = {
#define X(name) #name,
		OPTIONS(X)
#undef X
		    NULL
	};
	int code = 0;

	for (; !code && list && *list; list += 2) {
		struct th_str *value = option_find(o, *list);
		const char *near;

		code = th_api_text(*list, "an option's name", 1, TH_PATH_LEN_MAX, err);
		if (code)
			return code;
		near = th_names_nearest(names, th_str_of(*list));
		if (!value)
			return th_api_fail(err, TH_EUSAGE, "there is no option \"%.64s\"%s%s%s",
					   *list, near ? "; did you mean \"" : "", near ? near : "",
					   near ? "\"?" : "");
		code = th_api_text(list[1], *list, 1, TH_PATH_LEN_MAX, err);
		if (!code)
			*value = th_str_of(list[1]);
	}
	if (!code && o->sandbox.len && !th_str_is(o->sandbox, "auto") &&
	    !th_str_is(o->sandbox, "none"))
		return th_api_fail(err, TH_EUSAGE, "sandbox is auto or none, not \"%.*s\"",
				   TH_FMT(o->sandbox));
	return code;
}

/* The program that executors are, since this process is somebody else's: the option program, else
 * THOLE_PROGRAM, else thole in PATH. */
static struct th_str find_program(struct th_arena *a)
{
	struct th_str path = th_str_of(getenv("PATH"));
	const char *named = getenv("THOLE_PROGRAM");

	if (named && named[0])
		return th_arena_str(a, th_str_of(named));

	while (path.len > 0) {
		struct th_str folder = th_str_split(&path, ':');
		struct th_str file = th_arena_printf(a, "%.*s/thole", TH_FMT(folder));

		if (folder.len > 0 && file.ptr && access(file.ptr, X_OK) == 0)
			return file;
	}
	return TH_STR("thole");
}

static enum th_code configure(struct thole_runtime *rt, const struct options *o, struct th_err *err)
{
	enum th_code code = th_config_load(o->config, &rt->config, err);

	if (code)
		return code;
	if (o->api_key_file.len)
		code = th_config_set_key_file(rt->config, o->api_key_file, err);
	if (o->api_key.len)
		th_config_set_key(rt->config, o->api_key);
	if (o->base_url.len) {
		rt->config->base_url = th_arena_str(&rt->memory, o->base_url);
		if (!code)
			code = th_config_check_url(o->base_url, err);
	}
	if (o->model.len)
		rt->config->model = th_arena_str(&rt->memory, o->model);
	if (o->store.len)
		rt->config->store = th_arena_str(&rt->memory, o->store);
	return code ? code : th_config_models(rt->config, o->models, err);
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void deliver(void *ctx);

void th_api_note_unref(struct thole_note *n)
{
	if (--n->users > 0)
		return;
	th_api_session_unref(n->session);
	free(n->made);
	free(n);
}

static void note_drop(struct thole_note *n)
{
	if (n->call)
		th_api_call_unnote(n->call);
	th_api_note_unref(n);
}

static void on_wake(void *ctx)
{
	th_api_deliver_soon(ctx);
}

static enum th_code open_runtime(struct thole_runtime *rt, const struct options *o,
				 struct th_err *err)
{
	struct th_str program =
	    o->program.len ? th_arena_str(&rt->memory, o->program) : find_program(&rt->memory);
	struct th_runtime_options ro = {
		.store_create = true,
		.no_sandbox = th_str_is(o->sandbox, "none"),
		.program = program.ptr,
	};
	enum th_code code = configure(rt, o, err);

	if (code)
		return code;
	ro.config = rt->config;
	ro.store_url = rt->config->store;
	code = th_loop_new(&rt->loop, err);
	ro.loop = rt->loop;
	if (!code)
		code = th_runtime_new(&ro, &rt->rt, err);
	if (!code)
		code = th_wake_new(rt->loop, on_wake, rt, &rt->inbox->wake, err);
	if (!code) {
		rt->driver = th_runtime_driver(rt->rt);
		th_runtime_when_given(rt->rt, on_wake, rt);
	}
	return code;
}

static void close_runtime(struct thole_runtime *rt)
{
	rt->ending = true;
	th_api_screens_end(rt);
	th_api_computers_end(rt);
	th_api_readings_end(rt);
	th_api_reserving_end(rt);
	if (rt->takeover)
		th_reader_cancel(rt->takeover);
	rt->takeover = NULL;
	th_tried_deinit(&rt->tried);
	rt->rt = th_runtime_free(rt->rt);
	if (rt->loop)
		th_loop_undefer(rt->loop, &rt->deliver);
	th_api_sessions_close(rt);
	pthread_mutex_lock(&rt->inbox->lock);
	rt->inbox->closed = true;
	rt->inbox->wake = th_wake_free(rt->inbox->wake);
	pthread_mutex_unlock(&rt->inbox->lock);
	th_api_calls_take(rt); /* answered by other threads meanwhile: nobody waits for them */
	pthread_mutex_lock(&rt->inbox->lock);
	th_api_inbox_unref(rt->inbox);
	rt->loop = th_loop_free(rt->loop);
	rt->config = th_config_free(rt->config);
	th_arena_deinit(&rt->memory);
	free(rt);
}

int thole_runtime_new(const char *const *options, struct thole_runtime **ret,
		      struct thole_error *err)
{
	struct thole_runtime *rt;
	struct options o = { 0 };
	struct th_err e = { 0 };
	enum th_code code;
	int bad = options_read(options, &o, err);

	if (bad)
		return bad;
	if (!ret)
		return th_api_fail(err, TH_EUSAGE,
				   "there is no place for the runtime: ret is NULL");
	rt = th_alloc(sizeof(*rt));
	th_arena_init(&rt->memory, 32 * TH_PATH_LEN_MAX);
	rt->notes_end = &rt->notes;
	rt->deliver = (struct th_deferred){ .fn = deliver, .ctx = rt };
	rt->touched = true;
	rt->inbox = th_alloc(sizeof(*rt->inbox));
	pthread_mutex_init(&rt->inbox->lock, NULL);
	rt->inbox->thread = pthread_self();
	rt->inbox->rt = rt;
	rt->inbox->answered_end = &rt->inbox->answered;
	rt->inbox->users = 1;
	code = open_runtime(rt, &o, &e);
	if (code) {
		close_runtime(rt);
		return th_api_out(code, &e, err);
	}
	*ret = rt;
	return TH_OK;
}

int thole_runtime_free(struct thole_runtime *rt)
{
	if (!rt)
		return TH_OK;
	if (rt->in_loop || !pthread_equal(pthread_self(), rt->inbox->thread))
		return THOLE_EUSAGE;
	th_api_calls_take(rt); /* what was answered so far still counts */
	for (struct thole_session *s = rt->sessions; s; s = s->next)
		th_api_session_end(s);
	while (rt->notes) {
		struct thole_note *n = rt->notes;

		rt->notes = n->next;
		note_drop(n);
	}
	close_runtime(rt);
	return TH_OK;
}

size_t thole_runtime_sessions(const struct thole_runtime *rt)
{
	return rt ? rt->session_count : 0;
}

/* ---- what the caller is to hear ---------------------------------------------------------------
 */

void th_api_deliver_soon(struct thole_runtime *rt)
{
	th_loop_defer(rt->loop, &rt->deliver);
}

static const char *put(char **at, struct th_str s)
{
	return s.ptr ? th_api_put(at, s) : NULL;
}

static void queue(struct thole_session *s, struct thole_note *n)
{
	struct thole_runtime *rt = s->rt;

	n->session = s;
	n->users = 1;
	s->users++;
	*rt->notes_end = n;
	rt->notes_end = &n->next;
	th_api_deliver_soon(rt);
}

struct thole_note *th_api_tell(struct thole_session *s, int kind, struct th_str name,
			       struct th_str text, struct th_str json, struct th_str id,
			       uint64_t seq, struct thole_call *call)
{
	size_t size = sizeof(struct thole_note) + name.len + text.len + json.len + id.len + 4;
	struct thole_note *n = th_alloc(size);
	char *at = n->bytes;

	n->size = size;
	n->kind = kind;
	n->call = call;
	n->seq = seq;
	n->name = put(&at, name);
	n->text = put(&at, text);
	n->json = put(&at, json);
	n->id = put(&at, id);
	if (call)
		call->notes++;
	queue(s, n);
	return n;
}

void th_api_tell_event(struct thole_session *s, const struct th_event *ev)
{
	size_t size = sizeof(struct thole_note) + sizeof(*ev) + ev->call.len + ev->data.len +
		      ev->build.len + 3;
	struct thole_note *n = th_alloc(size);
	char *at = n->bytes + sizeof(*ev);
	struct th_event *copy = (struct th_event *)(void *)n->bytes;

	_Static_assert(offsetof(struct thole_note, bytes) % _Alignof(struct th_event) == 0,
		       "an event stands there");
	*copy = *ev;
	n->size = size;
	copy->data.ptr = th_api_put(&at, ev->data);
	copy->call.ptr = th_api_put(&at, ev->call);
	copy->build.ptr = th_api_put(&at, ev->build);
	n->kind = THOLE_NOTE_EVENT;
	n->event = copy;
	n->name = th_event_name(ev->kind);
	n->id = ev->call.len ? copy->call.ptr : NULL;
	n->seq = ev->seq;
	queue(s, n);
}

void th_api_deltas_drop(struct thole_session *s)
{
	struct thole_runtime *rt = s->rt;
	struct thole_note **at = &rt->notes;

	while (*at) {
		struct thole_note *n = *at;

		if (n->session != s || n->kind != THOLE_NOTE_DELTA) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		note_drop(n);
	}
	rt->notes_end = at;
	th_api_watchers_deltas_drop(s);
}

static void deliver_one(struct thole_note *n)
{
	if (n->call)
		th_api_call_note(n);
	else if (n->hook)
		th_api_hook_note(n);
	else if (n->kind == TH_NOTE_COMPUTE)
		th_api_compute(n->session);
	else if (n->kind == TH_NOTE_INPUT)
		th_api_input_note(n);
	else if (n->kind == TH_NOTE_ASKED)
		th_api_asked_note(n);
	else
		th_api_session_note(n);
}

static void deliver(void *ctx)
{
	struct thole_runtime *rt = ctx;
	uint64_t began_ms = th_clock_ms();

	while (!rt->ending) {
		struct thole_note *n;

		th_api_calls_take(rt);
		th_api_watchers_release(rt);
		n = rt->notes;
		if (!n)
			break;
		rt->notes = n->next;
		if (!rt->notes)
			rt->notes_end = &rt->notes;
		deliver_one(n);
		th_api_note_unref(n);
		/* A thousand sessions may have something to say at once: others come between. */
		if (rt->notes && th_clock_ms() >= began_ms + TH_LOOP_SHARE_MS) {
			th_api_deliver_soon(rt);
			break;
		}
	}
	if (rt->ending)
		return;
	th_api_sessions_reap(rt);
	if (rt->spinning && rt->done(rt->done_ctx))
		th_loop_stop(rt->loop);
}

/* ---- the loop ---------------------------------------------------------------------------------
 */

int thole_runtime_fd(const struct thole_runtime *rt)
{
	return rt ? th_loop_fd(rt->loop) : -1;
}

int thole_runtime_timeout_ms(const struct thole_runtime *rt)
{
	if (!rt)
		return -1;
	return rt->touched ? 0 : th_loop_timeout_ms(rt->loop);
}

static int enter_loop(struct thole_runtime *rt, struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code && rt->in_loop)
		code =
		    th_api_fail(err, TH_EUSAGE,
				"this runtime's loop runs already: not to be called in a callback");
	return code;
}

/* The failure that ended the work, if there was one. */
static int leave_loop(struct thole_runtime *rt, struct thole_error *err)
{
	const struct th_err *failure = th_runtime_failure(rt->rt);

	rt->in_loop = false;
	return failure ? th_api_out(failure->code, failure, err) : TH_OK;
}

int thole_runtime_dispatch(struct thole_runtime *rt, struct thole_error *err)
{
	int code = enter_loop(rt, err);

	if (code)
		return code;
	rt->in_loop = true;
	rt->touched = false;
	/* Descriptors that a callback asks for are registered by a second pass: by that of the next
	 * call, which thole_runtime_timeout_ms asks for at once, where the first one took long. */
	(void)th_loop_pass(rt->loop);
	if (rt->touched && !th_loop_pass_took(rt->loop, TH_LOOP_SHARE_MS)) {
		rt->touched = false;
		(void)th_loop_pass(rt->loop);
	}
	return leave_loop(rt, err);
}

static void on_timeout(void *ctx)
{
	struct thole_runtime *rt = ctx;

	th_loop_stop(rt->loop);
}

int th_api_spin(struct thole_runtime *rt, bool (*done)(void *ctx), void *ctx, int64_t timeout_ms,
		struct thole_error *err)
{
	struct th_timer timer;
	bool over;
	int code = enter_loop(rt, err);

	if (code)
		return code;
	th_timer_init(&timer, rt->loop, on_timeout, rt);
	if (timeout_ms >= 0)
		th_timer_start(&timer, (uint64_t)timeout_ms, 0);
	rt->in_loop = rt->spinning = true;
	rt->done = done;
	rt->done_ctx = ctx;
	for (;;) {
		over = done(ctx);
		if (over || th_runtime_failure(rt->rt) ||
		    (timeout_ms >= 0 && !th_timer_running(&timer)))
			break;
		th_loop_run(rt->loop);
	}
	rt->spinning = false;
	rt->touched = true;
	th_timer_stop(&timer);
	code = leave_loop(rt, err);
	if (!code && !over)
		code = th_api_fail(err, TH_ETIMEOUT, "the session goes on after %lld ms",
				   (long long)timeout_ms);
	return code;
}

/* The one that did not rest the last time is asked first: most often that settles it. */
static bool all_rest(void *ctx)
{
	struct thole_runtime *rt = ctx;
	struct thole_session *s = rt->busy;

	if (atomic_load(&rt->inbox->stop))
		return true;
	if (rt->notes || rt->released || rt->readings || rt->reserving ||
	    th_runtime_gives(rt->rt) || (s && !th_api_session_rests(s)))
		return false;
	for (s = rt->sessions; s && th_api_session_rests(s); s = s->next)
		;
	rt->busy = s;
	return !s;
}

int thole_runtime_run(struct thole_runtime *rt, struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_spin(rt, all_rest, rt, -1, err);
	if (!code)
		atomic_store(&rt->inbox->stop, false);
	return code;
}

void thole_runtime_stop(struct thole_runtime *rt)
{
	struct th_inbox *b = rt ? rt->inbox : NULL;

	if (!b)
		return;
	atomic_store(&b->stop, true);
	pthread_mutex_lock(&b->lock);
	if (!b->closed)
		th_wake_send(b->wake);
	pthread_mutex_unlock(&b->lock);
}
