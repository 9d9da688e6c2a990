/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/compose.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/actions.h"
#include "dialects/list.h"

static bool points(const struct th_profile *p)
{
	return p->vision && p->computer != TH_COMPUTER_NONE;
}

static void as_planner(struct th_composed *c, const struct th_dialect *dialect,
		       struct th_match *match)
{
	c->planner = *match->profile;
	c->planner.dialect = dialect;
	c->planner.computer = TH_COMPUTER_DIALECT;
	c->planner.tool = c->planner.beta = NULL;
	match->profile = &c->planner;
}

/* omni+PLANNER: what stands behind the last plus plans, as where the name comes from. */
static bool is_omni(struct th_str name, struct th_str *ret_planner)
{
	if (!th_str_istarts(name, TH_STR("omni+")) && !th_str_istarts(name, TH_STR("omniparser+")))
		return false;
	while (th_str_find_char(name, '+') >= 0)
		th_str_split(&name, '+');
	*ret_planner = name;
	return true;
}

static enum th_code compose_omni(const struct th_profiles *mine, struct th_str planner,
				 struct th_composed *c, struct th_match *ret, struct th_err *err)
{
	enum th_code code;

	if (!planner.len)
		return th_fail(err, TH_EUSAGE,
			       "no planner is named behind the plus: omni+PLANNER, such as "
			       "omni+claude-sonnet-4-5");
	code = th_model_match(mine, planner, ret, err);
	if (code)
		return th_prefix(err, code, "the planner");
	if (!ret->profile->vision || ret->profile->computer == TH_COMPUTER_CLICK)
		return th_fail(err, TH_EUSAGE, "%.*s cannot plan by marks on pictures: it %s",
			       TH_FMT(th_utf8_cut(planner, 60)),
			       ret->profile->vision ? "only points at things" : "sees none");
	c->marks = true;
	as_planner(c, &th_dialect_elements, ret);
	return TH_OK;
}

enum th_code th_model_compose(const struct th_profiles *mine, struct th_str name,
			      struct th_composed *c, struct th_match *ret, struct th_err *err)
{
	struct th_str rest = name, first;
	struct th_match grounder, planner;
	enum th_code code;

	*c = (struct th_composed){ 0 };
	if (th_str_find_char(name, '+') < 0)
		return th_model_match(mine, name, ret, err);
	if (is_omni(name, &rest))
		return compose_omni(mine, rest, c, ret, err);
	first = th_str_split(&rest, '+');
	if (!first.len || th_model_match(mine, first, &grounder, NULL) || !points(grounder.profile))
		return th_model_match(mine, name, ret, err);
	if (!rest.len && grounder.profile->computer == TH_COMPUTER_CLICK)
		return th_fail(err, TH_EUSAGE,
			       "\"%.*s\" names no planner behind the plus: GROUNDER+PLANNER",
			       TH_FMT(th_utf8_cut(name, 60)));
	if (!rest.len)
		return th_model_match(mine, name, ret, err);
	code = th_model_match(mine, rest, &planner, err);
	if (code)
		return th_prefix(err, code, "the planner of \"%.*s\"",
				 TH_FMT(th_utf8_cut(name, 60)));
	if (planner.profile->computer == TH_COMPUTER_CLICK)
		return th_fail(err, TH_EUSAGE,
			       "the planner of \"%.*s\" only points at things: write the grounder "
			       "first, GROUNDER+PLANNER",
			       TH_FMT(th_utf8_cut(name, 60)));
	c->grounder = grounder.profile;
	c->grounder_name = grounder.name;
	c->grounder_match = grounder;
	*ret = planner;
	as_planner(c, &th_dialect_descriptions, ret);
	return TH_OK;
}

void th_ground_message(const struct th_profile *grounder, struct th_str description,
		       const struct th_digest *picture, const char *media_type, struct th_buf *out)
{
	struct th_buf text = TH_BUF_INIT(TH_TARGET_MAX + 64);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_jw w = th_jw(out);

	th_digest_hex(picture, hex);
	if (grounder->computer != TH_COMPUTER_CLICK)
		th_buf_add_cstr(&text, "Click on this and do nothing else: ");
	th_buf_add(&text, description);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("image"));
	th_jw_kstr(&w, "media_type", th_str_of(media_type));
	th_jw_kstr(&w, "blob", th_str_of(hex));
	th_jw_object_end(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", th_buf_str(&text));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_buf_deinit(&text);
}

enum th_code th_ground_point(const struct th_profile *grounder, struct th_str items,
			     struct th_point *ret, struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_json_iter it;
	struct th_arena a;
	enum th_code code = th_json_parse(items, &doc, err);
	bool found = false;

	if (code)
		return code;
	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	for (it = th_json_iter(th_json_root(doc)); !found && th_json_next(&it);) {
		struct th_action *actions;
		size_t count;

		if (th_model_actions(grounder, it.val, &a, &actions, &count, NULL))
			continue;
		for (size_t i = 0; i < count && !found; i++) {
			found = actions[i].has_at;
			*ret = actions[i].at;
		}
	}
	th_arena_deinit(&a);
	th_json_free(doc);
	return found
		   ? TH_OK
		   : th_fail(err, TH_EPROTO, "the model that points did not find it on the screen");
}
