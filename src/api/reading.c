/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reading.c - logs, exports and blobs, read beside the loop and given to the program from it.
 */
#include <stdlib.h>

#include "admin/nodes.h"
#include "admin/transfer.h"
#include "api/api.h"
#include "api/conversation.h"
#include "api/work.h"

#define REUSE_MAX TH_MIB /* a larger buffer is freed after its piece */

enum kind { READ_LOG, READ_EXPORT, READ_BLOB, READ_NODES, READ_SLOW, READ_CONVERSATION, READ_WORK };

struct thole_reading {
	struct th_read job;
	struct thole_runtime *rt;
	struct thole_reading *prev, *next;
	enum kind kind;
	thole_line_fn *fn;
	thole_bytes_fn *bytes_fn;
	thole_done_fn *done;
	void *ctx;
	bool asked;   /* the reader has the job */
	bool telling; /* fn is being called */
	bool freed;   /* by the program, or with the runtime */
	int result;   /* of fn */
	/* The thread's while the reader has the job. */
	struct th_log_read log;
	struct th_buf text; /* lines, or the blob */
	size_t ends[TH_READ_PIECE_EVENTS], count;
	struct th_api_work *work;
	struct th_digest hash;
	size_t offset, len;
	struct thole_conversation *conversation; /* whose readings take turns on the thread */
	struct th_conversation_place place;
	bool more; /* the job is to be asked for again */
	size_t id_len;
	char id[TH_SESSION_ID_MAX + 1];
};

/* ---- life ---- */

static void reading_free(struct thole_reading *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->rt->readings = r->next;
	if (r->next)
		r->next->prev = r->prev;
	if (!r->rt->ending)
		th_loop_defer(r->rt->loop, &r->rt->deliver); /* thole_runtime_run may end */
	if (r->work)
		r->work->free(r->work);
	th_api_conversation_unref(r->conversation);
	th_buf_deinit(&r->text);
	free(r);
}

/* The program hears the end, and the reading is gone. */
static void reading_end(struct thole_reading *r, int code, const struct th_err *why)
{
	struct thole_error err = { 0 };
	thole_done_fn *done = r->done;
	void *ctx = r->ctx;

	if (!r->result && code)
		(void)th_api_out((enum th_code)code, why, &err);
	code = r->result ? r->result : code;
	reading_free(r);
	done(ctx, code, err.code ? &err : NULL);
}

void thole_reading_free(struct thole_reading *r)
{
	if (!r || r->freed)
		return;
	r->freed = true;
	if (r->asked && r->work && r->work->changes)
		return; /* it is done, and nobody hears of it */
	if (r->asked)
		th_reader_cancel(&r->job);
	else if (!r->telling)
		reading_free(r);
}

void th_api_readings_end(struct thole_runtime *rt)
{
	for (struct thole_reading *r = rt->readings, *next; r; r = next) {
		next = r->next;
		thole_reading_free(r);
	}
}

/* ---- on the thread ---- */

/* One more line of the piece. */
static enum th_code line_end(struct thole_reading *r, struct th_err *err)
{
	r->ends[r->count++] = r->text.len;
	r->log.bytes = r->text.len;
	return th_buf_check(&r->text, "a line", err);
}

static enum th_code take_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct thole_reading *r = ctx;
	struct th_jw w = th_jw(&r->text);

	(void)digest;
	th_event_print(th_str_n(r->id, r->id_len), ev, &w);
	return line_end(r, err);
}

/* One that is full goes to the program before the next line. */
static enum th_code give_full(struct thole_reading *r, struct th_err *err)
{
	enum th_code code;

	if (r->count < TH_READ_PIECE_EVENTS && r->text.len < TH_READ_PIECE_BYTES)
		return TH_OK;
	code = th_read_give(&r->job, err);
	th_buf_clear(&r->text);
	r->count = 0;
	return code;
}

static enum th_code take_line(void *ctx, struct th_str line, struct th_err *err)
{
	struct thole_reading *r = ctx;
	enum th_code code;

	th_buf_add(&r->text, line);
	code = line_end(r, err);
	return code ? code : give_full(r, err);
}

static enum th_code take_node(void *ctx, const struct th_node *node, struct th_err *err)
{
	struct thole_reading *r = ctx;
	enum th_code code;

	th_node_print(node, &r->text);
	code = line_end(r, err);
	return code ? code : give_full(r, err);
}

static enum th_code take_slow(void *ctx, const struct th_slow *slow, struct th_err *err)
{
	struct thole_reading *r = ctx;

	th_slow_print(slow, &r->text);
	return line_end(r, err);
}

/* One more event of a conversation. */
static enum th_code take_told(void *ctx, struct th_str event, bool *ret_full, struct th_err *err)
{
	struct thole_reading *r = ctx;
	enum th_code code;

	th_buf_add(&r->text, event);
	code = line_end(r, err);
	*ret_full = r->count == TH_READ_PIECE_EVENTS || r->text.len >= TH_READ_PIECE_BYTES;
	return code;
}

static enum th_code run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct thole_reading *r = TH_CONTAINER_OF(job, struct thole_reading, job);
	struct th_str id = th_str_n(r->id, r->id_len);

	th_buf_clear(&r->text);
	r->count = 0;
	switch (r->kind) {
	case READ_LOG: {
		enum th_code code = th_log_read_next(&r->log, store, id, err);

		r->more = !r->log.over;
		return code;
	}
	case READ_CONVERSATION:
		return th_api_conversation_piece(r->conversation, &r->place, store, take_told, r,
						 &r->more, err);
	case READ_EXPORT:
		return th_session_export(store, id, take_line, r, err);
	case READ_NODES:
		return store->kind->nodes ? store->kind->nodes(store, id, take_node, r, err)
					  : TH_OK;
	case READ_SLOW:
		return store->kind->slow ? store->kind->slow(store, take_slow, r, err) : TH_OK;
	case READ_WORK: {
		enum th_code code = r->work->run(r->work, store, &r->text, err);

		return code || !r->fn ? code : line_end(r, err);
	}
	case READ_BLOB:
		break;
	}
	return store->kind->blob(store, &r->hash, &r->text, err);
}

/* ---- on the loop ---- */

/* Gives the program the piece.  False: it wants no more. */
static bool tell(struct thole_reading *r)
{
	size_t from = 0;

	r->telling = true;
	for (size_t i = 0; i < r->count && !r->freed && !r->result; i++) {
		r->result = r->fn(r->ctx, r->text.ptr + from, r->ends[i] - from);
		from = r->ends[i];
	}
	if (r->kind == READ_BLOB && r->offset < r->text.len)
		r->result =
		    r->bytes_fn(r->ctx, r->text.ptr + r->offset,
				TH_MIN(r->len ? r->len : r->text.len, r->text.len - r->offset));
	r->telling = false;
	return !r->freed && !r->result;
}

static void on_part(struct th_read *job)
{
	struct thole_reading *r = TH_CONTAINER_OF(job, struct thole_reading, job);

	if (!tell(r) && !job->cancelled)
		th_reader_cancel(job);
}

static void on_done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct thole_reading *r = TH_CONTAINER_OF(job, struct thole_reading, job);
	const struct th_err *failure = th_runtime_failure(r->rt->rt);
	struct th_err e = { 0 };

	r->asked = false;
	if (!code && r->work && r->work->then && !r->rt->ending) {
		bool again = false;

		code = r->work->then(r->work, &again, &e);
		if (!code && again)
			code = th_reader_ask(job->reader, job, &e);
		r->asked = !code && again;
		if (r->asked)
			return;
		err = &e;
	}
	if (r->freed) {
		reading_free(r);
		return;
	}
	if (failure) {
		reading_end(r, failure->code, failure);
		return;
	}
	if (!code && !tell(r)) {
		if (r->freed)
			reading_free(r);
		else
			reading_end(r, TH_OK, NULL);
		return;
	}
	if (r->conversation && !code) {
		r->conversation->count = r->place.count;
		r->conversation->size = r->place.size;
	}
	if (!code && r->more) {
		if (r->text.cap > REUSE_MAX)
			th_buf_deinit(&r->text);
		code = th_reader_ask(job->reader, job, &e);
		r->asked = !code;
		if (r->asked)
			return;
		err = &e;
	}
	reading_end(r, code, err);
}

/* The program gave it up; or its function ended it, and hears so. */
static void on_drop(struct th_read *job)
{
	struct thole_reading *r = TH_CONTAINER_OF(job, struct thole_reading, job);

	r->asked = false;
	if (r->freed || !r->result)
		reading_free(r);
	else
		reading_end(r, TH_OK, NULL);
}

/* ---- how they begin ---- */

static struct thole_reading *reading_new(struct thole_runtime *rt, enum kind kind,
					 const char *session_id, thole_done_fn *done, void *ctx)
{
	struct thole_reading *r = th_alloc(sizeof(*r));

	r->rt = rt;
	r->kind = kind;
	r->done = done;
	r->ctx = ctx;
	r->job = (struct th_read){ .run = run, .part = on_part, .done = on_done, .drop = on_drop };
	r->id_len = session_id ? strlen(session_id) : 0;
	memcpy(r->id, session_id ? session_id : "", r->id_len);
	th_buf_init(&r->text, kind == READ_BLOB ? TH_BLOB_MAX
						: TH_READ_PIECE_BYTES + (size_t)TH_JSON_SIZE_MAX);
	r->next = rt->readings;
	if (r->next)
		r->next->prev = r;
	rt->readings = r;
	return r;
}

static int begin(struct thole_reading *r, struct th_reader *reader, struct thole_reading **ret,
		 struct thole_error *err)
{
	struct th_err e = { 0 };
	enum th_code code = th_reader_ask(reader, &r->job, &e);

	if (code) {
		reading_free(r);
		return th_api_out(code, &e, err);
	}
	r->asked = true;
	if (ret)
		*ret = r;
	return TH_OK;
}

static int check(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
		 thole_done_fn *done, struct thole_error *err)
{
	int code = th_api_enter_reading(rt, session_id, fn, err);

	if (!code && !done)
		code = th_api_fail(err, TH_EUSAGE, "done is NULL");
	return code;
}

int thole_runtime_log_start(struct thole_runtime *rt, const char *session_id, uint64_t from,
			    thole_line_fn *fn, thole_done_fn *done, void *ctx,
			    struct thole_reading **ret, struct thole_error *err)
{
	struct thole_reading *r;
	int code = check(rt, session_id, fn, done, err);

	if (code)
		return code;
	r = reading_new(rt, READ_LOG, session_id, done, ctx);
	r->fn = fn;
	r->log = (struct th_log_read){ .next = from ? from : 1, .take = take_event, .ctx = r };
	return begin(r, th_runtime_reader(rt->rt), ret, err);
}

int thole_runtime_export_start(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
			       thole_done_fn *done, void *ctx, struct thole_reading **ret,
			       struct thole_error *err)
{
	struct thole_reading *r;
	int code = check(rt, session_id, fn, done, err);

	if (code)
		return code;
	r = reading_new(rt, READ_EXPORT, session_id, done, ctx);
	r->fn = fn;
	return begin(r, th_runtime_long_reader(rt->rt), ret, err);
}

int thole_runtime_nodes_start(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
			      thole_done_fn *done, void *ctx, struct thole_reading **ret,
			      struct thole_error *err)
{
	struct thole_reading *r;
	int code = session_id ? check(rt, session_id, fn, done, err) : th_api_enter(rt, err);

	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code)
		return code;
	r = reading_new(rt, READ_NODES, session_id, done, ctx);
	r->fn = fn;
	return begin(r, th_runtime_reader(rt->rt), ret, err);
}

int thole_runtime_slow_start(struct thole_runtime *rt, thole_line_fn *fn, thole_done_fn *done,
			     void *ctx, struct thole_reading **ret, struct thole_error *err)
{
	struct thole_reading *r;
	int code = th_api_enter(rt, err);

	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code)
		return code;
	r = reading_new(rt, READ_SLOW, NULL, done, ctx);
	r->fn = fn;
	return begin(r, th_runtime_reader(rt->rt), ret, err);
}

int th_api_work_start(struct thole_runtime *rt, struct th_reader *reader, struct th_api_work *w,
		      thole_line_fn *fn, thole_done_fn *done, void *ctx, struct thole_reading **ret,
		      struct thole_error *err)
{
	struct thole_reading *r = reading_new(rt, READ_WORK, NULL, done, ctx);

	r->fn = fn;
	r->work = w;
	return begin(r, reader, ret, err);
}

int thole_runtime_blob_start(struct thole_runtime *rt, const char *hash, size_t offset, size_t len,
			     thole_bytes_fn *fn, thole_done_fn *done, void *ctx,
			     struct thole_reading **ret, struct thole_error *err)
{
	struct thole_reading *r;
	struct th_digest digest;
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(hash, "the blob's hash", 1, TH_SHA256_HEX_SIZE, err);
	if (!code && !th_digest_parse(th_str_of(hash), &digest))
		code = th_api_fail(err, TH_EUSAGE, "a blob's hash is 64 hexadecimal digits");
	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code)
		return code;
	r = reading_new(rt, READ_BLOB, NULL, done, ctx);
	r->bytes_fn = fn;
	r->hash = digest;
	r->offset = offset;
	r->len = len;
	return begin(r, th_runtime_blob_reader(rt->rt), ret, err);
}

int thole_conversation_read(struct thole_conversation *c, const char *const *options,
			    thole_line_fn *fn, thole_done_fn *done, void *ctx,
			    struct thole_reading **ret, struct thole_error *err)
{
	struct th_conversation_place place;
	struct thole_reading *r;
	int code = th_api_conversation_place(c, options, &place, err);

	if (!code)
		code = check(c->rt, c->id, fn, done, err);
	if (code)
		return code;
	r = reading_new(c->rt, READ_CONVERSATION, c->id, done, ctx);
	r->fn = fn;
	r->place = place;
	r->conversation = c;
	c->users++;
	return begin(r, th_runtime_reader(c->rt->rt), ret, err);
}
