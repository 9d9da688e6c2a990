/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cua_compare.h - what a case says against what thole does (docs/DEVIATIONS.md has what may
 * differ).
 */
#ifndef TH_TESTS_CUA_COMPARE_H
#define TH_TESTS_CUA_COMPARE_H

#include "cua_stages.h"

/* Reports once.  Neighbouring messages of both become one. */
bool cua_compare(const struct cua_case *c, struct facts *want, struct facts *got,
		 cua_report_fn *report);
/* Reports both, as a failure. */
bool cua_show(const struct cua_case *c, const struct facts *want, const struct facts *got,
	      const char *what, cua_report_fn *report);
/* By how many pixels points may differ. */
int cua_tolerance(const struct cua_case *c);

#endif
