/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_items.h - what a model sees of an OpenHands conversation, as items in the
 * Responses API's form: the history that an import goes on with.
 *
 * A fold over its events: each gives items, or none, or (a condensation) another list for all
 * that was before.  Calls that nobody answered are known, so that the importer can
 * say that their outcome is not known; they are never run.
 */
#ifndef TH_FORMS_OPENHANDS_ITEMS_H
#define TH_FORMS_OPENHANDS_ITEMS_H

#include "forms/openhands.h"

struct th_openhands_seen {
	struct th_str id;    /* of its event */
	struct th_str items; /* JSON list */
};

struct th_openhands_open {
	struct th_str call_id, tool;
};

struct th_openhands_view {
	enum th_openhands version;
	struct th_arena memory;
	struct th_openhands_seen *list;
	size_t count, cap;
	struct th_openhands_open *open; /* calls without a result */
	size_t open_count, open_cap;
};

void th_openhands_view_init(struct th_openhands_view *view, enum th_openhands version);
void th_openhands_view_deinit(struct th_openhands_view *view);

/* The next event; `number` is its place.  *ret_items: JSON list, in the view's arena.  *ret_anew:
 * it is the whole history from here on.  An event that is not known gives no item. */
TH_NODISCARD enum th_code th_openhands_view_add(struct th_openhands_view *view, uint64_t number,
						const struct th_json *event,
						struct th_str *ret_items, bool *ret_anew,
						struct th_err *err);
/* Results that say that nothing is known of the open calls; "[]" without any. */
TH_NODISCARD enum th_code th_openhands_view_close(struct th_openhands_view *view,
						  struct th_str *ret_items, struct th_err *err);

#endif
