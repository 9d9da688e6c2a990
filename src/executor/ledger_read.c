/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_read.c - the records of a journal, read: each changes the entries as it did when it was
 * written.
 */
#include "executor/ledger_internal.h"

TH_TABLE(ledger_record, "a record of the executor's journal", true)

static struct th_ledger_entry *add(struct th_ledger *l, struct th_str id)
{
	struct th_ledger_entry *e = th_ledger_entry_new(id);
	if (e)
		th_ledger_put(l, e);
	else
		l->no_memory = true;
	return e;
}

static bool apply_accepted(struct th_ledger *l, const struct th_ledger_record *m)
{
	int class = th_class_find(m->class);
	if (m->id.len == 0 || m->id.len > TH_EFFECT_ID_MAX || class < 0 || th_ledger_find(l, m->id))
		return false;
	struct th_ledger_entry *e = th_ledger_entry_of(m, (enum th_class) class);
	if (e)
		th_ledger_put(l, e);
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
	if (!th_ledger_entry_finish(e, (enum th_outcome_status)status, m->output, m->evidence,
				    m->elapsed_ms))
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
		th_ledger_entry_forget(l, e);
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
		l->no_memory |= !th_ledger_text_set(&e->noted, m->noted);
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
enum th_code th_ledger_on_record(void *ctx, struct th_str record, struct th_err *err)
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
