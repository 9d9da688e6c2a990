/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.h - regular expressions as Python writes them, over whole texts.
 *
 *	. [a-z] [^a-z] \d \w \s \b ^ $    (…) (?:…) (?P<name>…) |    * + ? {m,n}, lazy too
 *
 * No backtracking: a match takes at most the length of the text times the size of the
 * expression.  Lookaround, backreferences, flags and possessive repeats are not there,
 * and an expression that has one is refused.  Bytes are compared, so a class holds ASCII.
 * Pure, and total.
 */
#ifndef TH_BASE_REGEX_H
#define TH_BASE_REGEX_H

#include "base/arena.h"

struct th_regex;

/* In the arena.  TH_EUSAGE: Python refuses it too; TH_EUNSUPPORTED: it has something that is not
 * here; TH_ELIMIT: it is too large. */
TH_NODISCARD enum th_code th_regex_compile(struct th_str text, struct th_arena *a,
					   const struct th_regex **ret, struct th_err *err);
/* The whole of the text.  One of more than TH_REGEX_TEXT_MAX bytes matches nothing. */
bool th_regex_matches(const struct th_regex *re, struct th_str text);

#endif
