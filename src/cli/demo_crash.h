/* SPDX-License-Identifier: Apache-2.0 */
/* demo_crash.h - thole demo crash. */
#ifndef TH_CLI_DEMO_CRASH_H
#define TH_CLI_DEMO_CRASH_H

#include "base/str.h"

struct th_crash_options {
	int64_t seed, seconds;
	struct th_str folder; /* empty: one in /tmp that is removed afterwards */
	bool json, no_trace;
};

/* The exit code: 0 when nothing was duplicated, lost, diverged or falsely claimed. */
int th_cli_demo_crash(const struct th_crash_options *o);

#endif
