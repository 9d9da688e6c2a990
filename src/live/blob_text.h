/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_text.h - pictures as base64, shared by requests.
 */
#ifndef TH_LIVE_BLOB_TEXT_H
#define TH_LIVE_BLOB_TEXT_H

#include "live/live.h"

/* A blob as base64.  Each need is ended by one th_driver_text_drop. */
TH_NODISCARD enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
					      struct th_str *ret, struct th_err *err);
/* A picture that was just written, as it will be needed. */
void th_driver_text_keep(struct th_driver *d, const struct th_digest *hash, struct th_str bytes);
/* False: it is not here, and comes (th_driver_blob_here). */
bool th_driver_text_ask(struct th_driver *d, const struct th_digest *hash);
/* It came, or `why` not.  What nobody waits for is let go. */
void th_driver_text_came(struct th_driver *d, const struct th_digest *hash, struct th_str bytes,
			 const struct th_err *why);
/* All who waited for it know why it did not come: who asks next asks anew. */
void th_driver_text_clear_error(struct th_driver *d, const struct th_digest *hash);
bool th_driver_text_comes(const struct th_driver *d, const struct th_digest *hash);
void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash);
void th_driver_texts_free(struct th_driver *d);

#endif
