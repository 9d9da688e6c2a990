/* SPDX-License-Identifier: Apache-2.0 */
/* admission.h - whether this machine has memory and processors left for one session more. */
#ifndef TH_SERVER_ADMISSION_H
#define TH_SERVER_ADMISSION_H

#include "base/err.h"
#include "io/machine.h"

struct th_serve_settings;

/* All 0 at first. */
struct th_admission {
	uint64_t looked_ms; /* 0: never */
	struct th_machine machine;
};

/* Does `machine` keep what `free_memory_mib` and `load_per_processor` ask for?  What cannot be
 * known is no reason to refuse.  *why says which of the two it is, and both figures. */
bool th_admission_allows(const struct th_serve_settings *set, const struct th_machine *machine,
			 struct th_err *why);
/* The same of this machine, which is looked at every TH_ADMISSION_LOOK_MS at most. */
bool th_admission(struct th_admission *a, const struct th_serve_settings *set, uint64_t now_ms,
		  struct th_err *why);

#endif
