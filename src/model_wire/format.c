/* SPDX-License-Identifier: Apache-2.0 */
#include "model_wire/format.h"

#include "dialects/actions.h"

struct th_str th_format_name(const struct th_request_options *o)
{
	return o->format.name.len ? o->format.name : TH_STR("final_output");
}

void th_format_instruct(const struct th_request_options *o, struct th_buf *out)
{
	if (out->len)
		th_buf_add_cstr(out, "\n\n");
	th_buf_add_cstr(out, "Your final message must be one JSON value and nothing else: no other "
			     "words, no code fence. It must fit this JSON Schema:\n");
	th_buf_add(out, o->format.schema);
}

bool th_choice_is_computer(const struct th_request_options *o)
{
	return o->choice.kind == TH_CHOICE_TOOL && o->has_computer &&
	       o->profile->computer != TH_COMPUTER_NONE &&
	       th_str_is(o->choice.tool, TH_COMPUTER_FUNCTION_NAME);
}

void th_choice_put(const struct th_request_options *o, struct th_jw *w,
		   void (*named)(const struct th_request_options *o, struct th_jw *w))
{
	static const char *const words[] = {
		[TH_CHOICE_AUTO] = "auto",
		[TH_CHOICE_REQUIRED] = "required",
		[TH_CHOICE_NONE] = "none",
	};

	if (o->choice.kind == TH_CHOICE_TOOL) {
		th_jw_key(w, TH_STR("tool_choice"));
		named(o, w);
	} else if (o->choice.kind != TH_CHOICE_UNSET) {
		th_jw_kstr(w, "tool_choice", th_str_of(words[o->choice.kind]));
	}
	if (o->parallel)
		th_jw_kbool(w, "parallel_tool_calls", o->parallel == TH_PARALLEL_YES);
}

bool th_request_stores(const struct th_request_options *o)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	return o->kept || (s && (s->history == TH_HISTORY_PREVIOUS || s->background ||
				 th_str_is(s->store, "true")));
}

int64_t th_request_compacts(const struct th_request_options *o)
{
	const struct th_agent_compact *c = o->agent ? o->agent->compact : NULL;
	int64_t context = o->profile->context_tokens;

	if (!c || !th_str_is(c->own.condenser, TH_COMPACT_PROVIDER))
		return 0;
	return c->tokens ? c->tokens : context ? context / 4 * 3 : TH_COMPACT_PROVIDER_TOKENS;
}
