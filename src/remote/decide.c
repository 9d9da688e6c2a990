/* SPDX-License-Identifier: Apache-2.0 */
/* decide.c - a person's word on a session of a server, a copy of one, and one as a file. */
#include <errno.h>
#include <unistd.h>

#include "admin/edit.h"
#include "base/limits.h"
#include "base/text.h"
#include "core/session.h"
#include "remote/remote.h"

#define LINE_COLUMNS_MAX 2000 /* of what a call does */

static enum th_code post(struct th_remote *r, struct th_str session_id, const char *what,
			 const struct th_buf *body, struct th_buf *ret, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_remote_request q = { .method = "POST" };
	enum th_code code = th_buf_check(body, "the request", err);

	if (code)
		return code;
	th_remote_path(&path, session_id, what);
	q.path = th_buf_str(&path);
	q.body = th_buf_str(body);
	code = th_remote_call(r, &q, ret, err);
	if (code && r->unsure)
		return th_prefix(err, code, "it is not known whether the server took it");
	return code;
}

/* ---- what waits ---- */

/* The calls that wait, and what each does: lines "NAME\tWHAT". */
struct waits {
	struct th_str session; /* whom the person talks to */
	struct th_str wanted;  /* a call's name; empty: any */
	enum th_call_phase phase;
	struct th_buf lines;
	size_t count;
	bool others;         /* wait, too */
	enum th_state state; /* of the session */
};

static bool is_named(const struct waits *w, struct th_str session_id, const struct th_call *c)
{
	struct th_str name = w->wanted;

	if (th_call_is_named(c, name))
		return true;
	if (!th_str_starts(name, session_id) || name.len <= session_id.len ||
	    name.ptr[session_id.len] != '/')
		return false;
	return th_call_is_named(c, th_str_sub(name, session_id.len + 1, name.len));
}

static enum th_code note_calls(void *ctx, struct th_str session_id, const struct th_session *s,
			       struct th_err *err)
{
	struct waits *w = ctx;

	(void)err;
	if (th_str_eq(session_id, w->session))
		w->state = s->state;
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (!th_call_waits(c, w->phase) || !is_named(w, session_id, c)) {
			w->others |= th_call_asks(c) || c->phase == TH_CALL_PARKED;
			continue;
		}
		w->count++;
		if (!th_str_eq(session_id, w->session))
			th_buf_printf(&w->lines, "%.*s/", TH_FMT(session_id));
		th_call_name(c, &w->lines);
		th_buf_add_char(&w->lines, '\t');
		(void)th_view_call(c->tool, c->arguments, LINE_COLUMNS_MAX, &w->lines);
		th_buf_add_char(&w->lines, '\n');
	}
	return TH_OK;
}

static enum th_code find_waiting(const struct th_remote_decision *d, struct waits *w,
				 struct th_err *err)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	enum th_code code = th_cli_store(d->common, false, &store, err);

	return code ?: th_edit_each(store, d->session_id, note_calls, w, err);
}

/* ---- decisions ---- */

static enum th_code decide_one(const struct th_remote_decision *d, struct th_str name,
			       struct th_str what, struct th_buf *out, struct th_err *err)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&body);
	const char *path = d->as.len                         ? "/settle"
			   : strcmp(d->word, "answer") == 0  ? "/answer"
			   : strcmp(d->word, "approve") == 0 ? "/approve"
							     : "/reject";
	enum th_code code;

	th_jw_object(&w);
	if (name.len)
		th_jw_kstr(&w, "call_id", name);
	if (d->always)
		th_jw_kbool(&w, "always", true);
	if (d->message.len)
		th_jw_kstr(&w, strcmp(d->word, "answer") == 0 ? "answer" : "message", d->message);
	if (d->as.len)
		th_jw_kstr(&w, "outcome", d->as);
	th_jw_object_end(&w);
	code = post(d->common->remote, d->session_id, path, &body, NULL, err);
	if (code)
		return code;
	if (d->as.len)
		th_buf_add(out, d->as);
	else
		th_buf_add_cstr(out, strcmp(d->word, "approve") == 0  ? "approved"
				     : strcmp(d->word, "answer") == 0 ? "answered"
								      : "rejected");
	th_buf_printf(out, ": %.*s\n", TH_FMT(what));
	return TH_OK;
}

static enum th_code fail_none(const struct th_remote_decision *d, enum th_state state,
			      struct th_err *err)
{
	const char *what = d->as.len ? "a word about its outcome" : "a decision";

	if (d->call_id.len)
		return th_fail(err, TH_ENOENT, "no call \"%.*s\" of session %.*s waits for %s",
			       TH_FMT(th_utf8_cut(d->call_id, 80)), TH_FMT(d->session_id), what);
	return th_fail(err, TH_ENOENT, "session %.*s is %s; nothing in it waits for %s",
		       TH_FMT(d->session_id), th_state_name(state), what);
}

int th_remote_decide(const struct th_remote_decision *d)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_MIB);
	struct waits w = { .session = d->session_id,
			   .wanted = d->call_id,
			   .phase = d->as.len ? TH_CALL_PARKED : TH_CALL_ASKED };
	struct th_str rest, name;
	struct th_err err = {};
	size_t left;
	enum th_code code;

	th_buf_init(&w.lines, 4 * TH_MIB);
	code = find_waiting(d, &w, &err);
	rest = th_buf_str(&w.lines);
	left = w.count;
	if (!code && !w.count)
		code = fail_none(d, w.state, &err);
	while (!code && rest.len) {
		struct th_str line = th_str_split(&rest, '\n');

		name = th_str_split(&line, '\t');
		code = decide_one(d, name, line, &out, &err);
		left -= left > 0;
		if (!d->all || d->call_id.len)
			break;
	}
	th_buf_deinit(&w.lines);
	if (code)
		return th_cli_fail(&err);
	th_buf_printf(&out,
		      w.others || (left && !d->always) ? "another call waits: %s log "
						       : "to go on: %s resume ",
		      th_cli_program());
	th_cli_word(&out, d->session_id);
	th_cli_same_log(d->common, &out);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

/* ---- cancel ---- */

/* Until it is stopped: the stream of what comes ends there. */
static enum th_code wait_until_rest(struct th_remote *r, struct th_str session_id, uint64_t from,
				    struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_remote_request q = { .method = "GET", .accept = "text/event-stream" };

	th_remote_path(&path, session_id, "/events?until=rest&deltas=false");
	th_buf_printf(&path, "&from=%llu", (unsigned long long)from);
	q.path = th_buf_str(&path);
	return th_remote_call(r, &q, NULL, err);
}

int th_remote_cancel(struct th_common *o, const struct th_session_row *row)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int state = th_state_find(row->state);
	struct th_err err = {};
	enum th_code code = TH_OK;

	th_buf_add_cstr(&body, "{\"when\":\"now\"}");
	if (state < 0 ||
	    (state != TH_STATE_STOPPED && !th_state_allows((enum th_state)state, TH_STATE_STOPPED)))
		return th_cli_die(1, "session %.*s is %.*s; there is nothing to cancel",
				  TH_FMT(row->session_id), TH_FMT(row->state));
	if (state != TH_STATE_STOPPED) {
		code = post(o->remote, row->session_id, "/cancel", &body, NULL, &err);
		if (!code)
			code = wait_until_rest(o->remote, row->session_id, row->head_seq + 1, &err);
	}
	if (code)
		return th_cli_fail(&err);
	th_text_line(&out, row->session_id, TH_SESSION_ID_MAX);
	th_buf_add_cstr(&out, " is stopped\n");
	return th_cli_print(&out, 0);
}

/* ---- fork and export ---- */

int th_remote_fork(struct th_common *o, struct th_str session_id, int64_t seq, struct th_str target)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&body);
	struct th_err err = {};

	th_jw_object(&w);
	if (seq)
		th_jw_kint(&w, "seq", seq);
	th_jw_kstr(&w, "id", target);
	th_jw_object_end(&w);
	if (post(o->remote, session_id, "/fork", &body, NULL, &err) != TH_OK)
		return th_cli_fail(&err);
	th_text_line(&out, target, TH_SESSION_ID_MAX);
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

int th_remote_delete(struct th_common *o, struct th_str session_id)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_remote_request q = { .method = "DELETE" };
	struct th_err err = {};

	th_remote_path(&path, session_id, "");
	q.path = th_buf_str(&path);
	return th_remote_call(o->remote, &q, NULL, &err) != TH_OK ? th_cli_fail(&err) : 0;
}

struct exporting {
	int fd, errnum;
};

static bool put_bytes(void *ctx, struct th_str bytes)
{
	struct exporting *x = ctx;

	if (th_cli_write(x->fd, bytes))
		return true;
	x->errnum = errno;
	return false;
}

enum th_code th_remote_export(struct th_remote *r, struct th_str session_id, int fd,
			      const char *where, struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct exporting x = { .fd = fd };
	struct th_remote_request q = {
		.method = "GET", .accept = "application/x-ndjson", .on_bytes = put_bytes, .ctx = &x
	};
	enum th_code code;

	th_remote_path(&path, session_id, "/export");
	q.path = th_buf_str(&path);
	code = th_remote_call(r, &q, NULL, err);
	return x.errnum ? th_fail(err, TH_EIO, "cannot write to %s: %s", where, strerror(x.errnum))
			: code;
}
