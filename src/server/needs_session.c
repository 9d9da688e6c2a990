/* SPDX-License-Identifier: Apache-2.0 */
/* needs_session.c - needs of which the server's hubs tell: a log to its end, and a session that is
 * open. */
#include <stdio.h>
#include <stdlib.h>

#include "server/needs_internal.h"

/* ---- a log ---- */

struct log_need {
	struct th_need need;
	struct th_log_load *load;
	th_take_fn *takes;
};

static void log_end(struct th_need *n)
{
	th_log_load_cancel(TH_CONTAINER_OF(n, struct log_need, need)->load);
}

static int on_log_line(void *ctx, const char *line, size_t len)
{
	struct log_need *l = ctx;
	struct th_need *n = &l->need;
	enum th_take take = l->takes(th_str_n(line, len));

	if (take == TH_TAKE_NO_MORE)
		return 1;
	if (take == TH_TAKE_NO)
		return 0;
	th_buf_add_mem(&n->text, line, len);
	th_buf_add_char(&n->text, '\n');
	return 0;
}

static void on_log(void *ctx, int code, const struct thole_error *err)
{
	struct log_need *l = ctx;
	struct th_need *n = &l->need;

	l->load = NULL;
	if (code == 1)
		code = 0;
	th_need_over(n, code, err);
	n->needs->again(n->needs->ctx);
}

const struct th_found *th_need_log(struct th_needs *needs, const char *id, const char *user,
				   uint64_t from, th_take_fn *takes)
{
	const char *options[] = { id, user, NULL };
	struct th_buf key = th_need_key("log", options);
	struct log_need *l;
	struct th_need *n;

	th_buf_printf(&key, " %llu %p", (unsigned long long)from, (void *)(uintptr_t)takes);
	n = th_need_find(needs, &key);
	if (n)
		return th_need_answer(n);
	n = th_need_new(needs, &key, sizeof(struct log_need));
	l = TH_CONTAINER_OF(n, struct log_need, need);
	n->end = log_end;
	l->takes = takes;
	th_buf_deinit(&n->text);
	th_buf_init(&n->text, TH_HTTP_REPLY_MAX);
	return th_need_begun(n, th_log_load(needs->server, id, user, from, on_log_line, on_log, l,
					    &l->load, &n->err));
}

/* ---- one that is open ---- */

struct open_need {
	struct th_need need;
	struct th_listener listener; /* of a session that is being opened */
};

static void open_end(struct th_need *n)
{
	th_hub_unlisten(&TH_CONTAINER_OF(n, struct open_need, need)->listener);
}

static const struct th_found is_open;

/* An answer that is an error of this moment. */
static const struct th_found *failed(struct th_needs *needs, const struct thole_error *err)
{
	struct th_need *n = th_need_new(needs, &(struct th_buf){ 0 }, sizeof(struct th_need));

	th_need_over(n, err->code, err);
	return &n->answer;
}

static bool is_there(const struct th_hub *h, const char *user)
{
	return h && h->session && strcmp(h->user, user) == 0;
}

/* It could not be opened, or was taken from this server. */
static void why_lost(struct thole_session *session, struct thole_error *err)
{
	struct thole_error why = { 0 };
	int code = session ? thole_session_lost(session, &why) : 0;

	if (code == THOLE_EBUSY || code == THOLE_ENOENT || code == THOLE_EPLACE) {
		*err = why;
		return;
	}
	err->code = THOLE_ECONN;
	snprintf(err->text, sizeof(err->text), "the session is not this server's any more: %.200s",
		 code ? why.text : "the server ends");
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct open_need *o = TH_CONTAINER_OF(l, struct open_need, listener);
	struct th_need *n = &o->need;

	if (note && thole_note_kind(note) != THOLE_NOTE_OPEN)
		return;
	if (note) {
		th_need_over(n, 0, NULL);
	} else {
		why_lost(l->hub->session, &n->err);
		th_need_over(n, n->err.code, &n->err);
	}
	th_hub_unlisten(l);
	n->needs->again(n->needs->ctx);
}

/* Waits until the hub's session is open.  Never over without an error: then it is looked at anew.
 */
static const struct th_found *wait_open(struct th_needs *needs, struct th_hub *h)
{
	const char *options[] = { h->id, NULL };
	struct th_buf key = th_need_key("open", options);
	struct th_need *n = th_need_find(needs, &key);
	struct open_need *o;

	if (n && n->over && n->answer.err)
		return &n->answer;
	if (!n)
		n = th_need_new(needs, &key, sizeof(struct open_need));
	o = TH_CONTAINER_OF(n, struct open_need, need);
	n->end = open_end;
	if (!o->listener.hub) {
		n->over = false;
		o->listener.fn = on_note;
		th_hub_listen(h, &o->listener);
		th_server_kick(needs->server);
	}
	return NULL;
}

const struct th_found *th_need_open(struct th_needs *needs, const char *id, const char *user,
				    bool ready)
{
	struct th_hub *h = th_hub_find(needs->server, id);
	const struct th_found *row;
	struct thole_error err;
	int state;

	if (!is_there(h, user)) {
		row = th_need_session(needs, id, user);
		if (!row || row->err)
			return row;
		h = th_hub_get(needs->server, id, user);
		if (th_functions_open_start(h, row->text, &err) != 0)
			return failed(needs, &err);
	}
	state = thole_session_state(h->session);
	if (state == THOLE_LOST) {
		why_lost(h->session, &err);
		return failed(needs, &err);
	}
	return ready && state == THOLE_LOADING ? wait_open(needs, h) : &is_open;
}
