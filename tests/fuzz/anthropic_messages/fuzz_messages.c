/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an answer, whole and in pieces: the same answer, whose items are
 * a JSON list of objects.  The dialect reads its calls; items and the raw form
 * go back into requests that are JSON.
 */
#include "answers.h"

#include "anthropic_messages/messages.h"
#include "dialects/list.h"

static void send_back(const char *model, const struct th_answer *answer, struct th_str items)
{
	struct th_request_options o = { .has_computer = true, .screen = { 64, 48 } };
	struct th_group raw = { .kind = TH_GROUP_ANSWER, .items = items, .raw = answer->raw };
	struct th_group built = { .kind = TH_GROUP_ANSWER, .items = items };
	struct th_buf out = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_hole holes[4];
	struct th_err err;
	size_t start, count;

	if (th_model_resolve(th_str_of(model), &o.profile, &o.model, NULL))
		abort();
	o.image = th_image_size(o.profile, o.screen);
	th_messages_head(&o, &out);
	start = out.len;
	if (th_group_render(&o, &raw, true, &out, holes, TH_COUNT(holes), &count, &err) ||
	    th_group_render(&o, &built, out.len == start, &out, holes, TH_COUNT(holes), &count,
			    &err))
		abort();
	th_messages_tail(&o, &out);
	if (!out.failed)
		must_be_json(th_buf_str(&out));
	th_buf_deinit(&out);
}

static void check(const struct th_answer *answer)
{
	static const char *const models[] = { "claude-sonnet-4-5", "claude-5-x" };

	for (size_t i = 0; i < TH_COUNT(models); i++) {
		struct th_dialect_context c = { .screen = { 640, 480 }, .image = { 640, 480 } };
		struct th_buf items = TH_BUF_INIT(TH_REQUEST_MAX);
		struct th_str name;

		if (th_model_resolve(th_str_of(models[i]), &c.profile, &name, NULL))
			abort();
		if (!th_dialect_anthropic.decode(&c, answer->items, &items, NULL)) {
			must_be_json(th_buf_str(&items));
			send_back(models[i], answer, th_buf_str(&items));
		}
		th_buf_deinit(&items);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_answer(&th_wire_messages, data, size, check);
	return 0;
}
