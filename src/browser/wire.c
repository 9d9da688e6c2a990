/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - commands to a browser, its answers and events: see browser.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"
#include "io/clock.h"
#include "io/files.h"
#include "x11/x11.h"

int64_t th_browser_now_us(void)
{
	return (int64_t)(th_clock_ns() / 1000);
}

static enum th_code gone(struct th_err *err)
{
	return th_fail(err, TH_ECONN, "the browser has ended");
}

/* ---- what comes ---- */

static enum th_code on_text(struct th_browser *b, struct th_str text, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	struct th_cdp_message m;
	enum th_code code = th_cdp_read(text, &doc, &m, err);

	if (!code && m.id == 0) {
		code = th_browser_on_event(b, &m, err);
	} else if (!code && m.id == b->awaited) {
		b->answer_doc = th_json_free(b->answer_doc);
		b->answer_doc = doc;
		b->answer = m;
		b->answered = true;
		doc = NULL;
	}
	th_json_free(doc);
	return code;
}

static enum th_code receive(struct th_browser *b, struct th_err *err)
{
	char *room = th_alloc(TH_CDP_READ_MAX);
	ssize_t got = read(b->in_fd, room, TH_CDP_READ_MAX);
	enum th_code code = TH_OK;

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		code = gone(err);
	else if (got > 0)
		code = th_cdp_in_add(&b->in, th_str_n(room, (size_t)got), err);
	free(room);
	return code;
}

/* Handles messages, one at a time: handling an event may send a command, which reads more. */
static enum th_code dispatch(struct th_browser *b, bool *ret_any, struct th_err *err)
{
	enum th_code code = TH_OK;
	struct th_str text;

	while (!code && th_cdp_in_next(&b->in, &text)) {
		*ret_any = true;
		code = on_text(b, text, err);
	}
	return code;
}

static int wait_ms(int64_t until_us)
{
	int64_t left = until_us - th_browser_now_us();

	return left <= 0 ? 0 : (int)TH_MIN((left + 999) / 1000, (int64_t)INT_MAX);
}

static enum th_code pump(struct th_browser *b, int64_t until_us, int more_fd, struct th_err *err)
{
	struct pollfd p[4] = { { .fd = b->in_fd, .events = POLLIN },
			       { .fd = b->interrupt_fd, .events = POLLIN },
			       { .fd = more_fd, .events = POLLIN },
			       { .fd = b->screen_fd, .events = POLLIN } };
	bool any = false;
	enum th_code code = dispatch(b, &any, err);

	/* A page that sends messages without an end does not extend the time limit. */
	if (code || any)
		return code || th_browser_now_us() < until_us ? code : TH_ETIMEOUT;
	int ready = poll(p, TH_COUNT(p), wait_ms(until_us));
	if (ready < 0 && errno != EINTR)
		return th_fail_errno(err, errno, "wait for the browser");
	if (ready > 0 && p[1].revents)
		return th_fail(err, TH_ECANCELED, "interrupted");
	if (ready > 0 && p[0].revents)
		return receive(b, err) ?: dispatch(b, &any, err);
	/* The desktop is served meanwhile. */
	if (ready > 0 && p[3].revents) {
		code = th_x11_dispatch(b->screen, err);
		return code || th_browser_now_us() < until_us ? code : TH_ETIMEOUT;
	}
	return ready > 0 ? TH_OK : TH_ETIMEOUT;
}

enum th_code th_browser_pump(struct th_browser *b, int64_t until_us, struct th_err *err)
{
	return pump(b, until_us, -1, err);
}

enum th_code th_browser_idle(struct th_browser *b, int64_t until_us, struct th_err *err)
{
	const struct th_pulse *pulse = b->computer.pulse;
	int64_t again_ms = pulse ? pulse->fn(pulse->ctx) : -1;
	int64_t until = until_us;

	if (again_ms >= 0)
		until = TH_MIN(until, th_browser_now_us() + again_ms * 1000);
	enum th_code code = pump(b, until, pulse ? pulse->fd : -1, err);
	return code == TH_ETIMEOUT && until < until_us ? TH_OK : code;
}

/* ---- what is sent ---- */

struct th_jw *th_browser_begin(struct th_browser *b, const char *session, const char *method)
{
	th_buf_clear(&b->out);
	snprintf(b->out_session, sizeof(b->out_session), "%s", session ?: "");
	b->out_method = method;
	b->out_w = th_cdp_begin(&b->text, ++b->last_id, th_str_of(session), method);
	return &b->out_w;
}

/* Writes all of it, and reads meanwhile: a browser that is busy writing does not read. */
static enum th_code send_out(struct th_browser *b, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	size_t sent = 0;

	enum th_code code = th_cdp_end(&b->out_w, &b->out, err);
	while (!code && sent < b->out.len) {
		ssize_t n = write(b->out_fd, b->out.ptr + sent, b->out.len - sent);
		struct pollfd p[2] = { { .fd = b->out_fd, .events = POLLOUT },
				       { .fd = b->in_fd, .events = POLLIN } };

		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return gone(err);
		int ready = poll(p, 2, wait_ms(until));
		if (ready == 0)
			return th_fail(err, TH_ECONN, "the browser takes no more commands");
		if (ready > 0 && p[1].revents)
			code = receive(b, err);
	}
	return code;
}

enum th_code th_browser_post(struct th_browser *b, struct th_err *err)
{
	return send_out(b, err);
}

/* Is a dialog open in the tab that the command is for? */
static bool in_dialog(struct th_browser *b, const char *session)
{
	const struct th_browser_tab *tab = th_browser_tab_of(b, th_str_of(session));

	return tab && tab->dialog.open;
}

static enum th_code refused(const struct th_browser *b, const char *method, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_ERR_MSG_MAX);

	th_text_line(&text, th_str_sub(b->answer.error, 0, TH_ERR_MSG_MAX / 2), 200);
	return th_fail(err, TH_EIO, "the browser refused %s: %s", method,
		       text.len ? text.ptr : "it did not say why");
}

enum th_code th_browser_call(struct th_browser *b, const struct th_json **ret_result,
			     struct th_err *err)
{
	int64_t ms = b->call_ms ?: TH_BROWSER_REPLY_MS;
	int64_t until = th_browser_now_us() + ms * 1000;
	const char *method = b->out_method;
	const struct th_json *none = NULL;
	char session[TH_BROWSER_ID_SIZE];
	enum th_code code;

	/* Handling an event may send other commands meanwhile. */
	memcpy(session, b->out_session, sizeof(session));
	b->call_ms = 0;
	ret_result = ret_result ?: &none;
	*ret_result = NULL;
	b->awaited = b->last_id;
	b->answered = false;
	code = send_out(b, err);
	while (!code && !b->answered && !in_dialog(b, session)) {
		const struct th_browser_tab *tab = th_browser_tab_of(b, th_str_of(session));

		if (session[0] && (!tab || tab->crashed))
			code = th_fail(err, TH_EIO, "the page %s meanwhile",
				       tab ? "crashed" : "or its frame was closed");
		else
			code = th_browser_pump(b, until, err);
		if (code == TH_ETIMEOUT && b->answered)
			code = TH_OK;
		if (code == TH_ETIMEOUT)
			code = th_fail(err, session[0] ? TH_EIO : TH_ECONN,
				       "the %s did not answer for %lld ms (%s)%s",
				       session[0] ? "page" : "browser", (long long)ms, method,
				       session[0] ? "; a script of it may run without an end" : "");
	}
	b->awaited = 0;
	if (code || !b->answered)
		return code;
	if (!b->answer.result)
		return refused(b, method, err);
	*ret_result = b->answer.result;
	return TH_OK;
}

enum th_code th_browser_tell(struct th_browser *b, const char *session, const char *method,
			     struct th_err *err)
{
	th_browser_begin(b, session, method);
	return th_browser_call(b, NULL, err);
}
