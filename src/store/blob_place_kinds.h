/* SPDX-License-Identifier: Apache-2.0 */
/* blob_place_kinds.h - the kinds of places, a file each.  Only they and blob_place.c include it. */
#ifndef TH_STORE_BLOB_PLACE_KINDS_H
#define TH_STORE_BLOB_PLACE_KINDS_H

#include "store/blob_place.h"

extern const struct th_blob_place_kind th_blob_place_folder, th_blob_place_s3;

#endif
