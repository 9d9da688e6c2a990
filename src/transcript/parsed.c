/* SPDX-License-Identifier: Apache-2.0 */
#include "transcript/parsed.h"

static enum th_code plan(struct th_parsed *p, struct th_err *err)
{
	static const char *const keys[] = { "items", "raw" };
	struct th_str found[TH_COUNT(keys)];

	th_json_raw_gets(p->ev->data, TH_COUNT(keys), keys, found);
	p->items = found[0];
	p->raw = found[1];
	return th_plan_items(th_json_get(p->data, "items"), p->items, &p->memory, &p->text,
			     &p->next, err);
}

enum th_code th_parsed_init(struct th_parsed *p, const struct th_event *ev, struct th_err *err)
{
	enum th_code code;

	p->ev = ev;
	p->doc = NULL;
	p->items = p->raw = (struct th_str){ NULL, 0 };
	th_arena_init_try(&p->memory, TH_TURN_MEMORY_MAX);
	th_buf_init_try(&p->text, TH_ANSWER_MAX);
	code = th_json_parse_in(&p->room, true, ev->data, &p->doc, err);
	if (code)
		return code;
	p->data = th_json_root(p->doc);
	if (ev->kind == TH_EV_MODEL_ANSWERED)
		code = plan(p, err);
	if (code)
		th_parsed_deinit(p);
	return code;
}

void th_parsed_deinit(struct th_parsed *p)
{
	th_arena_deinit(&p->memory);
	th_buf_deinit(&p->text);
	p->doc = th_json_free(p->doc);
}

enum th_code th_parsed_check_ids(const struct th_parsed *p, struct th_err *err)
{
	if (p->ev->kind == TH_EV_MODEL_ANSWERED && p->next.bad_ids)
		return th_fail(err, TH_EPROTO, "%s", p->next.bad_ids);
	return TH_OK;
}
