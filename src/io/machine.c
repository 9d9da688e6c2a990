/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - see machine.h. */
#include "io/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/limits.h"
#include "io/cgroup.h"

/* The number behind `name` in a file of lines "NAME NUMBER …"; no name: its first word. -1: no. */
static int64_t number_in(const char *path, const char *name)
{
	char line[256];
	int64_t found = -1;
	FILE *f = fopen(path, "re");

	while (f && found < 0 && fgets(line, sizeof(line), f))
		if (strncmp(line, name, strlen(name)) != 0 ||
		    sscanf(line + strlen(name), "%" SCNd64, &found) != 1)
			found = -1;
	if (f)
		fclose(f);
	return found;
}

/* What the cgroup's limit leaves; what it has of files could be given back. -1: it has no limit. */
static int64_t left_of_cgroup(void)
{
	static const char *const names[] = { "memory.max", "memory.current", "memory.stat" };
	static const char *const words[] = { "", "", "inactive_file " };
	char group[200], path[256];
	int64_t numbers[TH_COUNT(names)];

	if (!th_cgroup_own(group, sizeof(group)))
		return -1;
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", group, names[i]);
		numbers[i] = number_in(path, words[i]);
	}
	if (numbers[0] < 0 || numbers[1] < 0)
		return -1;
	return TH_MAX(0, numbers[0] - numbers[1] + TH_MAX(0, numbers[2]));
}

static double load_now(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	double load;
	FILE *f = fopen("/proc/loadavg", "re");

	if (!f || fscanf(f, "%lf", &load) != 1)
		load = -1;
	if (f)
		fclose(f);
	return load < 0 || processors < 1 ? -1 : load / (double)processors;
}

void th_machine_look(struct th_machine *ret)
{
	int64_t kib = number_in("/proc/meminfo", "MemAvailable:"), group = left_of_cgroup();

	ret->memory = kib < 0 ? kib : kib * (int64_t)TH_KIB;
	if (group >= 0 && (ret->memory < 0 || group < ret->memory))
		ret->memory = group;
	ret->load = load_now();
}
