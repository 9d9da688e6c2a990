/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_entries.c - the ledger's entries in memory: found by their ids, and in the order of age.
 */
#include <stdlib.h>

#include "executor/ledger_internal.h"

/* False: out of memory, and *to is as it was. */
bool th_ledger_text_set(char **to, struct th_str s)
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

struct th_ledger_entry *th_ledger_entry_free(struct th_ledger_entry *e)
{
	if (e)
		clear(e);
	free(e);
	return NULL;
}

/* Not in the ledger yet.  NULL: out of memory. */
struct th_ledger_entry *th_ledger_entry_new(struct th_str id)
{
	struct th_ledger_entry *e = (struct th_ledger_entry *)th_try_alloc(sizeof(*e));
	assert(id.len <= TH_EFFECT_ID_MAX);
	if (e)
		memcpy(e->id, id.ptr, id.len);
	return e;
}

/* Not in the ledger yet.  NULL: out of memory. */
struct th_ledger_entry *th_ledger_entry_of(const struct th_ledger_record *m, enum th_class class)
{
	struct th_ledger_entry *e = th_ledger_entry_new(m->id);
	if (!e)
		return NULL;
	e->state = TH_LEDGER_ACCEPTED;
	e->class = class;
	e->epoch = m->epoch;
	e->accepted_ms = m->accepted_ms;
	e->steps = m->steps;
	e->gap = m->gap;
	if (!th_ledger_text_set(&e->tool, m->tool) || !th_ledger_text_set(&e->digest, m->digest) ||
	    !th_ledger_text_set(&e->noted, m->noted))
		return th_ledger_entry_free(e);
	return e;
}

/* ---- in the ledger ---- */

static struct th_ledger_entry **bucket(struct th_ledger *l, struct th_str id)
{
	return &l->buckets[th_hash64(id.ptr, id.len) % TH_LEDGER_BUCKETS];
}

struct th_ledger_entry *th_ledger_find(struct th_ledger *l, struct th_str id)
{
	struct th_ledger_entry *e = *bucket(l, id);
	while (e && !th_str_is(id, e->id))
		e = e->chain;
	return e;
}

void th_ledger_put(struct th_ledger *l, struct th_ledger_entry *e)
{
	struct th_ledger_entry **head = bucket(l, th_str_of(e->id));
	e->chain = *head;
	*head = e;
	e->older = l->newest;
	*(l->newest ? &l->newest->newer : &l->oldest) = e;
	l->newest = e;
	l->count++;
}

void th_ledger_drop(struct th_ledger *l, struct th_ledger_entry *e)
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
	th_ledger_entry_free(e);
}

/* False: out of memory, and it is not finished. */
bool th_ledger_entry_finish(struct th_ledger_entry *e, enum th_outcome_status status,
			    struct th_str output, struct th_str evidence, int64_t elapsed_ms)
{
	if (!th_ledger_text_set(&e->output, output) || !th_ledger_text_set(&e->evidence, evidence))
		return false;
	e->state = TH_LEDGER_FINISHED;
	e->status = status;
	e->elapsed_ms = elapsed_ms;
	free(e->noted);
	e->noted = NULL;
	return true;
}

void th_ledger_entry_forget(struct th_ledger *l, struct th_ledger_entry *e)
{
	if (e->state != TH_LEDGER_FORGOTTEN)
		l->forgotten++;
	e->state = TH_LEDGER_FORGOTTEN;
	clear(e);
	for (struct th_ledger_entry *o = l->oldest; o && l->forgotten > TH_EXEC_FORGOTTEN_MAX;) {
		struct th_ledger_entry *next = o->newer;
		if (o->state == TH_LEDGER_FORGOTTEN)
			th_ledger_drop(l, o);
		o = next;
	}
}
