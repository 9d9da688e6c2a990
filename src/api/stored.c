/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stored.c - what a host does to sessions by their names, whether this runtime has them open or
 * not: decisions, what waits, recovery; and blobs.
 */
#include <stdlib.h>

#include "admin/edit.h"
#include "admin/waiting.h"
#include "api/work.h"
#include "core/session.h"
#include "io/clock.h"

/* ---- decisions --------------------------------------------------------------------------------
 */

struct word {
	const char *call_id, *by, *message;
	bool approve, always;
	int outcome; /* enum thole_outcome; -1: it is an approval */
};

static int check_word(struct thole_runtime *rt, const char *id, const struct word *w,
		      struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && w->call_id)
		code = th_api_text(w->call_id, "the call's id", 0, TH_PATH_LEN_MAX, err);
	if (!code && w->by)
		code = th_api_text(w->by, "who says so", 0, TH_PATH_LEN_MAX, err);
	if (!code && w->message)
		code = th_api_text(w->message, "the message", 0, TH_MESSAGE_MAX, err);
	return code;
}

static enum th_code put_word(struct th_edit *e, const struct word *w, struct th_err *err)
{
	static const enum th_outcome_status words[] = {
		[THOLE_DONE] = TH_OUTCOME_DONE,
		[THOLE_NOT_STARTED] = TH_OUTCOME_NOT_STARTED,
		[THOLE_UNKNOWN] = TH_OUTCOME_UNKNOWN,
	};
	struct th_str call_id = th_str_of(w->call_id), by = th_str_of(w->by);
	struct th_str message = th_str_of(w->message);
	const struct th_ev_approval_decided word = {
		.approve = w->approve, .always = w->always, .by = by, .message = message
	};
	size_t index;

	if (w->outcome >= 0)
		return th_edit_settle(e, call_id, words[w->outcome], by, message, &index, err);
	return th_edit_decide(e, call_id, &word, NULL, NULL, err);
}

static int word_stored(struct thole_runtime *rt, const char *id, const struct word *w,
		       struct thole_error *err)
{
	struct th_edit edit;
	struct th_err e = { 0 };
	enum th_code code;

	if (th_runtime_has(rt->rt, th_str_of(id)))
		return th_api_fail(err, TH_EBUSY,
				   "session %s works for one that this runtime has open; say it to "
				   "that one",
				   id);
	code = th_edit_open_waiting(&edit, th_runtime_store(rt->rt), th_str_of(id),
				    w->outcome >= 0 ? TH_CALL_PARKED : TH_CALL_ASKED,
				    th_str_of(w->call_id), &e);
	if (code)
		return th_api_out(code, &e, err);
	code = put_word(&edit, w, &e);
	th_edit_close(&edit);
	return th_api_out(code, &e, err);
}

int thole_runtime_approve(struct thole_runtime *rt, const char *session_id, const char *call_id,
			  const char *by, bool always, struct thole_error *err)
{
	const struct word w = {
		.call_id = call_id, .by = by, .approve = true, .always = always, .outcome = -1
	};
	int code = check_word(rt, session_id, &w, err);
	struct thole_session *s = code ? NULL : th_api_open_find(rt, session_id);

	if (code)
		return code;
	if (!s)
		return word_stored(rt, session_id, &w, err);
	return always ? thole_session_approve_always(s, call_id, by, err)
		      : thole_session_approve(s, call_id, by, err);
}

int thole_runtime_answer(struct thole_runtime *rt, const char *session_id, const char *call_id,
			 const char *by, const char *answer, struct thole_error *err)
{
	const struct word w = {
		.call_id = call_id, .by = by, .message = answer, .approve = true, .outcome = -1
	};
	int code = check_word(rt, session_id, &w, err);
	struct thole_session *s = code ? NULL : th_api_open_find(rt, session_id);

	if (!code)
		code = th_api_text(answer, "the answer", 1, TH_MESSAGE_MAX, err);
	if (code)
		return code;
	return s ? thole_session_answer(s, call_id, by, answer, err)
		 : word_stored(rt, session_id, &w, err);
}

int thole_runtime_reject(struct thole_runtime *rt, const char *session_id, const char *call_id,
			 const char *by, const char *message, bool always, struct thole_error *err)
{
	const struct word w = {
		.call_id = call_id, .by = by, .message = message, .always = always, .outcome = -1
	};
	int code = check_word(rt, session_id, &w, err);
	struct thole_session *s = code ? NULL : th_api_open_find(rt, session_id);

	if (code)
		return code;
	if (!s)
		return word_stored(rt, session_id, &w, err);
	return always ? thole_session_reject_always(s, call_id, by, message, err)
		      : thole_session_reject(s, call_id, by, message, err);
}

int thole_runtime_settle(struct thole_runtime *rt, const char *session_id, const char *call_id,
			 enum thole_outcome outcome, const char *by, const char *message,
			 struct thole_error *err)
{
	const struct word w = {
		.call_id = call_id, .by = by, .message = message, .outcome = (int)outcome
	};
	int code = check_word(rt, session_id, &w, err);
	struct thole_session *s = code ? NULL : th_api_open_find(rt, session_id);

	if (!code && (unsigned)outcome > THOLE_UNKNOWN)
		code = th_api_fail(err, TH_EUSAGE, "it was done, not started, or is unknown");
	if (code)
		return code;
	return s ? thole_session_settle(s, call_id, outcome, by, message, err)
		 : word_stored(rt, session_id, &w, err);
}

/* ---- what waits -------------------------------------------------------------------------------
 */

struct list {
	struct th_store *store;
	struct th_jw w;
	struct th_buf cursor; /* of the last session */
	size_t limit, count;
	bool more;
};

static enum th_code list_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct list *l = ctx;
	enum th_code code;

	if (l->count == l->limit) {
		l->more = true;
		return TH_OK;
	}
	l->count++;
	th_buf_clear(&l->cursor);
	th_cursor_print(TH_LIST_CREATED, row, &l->cursor);
	code = th_waiting_print(l->store, row, &l->w, err);
	return code ? code : th_buf_check(l->w.out, "the list of what waits", err);
}

/* As it is asked for; read on any thread. */
struct waiting {
	struct th_api_work work;
	struct th_session_filter filter; /* borrows of this */
	size_t limit;
	char user[TH_USER_MAX + 1], after[TH_PATH_LEN_MAX + 1];
};

static int waiting_read(struct thole_runtime *rt, const char *user, const char *after, size_t limit,
			struct waiting *w, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_enter(rt, err);

	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	if (!code && after)
		code = th_api_text(after, "the cursor", 1, TH_PATH_LEN_MAX, err);
	if (!code && limit > TH_PAGE_SESSIONS_MAX)
		code = th_api_fail(err, TH_EUSAGE, "limit is at most %d", TH_PAGE_SESSIONS_MAX);
	if (code)
		return code;
	memcpy(w->user, user ?: "", user ? strlen(user) : 0);
	memcpy(w->after, after ?: "", after ? strlen(after) : 0);
	w->limit = limit ? limit : TH_PAGE_SESSIONS;
	w->filter =
	    (struct th_session_filter){ .user = th_str_of(w->user), .state = TH_STR("waiting") };
	if (after)
		code = th_api_out(th_cursor_parse(th_str_of(w->after), &w->filter, &e), &e, err);
	if (!code && after && w->filter.order != TH_LIST_CREATED)
		code = th_api_fail(err, TH_EUSAGE, "the cursor is of another list");
	w->filter.order = TH_LIST_CREATED;
	w->filter.limit = w->limit + 1;
	return code;
}

static enum th_code waiting_print(const struct waiting *w, struct th_store *store,
				  struct th_buf *out, struct th_err *err)
{
	struct list l = { .store = store, .w = th_jw(out), .limit = w->limit };
	enum th_code code;

	th_buf_init(&l.cursor, TH_KIB);
	th_jw_object(&l.w);
	th_jw_key(&l.w, TH_STR("waiting"));
	th_jw_array(&l.w);
	code = store->kind->list(store, &w->filter, list_row, &l, err);
	th_jw_array_end(&l.w);
	if (l.more)
		th_jw_kstr(&l.w, "next", th_buf_str(&l.cursor));
	th_jw_object_end(&l.w);
	th_buf_deinit(&l.cursor);
	return code ? code : th_buf_check(out, "the list of what waits", err);
}

int thole_runtime_waiting(struct thole_runtime *rt, const char *user, const char *after,
			  size_t limit, char **ret, struct thole_error *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct waiting w = { 0 };
	struct th_err e = { 0 };
	enum th_code bad;
	int code = waiting_read(rt, user, after, limit, &w, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the list: ret is NULL");
	if (code)
		return code;
	bad = waiting_print(&w, th_runtime_store(rt->rt), &text, &e);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	return th_api_out(bad, &e, err);
}

static enum th_code waiting_run(struct th_api_work *work, struct th_store *reads,
				struct th_buf *out, struct th_err *err)
{
	return waiting_print(TH_CONTAINER_OF(work, struct waiting, work), reads, out, err);
}

static void waiting_free(struct th_api_work *work)
{
	free(TH_CONTAINER_OF(work, struct waiting, work));
}

int thole_runtime_waiting_start(struct thole_runtime *rt, const char *user, const char *after,
				size_t limit, thole_line_fn *fn, thole_done_fn *done, void *ctx,
				struct thole_reading **ret, struct thole_error *err)
{
	struct waiting *w = th_alloc(sizeof(*w));
	int code = waiting_read(rt, user, after, limit, w, err);

	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code) {
		free(w);
		return code;
	}
	w->work = (struct th_api_work){ .run = waiting_run, .free = waiting_free };
	return th_api_work_start(rt, th_runtime_reader(rt->rt), &w->work, fn, done, ctx, ret, err);
}

/* ---- blobs ------------------------------------------------------------------------------------
 */

int thole_runtime_blob(struct thole_runtime *rt, const char *hash, size_t offset, size_t len,
		       thole_bytes_fn *fn, void *ctx, size_t *ret_size, struct thole_error *err)
{
	struct th_buf bytes;
	struct th_digest digest;
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code bad;
	size_t size;
	int code = th_api_enter(rt, err), result = 0;

	if (!code)
		code = th_api_text(hash, "the blob's hash", 1, TH_SHA256_HEX_SIZE, err);
	if (!code && !th_digest_parse(th_str_of(hash), &digest))
		code = th_api_fail(err, TH_EUSAGE, "a blob's hash is 64 hexadecimal digits");
	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "fn is NULL");
	if (code)
		return code;
	th_buf_init(&bytes, TH_BLOB_MAX);
	store = th_runtime_store(rt->rt);
	bad = store->kind->blob(store, &digest, &bytes, &e);
	size = bytes.len;
	if (!bad && ret_size)
		*ret_size = size;
	if (!bad && offset < size)
		result = fn(ctx, bytes.ptr + offset, TH_MIN(len ? len : size, size - offset));
	th_buf_deinit(&bytes);
	return result ? result : th_api_out(bad, &e, err);
}

/* ---- recovery ---------------------------------------------------------------------------------
 */

struct found {
	struct found *next;
	struct thole_agent *agent;
	bool goes_on;
	char id[];
};

struct search {
	struct thole_runtime *rt;
	thole_recover_fn *wants;
	void *ctx;
	struct found *first, **last;
	size_t count;
};

static bool is_open(struct th_str state)
{
	static const enum th_state open[] = {
		TH_STATE_LOADING, TH_STATE_IDLE,   TH_STATE_RUNNING,
		TH_STATE_WAITING, TH_STATE_PAUSED, TH_STATE_SCHEDULED
	};

	for (size_t i = 0; i < TH_COUNT(open); i++)
		if (th_str_is(state, th_state_name(open[i])))
			return true;
	return false;
}

/* Its time has come; of a store that others use, th_store_kind.abandoned knows. */
static bool begins(struct thole_runtime *rt, const struct th_session_row *row)
{
	int64_t start_ms = th_start_of(row->metadata);

	if (th_runtime_store(rt->rt)->kind->abandoned)
		return false;
	if (start_ms <= (int64_t)th_clock_wall_ms())
		return true;
	th_api_schedule_note(rt, start_ms);
	return false;
}

static enum th_code search_row(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct search *s = ctx;
	struct thole_agent *agent = NULL;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&text);
	struct found *f;

	if (th_str_is(row->state, th_state_name(TH_STATE_SCHEDULED)) && !begins(s->rt, row))
		return TH_OK;
	/* One that works for another is that one's to take up. */
	if (!is_open(row->state) || th_delegated_by(row->metadata).len ||
	    th_runtime_has(s->rt->rt, row->session_id))
		return TH_OK;
	th_api_row_print(row, &w);
	if (th_buf_check(&text, "a session", err) || !s->wants(s->ctx, text.ptr, &agent))
		return th_buf_check(&text, "a session", err);
	if (s->count++ == TH_SESSIONS_MAX)
		return th_fail(
		    err, TH_ELIMIT,
		    "the store has more open sessions than the %d that one runtime takes",
		    TH_SESSIONS_MAX);
	f = th_alloc(sizeof(*f) + row->session_id.len + 1);
	f->agent = th_api_agent_ref(agent);
	f->goes_on = th_str_is(row->state, "running") || th_str_is(row->state, "waiting") ||
		     th_str_is(row->state, "scheduled");
	memcpy(f->id, row->session_id.ptr, row->session_id.len);
	*s->last = f;
	s->last = &f->next;
	return TH_OK;
}

void th_api_recover_one(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			const struct th_session_row *leased, bool goes_on, bool from_dead,
			thole_recovered_fn *recovered, void *ctx)
{
	struct thole_session *s = NULL;
	struct thole_error why = { 0 };
	int code = th_api_session_open_leased(rt, agent, leased, from_dead, &s, &why);

	/* A log that this build would not have continued is open, but does not go on. */
	if (!code && goes_on)
		code = thole_session_resume(s, &why);
	recovered(ctx, id, s, code ? &why : NULL);
}

/* Taken and opened: as many as go into one transaction. */
static enum th_code recover_some(struct thole_runtime *rt, struct search *s, bool resume,
				 thole_recovered_fn *recovered, struct th_err *err)
{
	struct th_store *store = th_runtime_store(rt->rt);
	struct th_str ids[TH_FLEET_CLAIM_MAX];
	struct th_session_row *rows = th_alloc(TH_FLEET_CLAIM_MAX * sizeof(*rows));
	struct th_err *errs = th_alloc(TH_FLEET_CLAIM_MAX * sizeof(*errs));
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct thole_error why = { 0 };
	size_t count = 0;
	enum th_code code;

	th_arena_init(&memory, TH_BATCH_MEMORY_MAX);
	for (struct found *f = s->first; f && count < TH_FLEET_CLAIM_MAX; f = f->next)
		ids[count++] = th_str_of(f->id);
	code = store->kind->lease_many(store, ids, count, false, &memory, rows, errs, err);
	for (size_t i = 0; i < count && !code; i++) {
		struct found *f = s->first;

		s->first = f->next;
		if (errs[i].code) {
			(void)th_api_out(errs[i].code, &errs[i], &why);
			recovered(s->ctx, f->id, NULL, &why);
		} else {
			th_api_recover_one(rt, f->agent, f->id, &rows[i], resume && f->goes_on,
					   false, recovered, s->ctx);
		}
		th_api_agent_unref(f->agent);
		free(f);
	}
	free(errs);
	free(rows);
	return code;
}

int thole_runtime_recover(struct thole_runtime *rt, thole_recover_fn *wants,
			  thole_recovered_fn *recovered, void *ctx, bool resume,
			  struct thole_error *err)
{
	struct search s = { .rt = rt, .wants = wants, .ctx = ctx };
	struct th_session_filter all = { .order = TH_LIST_CREATED };
	struct th_store *store;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_enter(rt, err);

	if (!code && (!wants || !recovered))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code)
		return code;
	s.last = &s.first;
	store = th_runtime_store(rt->rt);
	bad = store->kind->list(store, &all, search_row, &s, &e);
	while (s.first && !bad)
		bad = recover_some(rt, &s, resume, recovered, &e);
	while (s.first) {
		struct found *f = s.first;

		s.first = f->next;
		th_api_agent_unref(f->agent);
		free(f);
	}
	return th_api_out(bad, &e, err);
}
