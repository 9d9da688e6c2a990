/* SPDX-License-Identifier: Apache-2.0 */
/* transcript_rig.h - a history made of the lines of a log. */
#ifndef TH_TESTS_UNIT_CORE_TRANSCRIPT_RIG_H
#define TH_TESTS_UNIT_CORE_TRANSCRIPT_RIG_H

#include "unit.h"

#include "transcript/transcript.h"

struct line {
	enum th_event_kind kind;
	const char *data; /* a person's; "~…": of the environment */
};

static inline void fill(struct th_transcript *transcript, size_t count, const struct line lines[])
{
	struct th_err err;

	th_transcript_init(transcript, true);
	for (size_t i = 0; i < count; i++) {
		const struct th_event ev = {
			.seq = i + 1,
			.kind = lines[i].kind,
			.cause = 3, /* verdicts' */
			.source = lines[i].data[0] == '~' ? TH_SOURCE_ENVIRONMENT : TH_SOURCE_USER,
			.data = th_str_of(lines[i].data + (lines[i].data[0] == '~'))
		};

		if (th_transcript_add(transcript, &ev, &err))
			fail_msg("line %zu: %s", i + 1, err.msg);
	}
}

#define CALL(type, id) "{\"type\":\"" type "\",\"call_id\":\"" id "\",\"name\":\"f\"}"
#define SAYS(text) "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ANSWER(items) "{\"status\":\"completed\",\"items\":[" items "]}"
#define OUTCOME(id) "{\"call_id\":\"" id "\",\"status\":\"done\",\"output\":\"ok\"}"
#define TEXT(text)                                                                             \
	"{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\"," \
	"\"text\":\"" text "\"}]}"

#endif
