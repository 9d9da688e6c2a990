/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anthropic.h - what the Messages wire needs of Anthropic's dialect beside its row.
 */
#ifndef TH_DIALECTS_ANTHROPIC_H
#define TH_DIALECTS_ANTHROPIC_H

#include "dialects/dialect.h"

/* The input of the tool for a computer_call.  TH_EUNSUPPORTED: no word for
 * one of its actions. */
TH_NODISCARD enum th_code th_anthropic_input(const struct th_dialect_context *c,
					     const struct th_json *item, struct th_buf *out,
					     struct th_err *err);

#endif
