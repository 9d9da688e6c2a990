/* SPDX-License-Identifier: Apache-2.0 */
/* response_place.c - the session that a request goes on from, and so the node that makes it. */
#include "model_api/conversation.h"
#include "model_api/response_internal.h"

enum th_stored_result th_response_place(struct th_needs *n, const char *user, struct th_str body,
					char session[static TH_SESSION_ID_MAX + 1])
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str conversation = th_json_raw_get(body, "conversation");
	struct th_conversation p;
	enum th_stored_result look;

	th_response_before(body, &name);
	if (name.len)
		return th_response_session_of(th_buf_str(&name), session) ? TH_STORED_FOUND
									  : TH_STORED_FAILED;
	if (th_json_raw_is_object(conversation))
		conversation = th_json_raw_get(conversation, "id");
	if (!th_json_unescape(conversation, &name) || name.failed)
		return TH_STORED_FAILED;
	look = th_conversation_find(n, user, th_buf_str(&name), &p);
	if (look != TH_STORED_FOUND)
		return look;
	return th_session_name(th_str_of(p.head), session) ? TH_STORED_FOUND : TH_STORED_FAILED;
}
