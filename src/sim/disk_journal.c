/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_journal.c - executors' journals on a simulated disk.
 */
#include "sim/rename.h"

#include <stdlib.h>

#include "sim/disk_internal.h"
#include "store/journal.h"

struct th_journal {
	struct file *file;
	bool failed;
};

void th_sim_journal_fault(struct th_sim_disk *d, enum th_code code)
{
	d->journal_fault = code;
}

void th_sim_journal_lose(struct th_sim_disk *d, size_t number)
{
	struct file *f = &d->files[number];

	th_sim_file_cut(f, 0);
	f->exists = f->damaged = f->torn = false;
}

void th_sim_journal_rot(struct th_sim_disk *d, size_t number)
{
	struct file *f = &d->files[number];

	if (f->count < 2)
		return;
	/* Often one of the last, which somebody still asks for. */
	th_sim_record_remove(f, th_sim_chance(d->random, 2)
				    ? th_sim_below(d->random, f->count)
				    : f->count - 1 -
					  th_sim_below(d->random, TH_MIN(f->count, (size_t)3)));
	f->damaged = true;
}

bool th_sim_journal_is(const struct th_sim_disk *d, size_t number, struct th_str name)
{
	const struct file *f = &d->files[number];

	for (size_t i = 0; !f->damaged && i < f->count; i++) {
		struct th_str record = th_str_n(f->records[i].bytes, f->records[i].len);

		if (th_str_find(record, TH_STR("\"r\":\"journal\"")) >= 0)
			return name.len > 0 && th_str_find(record, name) >= 0;
	}
	return false;
}

/* The broken variant: only its name and the epochs are left. */
static void forget_effects(struct file *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++) {
		struct th_str r = th_str_n(f->records[i].bytes, f->records[i].len);

		if (th_str_find(r, TH_STR("\"r\":\"journal\"")) >= 0 ||
		    th_str_find(r, TH_STR("\"r\":\"epoch\"")) >= 0) {
			f->records[kept++] = f->records[i];
			continue;
		}
		f->size -= r.len;
		free(f->records[i].bytes);
	}
	f->count = f->synced = kept;
}

enum th_code th_journal_open(const char *path, th_journal_record_fn *fn, void *ctx,
			     struct th_journal_found *found, struct th_journal **ret,
			     struct th_err *err)
{
	size_t number = (size_t)(path[0] - '0');
	struct file *f;
	struct th_journal *j;

	assert(th_sim_disk_in_use && number < TH_SIM_SESSIONS_MAX);
	f = &th_sim_disk_in_use->files[number];
	if (th_sim_disk_in_use->no_journal)
		forget_effects(f);
	*found = (struct th_journal_found){ .created = !f->exists, .torn = f->torn };
	found->damaged = f->damaged && !th_sim_disk_in_use->blind;
	for (size_t i = 0; i < f->count; i++) {
		enum th_code code = fn(ctx, th_str_n(f->records[i].bytes, f->records[i].len), err);

		if (code)
			return code;
		found->records++;
	}
	f->exists = true;
	f->torn = false;
	/* As the real one: what a killed owner appended is relied on from now on. */
	if (!th_sim_disk_in_use->unsynced_journals)
		f->synced = f->count;
	j = th_alloc(sizeof(*j));
	j->file = f;
	*ret = j;
	return TH_OK;
}

struct th_journal *th_journal_close(struct th_journal *j)
{
	free(j);
	return NULL;
}

static enum th_code fault(struct th_journal *j, bool append, struct th_err *err)
{
	enum th_code code = th_sim_disk_in_use->journal_fault;

	if (code == TH_ELIMIT && append) {
		th_sim_disk_in_use->journal_fault = TH_OK;
		return th_fail(err, TH_ELIMIT, "the disk is full");
	}
	if (code == TH_EIO) {
		th_sim_disk_in_use->journal_fault = TH_OK;
		j->failed = true;
	}
	return j->failed ? th_fail(err, TH_EIO, "input/output error") : TH_OK;
}

static void add(struct file *f, struct th_str record)
{
	if (f->count == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 16;
		f->records = th_realloc(f->records, f->cap * sizeof(*f->records));
	}
	f->records[f->count++] = (struct record){ th_sim_copy(record), record.len };
	f->size += record.len;
}

enum th_code th_journal_append(struct th_journal *j, struct th_str record, struct th_err *err)
{
	enum th_code code = fault(j, true, err);

	if (!code)
		add(j->file, record);
	return code;
}

enum th_code th_journal_sync(struct th_journal *j, struct th_err *err)
{
	enum th_code code = fault(j, false, err);

	if (!code && !th_sim_disk_in_use->unsynced_journals)
		j->file->synced = j->file->count;
	return code;
}

uint64_t th_journal_size(const struct th_journal *j)
{
	return j->file->size + (th_sim_disk_in_use->tidy_often ? 4 * TH_MIB : 0);
}

enum th_code th_journal_rewrite(struct th_journal *j, const struct th_str *records, size_t count,
				struct th_err *err)
{
	struct file *f = j->file;
	struct file fresh = { .exists = true };
	enum th_code code = fault(j, true, err);

	if (code)
		return code;
	for (size_t i = 0; i < count; i++)
		add(&fresh, records[i]);
	fresh.synced = fresh.count;
	th_sim_file_cut(f, 0);
	free(f->records);
	*f = fresh;
	return TH_OK;
}
