/* SPDX-License-Identifier: Apache-2.0 */
/*
 * body.h - the body of a model request: pieces that stay where they are (frame,
 * rendered history, pictures as base64), never joined.
 */
#ifndef TH_LIVE_BODY_H
#define TH_LIVE_BODY_H

#include "base/hash.h"
#include "base/str.h"

struct th_live;

/* All zero: empty.  The caller keeps the pieces that it adds; pictures are pinned by the body. */
struct th_body {
	struct th_str *parts;
	size_t count, cap;
	struct th_digest *blobs; /* whose texts are pinned */
	size_t blob_count, blob_cap;
	size_t blob_size; /* of all these texts */
};

void th_body_add(struct th_body *b, struct th_str bytes);
TH_NODISCARD enum th_code th_body_add_picture(struct th_live *l, struct th_body *b,
					      const struct th_digest *hash, struct th_err *err);
/* The session's history; `tail`: only what follows the last answer. */
TH_NODISCARD enum th_code th_body_add_history(struct th_live *l, struct th_body *b, bool tail,
					      struct th_err *err);
/* Are pictures of the history still to come?  They are asked for once for each request; who asked
 * is called again (th_driver_blob_here). */
bool th_body_waits(struct th_live *l);
/* Whether the request of now waits so. */
bool th_body_waiting(const struct th_live *l);
void th_body_deinit(struct th_live *l, struct th_body *b);

#endif
