/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_internal.h - what the reader of field tables shares with those that describe them.
 */
#ifndef TH_BASE_FIELD_INTERNAL_H
#define TH_BASE_FIELD_INTERNAL_H

#include "base/field.h"

#define TH_FIELD_PATH_MAX 256 /* bytes of a field's place, "a.b[2].c" */

/* "a string", by enum th_field_kind. */
extern const char *const th_field_kind_texts[];

#endif
