/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - see link.h. */
#include "display/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "computer/computer.h"
#include "display/link_internal.h"
#include "io/files.h"
#include "io/role.h"

static void pass(void *ctx);
static void process_gone(struct th_display *d, const struct th_err *why);
static enum th_code send_start(struct th_display *d, struct th_err *err);

/* ---- answers ---- */

static void call_done(struct th_display_call *call, enum th_outcome_status status,
		      struct th_str text)
{
	struct th_buf out = TH_BUF_INIT(4 * TH_ERR_MSG_MAX), evidence = TH_BUF_INIT(128);
	struct th_jw w = th_jw(&out), e = th_jw(&evidence);

	th_jw_str(&w, text);
	th_jw_object(&e);
	th_jw_kint(&e, "done", call->steps);
	th_jw_object_end(&e);
	call->on_done(call->ctx, status, th_buf_str(&out), th_buf_str(&evidence), NULL, 0);
	th_buf_deinit(&out);
	th_buf_deinit(&evidence);
}

static void call_fail(struct th_display_call *call, enum th_outcome_status status,
		      const char *before, const struct th_err *why)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);
	th_buf_printf(&text, "%s%s", before, why->msg);
	call_done(call, status, th_buf_str(&text));
	th_buf_deinit(&text);
}

static const char **cstrs(struct th_arena *a, const struct th_strs *list)
{
	const char **out = (const char **)th_arena_array(a, list->count + 1, sizeof(*out));
	for (size_t i = 0; out && i < list->count; i++)
		if (!(out[i] = th_arena_cstr(a, list->list[i])))
			return NULL;
	return out;
}

static void openers_call(struct th_display *d, const struct th_err *err)
{
	struct opener list[OPENERS_MAX];
	size_t count = d->opener_count;

	memcpy(list, d->openers, count * sizeof(*list));
	d->opener_count = 0;
	for (size_t i = 0; i < count; i++)
		list[i].fn(list[i].ctx, err ? NULL : &d->screen, err);
}

static enum th_code on_screen(struct th_display *d, const struct th_json *v, struct th_err *err)
{
	if (d->state != STATE_STARTING)
		return th_fail(err, TH_EPROTO, "a screen that nobody asked for");
	th_arena_reset(&d->life);
	enum th_code code = th_table_parse(&th_exec_screen_table, v, &d->life, &d->screen, err);
	if (code)
		return code;
	/* The document goes; the strings stay. */
	for (size_t i = 0; i < d->screen.prefix.count; i++)
		d->screen.prefix.list[i] = th_arena_str(&d->life, d->screen.prefix.list[i]);
	d->prefix = d->screen.prefix.count > 0 ? cstrs(&d->life, &d->screen.prefix) : NULL;
	if (d->screen.prefix.count > 0 && !d->prefix)
		return th_fail(err, TH_EPROTO, "a prefix that is none");
	th_timer_stop(&d->watch);
	d->state = STATE_OPEN;
	if (d->screen.released > 0)
		fprintf(stderr, "thole executor: %lld keys and buttons were down and let go\n",
			(long long)d->screen.released);
	d->release = false;
	d->tell_restart = d->lives++ > 0;
	if (d->on_start)
		d->on_start(d->start_ctx, d->lives > 1);
	for (const struct th_display_watch *w = d->watches; w; w = w->next)
		th_display_watch_send(d, w);
	th_loop_defer(d->loop, &d->step);
	openers_call(d, NULL);
	return TH_OK;
}

/* It is some other program: nothing was sent to it, and it is ended. */
static enum th_code not_a_display(const struct th_display *d, enum th_code code, const char *how,
				  struct th_err *err)
{
	return th_fail(err, code, "the program %s %s that it is thole's display process",
		       d->program, how);
}

/* The first message of what was started. */
static enum th_code on_role(struct th_display *d, const struct th_frame *frame, struct th_err *err)
{
	enum th_code code = th_exec_check_role(frame->json, TH_ROLE_DISPLAY, err);

	if (code)
		return code == TH_EPROTO ? not_a_display(d, code, "says something else than", err)
					 : th_prefix(err, code, "%s", d->program);
	d->proved = true;
	th_timer_start(&d->watch, d->options.start_ms, 0);
	return send_start(d, err);
}

static enum th_code on_message(struct th_display *d, const struct th_frame *frame,
			       struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	TH_CLEANUP(th_arena_deinit) struct th_arena arena = {};
	enum th_exec_op op;
	union {
		struct th_exec_step step;
		struct th_exec_finished finished;
		struct th_exec_error error;
		struct th_exec_frame frame;
	} m;

	if (!d->proved)
		return on_role(d, frame, err);
	th_arena_init(&arena, TH_FRAME_JSON_MAX);
	enum th_code code = th_exec_open(frame->json, &doc, &op, err);
	if (code)
		return code;
	const struct th_json *v = th_json_root(doc);
	if (op == TH_EXEC_OP_SCREEN)
		return on_screen(d, v, err);
	if (op == TH_EXEC_OP_STEP) {
		code = th_table_parse(&th_exec_step_table, v, &arena, &m.step, err);
		if (code == TH_OK && d->running && d->running->id == m.step.id) {
			d->running->steps = m.step.done;
			if (d->running->on_step)
				d->running->on_step(d->running->ctx, m.step.done);
		}
		return code;
	}
	if (op == TH_EXEC_OP_FRAME) {
		code = th_table_parse(&th_exec_frame_table, v, &arena, &m.frame, err);
		if (code == TH_OK)
			th_display_watched(d, &m.frame, frame->attachment);
		return code;
	}
	if (op == TH_EXEC_OP_FINISHED) {
		code = th_table_parse(&th_exec_finished_table, v, &arena, &m.finished, err);
		return code ? code : th_display_finished(d, &m.finished, frame->attachment, err);
	}
	if (op == TH_EXEC_OP_ERROR) {
		code = th_table_parse(&th_exec_error_table, v, &arena, &m.error, err);
		if (code == TH_OK)
			d->fault_id = m.error.id;
		return code ? code : th_exec_error(&m.error, err);
	}
	return th_fail(err, TH_EPROTO, "the display process said '%s'", th_exec_op_name(op));
}

/* ---- the process ---- */

static void on_frame(void *ctx, struct th_sock *s, const struct th_frame *frame)
{
	struct th_display *d = (struct th_display *)ctx;
	struct th_err err = {};

	(void)s;
	if (on_message(d, frame, &err)) {
		/* Its last words; or nonsense, which is as good as dead. */
		d->fault = err;
		th_child_kill(d->child);
	}
}

static void on_close(void *ctx, struct th_sock *s, const struct th_err *err)
{
	struct th_display *d = (struct th_display *)ctx;
	(void)s;
	if (!d->proved && err->code && err->code != TH_ECONN && d->child) {
		not_a_display(d, TH_EPROTO, "says something else than", &d->fault);
		th_child_kill(d->child);
	}
	/* It ends; should it hang in doing so, the timer that runs helps, or this. */
	d->sock = th_sock_free(d->sock);
	if (d->child && !th_timer_running(&d->watch))
		th_timer_start(&d->watch, d->options.close_ms, 0);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct th_display *d = (struct th_display *)ctx;
	struct th_err why = d->fault;

	if (why.code == TH_OK && !d->proved)
		not_a_display(d, TH_ECONN, "ended without saying", &why);
	else if (why.code == TH_OK && e->signalled)
		th_fail(&why, TH_ECONN, "the display process was ended by signal %d", e->code);
	else if (why.code == TH_OK)
		th_fail(&why, TH_ECONN, "the display process ended (status %d)", e->code);
	process_gone(d, &why);
}

/* What the process made is removed; one that was at work leaves a folder to the next. */
static void clear(struct th_display *d, bool stays)
{
	struct stat folder;

	if (stays && lstat(d->inside, &folder) == 0 && S_ISDIR(folder.st_mode)) {
		(void)!th_dir_remove(d->stayed, NULL);
		(void)!rename(d->inside, d->stayed); /* else the next begins without */
	}
	(void)!th_dir_remove(d->state_dir, NULL);
}

/* What was asked of it, and what will become of that. */
static void process_gone(struct th_display *d, const struct th_err *why)
{
	enum state was = d->state;
	struct th_display_call *call = d->running;

	d->child = th_child_free(d->child);
	d->sock = th_sock_free(d->sock);
	th_fd_close(&d->interrupt_fd);
	th_timer_stop(&d->watch);
	clear(d, was == STATE_OPEN || was == STATE_LOST);
	d->fault = (struct th_err){};
	d->shown = th_picture_unref(d->shown);
	d->prefix = NULL;
	d->state = STATE_NONE;
	d->running = NULL;
	if (call && was == STATE_OPEN && d->fault_id >= 0 && call->id > d->fault_id) {
		/* Sent, but never taken: it is the next one's first. */
		call->next = d->first;
		d->first = call;
		if (!call->next)
			d->last = &call->next;
	} else if (call) {
		d->release = d->options.outlives;
		call_fail(call, TH_OUTCOME_UNKNOWN,
			  "The display died while this was done, so it may or may not have "
			  "happened; it was not "
			  "repeated: ",
			  why);
	}
	d->fault_id = -1;
	if (was == STATE_OPEN || was == STATE_LOST)
		th_display_watches_end(d, why);
	if (was == STATE_CLOSING) {
		if (d->closed)
			d->closed(d->closed_ctx);
		return;
	}
	if (was == STATE_STARTING) {
		d->release = false; /* the next caller starts one */
		struct th_display_call *waiting = d->first;
		d->first = NULL;
		d->last = &d->first;
		while (waiting) {
			struct th_display_call *next = waiting->next;
			call_fail(waiting, TH_OUTCOME_NOT_STARTED, "", why);
			waiting = next;
		}
		openers_call(d, why);
	}
	th_loop_defer(d->loop, &d->step);
}

static enum th_code send_start(struct th_display *d, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_MIB);
	struct th_exec_display_start m = {
		.op = TH_STR("start"),
		.computer = d->options.computer,
		.state_dir = d->options.state_dir,
		.workspace = d->options.workspace,
		.net_host = d->options.net_host,
		.net_space = d->options.net_space,
		.trust = d->options.trust,
		.uid = d->options.uid,
		.gid = d->options.gid,
	};
	th_exec_print(&th_exec_display_start_table, &m, &head);
	enum th_code code = th_buf_check(&head, "the options of the computer", err);
	return code ? code : th_sock_send(d->sock, th_buf_str(&head), TH_STR(""), err);
}

static enum th_code process_start(struct th_display *d, struct th_err *err)
{
	const char *const argv[] = { d->program, "exec", "--role", "display", NULL };
	TH_CLEANUP(th_fd_close) int theirs = -1;
	TH_CLEANUP(th_fd_close) int interrupt = -1;
	int pair[2], pipe_fds[2];
	const struct th_sock_handlers handlers = { .on_frame = on_frame,
						   .on_close = on_close,
						   .ctx = d };

	(void)!th_dir_remove(d->state_dir, NULL); /* of one that was killed with its executor */
	enum th_code code = th_role_check(err);
	if (code == TH_OK)
		code = th_dir_make(d->state_dir, 0700, err);
	if (code == TH_OK && rename(d->stayed, d->inside) && errno != ENOENT)
		code = th_fail_errno(err, errno, "%s", d->inside);
	if (code == TH_OK)
		code = th_pipe_pair(pair, err);
	if (code)
		return code;
	theirs = pair[1];
	code = th_sock_new(d->loop, pair[0], &handlers, &d->sock, err);
	if (code)
		return code;
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	interrupt = pipe_fds[0];
	d->interrupt_fd = pipe_fds[1];
	struct th_child_fd fds[5] = { { theirs, 3 }, { interrupt, 4 }, { 2, 2 } };
	size_t fd_count = 3;
	if (d->options.net_space)
		fds[fd_count++] = (struct th_child_fd){ d->options.net_fd, 5 };
	if (d->options.net_space && d->options.user_fd >= 0)
		fds[fd_count++] = (struct th_child_fd){ d->options.user_fd, 6 };
	size_t count = 0;
	while (environ[count])
		count++;
	const char **env = (const char **)th_arena_array(&d->life, count + 2, sizeof(*env));
	if (!env)
		return th_fail(err, TH_ELIMIT, "the environment is too large");
	memcpy(env, environ, count * sizeof(*env));
	env[count] = TH_ROLE_ENTRY(TH_ROLE_DISPLAY);
	struct th_child_spec spec = {
		.argv = argv,
		.env = env,
		.fds = fds,
		.fd_count = fd_count,
		.on_exit = on_exit_,
		.ctx = d,
	};
	d->proved = false;
	return th_child_start(d->loop, &spec, &d->child, err);
}

static void start(struct th_display *d)
{
	struct th_err err = {};

	d->state = STATE_STARTING;
	if (process_start(d, &err)) {
		th_prefix(&err, err.code, "start the display process");
		process_gone(d, &err);
		return;
	}
	th_timer_start(&d->watch, d->options.role_ms, 0);
}

static void interrupt(struct th_display *d)
{
	if (d->interrupted || d->interrupt_fd < 0)
		return;
	int64_t id = d->running ? d->running->id : 0;
	d->interrupted = true;
	(void)!write(d->interrupt_fd, &id, sizeof(id));
	th_timer_start(&d->watch, d->options.interrupt_ms, 0);
}

/* Too long: asked first, killed then. */
static void on_watch(void *ctx)
{
	struct th_display *d = (struct th_display *)ctx;
	if (d->state == STATE_OPEN && d->running && !d->interrupted && d->sock) {
		interrupt(d);
		return;
	}
	if (d->state == STATE_STARTING && !d->proved)
		not_a_display(d, TH_ETIMEOUT, "does not say", &d->fault);
	else if (d->state == STATE_STARTING)
		th_fail(&d->fault, TH_ETIMEOUT, "the display did not start within %llu ms",
			(unsigned long long)d->options.start_ms);
	else
		th_fail(&d->fault, TH_ETIMEOUT,
			"the display process did not answer and was killed");
	if (d->child)
		th_child_kill(d->child);
}

static void send_call(struct th_display *d)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);
	struct th_display_call *call = d->first;
	struct th_exec_do m = { .op = TH_STR("do"),
				.id = ++d->next_id,
				.arguments = call->arguments };
	struct th_err err = {};

	d->first = call->next;
	if (!d->first)
		d->last = &d->first;
	call->id = m.id;
	call->steps = 0;
	d->running = call;
	d->interrupted = false;
	th_exec_print(&th_exec_do_table, &m, &head);
	enum th_code code = th_buf_check(&head, "the actions", &err);
	if (code == TH_OK)
		code = th_sock_send(d->sock, th_buf_str(&head), TH_STR(""), &err);
	if (code == TH_ECONN)
		return; /* its end is about to be seen: what was sent is unknown then */
	if (code && code != TH_EBUSY) {
		d->running = NULL;
		th_loop_defer(d->loop, &d->step);
		call_fail(call, TH_OUTCOME_NOT_STARTED, "", &err);
		return;
	}
	th_timer_start(&d->watch,
		       call->timeout_ms > 0 ? (uint64_t)call->timeout_ms : d->options.call_ms, 0);
}

/* Takes off the queue what was cancelled before it began. */
static struct th_display_call *take_cancelled(struct th_display *d)
{
	for (struct th_display_call **at = &d->first; *at; at = &(*at)->next) {
		struct th_display_call *call = *at;
		if (!call->cancelled)
			continue;
		*at = call->next;
		if (!*at)
			d->last = at;
		return call;
	}
	return NULL;
}

static void pass(void *ctx)
{
	struct th_display *d = (struct th_display *)ctx;
	struct th_display_call *call = take_cancelled(d);

	if (call) {
		th_loop_defer(d->loop, &d->step);
		call_done(call, TH_OUTCOME_NOT_STARTED, TH_STR("cancelled before it was begun"));
		return;
	}
	if (d->state == STATE_NONE && (d->first || d->opener_count > 0 || d->release))
		start(d);
	else if (d->state == STATE_OPEN && d->first && !d->running && d->sock)
		send_call(d);
}

/* ---- interface ---- */

struct th_display *th_display_new(const struct th_display_options *o)
{
	struct th_display *d = (struct th_display *)th_alloc(sizeof(*d));
	d->loop = o->loop;
	d->interrupt_fd = -1;
	d->fault_id = -1;
	d->last = &d->first;
	d->step = (struct th_deferred){ .fn = pass, .ctx = d };
	th_timer_init(&d->watch, o->loop, on_watch, d);
	th_arena_init(&d->arena, 2 * TH_MIB);
	th_arena_init(&d->life, TH_MIB);
	d->options = *o;
	d->options.role_ms = o->role_ms ?: TH_ROLE_MS;
	d->options.start_ms = o->start_ms ?: TH_DISPLAY_START_MS;
	d->options.call_ms = o->call_ms ?: TH_DISPLAY_CALL_MS;
	d->options.interrupt_ms = o->interrupt_ms ?: TH_DISPLAY_INTERRUPT_MS;
	d->options.close_ms = o->close_ms ?: TH_DISPLAY_CLOSE_MS;
	d->options.computer = th_arena_str(&d->arena, o->computer);
	d->options.state_dir = th_arena_str(&d->arena, o->state_dir);
	d->options.workspace = th_arena_str(&d->arena, o->workspace);
	d->state_dir = th_arena_cstr(&d->arena, o->state_dir);
	d->inside = th_arena_cstr(
	    &d->arena, th_arena_printf(&d->arena, "%s/" TH_COMPUTER_STAYS, d->state_dir));
	d->stayed = th_arena_cstr(
	    &d->arena, th_arena_printf(&d->arena, "%s-" TH_COMPUTER_STAYS, d->state_dir));
	d->program = th_arena_cstr(&d->arena, th_str_of(o->program));
	assert(d->state_dir && d->inside && d->stayed && o->program && d->program);
	if (!o->goes_on) /* of one that was killed with its executor */
		(void)!th_dir_remove(d->stayed, NULL);
	d->release = o->outlives && o->release;
	if (d->release)
		th_loop_defer(d->loop, &d->step);
	return d;
}

struct th_display *th_display_free(struct th_display *d)
{
	if (!d)
		return NULL;
	th_loop_undefer(d->loop, &d->step);
	th_timer_stop(&d->watch);
	d->child = th_child_free(d->child);
	d->sock = th_sock_free(d->sock);
	th_fd_close(&d->interrupt_fd);
	d->shown = th_picture_unref(d->shown);
	clear(d, false);
	(void)!th_dir_remove(d->stayed, NULL);
	th_arena_deinit(&d->life);
	th_arena_deinit(&d->arena);
	free(d);
	return NULL;
}

void th_display_close(struct th_display *d, void (*done)(void *ctx), void *ctx)
{
	d->closed = done;
	d->closed_ctx = ctx;
	d->opener_count = 0;
	if (!d->child) {
		done(ctx);
		return;
	}
	d->state = STATE_CLOSING;
	interrupt(d);
	d->sock = th_sock_free(d->sock); /* that tells it */
	th_timer_start(&d->watch, d->options.close_ms, 0);
}

void th_display_open(struct th_display *d, th_display_open_fn *fn, void *ctx)
{
	struct th_err err;
	if (d->state == STATE_OPEN) {
		fn(ctx, &d->screen, NULL);
		return;
	}
	if (d->opener_count == OPENERS_MAX) {
		th_fail(&err, TH_ELIMIT, "too many wait for the computer");
		fn(ctx, NULL, &err);
		return;
	}
	d->openers[d->opener_count++] = (struct opener){ fn, ctx };
	th_loop_defer(d->loop, &d->step);
}

void th_display_open_cancel(struct th_display *d, const void *ctx)
{
	size_t kept = 0;
	for (size_t i = 0; i < d->opener_count; i++)
		if (d->openers[i].ctx != ctx)
			d->openers[kept++] = d->openers[i];
	d->opener_count = kept;
}

const struct th_exec_screen *th_display_screen(const struct th_display *d)
{
	return d->state == STATE_OPEN ? &d->screen : NULL;
}

const char *const *th_display_prefix(void *display)
{
	struct th_display *d = (struct th_display *)display;
	return d->state == STATE_OPEN ? d->prefix : NULL;
}

void th_display_on_start(struct th_display *d, void (*fn)(void *ctx, bool again), void *ctx)
{
	d->on_start = fn;
	d->start_ctx = ctx;
}

void th_display_run(struct th_display *d, struct th_display_call *call)
{
	call->next = NULL;
	call->cancelled = false;
	call->steps = 0;
	*d->last = call;
	d->last = &call->next;
	th_loop_defer(d->loop, &d->step);
}

void th_display_cancel(struct th_display *d, struct th_display_call *call)
{
	call->cancelled = true;
	if (call == d->running)
		interrupt(d);
	else
		th_loop_defer(d->loop, &d->step);
}
