/* SPDX-License-Identifier: Apache-2.0 */
#include "models/format.h"

#include "models/actions.h"

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
