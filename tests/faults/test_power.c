/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_power.c - the power fails after any write.
 *
 * A run is recorded: every write, flush, size and name of the files of the
 * store and the journal, in order, with what was acknowledged in between.  From
 * that the disk is made as it may be after a cut at any of these points: all
 * of it there; nothing that was not flushed; or any of the 512-byte sectors that
 * were not flushed, sizes and names too, in no order.  Then it is opened,
 * verified, and the task goes on to its end.
 *
 * What reads the disk so is tested as well: with flushes that do nothing,
 * acknowledged events must be missed.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "points.h"
#include "rig.h"
#include "shim.h"

#define TURNS 2
#define SECTOR 512
#define FILES_MAX 32
#define SNAPSHOTS_MAX 512

static struct rig_truth *snapshots; /* by mark */
static size_t snapshot_count;
static const struct rig_truth *recorded;

static void snapshot(void)
{
	assert_true(snapshot_count < SNAPSHOTS_MAX);
	snapshots[snapshot_count] = *recorded;
	shim_record_mark(snapshot_count++);
}

static void on_acked(uint64_t seq)
{
	(void)seq;
	snapshot();
}

/* ---- the disk ---- */

enum cut { CUT_NOTHING, CUT_ALL, CUT_SOME };

struct image {
	uint64_t inode;
	char *bytes; /* what is on the platters */
	size_t size, cap;
};

struct disk {
	struct image files[FILES_MAX];
	size_t file_count;
	struct {
		char name[64];
		uint64_t inode;
	} names[FILES_MAX];
	size_t name_count;
	uint64_t random;
	enum cut cut;
};

static uint64_t draw(struct disk *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 7;
	d->random ^= d->random << 17;
	return d->random;
}

/* Does something that was not flushed reach the disk? */
static bool lucky(struct disk *d)
{
	return d->cut == CUT_NOTHING || (d->cut == CUT_SOME && draw(d) % 2);
}

static struct image *image_of(struct disk *d, uint64_t inode)
{
	for (size_t i = 0; i < d->file_count; i++)
		if (d->files[i].inode == inode)
			return &d->files[i];
	assert_true(d->file_count < FILES_MAX);
	d->files[d->file_count] = (struct image){ .inode = inode };
	return &d->files[d->file_count++];
}

static void resize(struct image *f, size_t size)
{
	if (size > f->cap) {
		f->cap = size * 2;
		f->bytes = realloc(f->bytes, f->cap);
		assert_non_null(f->bytes);
	}
	if (size > f->size)
		memset(f->bytes + f->size, 0, size - f->size);
	f->size = size;
}

static void write_at(struct image *f, const char *bytes, uint64_t at, uint64_t len)
{
	if (at + len > f->size)
		resize(f, at + len);
	memcpy(f->bytes + at, bytes, len);
}

/* A write, or what reached the disk of it. */
static void apply_write(struct disk *d, const struct shim_record *r, bool flushed)
{
	struct image *f = image_of(d, r->inode);
	uint64_t at = r->at, end = r->at + r->len;

	while (at < end) {
		uint64_t to = TH_MIN(end, (at / SECTOR + 1) * SECTOR);

		if (flushed || lucky(d))
			write_at(f, r->bytes + (at - r->at), at, to - at);
		at = to;
	}
}

static void apply_size(struct disk *d, const struct shim_record *r)
{
	struct image *f = image_of(d, r->inode);

	if (r->len == 0 || r->at > f->size) /* len 1: only grows */
		resize(f, r->at);
}

static void name_drop(struct disk *d, const char *name)
{
	for (size_t i = 0; i < d->name_count; i++)
		if (strcmp(d->names[i].name, name) == 0)
			d->names[i--] = d->names[--d->name_count];
}

static void name_put(struct disk *d, const char *name, uint64_t inode)
{
	name_drop(d, name);
	assert_true(d->name_count < FILES_MAX);
	snprintf(d->names[d->name_count].name, sizeof(d->names[0].name), "%s", name);
	d->names[d->name_count++].inode = inode;
}

static void apply_name(struct disk *d, const struct shim_record *r)
{
	if (r->act == SHIM_OPEN) {
		name_put(d, r->name, r->inode);
	} else if (r->act == SHIM_UNLINK) {
		name_drop(d, r->name);
	} else {
		for (size_t i = 0; i < d->name_count; i++)
			if (strcmp(d->names[i].name, r->name) == 0) {
				uint64_t inode = d->names[i].inode;

				name_drop(d, r->name);
				name_put(d, r->to, inode);
				return;
			}
	}
}

static bool is_name(enum shim_act act)
{
	return act == SHIM_OPEN || act == SHIM_RENAME || act == SHIM_UNLINK;
}

/* Was record `i` flushed before `end`?  Names are when the folder is, or, as file systems with a
 * journal do it, when the file itself is that has the new name. */
static bool was_flushed(const struct shim_record *list, size_t i, size_t end)
{
	for (size_t k = i + 1; k < end; k++) {
		if (is_name(list[i].act) && list[k].act == SHIM_FOLDER_SYNCED)
			return true;
		if (list[k].act == SHIM_SYNCED && list[k].inode == list[i].inode &&
		    (!is_name(list[i].act) || list[i].act == SHIM_OPEN))
			return true;
	}
	return false;
}

/* Names keep their order: one that is lost loses the later ones of an unflushed time too. */
static void apply(struct disk *d, const struct shim_record *list, size_t end, bool flushes)
{
	bool names_lost = false;

	for (size_t i = 0; i < end; i++) {
		const struct shim_record *r = &list[i];
		bool flushed = flushes && was_flushed(list, i, end);

		if (r->act == SHIM_WRITE) {
			apply_write(d, r, flushed);
		} else if (r->act == SHIM_SIZE) {
			if (flushed || lucky(d))
				apply_size(d, r);
		} else if (is_name(r->act)) {
			names_lost |= !flushed && !lucky(d);
			if (flushed || !names_lost)
				apply_name(d, r);
		}
	}
}

static void put_files(const struct disk *d, const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/s.db.owners", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < d->name_count; i++) {
		int fd;

		if (strstr(d->names[i].name, "-shm"))
			continue; /* shared memory: made anew */
		snprintf(path, sizeof(path), "%s/%s", folder, d->names[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_true(fd >= 0);
		for (size_t k = 0; k < d->file_count; k++)
			if (d->files[k].inode == d->names[i].inode)
				assert_int_equal(write(fd, d->files[k].bytes, d->files[k].size),
						 d->files[k].size);
		close(fd);
	}
}

/* ---- points ---- */

struct point {
	struct rig_truth *truth;
	const char *folder;
};

static int play_on(void *ctx)
{
	struct point *p = ctx;

	return rig_play(p->folder, p->truth, &(struct rig_options){ .turns = TURNS }) == TH_OK
		   ? POINT_FINE
		   : POINT_ERROR;
}

static void build(const struct shim_record *list, size_t end, enum cut cut, uint64_t seed,
		  bool flushes, struct point *p)
{
	struct disk d = { .cut = cut, .random = seed * 0x9e3779b97f4a7c15u + 1 };
	size_t last = end;

	apply(&d, list, end, flushes);
	p->folder = point_folder();
	put_files(&d, p->folder);
	for (size_t i = 0; i < d.file_count; i++)
		free(d.files[i].bytes);
	*p->truth = (struct rig_truth){ 0 };
	while (last > 0 && list[last - 1].act != SHIM_MARK)
		last--;
	if (last > 0)
		*p->truth = snapshots[list[last - 1].at];
}

static const struct shim_record *record(size_t *ret_count)
{
	const struct rig_options o = { .turns = TURNS, .acked = on_acked, .acted = snapshot };
	struct rig_truth *truth = rig_truth_new();
	const char *folder = point_folder();

	snapshots = calloc(SNAPSHOTS_MAX, sizeof(*snapshots));
	recorded = truth;
	shim_record_start(folder);
	assert_int_equal(rig_play(folder, truth, &o), TH_OK);
	return shim_record_stop(ret_count);
}

static bool faulty(const struct rig_faults *f)
{
	return f->lost + f->duplicated + f->diverged + f->false_claims > 0;
}

static void power_fails(void **state)
{
	struct point p = { .truth = rig_truth_new() };
	struct rig_faults faults = { 0 }, caught = { 0 };
	size_t count;
	const struct shim_record *list = record(&count);
	long step = point_step((long)count * 4, 320), points = 0, unmade = 0,
	     tries = point_all() ? 8 : 4;

	(void)state;
	for (long at = 0; at < (long)count * tries; at += step) {
		size_t end = (size_t)(at / tries) + 1;
		long way = at % tries;
		enum cut cut = way == 0 ? CUT_NOTHING : way == 1 ? CUT_ALL : CUT_SOME;

		build(list, end, cut, (uint64_t)at, true, &p);
		rig_check(p.folder, p.truth, &faults);
		points++;
		/* Cut while the store was made: it says so, and nothing was in it. */
		if (point_run(play_on, &p) != POINT_FINE && p.truth->acked_seq == 0 &&
		    (p.truth->code == TH_ECORRUPT || p.truth->code == TH_EUSAGE)) {
			unmade++;
			continue;
		}
		if (!p.truth->finished)
			fail_msg("cut %ld after %zu of %zu: the task could not be ended: %s", way,
				 end, count, p.truth->stopped);
		rig_check(p.folder, p.truth, &faults);
		if (faulty(&faults))
			fail_msg("cut %ld after %zu of %zu: %s", way, end, count, faults.what);
	}
	assert_true(rig_report("power cuts (stops: new store)", points, 0, unmade, &faults));
	/* The control: the disk ignores flushes. */
	for (size_t end = 1; end <= count && !faulty(&caught); end++) {
		build(list, end, CUT_ALL, end, false, &p);
		rig_check(p.folder, p.truth, &caught);
	}
	assert_true(faulty(&caught));
	point_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(power_fails) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
