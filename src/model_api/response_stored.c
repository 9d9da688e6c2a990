/* SPDX-License-Identifier: Apache-2.0 */
/* response_stored.c - responses that are in the store, by their names. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"

#define PREFIX "resp_"
#define HEX 32 /* digits of a UUID */

/* ---- names ---- */

void th_response_name(const char *session, uint64_t after, char ret[static TH_RESPONSE_NAME_MAX])
{
	char hex[HEX + 1];
	size_t len = 0;

	for (const char *c = session; *c && len < HEX; c++)
		if (*c != '-')
			hex[len++] = *c;
	hex[len] = '\0';
	snprintf(ret, TH_RESPONSE_NAME_MAX, PREFIX "%s_%llu", hex, (unsigned long long)after);
}

void th_response_name_reply(struct th_reply *r, const char *name)
{
	snprintf(r->name, sizeof(r->name), "%s", name + strlen(PREFIX));
}

static bool name_parse(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1],
		       uint64_t *after)
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	struct th_str hex = th_str_sub(name, strlen(PREFIX), HEX);
	int64_t n;
	size_t at = 0, from = 0;

	if (!th_str_starts(name, TH_STR(PREFIX)) || hex.len != HEX ||
	    name.len < strlen(PREFIX) + HEX + 2 || name.ptr[strlen(PREFIX) + HEX] != '_' ||
	    !th_str_i64(th_str_sub(name, strlen(PREFIX) + HEX + 1, name.len), &n) || n < 0)
		return false;
	for (size_t g = 0; g < TH_COUNT(groups); g++) {
		if (g)
			session[at++] = '-';
		for (size_t i = 0; i < groups[g]; i++) {
			char c = hex.ptr[from++];

			if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
				return false;
			session[at++] = c;
		}
	}
	session[at] = '\0';
	*after = (uint64_t)n;
	return true;
}

bool th_response_session_of(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1])
{
	uint64_t after;

	return name_parse(name, session, &after);
}

char **th_function_names(const struct th_json *tools, size_t *ret_count)
{
	struct th_json_iter it = th_json_iter(tools);
	char **list = th_alloc((th_json_count(tools) + 1) * sizeof(*list));
	size_t count = 0;

	while (th_json_next(&it)) {
		struct th_str name = th_json_get_str(it.val, "name");

		if (!name.len)
			continue;
		list[count] = th_alloc(name.len + 1);
		memcpy(list[count], name.ptr, name.len);
		list[count++][name.len] = '\0';
	}
	*ret_count = count;
	return list;
}

bool th_item_name_parse(struct th_str name, struct th_item_name *ret)
{
	char session[TH_UUID_TEXT_SIZE + 1];
	ptrdiff_t first = th_str_find_char(name, '_'), last = -1;
	uint64_t after;
	int64_t index;
	int size;

	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] == '_')
			last = (ptrdiff_t)i;
	if (first < 1 || last <= first || name.len > TH_REPLY_NAME_MAX + 16 ||
	    !th_str_i64(th_str_sub(name, (size_t)last + 1, name.len), &index) || index < 0)
		return false;
	size = snprintf(ret->response, sizeof(ret->response), PREFIX "%.*s",
			(int)(last - first - 1), name.ptr + first + 1);
	ret->index = (size_t)index;
	return size > 0 && (size_t)size < sizeof(ret->response) &&
	       name_parse(th_str_of(ret->response), session, &after);
}

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

static int fold(struct th_server *s, const char *session, struct folding *f,
		struct thole_error *err)
{
	int code = thole_runtime_log(s->rt, session, f->after + 1, on_line, f, err);

	if ((!code || code == 1) && lacks_before(f)) {
		fold_again(f);
		code = thole_runtime_log(s->rt, session, 1, on_line_before, f, err);
		if (!code || code == 1)
			code = thole_runtime_log(s->rt, session, f->after + 1, on_line, f, err);
	}
	return code == 1 ? THOLE_OK : code;
}

bool th_stored_fold(struct th_server *s, const char *session, uint64_t from, struct th_reply *r,
		    struct thole_error *err)
{
	struct folding f = { .reply = r, .after = from - 1 };
	int code = thole_runtime_log(s->rt, session, from, on_line, &f, err);

	return code == 0 || code == 1;
}

static int not_there(struct thole_error *err)
{
	err->code = THOLE_ENOENT;
	snprintf(err->text, sizeof(err->text), "there is no such response");
	return THOLE_ENOENT;
}

/* The row of the session, and what its metadata says. */
static int load_row(struct th_server *s, const char *user, struct th_stored *d,
		    struct thole_error *err)
{
	char *row = NULL;
	int code = thole_runtime_session(s->rt, d->session, user, &row, err);

	if (code)
		return code;
	if (th_json_parse(th_str_of(row), &d->doc, NULL) != TH_OK)
		code = not_there(err);
	thole_free(row);
	if (!code)
		d->member =
		    th_json_get(th_json_get(th_json_root(d->doc), "metadata"), TH_RESPONSE_MEMBER);
	return code;
}

/* The row is loaded; its log is to be folded. */
static struct folding load_begin(struct th_stored *d, bool last)
{
	char name[TH_RESPONSE_NAME_MAX];

	d->functions = th_function_names(th_json_get(th_json_get(d->member, "echo"), "tools"),
					 &d->function_count);
	d->reply.functions = (const char *const *)d->functions;
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

/* The session of the response, if it is this user's and has it. */
static int find(struct th_server *s, const char *user, struct th_str name, struct th_stored *ret,
		struct thole_error *err)
{
	int code;

	*ret = (struct th_stored){ .is_head = true };
	code = name_parse(name, ret->session, &ret->after) ? load_row(s, user, ret, err)
							   : not_there(err);
	if (!code &&
	    (!th_json_is_object(ret->member) || th_stored_is_deleted(ret) ||
	     (uint64_t)th_json_get_int(th_json_root(ret->doc), "head_seq", 0) <= ret->after))
		code = not_there(err);
	if (code)
		th_stored_deinit(ret);
	return code;
}

int th_stored_refresh(struct th_server *s, const char *user, struct th_stored *d,
		      struct thole_error *err)
{
	int code;

	th_json_free(d->doc);
	d->doc = NULL;
	d->member = NULL;
	code = load_row(s, user, d, err);
	if (!code && (!th_json_is_object(d->member) || th_stored_is_deleted(d)))
		code = not_there(err);
	return code;
}

/* Its row is there: its log is read, from the loop. */
static int load_now(struct th_server *s, struct th_stored *d, bool last, struct thole_error *err)
{
	struct folding f = load_begin(d, last);
	int code = fold(s, d->session, &f, err);

	load_end(d, &f);
	if (code)
		th_stored_deinit(d);
	return code;
}

int th_stored_load(struct th_server *s, const char *user, struct th_str name, struct th_stored *ret,
		   struct thole_error *err)
{
	int code = find(s, user, name, ret, err);

	return code ? code : load_now(s, ret, false, err);
}

int th_stored_load_last(struct th_server *s, const char *user, const char *session,
			struct th_stored *ret, struct thole_error *err)
{
	int code;

	*ret = (struct th_stored){ .is_head = true };
	snprintf(ret->session, sizeof(ret->session), "%s", session);
	code = load_row(s, user, ret, err);
	if (!code)
		return load_now(s, ret, true, err);
	th_stored_deinit(ret);
	return code;
}

/* ---- the same beside the loop ---- */

struct th_stored_load {
	struct th_server *server;
	struct th_log_load *load;
	struct th_stored *stored;
	struct folding folding;
	th_stored_fn *done;
	void *ctx;
	bool again; /* the calls before it were asked for */
};

static void on_own(void *ctx, int code, const struct thole_error *err);

/* Reads from event `from` on. */
static void load_read(struct th_stored_load *l, uint64_t from, thole_line_fn *fn,
		      thole_done_fn *done)
{
	struct thole_error err = { 0 };
	int code =
	    th_log_load(l->server, l->stored->session, from, fn, done, &l->folding, &l->load, &err);

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
		load_read(l, l->folding.after + 1, on_line, on_own);
}

static void on_own(void *ctx, int code, const struct thole_error *err)
{
	struct th_stored_load *l = TH_CONTAINER_OF(ctx, struct th_stored_load, folding);
	th_stored_fn *done = l->done;
	void *theirs = l->ctx;

	l->load = NULL;
	if ((!code || code == 1) && !l->again && lacks_before(&l->folding)) {
		l->again = true;
		fold_again(&l->folding);
		load_read(l, 1, on_line_before, on_before);
		return;
	}
	load_end(l->stored, &l->folding);
	free(l);
	done(theirs, code && code != 1 ? err : NULL);
}

int th_stored_load_start(struct th_server *s, const char *user, struct th_str name,
			 struct th_stored *ret, th_stored_fn *done, void *ctx,
			 struct th_stored_load **ret_load, struct thole_error *err)
{
	int code = find(s, user, name, ret, err);
	struct th_stored_load *l;

	if (code)
		return code;
	l = th_alloc(sizeof(*l));
	*l = (struct th_stored_load){ .server = s, .stored = ret, .done = done, .ctx = ctx };
	l->folding = load_begin(ret, false);
	*ret_load = l;
	load_read(l, l->folding.after + 1, on_line, on_own);
	return THOLE_OK;
}

void th_stored_load_cancel(struct th_stored_load *l)
{
	th_log_load_cancel(l->load);
	free(l);
}

int th_stored_item(struct th_server *s, const char *user, struct th_str name, struct th_buf *out,
		   struct thole_error *err)
{
	struct th_item_name n;
	struct th_stored d;
	int code;

	if (!th_item_name_parse(name, &n))
		return not_there(err);
	code = th_stored_load(s, user, th_str_of(n.response), &d, err);
	if (code)
		return code;
	d.reply.sealed = true;
	if (n.index < d.reply.count && th_json_bool(th_json_get(d.member, "store"), true))
		th_buf_add_cstr(out, d.reply.items[n.index].json);
	else
		code = not_there(err);
	th_stored_deinit(&d);
	return code;
}

void th_stored_deinit(struct th_stored *d)
{
	th_reply_deinit(&d->reply);
	for (size_t i = 0; i < d->function_count; i++)
		free(d->functions[i]);
	free(d->functions);
	th_json_free(d->doc);
	*d = (struct th_stored){ 0 };
}
