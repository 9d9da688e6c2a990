/* SPDX-License-Identifier: Apache-2.0 */
/* picture_type.h - what kind of picture bytes are, whatever was said of them. */
#ifndef TH_BASE_PICTURE_TYPE_H
#define TH_BASE_PICTURE_TYPE_H

#include "base/str.h"

#define TH_PICTURE_TYPE_BYTES 12 /* that are looked at */

/* "image/png", by how they begin; NULL: none of the kinds that models are shown. */
const char *th_picture_type(struct th_str bytes);
/* Of all its bytes; NULL also for what a provider refuses, with the whole request and each later
 * one of the session: a PNG that is broken or cut off, a PNG or JPEG with a longer side. */
const char *th_picture_whole_type(struct th_str bytes);
#define TH_PICTURE_SIDE_MAX 8000

#endif
