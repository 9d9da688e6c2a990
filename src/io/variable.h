/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable.h - variables of the environment that an agent file or an option names.
 *
 * Names that are our own are read with getenv.
 */
#ifndef TH_IO_VARIABLE_H
#define TH_IO_VARIABLE_H

#include "base/err.h"
#include "base/secret.h"

/* Its value, as getenv has it.  NULL: it is not set, or the name is none (empty, a NUL in it,
 * longer than TH_VARIABLE_NAME_MAX). */
const char *th_variable(struct th_str name);
/* The token in it; an empty name has none (*ret is NULL).  TH_EUSAGE, with its name: it is not set,
 * or empty. */
TH_NODISCARD enum th_code th_variable_token(struct th_str name, struct th_secret **ret,
					    struct th_err *err);

#endif
