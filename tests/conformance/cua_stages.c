/* SPDX-License-Identifier: Apache-2.0 */
#include "cua_stages.h"

void cua_stage(const struct cua_case *c, cua_report_fn *report)
{
	report(c, false, "stage is not known");
}
