/* SPDX-License-Identifier: Apache-2.0 */
/* pty.c - see pty.h. */
#include "io/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

#define CHUNK 16384
#define ROUNDS_MAX 8
#define MORE_MAX 4
#define DRAIN_MAX (1 * TH_MIB)

struct th_pty {
	struct th_loop *loop;
	struct th_child *child;
	struct th_poll *poll;
	int fd;
	void (*on_output)(void *, enum th_child_stream, struct th_str);
	void (*on_exit)(void *, const struct th_child_exit *);
	void *ctx;
	struct th_buf queue;
	struct th_deferred end; /* reports an exit that waited for th_pty_pause(false) */
	struct th_child_exit status;
	uint64_t written;
	size_t spool_size;
	char *spool;         /* a ring: the next byte goes to written % spool_size */
	struct termios calm; /* its modes when it was new */
	bool paused, exited, reported, busy, freed;
};

static void destroy(struct th_pty *p)
{
	th_loop_undefer(p->loop, &p->end);
	th_child_free(p->child);
	th_poll_free(p->poll);
	th_fd_close(&p->fd);
	th_buf_deinit(&p->queue);
	free(p->spool);
	free(p);
}

static void keep(struct th_pty *p, struct th_str bytes)
{
	p->written += bytes.len;
	if (p->spool_size == 0)
		return;
	if (bytes.len > p->spool_size)
		bytes = th_str_sub(bytes, bytes.len - p->spool_size, bytes.len);
	size_t at = (size_t)((p->written - bytes.len) % p->spool_size);
	size_t first = TH_MIN(bytes.len, p->spool_size - at);
	memcpy(p->spool + at, bytes.ptr, first);
	memcpy(p->spool, bytes.ptr + first, bytes.len - first);
}

uint64_t th_pty_spool(const struct th_pty *p, struct th_buf *out)
{
	if (p->written <= p->spool_size) {
		th_buf_add_mem(out, p->spool, (size_t)p->written);
	} else if (p->spool_size) {
		size_t at = (size_t)(p->written % p->spool_size);
		th_buf_add_mem(out, p->spool + at, p->spool_size - at);
		th_buf_add_mem(out, p->spool, at);
	}
	return p->written;
}

/* False when nothing more can be read now.  The end of a terminal is EIO. */
static bool read_once(struct th_pty *p)
{
	char chunk[CHUNK];
	ssize_t got = read(p->fd, chunk, sizeof(chunk));
	if (got < 0 && errno == EINTR)
		return true;
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (got <= 0) {
		p->poll = th_poll_free(p->poll);
		return false;
	}
	struct th_str bytes = th_str_n(chunk, (size_t)got);
	keep(p, bytes);
	if (p->on_output)
		p->on_output(p->ctx, TH_CHILD_OUT, bytes);
	return !p->freed && !p->paused;
}

static void apply_poll(struct th_pty *p)
{
	if (p->poll)
		th_poll_set(p->poll,
			    (p->paused ? 0u : TH_POLL_READ) | (p->queue.len ? TH_POLL_WRITE : 0u));
}

static void write_queue(struct th_pty *p)
{
	while (p->queue.len > 0) {
		ssize_t put = write(p->fd, p->queue.ptr, p->queue.len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			th_buf_clear(&p->queue); /* nobody will read it any more */
		if (put < 0)
			break;
		th_buf_drop(&p->queue, (size_t)put);
	}
	apply_poll(p);
}

/* After the program's end: what the terminal still holds, then the report. */
static void report(void *ctx)
{
	struct th_pty *p = (struct th_pty *)ctx;
	if (!p->exited || p->reported || p->paused)
		return;
	p->busy = true;
	for (size_t n = 0; n < DRAIN_MAX / CHUNK && p->poll && read_once(p); n++)
		;
	if (!p->freed && !p->paused) {
		p->reported = true;
		p->poll = th_poll_free(p->poll);
		if (p->on_exit)
			p->on_exit(p->ctx, &p->status);
	}
	p->busy = false;
	if (p->freed)
		destroy(p);
}

static void on_exit_of_child(void *ctx, const struct th_child_exit *status)
{
	struct th_pty *p = (struct th_pty *)ctx;
	p->exited = true;
	p->status = *status;
	th_loop_defer(p->loop, &p->end);
}

static void on_events(void *ctx, unsigned events)
{
	struct th_pty *p = (struct th_pty *)ctx;
	p->busy = true;
	if (events & TH_POLL_WRITE)
		write_queue(p);
	if (events & TH_POLL_READ && !p->paused)
		for (int i = 0; i < ROUNDS_MAX && p->poll && read_once(p); i++)
			;
	p->busy = false;
	if (p->freed)
		destroy(p);
}

static enum th_code open_terminal(int *ret_ours, int *ret_theirs, struct th_err *err)
{
	char name[64];
	TH_CLEANUP(th_fd_close) int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0 || ptsname_r(fd, name, sizeof(name)))
		return th_fail_errno(err, errno, "open a terminal");
	*ret_theirs = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_theirs < 0)
		return th_fail_errno(err, errno, "open a terminal");
	*ret_ours = fd;
	fd = -1;
	return TH_OK;
}

static enum th_code start(struct th_pty *p, const struct th_pty_spec *spec, struct th_err *err)
{
	struct th_child_spec child = spec->child;
	TH_CLEANUP(th_fd_close) int theirs = -1;
	enum th_code code = open_terminal(&p->fd, &theirs, err);
	if (code == TH_OK)
		code = th_pty_resize(p, spec->rows, spec->columns, err);
	if (code == TH_OK)
		code = th_poll_new(p->loop, p->fd, on_events, p, &p->poll, err);
	if (code)
		return code;
	if (tcgetattr(p->fd, &p->calm) < 0)
		return th_fail_errno(err, errno, "ask a terminal for its modes");
	p->calm.c_iflag &= ~(tcflag_t)IXON; /* a key must not stop the output for good */
	if (spec->no_echo)
		p->calm.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL | ECHOCTL | ECHOKE);
	th_pty_calm(p);
	struct th_child_fd fds[3 + MORE_MAX];
	assert(spec->more_count <= MORE_MAX);
	child.fd_count = 0;
	for (int i = spec->error_only ? 2 : 0; i < 3; i++)
		fds[child.fd_count++] = (struct th_child_fd){ theirs, i };
	for (size_t i = 0; i < spec->more_count; i++)
		fds[child.fd_count++] = spec->more[i];
	child.fds = fds;
	child.write_in = child.merge_err = false;
	child.terminal = !spec->error_only && !spec->lent;
	child.on_output = NULL;
	child.on_exit = on_exit_of_child;
	child.ctx = p;
	return th_child_start(p->loop, &child, &p->child, err);
}

enum th_code th_pty_open(struct th_loop *l, const struct th_pty_spec *spec, struct th_pty **ret,
			 struct th_err *err)
{
	if (spec->spool_size > TH_TOOL_OUTPUT_MAX)
		return th_fail(err, TH_ELIMIT, "a spool of %zu bytes is too large",
			       spec->spool_size);
	struct th_pty *p = (struct th_pty *)th_alloc(sizeof(*p));
	p->loop = l;
	p->fd = -1;
	p->on_output = spec->child.on_output;
	p->on_exit = spec->child.on_exit;
	p->ctx = spec->child.ctx;
	p->end.fn = report;
	p->end.ctx = p;
	p->spool_size = spec->spool_size;
	p->spool = spec->spool_size ? (char *)th_alloc(spec->spool_size) : NULL;
	th_buf_init(&p->queue, TH_TOOL_OUTPUT_MAX);
	enum th_code code = start(p, spec, err);
	if (code) {
		destroy(p);
		return code;
	}
	apply_poll(p);
	*ret = p;
	return TH_OK;
}

struct th_pty *th_pty_close(struct th_pty *p)
{
	if (!p)
		return NULL;
	assert(!p->freed);
	p->freed = true;
	if (!p->busy)
		destroy(p);
	return NULL;
}

struct th_child *th_pty_child(struct th_pty *p)
{
	return p->child;
}

enum th_code th_pty_resize(struct th_pty *p, uint16_t rows, uint16_t columns, struct th_err *err)
{
	struct winsize size = { .ws_row = rows ? rows : 24, .ws_col = columns ? columns : 80 };
	return ioctl(p->fd, TIOCSWINSZ, &size) < 0 ? th_fail_errno(err, errno, "resize a terminal")
						   : TH_OK;
}

void th_pty_calm(struct th_pty *p)
{
	(void)tcsetattr(p->fd, TCSANOW, &p->calm);
}

bool th_pty_reads_lines(const struct th_pty *p)
{
	struct termios now;

	return tcgetattr(p->fd, &now) < 0 || (now.c_lflag & ICANON);
}

/* The process group that signals of keys go to; -1: there is none. */
static pid_t foreground(const struct th_pty *p)
{
	pid_t group;

	return ioctl(p->fd, TIOCGPGRP, &group) < 0 || group <= 0 ? -1 : group;
}

bool th_pty_signal(struct th_pty *p, int signum)
{
	pid_t group = foreground(p);

	return group > 1 && kill(-group, signum) == 0;
}

enum th_code th_pty_write(struct th_pty *p, struct th_str bytes, struct th_err *err)
{
	if (p->exited || !p->poll)
		return th_fail(err, TH_ECONN, "the program on this terminal has ended");
	if (p->queue.len + bytes.len > TH_TOOL_OUTPUT_MAX)
		return th_fail(err, TH_ELIMIT, "more than %zu bytes of input wait",
			       (size_t)TH_TOOL_OUTPUT_MAX);
	th_buf_add(&p->queue, bytes);
	write_queue(p);
	return TH_OK;
}

void th_pty_pause(struct th_pty *p, bool paused)
{
	if (p->paused == paused)
		return;
	p->paused = paused;
	apply_poll(p);
	if (!paused && p->exited && !p->reported)
		th_loop_defer(p->loop, &p->end);
}
