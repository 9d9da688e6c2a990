/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unified.h - requests as a server gets them, in the unified form of model.h,
 * without loss: what the unified form says is written again and compared;
 * members of the body that came out otherwise are kept verbatim in "extra",
 * where they win over what is said elsewhere.
 *
 * An item or tool has a member "raw" where its wire says more:
 * {"wire","message","items"}.  The message stands for this element and the
 * items - 1 that follow it; whoever changes one of them takes "raw" away.
 */
#ifndef TH_MODEL_WIRE_UNIFIED_H
#define TH_MODEL_WIRE_UNIFIED_H

#include "base/json.h"

#define TH_UNIFIED_MEMBERS_MAX 128 /* of a request's body */

/* A request's body: JSON, an object, no member twice.  TH_EPROTO, TH_ELIMIT: one sentence. */
TH_NODISCARD enum th_code th_unified_check(struct th_str body, struct th_err *err);

/* A request in the unified form that is to be encoded: JSON, an object. */
TH_NODISCARD enum th_code th_unified_is_request(struct th_str unified, struct th_err *err);

/* The members of `body` that `again` does not have, or has otherwise, as an object.  Both are JSON
 * objects; members named in `without` (NULL-terminated) are passed over. */
void th_unified_extra(struct th_jw *w, struct th_str body, struct th_str again,
		      const char *const *without);
/* Whether `extra` has the member; a name in camel case is meant in snake case too: maxTokens,
 * max_tokens. */
bool th_unified_has(struct th_str extra, const char *name);
/* Its members, into the object that `w` stands in. */
void th_unified_put_extra(struct th_jw *w, struct th_str extra);

/* The message in an element's "raw", if it is of this wire; *ret_items: how many elements it stands
 * for. */
struct th_str th_unified_raw(struct th_str element, const char *wire, size_t *ret_items);
/* Writes "raw": … into the object that `w` stands in. */
void th_unified_put_raw(struct th_jw *w, const char *wire, struct th_str message, size_t items);

/* Equal as JSON values; false when one is no JSON. */
bool th_unified_equal(struct th_str a, struct th_str b);

#endif
