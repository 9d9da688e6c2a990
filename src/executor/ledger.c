/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - records are JSON objects of one table; "r" says what happened.
 *
 * An entry can be written whole ("entry"), which is what tidy does, so that a
 * tidied journal reads as if it had been written so.
 */
#include "executor/ledger.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/limits.h"
#include "io/clock.h"

#define BUCKETS 1024
#define IDS_RECORD 128 /* forgotten ids in one record */

#define TH_FIELDS_ledger_record(F)                                                    \
	F(ledger_record, str, r, "r", TH_REQ,                                         \
	  "journal, epoch, accepted, step, note, finished, never, forgot or entry")   \
	F(ledger_record, str, id, "id", 0, "effect; journal: its random name")        \
	F(ledger_record, int, epoch, "epoch", TH_NONEG, "epoch")                      \
	F(ledger_record, str, class, "class", 0, "effect class")                      \
	F(ledger_record, str, tool, "tool", 0, "tool")                                \
	F(ledger_record, str, digest, "digest", 0, "SHA-256 of tool and arguments")   \
	F(ledger_record, int, accepted_ms, "accepted_ms", 0, "Unix time")             \
	F(ledger_record, int, steps, "steps", TH_NONEG, "parts that were done")       \
	F(ledger_record, raw, noted, "noted", 0, "for a probe")                       \
	F(ledger_record, bool, gap, "gap", 0, "records of it may be missing")         \
	F(ledger_record, str, status, "status", 0, "outcome")                         \
	F(ledger_record, raw, output, "output", 0, "for the model")                   \
	F(ledger_record, raw, evidence, "evidence", 0, "what changed")                \
	F(ledger_record, int, elapsed_ms, "elapsed_ms", TH_NONEG, "from accepted on") \
	F(ledger_record, strs, ids, "ids", 0, "forgotten")

TH_STRUCT(ledger_record)
extern const struct th_table th_ledger_record_table;
TH_TABLE(ledger_record, "a record of the executor's journal", true)

struct th_ledger {
	struct th_journal *journal;
	char id[TH_UUID_TEXT_SIZE + 1];
	int64_t epoch; /* highest */
	struct th_ledger_entry *buckets[BUCKETS];
	struct th_ledger_entry *oldest, *newest;
	size_t count, forgotten;
	bool damaged;
	bool no_memory;        /* while it was read */
	struct th_arena arena; /* of the record being read */
};

/* ---- entries ---- */

static struct th_ledger_entry **bucket(struct th_ledger *l, struct th_str id)
{
	return &l->buckets[th_hash64(id.ptr, id.len) % BUCKETS];
}

struct th_ledger_entry *th_ledger_find(struct th_ledger *l, struct th_str id)
{
	struct th_ledger_entry *e = *bucket(l, id);
	while (e && !th_str_is(id, e->id))
		e = e->chain;
	return e;
}

/* False: out of memory, and *to is as it was. */
static bool set(char **to, struct th_str s)
{
	char *text = NULL;
	if (s.len > 0) {
		text = (char *)th_try_alloc(s.len + 1);
		if (!text)
			return false;
		memcpy(text, s.ptr, s.len);
	}
	free(*to);
	*to = text;
	return true;
}

static void clear(struct th_ledger_entry *e)
{
	char **texts[] = { &e->tool, &e->digest, &e->noted, &e->output, &e->evidence };
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

static struct th_ledger_entry *entry_free(struct th_ledger_entry *e)
{
	if (e)
		clear(e);
	free(e);
	return NULL;
}

/* Not in the ledger yet.  NULL: out of memory. */
static struct th_ledger_entry *entry_new(struct th_str id)
{
	struct th_ledger_entry *e = (struct th_ledger_entry *)th_try_alloc(sizeof(*e));
	assert(id.len <= TH_EFFECT_ID_MAX);
	if (e)
		memcpy(e->id, id.ptr, id.len);
	return e;
}

static void put(struct th_ledger *l, struct th_ledger_entry *e)
{
	struct th_ledger_entry **head = bucket(l, th_str_of(e->id));
	e->chain = *head;
	*head = e;
	e->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = e;
	l->newest = e;
	l->count++;
}

static struct th_ledger_entry *add(struct th_ledger *l, struct th_str id)
{
	struct th_ledger_entry *e = entry_new(id);
	if (e)
		put(l, e);
	else
		l->no_memory = true;
	return e;
}

static void drop(struct th_ledger *l, struct th_ledger_entry *e)
{
	struct th_ledger_entry **at = bucket(l, th_str_of(e->id));
	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	*(e->older ? &e->older->newer : &l->oldest) = e->newer;
	*(e->newer ? &e->newer->older : &l->newest) = e->older;
	l->count--;
	if (e->state == TH_LEDGER_FORGOTTEN)
		l->forgotten--;
	entry_free(e);
}

static void forget(struct th_ledger *l, struct th_ledger_entry *e)
{
	if (e->state != TH_LEDGER_FORGOTTEN)
		l->forgotten++;
	e->state = TH_LEDGER_FORGOTTEN;
	clear(e);
	for (struct th_ledger_entry *o = l->oldest; o && l->forgotten > TH_EXEC_FORGOTTEN_MAX;) {
		struct th_ledger_entry *next = o->newer;
		if (o->state == TH_LEDGER_FORGOTTEN)
			drop(l, o);
		o = next;
	}
}

/* ---- reading ---- */

/* False: out of memory, and it is not finished. */
static bool finish(struct th_ledger_entry *e, enum th_outcome_status status, struct th_str output,
		   struct th_str evidence, int64_t elapsed_ms)
{
	if (!set(&e->output, output) || !set(&e->evidence, evidence))
		return false;
	e->state = TH_LEDGER_FINISHED;
	e->status = status;
	e->elapsed_ms = elapsed_ms;
	free(e->noted);
	e->noted = NULL;
	return true;
}

/* Not in the ledger yet.  NULL: out of memory. */
static struct th_ledger_entry *entry_of(const struct th_ledger_record *m, enum th_class class)
{
	struct th_ledger_entry *e = entry_new(m->id);
	if (!e)
		return NULL;
	e->state = TH_LEDGER_ACCEPTED;
	e->class = class;
	e->epoch = m->epoch;
	e->accepted_ms = m->accepted_ms;
	e->steps = m->steps;
	e->gap = m->gap;
	if (!set(&e->tool, m->tool) || !set(&e->digest, m->digest) || !set(&e->noted, m->noted))
		return entry_free(e);
	return e;
}

static bool apply_accepted(struct th_ledger *l, const struct th_ledger_record *m)
{
	int class = th_class_find(m->class);
	if (m->id.len == 0 || m->id.len > TH_EFFECT_ID_MAX || class < 0 || th_ledger_find(l, m->id))
		return false;
	struct th_ledger_entry *e = entry_of(m, (enum th_class) class);
	if (e)
		put(l, e);
	else
		l->no_memory = true;
	return e != NULL;
}

static bool apply_finished(struct th_ledger *l, struct th_ledger_entry *e,
			   const struct th_ledger_record *m)
{
	int status = th_outcome_find(m->status);
	if (!e || status < 0)
		return false;
	if (!finish(e, (enum th_outcome_status)status, m->output, m->evidence, m->elapsed_ms))
		l->no_memory = true;
	return true;
}

static bool apply_forgot(struct th_ledger *l, const struct th_ledger_record *m)
{
	for (size_t i = 0; i < m->ids.count; i++) {
		struct th_str id = m->ids.list[i];
		if (id.len == 0 || id.len > TH_EFFECT_ID_MAX)
			return false;
		struct th_ledger_entry *e = th_ledger_find(l, id) ?: add(l, id);
		if (!e)
			return false;
		forget(l, e);
	}
	return true;
}

static bool apply(struct th_ledger *l, const struct th_ledger_record *m)
{
	struct th_ledger_entry *e = m->id.len ? th_ledger_find(l, m->id) : NULL;

	if (th_str_is(m->r, "accepted"))
		return apply_accepted(l, m);
	if (th_str_is(m->r, "finished"))
		return apply_finished(l, e, m);
	if (th_str_is(m->r, "entry"))
		return apply_accepted(l, m) &&
		       (m->status.len == 0 || apply_finished(l, th_ledger_find(l, m->id), m));
	if (th_str_is(m->r, "forgot"))
		return apply_forgot(l, m);
	if (th_str_is(m->r, "step") && e) {
		e->steps = m->steps;
		return true;
	}
	if (th_str_is(m->r, "note") && e) {
		l->no_memory |= !set(&e->noted, m->noted);
		return true;
	}
	if (th_str_is(m->r, "never") && !e && m->id.len > 0 && m->id.len <= TH_EFFECT_ID_MAX) {
		e = add(l, m->id);
		if (e)
			e->state = TH_LEDGER_NEVER;
		return e != NULL;
	}
	if (th_str_is(m->r, "epoch")) {
		l->epoch = TH_MAX(l->epoch, m->epoch);
		return true;
	}
	if (th_str_is(m->r, "journal") && m->id.len < sizeof(l->id)) {
		memcpy(l->id, m->id.ptr, m->id.len);
		l->id[m->id.len] = '\0';
		return true;
	}
	return false;
}

/* A whole record that makes no sense: one before it is lost, or another program wrote it.  What the
 * rest says still counts. */
static enum th_code on_record(void *ctx, struct th_str record, struct th_err *err)
{
	struct th_ledger *l = (struct th_ledger *)ctx;
	struct th_ledger_record m;
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;

	th_arena_reset(&l->arena);
	enum th_code code = th_json_try_parse(record, &doc, NULL);
	if (code == TH_OK)
		code =
		    th_table_parse(&th_ledger_record_table, th_json_root(doc), &l->arena, &m, NULL);
	bool good = code == TH_OK && apply(l, &m);
	/* Nothing is damaged by that: it must be read again. */
	if (code == TH_ENOMEM || l->arena.no_memory || l->no_memory)
		return th_fail_memory(err);
	l->damaged |= !good;
	return TH_OK;
}

/* ---- writing ---- */

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

static enum th_code rewrite(struct th_ledger *l, struct th_err *err);

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
	enum th_code code = th_journal_open(path, on_record, l, &found->journal, &l->journal, err);
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
		drop(l, l->oldest);
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

enum th_code th_ledger_epoch_raise(struct th_ledger *l, int64_t epoch, struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("epoch"), .epoch = epoch };
	enum th_code code = append(l, &m, err);
	if (code == TH_OK)
		l->epoch = TH_MAX(l->epoch, epoch);
	return code;
}

size_t th_ledger_count(const struct th_ledger *l)
{
	return l->count - l->forgotten;
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
	struct th_ledger_entry *e = entry_of(&m, what->class);
	enum th_code code = e ? append(l, &m, err) : th_fail_memory(err);
	if (code) {
		entry_free(e);
		return code;
	}
	put(l, e);
	e->this_life = true;
	*ret = e;
	return TH_OK;
}

enum th_code th_ledger_never(struct th_ledger *l, struct th_str id, struct th_err *err)
{
	struct th_ledger_record m = { .r = TH_STR("never"), .id = id };

	assert(!th_ledger_find(l, id));
	struct th_ledger_entry *e = entry_new(id);
	enum th_code code = e ? append(l, &m, err) : th_fail_memory(err);
	if (code) {
		entry_free(e);
		return code;
	}
	e->state = TH_LEDGER_NEVER;
	put(l, e);
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
	enum th_code code = set(&noted, json) ? append(l, &m, err) : th_fail_memory(err);
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
	if (!finish(e, status, output, evidence, elapsed_ms))
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
	forget(l, e);
	return code;
}

enum th_code th_ledger_sync(struct th_ledger *l, struct th_err *err)
{
	return th_journal_sync(l->journal, err);
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
