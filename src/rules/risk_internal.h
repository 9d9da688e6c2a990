/* SPDX-License-Identifier: Apache-2.0 */
/* risk_internal.h - the analysers of risk.h, and what they share. */
#ifndef TH_RULES_RISK_INTERNAL_H
#define TH_RULES_RISK_INTERNAL_H

#include "rules/risk.h"

struct th_analyser {
	const char *name;
	enum th_risk (*look)(const struct th_json *arguments, const char **ret_why);
};

extern const struct th_analyser th_analyser_model, th_analyser_patterns, th_analyser_rails;

#endif
