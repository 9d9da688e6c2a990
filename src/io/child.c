/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - starting and ending programs.
 *
 * Everything that needs memory or may fail is prepared before fork; between
 * fork and exec there are only system calls (child_start.c).  The end of a
 * child is seen on its pidfd; of a namespaced one also on the pidfd of its
 * namespace's first process, which becomes readable only when all are gone.
 */
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/child_internal.h"
#include "io/child_start.h"
#include "io/clock.h"
#include "io/files.h"

#define CHUNK 32768
#define ROUNDS_MAX 8 /* reads per wake-up */
#define DRAIN_MAX (2 * TH_MIB)
#define LOOK_MS 10
#define SWEEP_MS 5 /* between looks at a tree that is still dying */
#define SWEEPS_MAX 2000

static unsigned running;

static void destroy(struct th_child *c);
static void progress(struct th_child *c);

/* ---- the child's words ---- */

static void stream_close(struct stream *s)
{
	s->poll = th_poll_free(s->poll);
	th_fd_close(&s->fd);
}

/* False when nothing more can be read now. */
static bool stream_read(struct stream *s)
{
	struct th_child *c = s->child;
	char chunk[CHUNK];
	ssize_t got = read(s->fd, chunk, sizeof(chunk));
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (got <= 0) { /* a terminal's end is EIO */
		stream_close(s);
		return false;
	}
	c->on_output(c->ctx, s->which, th_str_n(chunk, (size_t)got));
	return !c->freed && !c->paused;
}

static void leave(struct th_child *c)
{
	c->busy = false;
	if (c->freed)
		destroy(c);
	else
		progress(c);
}

static void on_readable(void *ctx, unsigned events)
{
	struct stream *s = (struct stream *)ctx;
	struct th_child *c = s->child;
	(void)events;
	c->busy = true;
	for (int i = 0; i < ROUNDS_MAX && stream_read(s); i++)
		;
	leave(c);
}

/* What a dead child left in its pipes.  False while paused. */
static bool drain(struct th_child *c)
{
	for (size_t i = 0; i < TH_COUNT(c->out); i++) {
		struct stream *s = &c->out[i];
		/* As much as a pipe can hold: somebody else may be writing on and on. */
		for (size_t n = 0; n < DRAIN_MAX / CHUNK && s->fd >= 0 && stream_read(s); n++)
			;
		if (c->paused || c->freed)
			return false;
		stream_close(s); /* who still holds the other end is no child of ours to wait for */
	}
	return true;
}

/* ---- its input ---- */

static void write_in(struct th_child *c)
{
	struct stream *s = &c->in;
	while (s->fd >= 0 && c->in_queue.len > 0) {
		ssize_t put = write(s->fd, c->in_queue.ptr, c->in_queue.len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (put < 0) { /* it reads no more: its right */
			stream_close(s);
			th_buf_clear(&c->in_queue);
			return;
		}
		th_buf_drop(&c->in_queue, (size_t)put);
	}
	if (s->fd >= 0 && c->in_queue.len == 0 && c->close_in)
		stream_close(s);
	if (s->poll)
		th_poll_set(s->poll, c->in_queue.len ? TH_POLL_WRITE : 0);
}

static void on_writable(void *ctx, unsigned events)
{
	(void)events;
	write_in(((struct stream *)ctx)->child);
}

enum th_code th_child_write(struct th_child *c, struct th_str bytes, struct th_err *err)
{
	if (c->in.fd < 0 || c->close_in)
		return th_fail(err, TH_ECONN, "the program's input is closed");
	if (c->in_queue.len + bytes.len > TH_TOOL_OUTPUT_MAX)
		return th_fail(err, TH_ELIMIT, "more than %zu bytes of input wait",
			       (size_t)TH_TOOL_OUTPUT_MAX);
	th_buf_add(&c->in_queue, bytes);
	write_in(c);
	return TH_OK;
}

void th_child_close_in(struct th_child *c)
{
	c->close_in = true;
	write_in(c);
}

/* ---- its end ---- */

static void on_sweep(void *ctx)
{
	progress((struct th_child *)ctx);
}

static void on_init_gone(void *ctx, unsigned events)
{
	(void)events;
	progress((struct th_child *)ctx);
}

/* From the child's end to on_exit: the tree, then the last output, then the report. */
static void progress(struct th_child *c)
{
	if (c->busy || c->freed || c->reported || !c->reaped)
		return;
	if (!c->tree_gone && !th_child_tree_gone(c, 0)) {
		if (c->sweeps == 0 || c->tree == TH_TREE_CGROUP)
			th_child_tree_end(c);
		if (c->tree == TH_TREE_NAMESPACE && !c->init_poll && c->init_fd >= 0 &&
		    th_poll_new(c->loop, c->init_fd, on_init_gone, c, &c->init_poll, NULL) == TH_OK)
			th_poll_set(c->init_poll, TH_POLL_READ);
		if (c->sweeps++ < SWEEPS_MAX) {
			if (!c->init_poll)
				th_timer_start(&c->sweep, SWEEP_MS, 0);
			return;
		}
	}
	c->tree_gone = true;
	th_timer_stop(&c->sweep);
	c->init_poll = th_poll_free(c->init_poll);
	c->busy = true;
	bool drained = drain(c);
	if (drained) {
		c->reported = true;
		stream_close(&c->in);
		th_cgroup_free(&c->group);
		running--;
		c->result.killed = c->kill_wanted;
		if (c->on_exit)
			c->on_exit(c->ctx, &c->result);
	}
	c->busy = false;
	if (c->freed)
		destroy(c);
}

static void collect_status(struct th_child *c);
static void read_status(struct th_child *c);
static bool setup_finished(const struct th_child *c);

static void on_exited(void *ctx, unsigned events)
{
	struct th_child *c = (struct th_child *)ctx;
	(void)events;
	if (c->namespaced)
		read_status(c);
	if (!th_child_reap(c))
		return;
	th_timer_stop(&c->look);
	c->pid_poll = th_poll_free(c->pid_poll);
	if (c->namespaced) {
		collect_status(c); /* what it wrote between the look and its end */
		c->result.not_started =
		    c->init_pid == 0 || (!c->result.signalled && !setup_finished(c));
	}
	progress(c);
}

/* ---- what bwrap tells: {"child-pid": N} once it has started, {"exit-code": N} at the end, and
 * the latter only when it came to run the command ---- */

static int64_t status_number(const struct th_child *c, struct th_str key)
{
	struct th_str text = th_buf_str(&c->status_text);
	ptrdiff_t at = th_str_find(text, key);
	int64_t value;
	if (at < 0)
		return -1;
	text = th_str_sub(text, (size_t)at + key.len, text.len);
	size_t len = 0;
	text = th_str_trim(text);
	while (len < text.len && text.ptr[len] >= '0' && text.ptr[len] <= '9')
		len++;
	return len < text.len && th_str_i64(th_str_sub(text, 0, len), &value) ? value : -1;
}

static bool setup_finished(const struct th_child *c)
{
	return status_number(c, TH_STR("\"exit-code\":")) >= 0;
}

static void collect_status(struct th_child *c)
{
	char chunk[512];
	ssize_t got = 0;
	while (c->status.fd >= 0 && (got = read(c->status.fd, chunk, sizeof(chunk))) > 0)
		th_buf_add_mem(&c->status_text, chunk, (size_t)got);
	if (c->status.fd >= 0 && got == 0)
		stream_close(&c->status);
}

static void read_status(struct th_child *c)
{
	collect_status(c);
	int64_t pid = status_number(c, TH_STR("\"child-pid\":"));
	if (pid > 0 && c->init_pid == 0) {
		/* Until bwrap is reaped nobody has waited for the other: the number is still its
		 * own. */
		c->init_pid = (pid_t)pid;
		c->init_fd = th_child_pidfd((pid_t)pid);
		if (c->kill_wanted)
			th_child_process_kill(c->init_pid, c->init_fd, SIGKILL);
	}
}

static void on_look(void *ctx)
{
	on_exited(ctx, 0);
}

static void on_status(void *ctx, unsigned events)
{
	(void)events;
	read_status(((struct stream *)ctx)->child);
}

/* ---- from outside ---- */

pid_t th_child_pid(const struct th_child *c)
{
	return c->pid;
}

enum th_child_tree th_child_tree_kind(const struct th_child *c)
{
	return c->tree;
}

bool th_child_running(const struct th_child *c)
{
	return !c->reaped;
}

/* The command itself, behind bwrap and the namespace's first process. */
static pid_t command_pid(const struct th_child *c)
{
	char path[64], text[64];
	if (c->init_pid <= 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)c->init_pid,
		 (int)c->init_pid);
	TH_CLEANUP(th_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	text[len > 0 ? len : 0] = '\0';
	return len > 0 ? (pid_t)strtol(text, NULL, 10) : -1;
}

void th_child_signal(struct th_child *c, int signum)
{
	if (c->reaped)
		return;
	if (signum == SIGKILL) {
		th_child_kill(c);
		return;
	}
	if (!c->namespaced) {
		kill(-c->pid, signum);
		return;
	}
	/* What it said first may still wait to be read, while the command has been heard of. */
	read_status(c);
	pid_t pid = command_pid(c); /* bwrap itself would die of it, and all with it */
	if (pid > 1 && !th_child_process_gone(c->init_pid, c->init_fd, 0) && kill(-pid, signum) < 0)
		kill(pid, signum);
}

void th_child_kill(struct th_child *c)
{
	if (c->reaped || c->kill_wanted)
		return;
	c->kill_wanted = true;
	if (c->namespaced)
		read_status(c);
	th_child_tree_end(c);
}

size_t th_child_kill_marked(const char *entry)
{
	size_t total = 0, found;
	/* Again until none is left: what is being killed may fork once more. */
	for (unsigned i = 0; i < SWEEPS_MAX && (found = th_adopted_kill(entry, 0)) > 0; i++)
		total += found;
	return total;
}

void th_child_pause(struct th_child *c, bool paused)
{
	if (c->paused == paused)
		return;
	c->paused = paused;
	for (size_t i = 0; i < TH_COUNT(c->out); i++)
		if (c->out[i].poll)
			th_poll_set(c->out[i].poll, paused ? 0 : TH_POLL_READ);
	if (!paused && c->reaped && !c->reported)
		th_timer_start(&c->sweep, 0, 0);
}

static void destroy(struct th_child *c)
{
	th_timer_stop(&c->sweep);
	th_timer_stop(&c->look);
	th_poll_free(c->pid_poll);
	th_poll_free(c->init_poll);
	for (size_t i = 0; i < TH_COUNT(c->out); i++)
		stream_close(&c->out[i]);
	stream_close(&c->in);
	stream_close(&c->status);
	th_fd_close(&c->pidfd);
	th_fd_close(&c->init_fd);
	th_buf_deinit(&c->in_queue);
	th_buf_deinit(&c->status_text);
	free(c);
}

/* Waits until nothing is left: a killed tree takes milliseconds. */
static void end_now(struct th_child *c)
{
	uint64_t until_ms = th_clock_ms() + 10000;
	th_child_kill(c);
	while (!th_child_reap(c) && th_clock_ms() < until_ms) {
		if (c->pidfd < 0)
			poll(NULL, 0, SWEEP_MS);
		else
			th_child_process_gone(c->pid, c->pidfd, 100);
		th_child_tree_end(c);
	}
	if (c->namespaced)
		read_status(c);
	th_child_tree_end(c);
	while (!th_child_tree_gone(c, SWEEP_MS) && th_clock_ms() < until_ms) {
		if (c->tree != TH_TREE_NAMESPACE)
			poll(NULL, 0, SWEEP_MS);
		th_child_tree_end(c);
	}
	th_cgroup_free(&c->group);
	running--;
}

struct th_child *th_child_free(struct th_child *c)
{
	if (!c)
		return NULL;
	assert(!c->freed);
	if (!c->reported)
		end_now(c);
	c->reported = true;
	c->freed = true;
	if (!c->busy)
		destroy(c);
	return NULL;
}

/* ---- starting ---- */

static enum th_code watch(struct th_child *c, struct stream *s, int *fd, th_poll_fn *fn,
			  unsigned events, struct th_err *err)
{
	s->child = c;
	s->fd = *fd;
	*fd = -1;
	if (s->fd < 0)
		return TH_OK;
	enum th_code code = th_poll_new(c->loop, s->fd, fn, s, &s->poll, err);
	if (code == TH_OK)
		th_poll_set(s->poll, events);
	return code;
}

static enum th_code watch_all(struct th_child *c, struct th_start *start, struct th_err *err)
{
	enum th_code code = TH_OK;
	c->out[0].which = TH_CHILD_OUT;
	c->out[1].which = TH_CHILD_ERR;
	for (size_t i = 0; i < TH_COUNT(c->out) && code == TH_OK; i++)
		code = watch(c, &c->out[i], &start->out[i], on_readable, TH_POLL_READ, err);
	if (code == TH_OK)
		code = watch(c, &c->in, &start->in, on_writable, 0, err);
	if (code == TH_OK)
		code = watch(c, &c->status, &start->status, on_status, TH_POLL_READ, err);
	if (code)
		return code;
	if (c->pidfd < 0) {
		th_timer_start(&c->look, LOOK_MS, LOOK_MS);
		return TH_OK;
	}
	code = th_poll_new(c->loop, c->pidfd, on_exited, c, &c->pid_poll, err);
	if (code == TH_OK)
		th_poll_set(c->pid_poll, TH_POLL_READ);
	return code;
}

enum th_code th_child_start(struct th_loop *l, const struct th_child_spec *spec,
			    struct th_child **ret, struct th_err *err)
{
	assert(spec->argv && spec->argv[0]);
	if (running >= TH_CHILDREN_MAX)
		return th_fail(err, TH_ELIMIT, "%u programs run already, the maximum", running);
	struct th_child *c = (struct th_child *)th_alloc(sizeof(*c));
	struct th_start start;
	c->loop = l;
	c->on_output = spec->on_output;
	c->on_exit = spec->on_exit;
	c->ctx = spec->ctx;
	c->pidfd = c->init_fd = c->in.fd = c->status.fd = c->out[0].fd = c->out[1].fd = -1;
	c->group.procs_fd = -1;
	th_buf_init(&c->in_queue, TH_TOOL_OUTPUT_MAX);
	th_buf_init(&c->status_text, 4096);
	th_timer_init(&c->sweep, l, on_sweep, c);
	th_timer_init(&c->look, l, on_look, c);
	th_child_tree_choose(c, spec);
	enum th_code code = th_start_child(spec, c->group.procs_fd, c->marker, &start, err);
	if (code) {
		th_cgroup_free(&c->group);
		destroy(c);
		return code;
	}
	running++;
	c->pid = start.pid;
	th_child_tree_begin(c);
	c->pidfd = th_child_pidfd(start.pid);
	if (c->pidfd < 0 && errno != ENOSYS)
		code = th_fail_errno(err, errno, "watch the program");
	else
		code = watch_all(c, &start, err);
	th_start_deinit(&start);
	if (code) {
		th_child_free(c);
		return code;
	}
	*ret = c;
	return TH_OK;
}
