/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label.h - words for what a machine has (gpu, eu), by which sessions are given to those that can
 * run them.
 *
 * As one text they have a blank between; in sentences, ", ".
 */
#ifndef TH_BASE_LABEL_H
#define TH_BASE_LABEL_H

#include "base/buf.h"
#include "base/field.h"
#include "base/limits.h"

/* A text of as many as a machine is given, and of those that it has by itself. */
#define TH_LABELS_TEXT_MAX ((TH_LABELS_MAX + 4) * (TH_LABEL_MAX + 1))

/* What is wrong with the list, for a sentence that begins with its element `*ret_at`; NULL:
 * nothing. */
const char *th_labels_fault(const struct th_strs *list, size_t *ret_at);

/* Takes the next one off a text, with blanks or ", " between; empty: there is none. */
struct th_str th_label_next(struct th_str *text);
bool th_labels_has(struct th_str text, struct th_str label);
/* All of `needs`, which is such a text too? */
bool th_labels_have(struct th_str text, struct th_str needs);
/* Appends it, with `between` before all but the first; one that is there already is left out. */
void th_labels_add(struct th_buf *text, struct th_str label, const char *between);

#endif
