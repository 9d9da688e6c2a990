/* SPDX-License-Identifier: Apache-2.0 */
/* bash_keys.h - what a model sends to a running program, as the bytes that a keyboard would send.
 */
#ifndef TH_TOOLS_BASH_KEYS_H
#define TH_TOOLS_BASH_KEYS_H

#include "base/buf.h"

/* A key (C-c, CTRL+c, ENTER, UP …, in any case) alone, or a text and then Enter.  *ret_control: the
 * capital letter of a control key, else 0. */
void th_bash_keys(struct th_str text, struct th_buf *out, char *ret_control);

#endif
