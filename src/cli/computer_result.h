/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer_result.h - what a command of thole computer says of its result.
 */
#ifndef TH_CLI_COMPUTER_RESULT_H
#define TH_CLI_COMPUTER_RESULT_H

#include "cli/computer_verbs.h"
#include "core/effect_call.h"

/* NULL: neither --format nor the file's name says one that is known. */
const char *th_computer_format_of(const struct th_computer_flags *o);
int th_computer_result_show(struct th_computer_call *c, bool picture,
			    const struct th_effect_result *r);
/* The exit code. */
int th_computer_failed(enum th_outcome_status status, struct th_str text);
/* For people line by line without escapes; into a pipe as it is. */
void th_computer_add_text(struct th_buf *out, struct th_str text);
void th_computer_result_json(const struct th_effect_result *r, struct th_buf *out);

#endif
