/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of events -> the fold.  Whatever comes, a step either applies an event
 * or leaves the state as it was; the effects stay within their bound; a
 * refold of what was applied gives the same state.
 */
#include <stdlib.h>

#include "core/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool feed(struct th_session *s, struct th_str line, struct th_arena *a)
{
	struct th_json_doc *doc = NULL;
	struct th_session before;
	struct th_event ev;
	struct th_effects fx;
	struct th_err err = {};
	bool applied = false;

	if (!th_json_parse(line, &doc, &err) && !th_event_parse(th_json_root(doc), a, &ev, &err)) {
		before = *s;
		ev.seq = s->seq + 1;
		applied = !th_session_step(s, &ev, &fx, &err);
		assert(fx.count <= TH_EFFECTS_MAX);
		if (applied)
			assert(s->seq == before.seq + 1);
		else
			assert(s->seq == before.seq && s->state == before.state && fx.count == 0 &&
			       err.msg[0]);
	}
	th_json_free(doc);
	return applied;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size);
	struct th_session one, two;
	struct th_effects fx;
	struct th_arena a;
	struct th_err err = {};

	th_session_init(&one);
	th_session_init(&two);
	th_arena_init(&a, 64 * TH_MIB);
	while (rest.len > 0) {
		struct th_str line = th_str_split(&rest, '\n');

		if (feed(&one, line, &a) && !feed(&two, line, &a))
			abort();
	}
	if (!th_session_equal(&one, &two, &err))
		abort();
	th_session_resume(&one, &fx);
	assert(fx.count <= TH_EFFECTS_MAX);
	th_arena_deinit(&a);
	th_session_deinit(&one);
	th_session_deinit(&two);
	return 0;
}
