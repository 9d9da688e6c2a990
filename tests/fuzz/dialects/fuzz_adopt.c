/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer of one model in the history of another: refused with a
 * sentence, or items that the other's wire can write.
 */
#include <stdlib.h>

#include "dialects/adopt.h"
#include "profiles/compose.h"
#include "transcript/plan.h"

#define HOLES_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const models[] = { "gpt-5.4",           "computer-use-preview",
				      "claude-sonnet-4-5", "gemini-3-pro",
				      "chat:other",        "vllm/ByteDance-Seed/UI-TARS-1.5-7B" };

static const struct th_profile *profile(const char *model)
{
	static struct th_composed composed;
	struct th_match match;

	if (th_model_compose(NULL, th_str_of(model), &composed, &match, NULL))
		abort();
	return match.profile;
}

/* Every item of it is one that can be adopted too, or is refused with a sentence. */
static void adopt(const struct th_profile *from, const struct th_profile *to, struct th_str items)
{
	static const struct th_agent agent = { .name = TH_STR_INIT("x") };
	const struct th_request_options o = {
		.profile = to,
		.model = TH_STR("m"),
		.agent = &agent,
		.has_computer = true,
		.screen = { 1280, 800 },
		.image = { 1280, 800 },
	};
	struct th_buf out = TH_BUF_INIT(64 * TH_MIB), call = TH_BUF_INIT(64 * TH_MIB);
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_json_doc *doc = NULL;
	struct th_err err = {};

	if (th_adopt_answer(from, &o, items, &out, &err)) {
		assert(err.msg[0]);
	} else {
		if (th_json_parse(th_buf_str(&out), &doc, NULL) ||
		    !th_json_is_array(th_json_root(doc)))
			abort();
		while (th_json_raw_next(&it)) {
			th_buf_clear(&call);
			if (th_adopt_call(from, &o, it.val, &call, &err))
				assert(err.msg[0]);
		}
	}
	th_json_free(doc);
	th_buf_deinit(&out);
	th_buf_deinit(&call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t from = 0; from < TH_COUNT(models); from++)
		for (size_t to = 0; to < TH_COUNT(models); to++)
			if (from != to)
				adopt(profile(models[from]), profile(models[to]),
				      th_str_n(data, size));
	return 0;
}
