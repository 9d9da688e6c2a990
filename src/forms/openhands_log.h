/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_log.h - the events of one OpenHands conversation, in order, and the names of
 * the files that hold them.
 *
 *	V0  [users/USER/conversations/ID | sessions/ID]/events/N.json, event_cache/N-M.json (25
 *each) V1  events/event-NNNNN-ID.json, base_state.json
 *
 * Any text may be the id of an event: OpenHands loses those with other letters than
 * hexadecimal digits when it opens the folder again, and so do not we.
 */
#ifndef TH_FORMS_OPENHANDS_LOG_H
#define TH_FORMS_OPENHANDS_LOG_H

#include "forms/openhands.h"

#define TH_OPENHANDS_PAGE 25 /* events in one page of V0 */

struct th_openhands_entry {
	uint64_t number;    /* V0: its id; V1: its place */
	struct th_str id;   /* V1; in the log's arena */
	struct th_str text; /* the event, verbatim JSON, in the log's arena */
};

struct th_openhands_log {
	enum th_openhands version;
	struct th_arena memory;
	/* TH_EXPORT_SIZE_MAX and TH_EXPORT_EVENTS_MAX unless th_openhands_log_bound was called. */
	size_t size_max, count_max;
	struct th_openhands_entry *list;
	size_t count, cap;
	size_t *slots; /* ids of V1, hashed: index + 1 */
	size_t slot_count;
};

void th_openhands_log_init(struct th_openhands_log *log, enum th_openhands version);
void th_openhands_log_deinit(struct th_openhands_log *log);
/* It takes so many bytes and events at most; before the first event. */
void th_openhands_log_bound(struct th_openhands_log *log, size_t size_max, size_t count_max);

/*
 * Adds one event that was written, verbatim.  V0: its id must not be below the next one,
 * which it is where it has none.  TH_EEXIST: the id is there; TH_ENOENT: its parent is not;
 * TH_ELIMIT.
 */
TH_NODISCARD enum th_code th_openhands_log_add(struct th_openhands_log *log, struct th_str text,
					       struct th_err *err);
/* Index of an id of V1; -1: none. */
ptrdiff_t th_openhands_log_find(const struct th_openhands_log *log, struct th_str id);

/* ---- files ---- */

/* The folder of a conversation of V0, with the last slash. */
void th_openhands_v0_folder(struct th_str user, struct th_str id, struct th_buf *out);
/* "events/7.json", "event_cache/0-25.json", "events/event-00007-ID.json" */
void th_openhands_event_file(const struct th_openhands_log *log, size_t index, struct th_buf *out);
void th_openhands_page_file(size_t first, struct th_buf *out);
/* The number of an event in a file's name (without folders); false: it is none. */
bool th_openhands_file_number(enum th_openhands v, struct th_str name, uint64_t *ret);

/* ---- states ---- */

/* Does a conversation of V0 in this state go on by itself when this is its newest event?
 * `delegate`: another agent works for it. */
bool th_openhands_v0_steps(const struct th_json *event, struct th_str state, bool delegate);

#endif
