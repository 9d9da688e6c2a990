/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cua_stages.h - stages of cases that are not about a dialect: whole runs, the
 * history's pictures, the conversions to chat messages.
 */
#ifndef TH_TESTS_CUA_STAGES_H
#define TH_TESTS_CUA_STAGES_H

#include "cua_facts.h"

typedef bool cua_report_fn(const struct cua_case *c, bool good, const char *why);
void cua_stage(const struct cua_case *c, cua_report_fn *report);

#endif
