/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of events -> spans.  Whatever comes, they are trees: a child begins no
 * earlier in the list than its parent, and is in its list once; what is exported
 * is JSON.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct th_trace *t)
{
	size_t children = 0, linked = 0;

	assert(t->count <= TH_TRACE_SPANS_MAX);
	for (size_t i = 0; i < t->count; i++) {
		const struct th_span *s = &t->spans[i];

		children += s->parent != TH_SPAN_NONE;
		assert(s->parent == TH_SPAN_NONE || s->parent < i);
		for (size_t c = s->first_child; c != TH_SPAN_NONE; c = t->spans[c].next) {
			assert(c < t->count && t->spans[c].parent == i);
			linked++;
		}
	}
	assert(children == linked);
	for (size_t i = 0; i < t->count; i++)
		assert(th_trace_sum(t, i).requests >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size);
	struct th_buf out = TH_BUF_INIT(64 * TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_trace t;
	struct th_arena a;

	th_trace_init(&t);
	th_arena_init(&a, 64 * TH_MIB);
	for (uint64_t seq = 1; rest.len > 0; seq++) {
		struct th_event ev;

		if (!th_json_parse(th_str_split(&rest, '\n'), &doc, NULL) &&
		    !th_event_parse(th_json_root(doc), &a, &ev, NULL)) {
			ev.seq = seq;
			th_trace_event(&t, &ev);
		}
		doc = th_json_free(doc);
	}
	check(&t);
	if (th_trace_otlp(&t, TH_STR("s"), NULL, 0, TH_STR("1"), &out) > 0) {
		if (th_json_parse(th_buf_str(&out), &doc, NULL))
			abort();
		th_json_free(doc);
	}
	th_buf_deinit(&out);
	th_arena_deinit(&a);
	th_trace_deinit(&t);
	return 0;
}
