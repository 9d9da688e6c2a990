/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_name.h - names that are chosen for new sessions.
 *
 * They stand in lines of a shell, in NAME@SEQ and in paths, so they have no blanks, no @ and no /.
 * Sessions that have another name already, of a program's own or of before, keep it.
 */
#ifndef TH_BASE_SESSION_NAME_H
#define TH_BASE_SESSION_NAME_H

#include "base/str.h"

/* What is wrong with it, for a sentence that says what the name is called; NULL: nothing. */
const char *th_session_name_fault(struct th_str name);

#endif
