/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_text.h - pictures as base64, shared by requests.
 */
#ifndef TH_DRIVER_BLOB_TEXT_H
#define TH_DRIVER_BLOB_TEXT_H

#include "driver/live.h"

/* A blob as base64.  Each need is ended by one th_driver_text_drop. */
TH_NODISCARD enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
					      struct th_str *ret, struct th_err *err);
void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash);
void th_driver_texts_free(struct th_driver *d);

#endif
