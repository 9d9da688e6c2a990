/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/edit.h"

#include "base/text.h"
#include "core/fork.h"
#include "core/person.h"
#include "driver/driver.h"
#include "io/clock.h"

#define EDIT_MEMORY_MAX TH_TURN_MEMORY_MAX

static enum th_code fold_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	struct th_edit *e = ctx;
	struct th_effects effects;

	e->row.head = *digest;
	return th_session_step(&e->session, ev, &effects, err);
}

static enum th_code check_end(const struct th_session *s, uint64_t to, struct th_str id,
			      struct th_err *err)
{
	if (s->seq == to)
		return TH_OK;
	return th_fail(err, TH_ECORRUPT,
		       "session %.*s: the log ends at event %llu, but its row says %llu",
		       TH_FMT(id), (unsigned long long)s->seq, (unsigned long long)to);
}

static enum th_code fold(struct th_edit *e, struct th_str id, uint64_t to, struct th_err *err)
{
	enum th_code code = e->reads->kind->read(e->reads, id, 1, to, fold_event, e, err);

	return code ? th_prefix(err, code, "session %.*s", TH_FMT(id))
		    : check_end(&e->session, to, id, err);
}

static void begin(struct th_edit *e, struct th_store *reads, struct th_store *store)
{
	*e = (struct th_edit){ .reads = reads, .store = store };
	th_arena_init(&e->memory, EDIT_MEMORY_MAX);
	th_session_init(&e->session);
}

static void end(struct th_edit *e)
{
	th_session_deinit(&e->session);
	th_arena_deinit(&e->memory);
}

static void release(struct th_edit *e)
{
	struct th_err ignored;

	/* The lease would also end with this process; giving it back is a courtesy to others. */
	if (e->store->kind->release(e->store, e->row.session_id, e->row.epoch, &ignored) != TH_OK)
		return;
}

enum th_code th_edit_open(struct th_edit *e, struct th_store *reads, struct th_store *store,
			  struct th_str session_id, struct th_err *err)
{
	enum th_code code;

	begin(e, reads, store);
	code = store->kind->lease(store, session_id, &e->memory, &e->row, err);
	if (code == TH_OK) {
		code = fold(e, e->row.session_id, e->row.head_seq, err);
		if (code != TH_OK)
			release(e);
	}
	if (code != TH_OK)
		end(e);
	return code;
}

void th_edit_close(struct th_edit *e)
{
	release(e);
	end(e);
}

/* What the fold says, into the row that goes with the event. */
static void refresh_row(struct th_edit *e)
{
	th_session_row_of(&e->session, &e->row);
}

static enum th_code append(struct th_edit *e, enum th_event_kind kind, enum th_source source,
			   uint64_t cause, struct th_str call, const struct th_table *table,
			   const void *data, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&text);
	struct th_digest before = e->row.head;
	struct th_effects effects;
	struct th_event ev = {
		.seq = e->session.seq + 1,
		.ts_ms = (int64_t)th_clock_wall_ms(),
		.id = th_uuid_now(),
		.source = source,
		.kind = kind,
		.cause = cause,
		.call = call,
		.build = TH_STR(TH_VERSION),
	};
	struct th_append a = {
		.row = &e->row,
		.seq_before = e->session.seq,
		.head_before = before,
		.events = &ev,
		.event_count = 1,
	};
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	enum th_code code;

	th_table_print(table, data, &w);
	code = th_buf_check(&text, "the event", err);
	if (code != TH_OK)
		return code;
	ev.data = th_buf_str(&text);
	code = th_session_step(&e->session, &ev, &effects, err);
	if (code != TH_OK)
		return code;
	e->row.head = th_event_digest(&before, e->row.session_id, &ev);
	a.digests = &e->row.head;
	refresh_row(e);
	code = e->store->kind->commit_now(e->store, &batch, err);
	if (code == TH_OK && a.result != TH_OK)
		code = th_fail(err, a.result, "session %.*s was taken by another runtime",
			       TH_FMT(e->row.session_id));
	return code;
}

static enum th_code waits(const struct th_edit *e, enum th_call_phase phase, struct th_str call_id,
			  const char *what, const struct th_call **ret, struct th_err *err)
{
	*ret = th_session_waits(&e->session, phase, call_id);
	if (*ret)
		return th_call_word(*ret, call_id, err);
	if (call_id.len)
		return th_fail(err, TH_ENOENT, "no call \"%.*s\" of session %.*s waits for %s",
			       TH_FMT(th_utf8_cut(call_id, 80)), TH_FMT(e->row.session_id), what);
	return th_fail(err, TH_ENOENT, "session %.*s is %s; nothing in it waits for %s",
		       TH_FMT(e->row.session_id), th_state_name(e->session.state), what);
}

struct putting {
	struct th_edit *e;
	th_edit_decided_fn *decided;
	void *ctx;
};

static enum th_code append_word(void *ctx, enum th_event_kind kind, uint64_t cause,
				struct th_str call, const void *data, struct th_err *err)
{
	const struct putting *p = ctx;
	const struct th_session *s = &p->e->session;
	enum th_code code =
	    append(p->e, kind, TH_SOURCE_USER, cause, call, th_event_table(kind), data, err);

	for (size_t i = 0; !code && p->decided && i < s->call_count; i++)
		if (s->calls[i].call_seq == cause)
			p->decided(p->ctx, &s->calls[i]);
	return code;
}

enum th_code th_edit_settle(struct th_edit *e, struct th_str call_id, enum th_outcome_status status,
			    struct th_str by, struct th_str message, size_t *ret_index,
			    struct th_err *err)
{
	struct putting p = { .e = e };
	const struct th_call *c;
	enum th_code code = waits(e, TH_CALL_PARKED, call_id, "a word about its outcome", &c, err);

	if (code != TH_OK)
		return code;
	*ret_index = (size_t)(c - e->session.calls);
	return th_person_settles(c, status, by, message, append_word, &p, err);
}

enum th_code th_edit_decide(struct th_edit *e, struct th_str call_id,
			    const struct th_ev_approval_decided *word, th_edit_decided_fn *decided,
			    void *ctx, struct th_err *err)
{
	struct putting p = { .e = e, .decided = decided, .ctx = ctx };
	const struct th_call *c;
	enum th_code code = waits(e, TH_CALL_ASKED, call_id, "a decision", &c, err);

	return code ? code : th_person_decides(&e->session, c, word, append_word, &p, err);
}

enum th_code th_edit_check_change(const struct th_session_row *row,
				  const struct th_ev_session_changed *change, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	if (!change->title.len && !change->metadata.len)
		return th_fail(err, TH_EUSAGE, "there is nothing to change: title or metadata");
	if (change->title.len) {
		th_text_line(&line, th_utf8_cut(change->title, TH_KIB - 1), TH_TITLE_MAX);
		if (!th_str_eq(th_buf_str(&line), change->title))
			return th_fail(err, TH_EUSAGE,
				       "a title is one line of at most %d characters",
				       TH_TITLE_MAX);
	}
	if (!change->metadata.len)
		return TH_OK;
	if (change->metadata.len > TH_METADATA_MAX)
		return th_fail(err, TH_ELIMIT, "the metadata has more than %zu bytes",
			       (size_t)TH_METADATA_MAX);
	code = th_json_parse(change->metadata, &doc, err);
	if (code)
		return th_prefix(err, code, "metadata");
	if (!th_json_is_object(th_json_root(doc)))
		return th_fail(err, TH_EUSAGE, "metadata is a JSON object");
	if (th_delegated_by(row->metadata).len || th_delegated_by(change->metadata).len)
		return th_fail(err, TH_EUSAGE,
			       "the member delegated_by says for whom a session works, and is not "
			       "changed");
	if (th_start_of(row->metadata) != th_start_of(change->metadata))
		return th_fail(err, TH_EUSAGE,
			       "the member " TH_START_MEMBER
			       " says when a session begins, and is not changed");
	if (th_priority_of(row->metadata) != th_priority_of(change->metadata))
		return th_fail(err, TH_EUSAGE,
			       "the member " TH_PRIORITY_MEMBER
			       " says how much a session matters, and is not changed");
	return TH_OK;
}

enum th_code th_edit_describe(struct th_edit *e, const struct th_ev_session_changed *change,
			      struct th_err *err)
{
	if (change->title.len)
		e->row.title = change->title;
	if (change->metadata.len)
		e->row.metadata = change->metadata;
	return append(e, TH_EV_SESSION_CHANGED, TH_SOURCE_USER, 0, TH_STR(""),
		      &th_ev_session_changed_table, change, err);
}

enum th_code th_edit_state(struct th_edit *e, enum th_state to, struct th_str reason,
			   struct th_err *err)
{
	struct th_ev_state_changed d = { .to = th_str_of(th_state_name(to)), .reason = reason };

	if (!th_state_allows(e->session.state, to))
		return th_fail(err, TH_EUSAGE, "session %.*s is %s, which cannot become %s",
			       TH_FMT(e->row.session_id), th_state_name(e->session.state),
			       th_state_name(to));
	return append(e, TH_EV_STATE_CHANGED, TH_SOURCE_OPERATOR, 0, TH_STR(""),
		      &th_ev_state_changed_table, &d, err);
}

/* The fork's first event, and its row.  Nobody has it afterwards. */
static enum th_code fork_write(struct th_store *store, struct th_session_row *row,
			       struct th_str session_id, struct th_fork *f, struct th_event *ev,
			       struct th_buf *data, struct th_err *err)
{
	struct th_append a = {
		.create = true,
		.row = row,
		.seq_before = f->session.seq,
		.head_before = f->head,
		.events = ev,
		.digests = &f->head,
		.event_count = 1,
	};
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	struct th_err ignored;
	enum th_code code = th_fork_begin(f, row, session_id, ev, data, err);

	if (!code)
		code = store->kind->commit_now(store, &batch, err);
	if (!code && a.result == TH_EEXIST)
		code = th_fail(err, a.result, "session %.*s exists already", TH_FMT(session_id));
	else if (!code && a.result == TH_ELIMIT)
		code = th_fail(err, a.result, "it is a fork of a fork, more than %d deep",
			       TH_FORK_DEPTH_MAX);
	else if (!code && a.result) /* of another runtime, or of one that waits its turn here */
		code = th_fail(err, a.result, "session %.*s was deleted meanwhile",
			       TH_FMT(row->parent));
	/* The lease would also end with this process; giving it back is a courtesy to others. */
	if (!code && store->kind->release(store, session_id, row->epoch, &ignored))
		return TH_OK;
	return code;
}

/* Folds what is shared, up to event `seq` (0: all). */
static enum th_code fork_read(struct th_store *store, const struct th_session_row *row,
			      uint64_t seq, struct th_fork *f, struct th_err *err)
{
	uint64_t to = seq ? seq : row->head_seq;
	enum th_code code;

	if (seq > row->head_seq)
		return th_fail(err, TH_EUSAGE,
			       "session %.*s has %llu events; there is no event %llu",
			       TH_FMT(row->session_id), (unsigned long long)row->head_seq,
			       (unsigned long long)seq);
	code = store->kind->read(store, row->session_id, 1, to, th_fork_take, f, err);
	return code ? th_prefix(err, code, "session %.*s", TH_FMT(row->session_id))
		    : check_end(&f->session, to, row->session_id, err);
}

enum th_code th_edit_fork(struct th_store *reads, struct th_store *store, struct th_str source,
			  uint64_t seq, struct th_str session_id, struct th_err *err)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_event ev = { .ts_ms = (int64_t)th_clock_wall_ms(),
			       .id = th_uuid_now(),
			       .build = TH_STR(TH_VERSION) };
	struct th_session_row row;
	struct th_fork f;
	enum th_code code;

	th_arena_init(&memory, EDIT_MEMORY_MAX);
	th_fork_init(&f);
	code = reads->kind->get(reads, source, &memory, &row, err);
	if (!code)
		code = fork_read(reads, &row, seq, &f, err);
	if (!code)
		code = fork_write(store, &row, session_id, &f, &ev, &data, err);
	th_fork_deinit(&f);
	return code;
}

/* ---- sessions that work for it -------------------------------------------------------------- */

/* The sessions that wait because of a call of this one, one name a line. */
static void waiting_below(const struct th_edit *e, struct th_buf *out)
{
	const struct th_call *c;

	for (size_t i = 0; (c = th_session_delegated(&e->session, i)); i++) {
		if (c->child != TH_CALL_CHILD_WAITS)
			continue;
		th_call_child(c, e->row.session_id, out);
		th_buf_add_char(out, '\n');
	}
}

struct search {
	struct th_store *store;
	th_edit_fold_fn *fn;
	void *ctx;
};

static enum th_code search(struct search *s, struct th_str id, int depth, struct th_err *err)
{
	struct th_buf below TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_str rest;
	struct th_edit e;
	enum th_code code;

	begin(&e, s->store, s->store);
	code = e.store->kind->get(e.store, id, &e.memory, &e.row, err)
		   ?: fold(&e, e.row.session_id, e.row.head_seq, err);
	if (!code)
		code = s->fn(s->ctx, id, &e.session, err);
	if (!code && depth < TH_DELEGATE_DEPTH_MAX)
		waiting_below(&e, &below);
	end(&e);
	rest = th_buf_str(&below);
	while (!code && rest.len) {
		code = search(s, th_str_split(&rest, '\n'), depth + 1, err);
		if (code == TH_ENOENT) /* it was lost: nothing in it waits */
			code = TH_OK;
	}
	return code;
}

enum th_code th_edit_each(struct th_store *store, struct th_str session_id, th_edit_fold_fn *fn,
			  void *ctx, struct th_err *err)
{
	return search(&(struct search){ store, fn, ctx }, session_id, 0, err);
}

struct waits {
	enum th_call_phase phase;
	struct th_str call_id;
	struct th_buf *found; /* the sessions that have such a call, one name a line */
};

static enum th_code note_waits(void *ctx, struct th_str session_id, const struct th_session *s,
			       struct th_err *err)
{
	const struct waits *w = ctx;

	(void)err;
	if (th_session_waits(s, w->phase, w->call_id))
		th_buf_printf(w->found, "%.*s\n", TH_FMT(session_id));
	return TH_OK;
}

enum th_code th_edit_open_waiting(struct th_edit *e, struct th_store *store,
				  struct th_str session_id, enum th_call_phase phase,
				  struct th_str call_id, struct th_err *err)
{
	struct th_buf found TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct waits w = { phase, call_id, &found };
	enum th_code code = th_edit_each(store, session_id, note_waits, &w, err);
	struct th_str rest = th_buf_str(&found), first, second;

	if (code)
		return code;
	first = th_str_split(&rest, '\n');
	second = th_str_split(&rest, '\n');
	if (call_id.len && second.len)
		return th_fail(err, TH_EUSAGE,
			       "calls \"%.*s\" wait in sessions %.*s and %.*s; name that session",
			       TH_FMT(th_utf8_cut(call_id, 80)), TH_FMT(first), TH_FMT(second));
	return th_edit_open(e, store, store, first.len ? first : session_id, err);
}
