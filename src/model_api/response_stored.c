/* SPDX-License-Identifier: Apache-2.0 */
/* response_stored.c - responses that are in the store, by their names. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"

#define TRIES_MAX 4 /* of one that others change while it is read */

/* ---- from the log ---- */

struct folding {
	struct th_reply *reply;
	bool is_head, last; /* last: of all responses in the log, only the last one counts */
	uint64_t after;     /* its events come behind this one */
};

/* A task begins with it, or something was put there. */
static bool is_said(struct th_str kind)
{
	return th_str_is(kind, "items_added") || th_str_is(kind, "message");
}

static bool begins(struct th_str line, struct th_str kind)
{
	return th_str_is(kind, "message") ||
	       (th_str_is(kind, "items_added") &&
		th_str_is(th_json_raw_get(th_json_raw_get(line, "data"), "begins"), "true"));
}

/* A person has decided, or nobody has in time: the session has rested for it. */
static bool is_decision(struct th_str line, struct th_str kind)
{
	return th_str_is(kind, "approval_decided") &&
	       (th_str_is(th_json_raw_get(line, "source"), "\"user\"") ||
		th_str_is(th_json_raw_get(th_json_raw_get(line, "data"), "expired"), "true"));
}

/* The response is over; what follows is of another one.  True: the reading ends here. */
static bool is_behind(struct folding *f, struct th_str line, struct th_str kind)
{
	switch (f->reply->status) {
	case TH_REPLY_RUNNING:
		if (!is_decision(line, kind) || !th_reply_asks(f->reply))
			return false;
		th_reply_wait(f->reply);
		return true;
	case TH_REPLY_PARKED: /* it was given back to the store and taken up again */
		return is_said(kind) || th_str_is(kind, "outcome");
	case TH_REPLY_WAITING:
		return is_said(kind) || th_str_is(kind, "approval_decided");
	case TH_REPLY_COMPLETED:
	case TH_REPLY_INCOMPLETE:
	case TH_REPLY_FAILED:
	case TH_REPLY_CANCELLED:
		break;
	}
	return f->last ? begins(line, kind) : is_said(kind);
}

static void begin_again(struct folding *f, struct th_str line)
{
	struct th_reply *r = f->reply, fresh = { .functions = r->functions,
						 .function_count = r->function_count,
						 .sealed = r->sealed };
	int64_t seq = 1;

	if (!th_str_i64(th_json_raw_get(line, "seq"), &seq))
		seq = 1;
	for (size_t i = 0; i < r->open_count; i++)
		if (!r->open[i].delegated)
			th_reply_seed(&fresh, &r->open[i]);
	th_reply_deinit(r);
	*r = fresh;
	f->after = (uint64_t)seq - 1;
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct folding *f = ctx;
	struct th_str text = th_str_n(line, len);
	struct th_str kind = th_json_raw_inside(th_json_raw_get(text, "kind"));
	enum th_reply_status before = f->reply->status;

	if (is_behind(f, text, kind)) {
		if (!f->last) {
			f->is_head = false;
			return 1;
		}
		begin_again(f, text);
	} else if (before != TH_REPLY_RUNNING) {
		return 0;
	}
	th_reply_event(f->reply, text);
	return 0;
}

static int on_line_before(void *ctx, const char *line, size_t len)
{
	struct folding *f = ctx;
	struct th_str text = th_str_n(line, len);
	int64_t seq;

	if (!th_str_i64(th_json_raw_get(text, "seq"), &seq) || (uint64_t)seq > f->after)
		return 1;
	th_reply_before(f->reply, text);
	return 0;
}

/* It has the results of calls that were open before it: they are read first, and then its own
 * events once more. */
static bool lacks_before(const struct folding *f)
{
	return f->reply->missed && f->after > 0 && !f->last;
}

static void fold_again(struct folding *f)
{
	struct th_reply *r = f->reply, fresh = { .functions = r->functions,
						 .function_count = r->function_count,
						 .sealed = r->sealed };

	memcpy(fresh.name, r->name, sizeof(fresh.name));
	th_reply_deinit(r);
	*r = fresh;
	f->is_head = true;
}

static int not_there(struct thole_error *err)
{
	err->code = THOLE_ENOENT;
	snprintf(err->text, sizeof(err->text), "there is no such response");
	return THOLE_ENOENT;
}

/* The row of the session, and what its metadata says. */
static int take_row(struct th_str row, struct th_stored *d, struct thole_error *err)
{
	if (th_json_parse(row, &d->doc, NULL) != TH_OK)
		return not_there(err);
	d->member = th_json_get(th_json_get(th_json_root(d->doc), "metadata"), TH_RESPONSE_MEMBER);
	d->head_seq = (uint64_t)th_json_get_int(th_json_root(d->doc), "head_seq", 0);
	return 0;
}

/* The row is loaded; its log is to be folded. */
static struct folding load_begin(struct th_stored *d, bool last)
{
	char name[TH_RESPONSE_NAME_MAX];

	d->functions = th_function_names(th_json_get(th_json_get(d->member, "echo"), "tools"),
					 &d->function_count);
	d->reply.functions = d->functions;
	d->reply.function_count = d->function_count;
	d->reply.sealed = th_json_bool(th_json_get(d->member, "sealed"), false);
	th_response_name(d->session, d->after, name);
	th_response_name_reply(&d->reply, name);
	return (
	    struct folding){ .reply = &d->reply, .is_head = true, .last = last, .after = d->after };
}

static void load_end(struct th_stored *d, const struct folding *f)
{
	if (d->reply.status == TH_REPLY_RUNNING && th_reply_asks(&d->reply))
		th_reply_wait(&d->reply);
	if (d->reply.status == TH_REPLY_RUNNING && !d->reply.asked_model &&
	    th_json_bool(th_json_get(d->member, "warm"), false))
		d->reply.status = TH_REPLY_COMPLETED; /* there was nothing to put */
	d->is_head = f->is_head;
	d->after = f->after;
}

/* The session that its row is of has such a response. */
static bool has_it(const struct th_stored *d)
{
	return th_json_is_object(d->member) && !th_stored_is_deleted(d) && d->head_seq > d->after;
}

/* ---- a long one, beside the loop ---- */

struct th_stored_load {
	struct th_server *server;
	struct th_needs needs; /* its row */
	struct th_log_load *load;
	struct th_stored *stored;
	struct folding folding;
	th_stored_fn *done;
	void *ctx;
	bool again;   /* the calls before it were asked for */
	bool changed; /* since its row was read: deleted, perhaps */
	uint64_t seq; /* of the last line */
	unsigned tries;
	char user[TH_USER_MAX + 1];
};

static void on_own(void *ctx, int code, const struct thole_error *err);

static int on_own_line(void *ctx, const char *line, size_t len)
{
	struct th_stored_load *l = TH_CONTAINER_OF(ctx, struct th_stored_load, folding);

	l->seq++;
	l->changed |=
	    l->seq > l->stored->head_seq &&
	    th_str_is(th_json_raw_get(th_str_n(line, len), "kind"), "\"session_changed\"");
	return on_line(ctx, line, len);
}

/* Reads from event `from` on. */
static void load_read(struct th_stored_load *l, uint64_t from, thole_line_fn *fn,
		      thole_done_fn *done)
{
	struct thole_error err = { 0 };
	int code;

	l->seq = from - 1;
	code = th_log_load(l->server, l->stored->session, l->user, from, fn, done, &l->folding,
			   &l->load, &err);
	if (code)
		on_own(&l->folding, code, &err);
}

static void on_before(void *ctx, int code, const struct thole_error *err)
{
	struct th_stored_load *l = TH_CONTAINER_OF(ctx, struct th_stored_load, folding);

	l->load = NULL;
	if (code && code != 1)
		on_own(ctx, code, err);
	else
		load_read(l, l->folding.after + 1, on_own_line, on_own);
}

static void load_over(struct th_stored_load *l, const struct thole_error *err)
{
	th_stored_fn *done = l->done;
	void *theirs = l->ctx;

	th_needs_forget(&l->needs);
	free(l);
	done(theirs, err);
}

/* Its row is there, or is not. */
static void on_row(void *ctx)
{
	struct th_stored_load *l = ctx;
	struct th_stored *d = l->stored;
	const struct th_found *row = th_need_session(&l->needs, d->session, l->user);
	struct thole_error err = { 0 };

	if (!row)
		return;
	if (row->err)
		err = *row->err;
	else if (!take_row(row->text, d, &err) && !has_it(d))
		(void)not_there(&err);
	if (err.code) {
		load_over(l, &err);
		return;
	}
	l->folding = load_begin(d, false);
	l->again = l->changed = false;
	load_read(l, l->folding.after + 1, on_own_line, on_own);
}

/* Another request has changed it meanwhile: its row is read again, and so is its log. */
static void start_over(struct th_stored_load *l)
{
	struct th_stored fresh = { .after = l->stored->after, .is_head = true };

	memcpy(fresh.session, l->stored->session, sizeof(fresh.session));
	th_stored_deinit(l->stored);
	*l->stored = fresh;
	th_needs_forget(&l->needs);
	on_row(l);
}

static void on_own(void *ctx, int code, const struct thole_error *err)
{
	struct th_stored_load *l = TH_CONTAINER_OF(ctx, struct th_stored_load, folding);
	bool good = !code || code == 1;

	l->load = NULL;
	if (good && !l->again && lacks_before(&l->folding)) {
		l->again = true;
		fold_again(&l->folding);
		load_read(l, 1, on_line_before, on_before);
		return;
	}
	if (good && l->changed && l->tries++ < TRIES_MAX) {
		start_over(l);
		return;
	}
	load_end(l->stored, &l->folding);
	if (!code)
		l->stored->head_seq = TH_MAX(l->stored->head_seq, l->seq);
	load_over(l, good ? NULL : err);
}

int th_stored_load_start(struct th_server *s, const char *user, struct th_str name,
			 struct th_stored *ret, th_stored_fn *done, void *ctx,
			 struct th_stored_load **ret_load, struct thole_error *err)
{
	struct th_stored_load *l;

	*ret = (struct th_stored){ .is_head = true };
	if (!th_response_name_parse(name, ret->session, &ret->after))
		return not_there(err);
	l = th_alloc(sizeof(*l));
	*l = (struct th_stored_load){ .server = s, .stored = ret, .done = done, .ctx = ctx };
	l->needs = (struct th_needs){ .server = s, .again = on_row, .ctx = l };
	snprintf(l->user, sizeof(l->user), "%s", user);
	*ret_load = l;
	on_row(l);
	return THOLE_OK;
}

void th_stored_load_cancel(struct th_stored_load *l)
{
	th_log_load_cancel(l->load);
	th_needs_forget(&l->needs);
	free(l);
}

/* ---- one that a request names beside another thing: its log is held meanwhile ---- */

static enum th_take takes_all(struct th_str line)
{
	(void)line;
	return TH_TAKE_YES;
}

/* Each line, until `fn` wants no more. */
static void each_line(struct th_str text, thole_line_fn *fn, void *ctx)
{
	int code = 0;

	while (text.len && !code) {
		struct th_str line = th_str_split(&text, '\n');

		code = fn(ctx, line.ptr, line.len);
	}
}

static enum th_stored_result found_error(const struct th_found *f, struct thole_error *err)
{
	if (!f)
		return TH_STORED_PENDING;
	*err = *f->err;
	return TH_STORED_FAILED;
}

enum th_stored_result th_stored_fold(struct th_needs *n, const char *user, const char *session,
				     uint64_t from, struct th_reply *r, struct thole_error *err)
{
	struct folding f = { .reply = r, .after = from - 1 };
	const struct th_found *log = th_need_log(n, session, user, from, takes_all);

	if (!log || log->err)
		return found_error(log, err);
	each_line(log->text, on_line, &f);
	return TH_STORED_FOUND;
}

/* Its row and its log. */
static enum th_stored_result look(struct th_needs *n, const char *user, bool last,
				  struct th_stored *d, struct thole_error *err)
{
	const struct th_found *row = th_need_session(n, d->session, user), *log, *before;
	struct folding f;

	if (!row || row->err)
		return found_error(row, err);
	if (take_row(row->text, d, err) || (!last && !has_it(d) && not_there(err)))
		return TH_STORED_FAILED;
	log = th_need_log(n, d->session, user, d->after + 1, takes_all);
	if (!log || log->err)
		return found_error(log, err);
	f = load_begin(d, last);
	each_line(log->text, on_line, &f);
	if (lacks_before(&f)) {
		before = th_need_log(n, d->session, user, 1, takes_all);
		if (!before || before->err)
			return found_error(before, err);
		fold_again(&f);
		each_line(before->text, on_line_before, &f);
		each_line(log->text, on_line, &f);
	}
	load_end(d, &f);
	return TH_STORED_FOUND;
}

enum th_stored_result th_stored_get(struct th_needs *n, const char *user, struct th_str name,
				    struct th_stored *ret, struct thole_error *err)
{
	enum th_stored_result code = TH_STORED_FAILED;

	*ret = (struct th_stored){ .is_head = true };
	if (!th_response_name_parse(name, ret->session, &ret->after))
		(void)not_there(err);
	else
		code = look(n, user, false, ret, err);
	if (code != TH_STORED_FOUND)
		th_stored_deinit(ret);
	return code;
}

enum th_stored_result th_stored_get_last(struct th_needs *n, const char *user, const char *session,
					 struct th_stored *ret, struct thole_error *err)
{
	enum th_stored_result code;

	*ret = (struct th_stored){ .is_head = true };
	snprintf(ret->session, sizeof(ret->session), "%s", session);
	code = look(n, user, true, ret, err);
	if (code != TH_STORED_FOUND)
		th_stored_deinit(ret);
	return code;
}

enum th_stored_result th_stored_item(struct th_needs *needs, const char *user, struct th_str name,
				     struct th_buf *out, struct thole_error *err)
{
	struct th_item_name n;
	struct th_stored d;
	enum th_stored_result code;

	if (!th_item_name_parse(name, &n)) {
		(void)not_there(err);
		return TH_STORED_FAILED;
	}
	code = th_stored_get(needs, user, th_str_of(n.response), &d, err);
	if (code != TH_STORED_FOUND)
		return code;
	d.reply.sealed = true;
	(void)not_there(err);
	if (!th_json_bool(th_json_get(d.member, "store"), true))
		code = TH_STORED_FAILED;
	else if (th_str_starts(name, TH_STR(TH_ASKED_PREFIX)))
		code = th_asked_item(needs, user, &d, n.index, out, err);
	else if (n.index < d.reply.count)
		th_buf_add_cstr(out, d.reply.items[n.index].json);
	else
		code = TH_STORED_FAILED;
	th_stored_deinit(&d);
	return code;
}

void th_stored_deinit(struct th_stored *d)
{
	th_reply_deinit(&d->reply);
	th_function_names_free(d->functions, d->function_count);
	th_json_free(d->doc);
	*d = (struct th_stored){ 0 };
}
