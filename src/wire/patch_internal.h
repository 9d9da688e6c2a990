/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_internal.h - lines, as a patch and a diff have them.
 */
#ifndef TH_WIRE_PATCH_INTERNAL_H
#define TH_WIRE_PATCH_INTERNAL_H

#include "wire/patch.h"

#define END_PATCH "*** End Patch"
#define END_FILE "*** End of File"

bool th_patch_line_starts(struct th_str line, const char *prefix);
/* Whether it ends a file's diff. */
bool th_patch_ends_file(struct th_str line);
/* Takes a line off; its end (\n or \r\n) belongs to neither. */
struct th_str th_patch_take_line(struct th_str *rest);

#endif
