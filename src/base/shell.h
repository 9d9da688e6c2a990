/* SPDX-License-Identifier: Apache-2.0 */
/* shell.h - texts in a line for sh. */
#ifndef TH_BASE_SHELL_H
#define TH_BASE_SHELL_H

#include "base/buf.h"

/* As one word, in single quotes; `text` has no zero. */
void th_shell_word(struct th_str text, struct th_buf *out);

#endif
