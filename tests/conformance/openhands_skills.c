/* SPDX-License-Identifier: Apache-2.0 */
/* openhands_skills.c - which skills a message or a path brings, and whom a risk makes ask. */
#include "openhands.h"

#include "agents/skill.h"
#include "rules/risk.h"

#define WORDS_MAX 64

static bool same(struct th_str got, const struct th_json *want, struct th_buf *found)
{
	th_buf_add(found, got.ptr ? got : TH_STR("none"));
	return th_json_is_null(want) ? !got.len : th_str_eq(got, th_json_str(want));
}

static struct th_strs words_of(const struct th_json *list, struct th_str *words)
{
	struct th_json_iter it = th_json_iter(list);
	size_t count = 0;

	while (th_json_next(&it) && count < WORDS_MAX)
		words[count++] = th_json_str(it.val);
	return (struct th_strs){ words, count };
}

bool oh_skill_word(const struct oh_case *c, struct th_buf *found)
{
	struct th_str words[WORDS_MAX];
	const struct th_skill s = { .triggers =
					words_of(th_json_get(c->input, "keywords"), words) };

	struct th_str message = th_json_get_str(c->input, "message");
	struct th_str got = th_skill_word(&s, message), want = th_json_str(c->expected);
	bool good = same(got, c->expected, found);

	/* There a task's name fires anywhere, here it begins a message. */
	if (!good && !got.len && th_str_starts(want, TH_STR("/"))) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "a task's name begins the message");
	}
	return good;
}

bool oh_skill_path(const struct oh_case *c, struct th_buf *found)
{
	struct th_str words[WORDS_MAX];
	const struct th_skill s = { .paths = words_of(th_json_get(c->input, "paths"), words) };

	return same(th_skill_path(&s, th_json_get_str(c->input, "file")), c->expected, found);
}

/* "ConfirmRisky(threshold=MEDIUM, confirm_unknown=False)" */
static struct th_agent_confirm policy_of(struct th_str text)
{
	struct th_agent_confirm c = { .when = TH_CONFIRM_RISKY,
				      .threshold = TH_RISK_HIGH,
				      .unknown = true };

	if (th_str_starts(text, TH_STR("AlwaysConfirm")))
		c.when = TH_CONFIRM_ALWAYS;
	if (th_str_starts(text, TH_STR("NeverConfirm")))
		c.when = TH_CONFIRM_NEVER;
	if (th_str_find(text, TH_STR("confirm_unknown=False")) >= 0)
		c.unknown = false;
	if (th_str_find(text, TH_STR("LOW")) >= 0)
		c.threshold = TH_RISK_LOW;
	if (th_str_find(text, TH_STR("MEDIUM")) >= 0)
		c.threshold = TH_RISK_MEDIUM;
	if (th_str_is(text, "UNKNOWN"))
		c.threshold = TH_RISK_UNKNOWN;
	return c;
}

bool oh_confirm(const struct oh_case *c, struct th_buf *found)
{
	struct th_str threshold = th_json_get_str(c->input, "ConfirmRisky threshold");
	struct th_agent_confirm policy =
	    policy_of(threshold.len ? threshold : th_json_get_str(c->input, "policy"));
	const char *at, *fault = th_confirm_fault(&policy, &at);
	bool same = true;

	if (fault || th_json_type(c->expected) == TH_JSON_STR) {
		th_buf_add_cstr(found, fault ? fault : "no fault");
		return fault && th_json_type(c->expected) == TH_JSON_STR;
	}
	for (int i = 0; i < TH_RISK_COUNT; i++) {
		static const char *const names[] = { "UNKNOWN", "LOW", "MEDIUM", "HIGH" };
		bool asks = th_confirm_asks(&policy, (enum th_risk)i);

		th_buf_printf(found, "%s %d ", names[i], asks);
		same = same && asks == th_json_bool(th_json_get(c->expected, names[i]), !asks);
	}
	return same;
}
