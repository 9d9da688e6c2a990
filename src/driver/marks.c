/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - calls of omni+PLANNER: the planner named elements by the
 * numbers of their marks, and the picture that it saw last says where they are.
 *
 * Pictures and their elements are in the outcomes' log, and the CALL event has
 * the places: a replay neither looks nor asks again.
 */
#include "driver/marks.h"

#include "actions/mark.h"
#include "dialects/dialect.h"
#include "dialects/elements.h"
#include "history/history.h"
#include "live/log.h"
#include "profiles/compose.h"
#include "turns/team.h"

bool th_live_marks(const struct th_live *l)
{
	return l->resolved->composed && l->resolved->composed->marks &&
	       l->session_config->has_computer;
}

static struct th_target_place place_of(struct th_str elements, const struct th_target *target)
{
	struct th_target_place p = { 0 };

	if (target->description.len)
		p.why = "say the number of its mark";
	else if (!elements.len)
		p.why = "there is no picture with marks yet: take a screenshot first";
	else
		p.found = th_marks_find(elements, target->id, &p.at);
	return p; /* the display process says which number does not exist */
}

static void print_places(const struct th_target *targets, const struct th_target_place *places,
			 size_t count, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "model", TH_STR("marks"));
	th_jw_kint(&w, "requests", 0);
	th_jw_kint(&w, "cost_nano", 0);
	th_jw_key(&w, TH_STR("places"));
	th_jw_array(&w);
	for (size_t i = 0; i < count; i++) {
		th_jw_object(&w);
		th_jw_kint(&w, "id", targets[i].id);
		if (places[i].found) {
			th_jw_kint(&w, "x", places[i].at.x);
			th_jw_kint(&w, "y", places[i].at.y);
		} else {
			th_jw_kstr(&w, "error", th_str_of(places[i].why ?: "not found"));
		}
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

static void record(struct th_live *l, struct th_call *c, th_record_item_fn *record_item,
		   struct th_str elements, const struct th_json *item,
		   const struct th_target *targets, size_t count)
{
	const struct th_dialect_context context = {
		.profile = l->resolved->profile,
		.screen = l->options.screen,
		.image = l->options.image,
		.turn = l->fold.totals.turns,
	};
	struct th_buf whole = TH_BUF_INIT(TH_ANSWER_MAX), found = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_target_place places[TH_TARGETS_MAX];
	struct th_err err = { 0 };

	for (size_t i = 0; i < count; i++)
		places[i] = place_of(elements, &targets[i]);
	if (th_elements_resolve(&context, item, places, count, &whole, &err) ||
	    th_buf_check(&whole, "the call", &err)) {
		th_live_lose(l, &err);
	} else {
		print_places(targets, places, count, &found);
		record_item(l, c, th_buf_str(&whole), th_buf_str(&found));
	}
	th_buf_deinit(&whole);
	th_buf_deinit(&found);
}

bool th_live_mark(struct th_live *l, struct th_call *c, th_record_item_fn *record_item)
{
	struct th_target targets[TH_TARGETS_MAX];
	const struct th_history *history;
	struct th_history *own = NULL;
	struct th_json_doc *item;
	struct th_err err = { 0 };
	size_t count;

	if (!c->computer || !th_live_marks(l) || th_json_parse(c->item, &item, NULL))
		return false;
	count = th_elements_targets(th_json_root(item), targets);
	if (count && th_live_seen(l, &history, &own, &err))
		th_live_lose(l, &err);
	else if (count)
		record(l, c, record_item, th_history_elements(history), th_json_root(item), targets,
		       count);
	th_history_free(own);
	th_json_free(item);
	return count > 0;
}
