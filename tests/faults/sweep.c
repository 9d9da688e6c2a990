/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/files.h"
#include "points.h"
#include "sweep.h"

#define TURNS 2

struct point {
	struct rig_truth *truth;
	const char *folder;
	enum shim_kind kind;
	long nth;
	struct told {
		long seen;
		bool fired, fired_before_end; /* not while things were closed */
	} * told;                             /* shared with the child */
};

struct sums {
	long points, errors, stops;
	struct rig_faults faults;
};

static void out_of_memory(size_t size)
{
	(void)size;
	_exit(POINT_STOP);
}

static struct told *told_by_stop;

static void stop_told(size_t size)
{
	told_by_stop->fired = true;
	out_of_memory(size);
}

static const struct point *arming;

/* Files count below the folder; memory counts everywhere. */
static void arm(void)
{
	shim_arm(arming->kind, arming->nth, arming->kind > SHIM_MALLOC_ALL ? arming->folder : NULL);
}

static void ended(void)
{
	arming->told->fired_before_end = shim_fired();
}

static int play_faulty(void *ctx)
{
	struct rig_options o = { .turns = TURNS, .begin = arm, .ended = ended };
	struct point *p = ctx;
	enum th_code code;

	told_by_stop = p->told;
	th_oom_hook(stop_told);
	arming = p;
	code = rig_play(p->folder, p->truth, &o);
	shim_off();
	p->told->seen = shim_seen();
	p->told->fired = shim_fired();
	return code == TH_OK ? POINT_FINE : POINT_ERROR;
}

static int play_well(void *ctx)
{
	struct point *p = ctx;

	return rig_play(p->folder, p->truth, &(struct rig_options){ .turns = TURNS }) == TH_OK
		   ? POINT_FINE
		   : POINT_ERROR;
}

static uint64_t die_at;

static void maybe_die(uint64_t seq)
{
	if (seq >= die_at)
		_exit(POINT_DIED);
}

static int play_and_die(void *ctx)
{
	struct point *p = ctx;

	rig_play(p->folder, p->truth, &(struct rig_options){ .turns = TURNS, .acked = maybe_die });
	return POINT_FINE;
}

static void *shared(size_t size)
{
	char *p = (char *)rig_truth_new();

	assert_non_null(p);
	assert_true(size <= sizeof(struct rig_truth));
	return p;
}

/* One fault, then a look, then the rest of the task without faults, and a look. */
static void one_point(struct point *p, struct sums *s)
{
	int status = point_run(play_faulty, p);

	if (status == POINT_ERROR)
		s->errors++;
	else if (status == POINT_STOP)
		s->stops++;
	else if (status != POINT_FINE)
		fail_msg("fault %ld: the process ended with %d (%s)", p->nth, status,
			 p->truth->stopped);
	/* A flush that failed is the end: what the kernel still has is not known. */
	if (p->kind == SHIM_SYNC && p->told->fired_before_end && status == POINT_FINE)
		fail_msg("fault %ld: a flush failed, and it went on", p->nth);
	s->points++;
	if (getenv("FAULTS_TALK"))
		printf("fault %ld: %d %s\n", p->nth, status, p->truth->stopped);
	rig_check(p->folder, p->truth, &s->faults);
	status = point_run(play_well, p);
	if (status != POINT_FINE || !p->truth->finished)
		fail_msg("fault %ld (%s): the task could not be ended: %d %s", p->nth,
			 s->faults.what, status, p->truth->stopped);
	rig_check(p->folder, p->truth, &s->faults);
	if (s->faults.lost + s->faults.duplicated + s->faults.diverged + s->faults.false_claims)
		fail_msg("fault %ld: %s", p->nth, s->faults.what);
}

void sweep(const char *name, enum shim_kind kind, const char *begun, const struct rig_truth *truth,
	   long quick)
{
	struct sums s = { 0 };
	struct point p = { .truth = rig_truth_new(),
			   .kind = kind,
			   .told = shared(sizeof(*p.told)) };
	long step, count;

	p.folder = point_folder();
	if (begun)
		point_copy(begun, p.folder);
	*p.truth = truth ? *truth : (struct rig_truth){ 0 };
	assert_int_equal(point_run(play_faulty, &p), POINT_FINE);
	count = p.told->seen;
	assert_true(count > 0 || kind >= SHIM_TRUNCATE);
	step = point_step(count, quick);
	for (p.nth = 1; p.nth <= count; p.nth += step) {
		p.folder = point_folder();
		if (begun)
			point_copy(begun, p.folder);
		*p.truth = truth ? *truth : (struct rig_truth){ 0 };
		one_point(&p, &s);
	}
	assert_true(rig_report(name, s.points, s.errors, s.stops, &s.faults));
}

const char *sweep_begun(const struct rig_truth **ret)
{
	static char begun[64];
	struct point p = { .truth = rig_truth_new(), .folder = begun };

	snprintf(begun, sizeof(begun), "/tmp/th-faults-begun-XXXXXX");
	assert_non_null(mkdtemp(begun));
	die_at = 9;
	assert_int_equal(point_run(play_and_die, &p), POINT_DIED);
	*ret = p.truth;
	return begun;
}

void sweep_end(const char *begun)
{
	struct th_err err;

	point_done();
	if (begun)
		assert_int_equal(th_dir_remove(begun, &err), TH_OK);
}
