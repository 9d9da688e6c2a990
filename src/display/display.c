/* SPDX-License-Identifier: Apache-2.0 */
/*
 * display.c - the life of the display role: it opens its computer and gives up its
 * rights, then serves requests and what the computer itself asks for, by poll.
 */
#include "display/display.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "computers/computers.h"
#include "display/internal.h"
#include "io/files.h"
#include "io/role.h"
#include "io/sandbox.h"

#define WATCH_AGAIN_MS 1000 /* after a live view of a display that does not answer */

/* ---- live views ---- */

/* Sends what is due.  Only a display that is gone ends them: of one that does not answer there is
 * nothing new. */
static enum th_code watches_pass(struct th_display *d, int64_t *ret_ms, struct th_err *err)
{
	enum th_code code = th_watches_pass(&d->watches, ret_ms, err);

	if (code == TH_OK || code == TH_ECONN)
		return code;
	*ret_ms = WATCH_AGAIN_MS;
	return TH_OK;
}

/* A call waits: orders of those who watch come all the same, and no other call does. */
static int64_t on_pulse(void *ctx)
{
	struct th_display *d = ctx;
	struct th_frame frame;
	int64_t again_ms = -1;
	enum th_code code;

	while (!d->broken.code && (code = th_pipe_read(&d->pipe, 0, &frame, NULL)) != TH_ETIMEOUT) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		enum th_exec_op op;

		if (code) {
			th_fail(&d->broken, code, "the executor is gone");
			break;
		}
		if (!th_exec_open(frame.json, &doc, &op, &d->broken))
			(void)!th_watches_order(&d->watches, op, th_json_root(doc), &d->broken);
	}
	if (!d->broken.code)
		(void)!watches_pass(d, &again_ms, &d->broken);
	return again_ms;
}

static void watch_begin(struct th_display *d)
{
	th_watches_init(&d->watches, d->computer, &d->pipe);
	d->pulse = (struct th_pulse){ .fn = on_pulse, .ctx = d, .fd = d->pipe.fd };
	d->computer->pulse = &d->pulse;
}

/* ---- life ---- */

static enum th_code open_computer(struct th_display *d, const struct th_exec_display_start *m,
				  struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_exec_computer_start start;
	struct th_act_result reset = {};

	enum th_code code = th_json_parse(m->computer, &doc, err);
	if (code == TH_OK)
		code = th_table_parse(&th_exec_computer_start_table, th_json_root(doc), &d->arena,
				      &start, err);
	if (code)
		return code;
	struct th_computer_options options = {
		.kind = start.kind,
		.own = start.options,
		.size = { (int32_t)start.width, (int32_t)start.height },
		.display = start.display,
		.xauthority = start.xauthority,
		.bus = start.bus,
		.state_dir = m->state_dir,
		.net_host = m->net_host,
		.net_space = m->net_space,
		.trust = m->trust,
		.net_fd = 5,
		.user_fd = geteuid() == 0 ? -1 : 6,
		.workspace = m->workspace,
		.uid = (uint32_t)m->uid,
		.gid = (uint32_t)m->gid,
		.interrupt_fd = d->interrupt_fd,
	};
	code = th_computer_open(&options, &d->computer, err);
	if (code)
		return th_prefix(err, code, "open the %.*s", TH_FMT(start.kind));
	/* An earlier display process may have died with a button down. */
	code = d->computer->kind->reset(d->computer, &reset, err);
	if (code)
		return code;
	d->windows_due = start.windows;
	d->windows_ms = start.wait_ms ?: TH_START_WAIT_S * 1000;
	if (start.parser.len)
		d->parser = strndup(start.parser.ptr, start.parser.len);
	if (start.ocr.len)
		d->ocr = strndup(start.ocr.ptr, start.ocr.len);
	const char *const *prefix = NULL;
	if (d->computer->kind->prefix)
		prefix = d->computer->kind->prefix(&d->arena, m->state_dir);
	struct th_str words[8];
	struct th_exec_screen screen = {
		.op = TH_STR("screen"),
		.width = d->computer->kind->size(d->computer).width,
		.height = d->computer->kind->size(d->computer).height,
		.caps = d->computer->kind->caps,
		.released = reset.keys_released,
		.prefix = { words, 0 },
	};
	for (size_t i = 0; prefix && prefix[i] && i < TH_COUNT(words); i++)
		words[screen.prefix.count++] = th_str_of(prefix[i]);
	return th_display_send(d, &th_exec_screen_table, &screen, TH_STR(""), err);
}

/* From here on it opens no files but fonts and keymaps, and no sockets of the network unless its
 * kind needs them. */
static void confine(const struct th_display *d, const struct th_exec_display_start *m)
{
	char state_dir[TH_PATH_LEN_MAX], workspace[TH_PATH_LEN_MAX];
	bool files = d->computer->kind->files && m->workspace.len > 0;
	struct th_err err;

	if (m->state_dir.len >= sizeof(state_dir) || m->workspace.len >= sizeof(workspace))
		return;
	snprintf(state_dir, sizeof(state_dir), "%.*s", TH_FMT(m->state_dir));
	snprintf(workspace, sizeof(workspace), "%.*s", TH_FMT(m->workspace));
	const char *const writable[] = { state_dir, files ? workspace : NULL, NULL };
	const char *const readable[] = { d->ocr, NULL };
	const struct th_sandbox s = {
		.level_min = TH_SANDBOX_KERNEL,
		.level_max = TH_SANDBOX_KERNEL,
		.writable = writable,
		.readable = readable,
		/* A parser's server may be anywhere; who named it wants it asked. */
		.net = d->parser || d->computer->kind->network ? TH_SANDBOX_NET_HOST
							       : TH_SANDBOX_NET_NONE,
		.tmp = "/tmp", /* a desktop without namespaces has its files there */
	};
	if (th_sandbox_enter(&s, &err))
		fprintf(stderr, "thole display: not confined: %s\n", err.msg);
}

static enum th_code begin(struct th_display *d, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_exec_display_start m;
	struct th_frame frame;
	enum th_exec_op op;

	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_KIB);
	th_exec_print_role(TH_ROLE_DISPLAY, &head);
	enum th_code code =
	    th_pipe_write(&d->pipe, th_buf_str(&head), TH_STR(""), TH_DISPLAY_SEND_MS, err);
	if (code == TH_OK)
		code = th_pipe_read(&d->pipe, TH_DISPLAY_START_MS, &frame, err);
	if (code == TH_OK)
		code = th_exec_open(frame.json, &doc, &op, err);
	if (code == TH_OK && op != TH_EXEC_OP_START)
		code = th_fail(err, TH_EPROTO, "start comes first");
	if (code == TH_OK)
		code = th_table_parse(&th_exec_display_start_table, th_json_root(doc), &d->arena,
				      &m, err);
	if (code == TH_OK)
		code = open_computer(d, &m, err);
	if (code == TH_OK)
		confine(d, &m);
	return code;
}

/* Waits for a request or for the computer; serves the latter. */
static enum th_code next(struct th_display *d, struct th_frame *ret, struct th_err *err)
{
	for (;;) {
		int fd = d->computer->kind->fd(d->computer);
		int64_t again_ms = -1;
		/* What was read ahead needs no waiting. */
		enum th_code code = th_pipe_read(&d->pipe, 0, ret, err);
		if (code != TH_ETIMEOUT)
			return code;
		code = watches_pass(d, &again_ms, err);
		if (code) {
			th_display_send_error(d, err);
			return code;
		}
		struct pollfd p[2] = { { .fd = d->pipe.fd, .events = POLLIN },
				       { .fd = fd, .events = POLLIN } };
		if (poll(p, 2, (int)TH_MIN(again_ms, (int64_t)INT_MAX)) < 0 && errno != EINTR)
			return th_fail_errno(err, errno, "wait for requests");
		if (p[1].revents) {
			code = d->computer->kind->dispatch(d->computer, err);
			if (code) {
				th_display_send_error(d, err);
				return code;
			}
		}
	}
}

/* `computer` is NULL where the first request says which one to open. */
static int serve(struct th_computer *computer, int fd, int interrupt_fd)
{
	struct th_display d = { .computer = computer };
	enum th_code code = TH_OK;
	struct th_frame frame;
	struct th_err err = {};

	signal(SIGPIPE, SIG_IGN);
	th_pipe_init(&d.pipe, fd);
	d.interrupt_fd = interrupt_fd;
	(void)!th_fd_nonblock(interrupt_fd, NULL);
	th_arena_init(&d.arena, 2 * TH_FRAME_JSON_MAX);
	th_buf_init(&d.parts, TH_EXEC_OUTPUT_MAX);
	th_buf_init(&d.evidence, TH_EXEC_EVIDENCE_MAX);
	th_buf_init(&d.blobs, 64 * TH_KIB);
	th_buf_init(&d.said, TH_DISPLAY_TEXT_MAX);
	th_buf_init(&d.attachment, TH_FRAME_SIZE_MAX - TH_FRAME_JSON_MAX);
	if (!computer && (code = begin(&d, &err)))
		th_display_send_error(&d, &err);
	if (code == TH_OK)
		watch_begin(&d);
	while (code == TH_OK) {
		code = next(&d, &frame, &err);
		if (code == TH_OK)
			code = th_display_request(&d, &frame, &err);
		if (code == TH_OK && d.broken.code) {
			err = d.broken;
			code = err.code;
			th_display_send_error(&d, &err);
		}
	}
	if (d.computer)
		d.computer->pulse = NULL;
	th_watches_deinit(&d.watches);
	d.computer = th_computer_close(d.computer);
	d.marked = th_marked_free(d.marked);
	free(d.parser);
	free(d.ocr);
	struct th_buf *bufs[] = { &d.parts, &d.evidence, &d.attachment, &d.blobs, &d.said };
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_deinit(bufs[i]);
	th_pipe_deinit(&d.pipe);
	th_arena_deinit(&d.arena);
	return code == TH_ECONN ? 0 : 1;
}

int th_display_main(int fd, int interrupt_fd)
{
	return serve(NULL, fd, interrupt_fd);
}

int th_display_host(struct th_computer *computer, int fd, int interrupt_fd)
{
	return serve(computer, fd, interrupt_fd);
}
