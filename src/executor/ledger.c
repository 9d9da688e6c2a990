/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - the ledger opened, and its changes written: records are JSON objects of one table; "r"
 * says what happened.
 *
 * An entry can be written whole ("entry"), which is what tidy does, so that a
 * tidied journal reads as if it had been written so.
 */
#include "executor/ledger.h"

#include <stdlib.h>

#include "executor/ledger_internal.h"

#define IDS_RECORD 128 /* forgotten ids in one record */

static enum th_code append(struct th_ledger *l, const struct th_ledger_record *m,
			   struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(TH_JOURNAL_RECORD_MAX);
	struct th_jw w = th_jw(&out);

	out.may_fail = true;
	th_table_print(&th_ledger_record_table, m, &w);
	enum th_code code = th_buf_check(&out, "a record of the journal", err);
	return code ? code : th_journal_append(l->journal, th_buf_str(&out), err);
}

static struct th_ledger_record record_of(const struct th_ledger_entry *e)
{
	struct th_ledger_record m = {
		.r = TH_STR("entry"),
		.id = th_str_of(e->id),
		.epoch = e->epoch,
		.class = th_str_of(th_class_name(e->class)),
		.tool = th_str_of(e->tool),
		.digest = th_str_of(e->digest),
		.accepted_ms = e->accepted_ms,
		.steps = e->steps,
		.noted = th_str_of(e->noted),
		.gap = e->gap,
	};
	if (e->state == TH_LEDGER_FINISHED) {
		m.status = th_str_of(th_outcome_name(e->status));
		m.output = th_str_of(e->output);
		m.evidence = th_str_of(e->evidence);
		m.elapsed_ms = e->elapsed_ms;
	}
	return m;
}

/* ---- making it small ---- */

struct pile {
	struct th_buf bytes;
	size_t *ends, count, room;
	bool no_memory;
};

static void pile_add(struct pile *p, const struct th_ledger_record *m)
{
	struct th_jw w = th_jw(&p->bytes);
	th_table_print(&th_ledger_record_table, m, &w);
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		size_t *ends = (size_t *)th_try_realloc(p->ends, room * sizeof(*ends));
		if (!ends) {
			p->no_memory = true;
			return;
		}
		p->ends = ends;
		p->room = room;
	}
	p->ends[p->count++] = p->bytes.len;
}

/* In the order of age: an id's place among the forgotten decides when it goes. */
static void pile_entries(struct th_ledger *l, struct pile *p)
{
	struct th_str ids[IDS_RECORD];
	struct th_ledger_record forgot = { .r = TH_STR("forgot"), .ids = { ids, 0 } };

	for (struct th_ledger_entry *e = l->oldest; e; e = e->newer) {
		struct th_ledger_record m = record_of(e);
		if (e->state == TH_LEDGER_FORGOTTEN) {
			ids[forgot.ids.count++] = m.id;
			if (forgot.ids.count < IDS_RECORD)
				continue;
		} else if (e->state == TH_LEDGER_NEVER) {
			struct th_ledger_record never = { .r = TH_STR("never"), .id = m.id };
			pile_add(p, &never);
		} else {
			pile_add(p, &m);
		}
		if (forgot.ids.count == IDS_RECORD) {
			pile_add(p, &forgot);
			forgot.ids.count = 0;
		}
	}
	if (forgot.ids.count > 0)
		pile_add(p, &forgot);
}

static enum th_code rewrite(struct th_ledger *l, struct th_err *err)
{
	struct pile p = { .bytes = TH_BUF_INIT(256 * TH_MIB) };
	struct th_ledger_record name = { .r = TH_STR("journal"), .id = th_str_of(l->id) };
	struct th_ledger_record fence = { .r = TH_STR("epoch"), .epoch = l->epoch };

	p.bytes.may_fail = true;

	pile_add(&p, &name);
	pile_add(&p, &fence);
	pile_entries(l, &p);
	enum th_code code = th_buf_check(&p.bytes, "the journal", err);
	struct th_str *records = (struct th_str *)th_try_alloc(p.count * sizeof(*records));
	if (p.no_memory || !records)
		code = th_fail_memory(err);
	for (size_t i = 0; records && i < p.count; i++) {
		size_t from = i > 0 ? p.ends[i - 1] : 0;
		records[i] = th_str_n(p.bytes.ptr + from, p.ends[i] - from);
	}
	if (code == TH_OK)
		code = th_journal_rewrite(l->journal, records, p.count, err);
	free(records);
	free(p.ends);
	th_buf_deinit(&p.bytes);
	return code;
}

enum th_code th_ledger_tidy(struct th_ledger *l, bool now, struct th_err *err)
{
	if (!now && th_journal_size(l->journal) < TH_LEDGER_TIDY_SIZE)
		return TH_OK;
	uint64_t live = 0;
	for (struct th_ledger_entry *e = l->oldest; e; e = e->newer)
		live += 256 + (e->output ? strlen(e->output) : 0) +
			(e->evidence ? strlen(e->evidence) : 0);
	if (!now && live > th_journal_size(l->journal) / 2)
		return TH_OK;
	return rewrite(l, err);
}

/* ---- opened and closed ---- */

static void name_new(struct th_ledger *l)
{
	struct th_uuid id = th_uuid_now();
	th_uuid_text(&id, l->id);
}

static enum th_code begin(struct th_ledger *l, struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("journal") };

	name_new(l);
	m.id = th_str_of(l->id);
	enum th_code code = append(l, &m, err);
	return code ? code : th_journal_sync(l->journal, err);
}

/*
 * Something that was written is missing.  The rest is kept under a new name, since nobody may take
 * the absence of an effect for a proof any more; whoever knows the old name is told UNKNOWN.  With
 * a full disk the damage stays in the file and is found again: then the name changes once more.
 */
static enum th_code begin_anew(struct th_ledger *l, struct th_err *err)
{
	name_new(l);
	for (struct th_ledger_entry *e = l->oldest; e; e = e->newer)
		e->gap = e->state == TH_LEDGER_ACCEPTED;
	enum th_code code = rewrite(l, err);
	return code == TH_ELIMIT ? TH_OK : code;
}

enum th_code th_ledger_open(const char *path, struct th_ledger_found *found, struct th_ledger **ret,
			    struct th_err *err)
{
	struct th_ledger *l = (struct th_ledger *)th_try_alloc(sizeof(*l));
	*found = (struct th_ledger_found){};
	if (!l)
		return th_fail_memory(err);
	th_arena_init_try(&l->arena, 4 * TH_JOURNAL_RECORD_MAX);
	enum th_code code =
	    th_journal_open(path, th_ledger_on_record, l, &found->journal, &l->journal, err);
	found->damaged = l->damaged || found->journal.damaged;
	if (code == TH_OK && found->damaged)
		code = begin_anew(l, err);
	else if (code == TH_OK && l->id[0] == '\0')
		code = begin(l, err);
	th_arena_reset(&l->arena);
	if (code) {
		th_ledger_close(l);
		return th_prefix(err, code, "the executor's journal %s", path);
	}
	for (struct th_ledger_entry *e = l->oldest; e; e = e->newer)
		if (e->state == TH_LEDGER_ACCEPTED) {
			found->open++;
			found->computer |= th_str_is(th_str_of(e->tool), "computer");
		}
	*ret = l;
	return TH_OK;
}

struct th_ledger *th_ledger_close(struct th_ledger *l)
{
	if (!l)
		return NULL;
	l->journal = th_journal_close(l->journal);
	while (l->oldest)
		th_ledger_drop(l, l->oldest);
	th_arena_deinit(&l->arena);
	free(l);
	return NULL;
}

const char *th_ledger_id(const struct th_ledger *l)
{
	return l->id;
}

int64_t th_ledger_epoch(const struct th_ledger *l)
{
	return l->epoch;
}

size_t th_ledger_count(const struct th_ledger *l)
{
	return l->count - l->forgotten;
}

/* ---- changed ---- */

enum th_code th_ledger_epoch_raise(struct th_ledger *l, int64_t epoch, struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("epoch"), .epoch = epoch };
	enum th_code code = append(l, &m, err);
	if (code == TH_OK)
		l->epoch = TH_MAX(l->epoch, epoch);
	return code;
}

enum th_code th_ledger_accept(struct th_ledger *l, const struct th_ledger_entry *what,
			      struct th_ledger_entry **ret, struct th_err *err)
{
	struct th_ledger_record m = record_of(what);

	assert(!th_ledger_find(l, m.id));
	if (th_ledger_count(l) >= TH_EXEC_EFFECTS_MAX)
		return th_fail(err, TH_ELIMIT,
			       "more than %d effects whose outcome nobody has taken over",
			       TH_EXEC_EFFECTS_MAX);
	m.r = TH_STR("accepted");
	/* Made before it is written: what is in the journal is in memory too. */
	struct th_ledger_entry *e = th_ledger_entry_of(&m, what->class);
	enum th_code code = e ? append(l, &m, err) : th_fail_memory(err);
	if (code) {
		th_ledger_entry_free(e);
		return code;
	}
	th_ledger_put(l, e);
	e->this_life = true;
	*ret = e;
	return TH_OK;
}

enum th_code th_ledger_never(struct th_ledger *l, struct th_str id, struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("never"), .id = id };

	assert(!th_ledger_find(l, id));
	struct th_ledger_entry *e = th_ledger_entry_new(id);
	enum th_code code = e ? append(l, &m, err) : th_fail_memory(err);
	if (code) {
		th_ledger_entry_free(e);
		return code;
	}
	e->state = TH_LEDGER_NEVER;
	th_ledger_put(l, e);
	return TH_OK;
}

enum th_code th_ledger_step(struct th_ledger *l, struct th_ledger_entry *e, int64_t steps,
			    struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("step"), .id = th_str_of(e->id), .steps = steps };
	enum th_code code = append(l, &m, err);
	if (code == TH_OK)
		e->steps = steps;
	return code;
}

enum th_code th_ledger_note(struct th_ledger *l, struct th_ledger_entry *e, struct th_str json,
			    struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("note"), .id = th_str_of(e->id), .noted = json };
	char *noted = NULL;
	enum th_code code =
	    th_ledger_text_set(&noted, json) ? append(l, &m, err) : th_fail_memory(err);
	if (code) {
		free(noted);
		return code;
	}
	free(e->noted);
	e->noted = noted;
	return TH_OK;
}

enum th_code th_ledger_finish(struct th_ledger *l, struct th_ledger_entry *e,
			      enum th_outcome_status status, struct th_str output,
			      struct th_str evidence, int64_t elapsed_ms, struct th_err *err)
{
	struct th_ledger_record m = {
		.r = TH_STR("finished"),
		.id = th_str_of(e->id),
		.status = th_str_of(th_outcome_name(status)),
		.output = output,
		.evidence = evidence,
		.elapsed_ms = elapsed_ms,
	};
	if (!th_ledger_entry_finish(e, status, output, evidence, elapsed_ms))
		return th_fail_memory(err);
	return append(l, &m, err);
}

enum th_code th_ledger_forget(struct th_ledger *l, struct th_ledger_entry *e, struct th_err *err)
{
	struct th_str id = th_str_of(e->id);
	struct th_ledger_record m = { .r = TH_STR("forgot"), .ids = { &id, 1 } };

	assert(e->state != TH_LEDGER_ACCEPTED);
	if (e->state == TH_LEDGER_FORGOTTEN)
		return TH_OK;
	enum th_code code = append(l, &m, err);
	th_ledger_entry_forget(l, e);
	return code;
}

enum th_code th_ledger_sync(struct th_ledger *l, struct th_err *err)
{
	return th_journal_sync(l->journal, err);
}
