/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_session.c - requests to condense, what a condensation may say, and budgets. */
#include "openhands.h"

#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "forms/openhands.h"

static bool step(struct th_session *s, uint64_t seq, enum th_event_kind kind, const char *data,
		 struct th_buf *found)
{
	const struct th_event ev = { .seq = seq,
				     .kind = kind,
				     .source = TH_SOURCE_USER,
				     .ts_ms = 1,
				     .data = th_str_of(data) };
	struct th_effects *effects = th_alloc(sizeof(*effects));
	struct th_err err = { 0 };
	bool good = !th_session_step(s, &ev, effects, &err);

	if (!good)
		th_buf_add_cstr(found, err.msg);
	free(effects);
	return good;
}

/* { "request_after_condensation": true }: it is still to be done. */
bool oh_request(const struct oh_case *c, struct th_buf *found)
{
	bool after = th_json_bool(th_json_get(c->input, "request_after_condensation"), false);
	const struct th_json *want = th_json_get(c->expected, "unhandled_condensation_request");
	struct th_session s;
	uint64_t seq = 0;
	bool good;

	th_session_init(&s);
	good = step(&s, ++seq, TH_EV_SESSION_CREATED,
		    "{\"agent\":{\"name\":\"a\"},\"model\":\"m\"}", found) &&
	       step(&s, ++seq, TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"x\"}", found);
	if (good && !after)
		good = step(&s, ++seq, TH_EV_CONDENSATION_REQUESTED, "{}", found);
	if (good)
		good =
		    step(&s, ++seq, TH_EV_CONDENSATION,
			 "{\"first_seq\":2,\"last_seq\":2,\"history\":[[2,0]],\"items\":1}", found);
	if (good && after)
		good = step(&s, ++seq, TH_EV_CONDENSATION_REQUESTED, "{}", found);
	if (good)
		th_buf_add_cstr(found, s.condense_asked ? "unhandled" : "handled");
	good &= s.condense_asked == th_json_bool(want, !after);
	th_session_deinit(&s);
	return good;
}

/* { "CondensationAction": { … } } */
bool oh_condensation(const struct oh_case *c, struct th_buf *found)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(&text);
	struct th_err err = { 0 };
	enum th_code code;

	th_jw_object(&w);
	th_jw_kstr(&w, "action", TH_STR("condensation"));
	th_jw_name(&w, TH_STR("args"));
	th_jw_json(&w, th_json_get(c->input, "CondensationAction"));
	th_jw_object_end(&w);
	code = th_json_parse(th_buf_str(&text), &doc, &err);
	if (!code)
		code = th_openhands_check(TH_OPENHANDS_V0, th_json_root(doc), &err);
	th_buf_add_cstr(found, code ? err.msg : "it is taken");
	th_json_free(doc);
	th_buf_deinit(&text);
	return (code != TH_OK) == th_str_starts(th_json_str(c->expected), TH_STR("ValueError"));
}

static double number_behind(struct th_str text, const char *word)
{
	ptrdiff_t at = th_str_find(text, th_str_of(word));

	return at < 0 ? 0 : strtod(text.ptr + at + strlen(word), NULL);
}

/* { "budget flag": "current 6.0 max 5.0" }, or an "iteration flag": the run stops.  How it goes on
 * is another matter. */
bool oh_budget(const struct oh_case *c, struct th_buf *found)
{
	struct th_json_iter it = th_json_iter(c->input);
	struct th_session s;
	const char *limit;

	th_session_init(&s);
	s.turns_max = 100;
	while (th_json_next(&it)) {
		struct th_str flag = th_json_str(it.val);

		if (th_str_starts(it.key, TH_STR("iteration"))) {
			s.turns_max = (int64_t)number_behind(flag, "max ");
			s.totals.turns = s.totals.task_turns =
			    (int64_t)number_behind(flag, "current ");
		} else {
			s.cost_nano_max = (int64_t)(number_behind(flag, "max ") * 1e9);
			s.totals.cost_nano = (int64_t)(number_behind(flag, "current ") * 1e9);
		}
	}
	limit = th_session_limit(&s);
	if (limit && th_json_get_str(c->expected, "error").len)
		th_buf_add_cstr(found, OH_DEVIATES "a person says what the new limit is");
	else
		th_buf_add_cstr(found, limit ?: "no limit is reached");
	th_session_deinit(&s);
	return !limit && !th_json_get_str(c->expected, "error").len;
}
