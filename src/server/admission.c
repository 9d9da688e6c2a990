/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - see admission.h. */
#include "server/admission.h"

#include "base/limits.h"
#include "server/settings.h"

bool th_admission_allows(const struct th_serve_settings *set, const struct th_machine *machine,
			 struct th_err *why)
{
	int64_t left = machine->memory / (int64_t)TH_MIB;

	if (set->free_memory_mib && machine->memory >= 0 && left < set->free_memory_mib)
		(void)th_fail(why, TH_ELIMIT,
			      "%lld MiB of memory are free here, and %lld must stay free",
			      (long long)left, (long long)set->free_memory_mib);
	else if (set->load_per_processor > 0 && machine->load > set->load_per_processor)
		(void)th_fail(why, TH_ELIMIT,
			      "the load of each processor here is %.2f, and above %.2f no session "
			      "begins",
			      machine->load, set->load_per_processor);
	else
		return true;
	return false;
}

bool th_admission(struct th_admission *a, const struct th_serve_settings *set, uint64_t now_ms,
		  struct th_err *why)
{
	if (!set->free_memory_mib && set->load_per_processor <= 0)
		return true;
	if (!a->looked_ms || now_ms - a->looked_ms >= TH_ADMISSION_LOOK_MS) {
		th_machine_look(&a->machine);
		a->looked_ms = now_ms;
	}
	return th_admission_allows(set, &a->machine, why);
}
