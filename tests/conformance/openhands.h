/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands.h - the areas of cases about OpenHands' agent.  An area is one row of
 * the table in openhands.c and one function, in a file of its own subject.
 */
#ifndef TH_TESTS_OPENHANDS_H
#define TH_TESTS_OPENHANDS_H

#include "base/json.h"

struct oh_case {
	struct th_str id, area;
	const struct th_json *input, *expected;
};

/* True: the product does what the case says.  False: `found` says what it does instead. */
typedef bool oh_area_fn(const struct oh_case *c, struct th_buf *found);

/* What `found` begins with where the product differs on purpose, by a rule that docs/DEVIATIONS.md
 * has, and does what that says. */
#define OH_DEVIATES "deviates: "

oh_area_fn oh_stuck_v0, oh_stuck_v1;             /* openhands_stuck.c */
oh_area_fn oh_editor, oh_bash, oh_patch, oh_cut; /* openhands_tools.c */
oh_area_fn oh_event_write_v0, oh_event_write_v1, oh_event_read_v0, oh_event_read_v1, oh_log,
    oh_search, oh_layout, oh_should_step, oh_redact, oh_ps1;          /* openhands_events.c */
oh_area_fn oh_confirm, oh_skill_word, oh_skill_path;                  /* openhands_skills.c */
oh_area_fn oh_condenser_v0, oh_condenser_v1, oh_condenser_made;       /* openhands_condense.c */
oh_area_fn oh_view_v0, oh_view_v1;                                    /* openhands_view.c */
oh_area_fn oh_hook, oh_secret, oh_mask;                               /* openhands_hooks.c */
oh_area_fn oh_message, oh_messages;                                   /* openhands_messages.c */
oh_area_fn oh_request, oh_budget, oh_condensation;                    /* openhands_session.c */
oh_area_fn oh_call_read, oh_call_write, oh_call_prompt, oh_call_back; /* openhands_calls.c */

#endif
