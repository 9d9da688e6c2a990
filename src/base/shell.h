/* SPDX-License-Identifier: Apache-2.0 */
/* shell.h - texts in a line for sh, and names of its variables. */
#ifndef TH_BASE_SHELL_H
#define TH_BASE_SHELL_H

#include "base/buf.h"

/* As one word, in single quotes; `text` has no zero. */
void th_shell_word(struct th_str text, struct th_buf *out);

/* Whether a variable can have that name: 1 to TH_VARIABLE_NAME_MAX letters, digits and "_", no
 * digit first. */
bool th_shell_name_ok(struct th_str name);

#endif
