/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flushes.c - how often a turn of one session waits for the disk: driver, SQLite
 * store and the executor's journal, all real, in one process (tests/faults/rig),
 * with a turn of one call.  fsync and fdatasync are counted by tests/faults/shim.
 *
 *	flushes dir=/tmp turns=20 rounds=3
 *
 * What the protocol needs is counted, not timed: answer and outcome durable (2),
 * and for class W the executor's ACCEPTED and FINISHED besides (4).
 */
#include "bench.h"

#include <unistd.h>

#include "../tests/faults/rig.h"
#include "../tests/faults/shim.h"

#define NEED_R 2
#define NEED_W 4

static const char *folder;

static void begin(void)
{
	shim_arm(SHIM_SYNC, 0, folder);
}

/* All flushes of a task of so many turns. */
static long play(const char *parent, bool writes, int turns)
{
	struct rig_options o = { .turns = turns,
				 .only_w = writes,
				 .only_r = !writes,
				 .begin = begin,
				 .ended = shim_off };
	struct rig_truth *t = rig_truth_new();
	char dir[4096], command[4200];

	snprintf(dir, sizeof(dir), "%s/thole-flushes-XXXXXX", parent);
	if (!t || !mkdtemp(dir))
		exit(1);
	folder = dir;
	if (rig_play(dir, t, &o) || !t->finished) {
		fprintf(stderr, "flushes: %s\n", t->stopped);
		exit(1);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		exit(1);
	return shim_seen();
}

int main(int argc, char **argv)
{
	const char *dir = bench_option(argc, argv, "dir", "/tmp");
	int turns = (int)bench_number(argc, argv, "turns", 20);
	long rounds = bench_number(argc, argv, "rounds", 3), r = 0, w = 0;
	double all;

	/* A turn is the difference of a long task and a short one. */
	for (long i = 0; i < rounds; i++) {
		r += play(dir, false, turns + 1) - play(dir, false, 1);
		w += play(dir, true, turns + 1) - play(dir, true, 1);
	}
	all = (double)(rounds * turns);
	printf("{\"bench\":\"flushes\",\"turns\":%.0f,\"r_flushes\":%.2f,\"r_need\":%d,\"r_ratio\":"
	       "%.2f,\"w_flushes\":%.2f,\"w_need\":%d,\"w_ratio\":%.2f}\n",
	       all, (double)r / all, NEED_R, (double)r / all / NEED_R, (double)w / all, NEED_W,
	       (double)w / all / NEED_W);
	return 0;
}
