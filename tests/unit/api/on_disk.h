/* SPDX-License-Identifier: Apache-2.0 */
/* on_disk.h - for a file of tests whose log is a file: `url`, gone with the tests. */
#ifndef TH_TESTS_UNIT_API_ON_DISK_H
#define TH_TESTS_UNIT_API_ON_DISK_H

#include "io/files.h"
#include "rig.h"

static char folder[] = "/tmp/thole-api-XXXXXX";
static char url[128];

static int setup(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(url, sizeof(url), "sqlite:%s/s.db", folder);
	return away_from_home(state);
}

static int teardown(void **state)
{
	struct th_err err;

	(void)state;
	return th_dir_remove(folder, &err) == TH_OK ? 0 : -1;
}

#endif
