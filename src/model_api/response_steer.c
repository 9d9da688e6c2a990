/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_steer.c - something is said to a response that is under way: its agent reads it after
 * the turn that it is in, and answers in the same response.
 */
#include "model_api/response_internal.h"

static bool invalid(struct th_response_fault *fault, const char *why)
{
	return th_response_fault(fault, 400, "invalid_input", "%s", why);
}

/* A message's text, behind what is in `out`. */
static bool put_text(const struct th_json *content, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(content);

	if (out->len)
		th_buf_add_char(out, '\n');
	if (th_json_type(content) == TH_JSON_STR) {
		th_buf_add(out, th_json_str(content));
		return true;
	}
	if (!th_json_is_array(content))
		return false;
	while (th_json_next(&it)) {
		if (!th_str_is(th_json_get_str(it.val, "type"), "input_text"))
			return false;
		th_buf_add(out, th_json_get_str(it.val, "text"));
	}
	return true;
}

/* What the input says, which is text alone. */
static bool read_input(const struct th_json *input, struct th_buf *out,
		       struct th_response_fault *fault)
{
	struct th_json_iter it = th_json_iter(input);
	bool is_list = th_json_is_array(input);

	if (!is_list && th_json_type(input) != TH_JSON_STR)
		return invalid(fault, "input is a text or a list of messages");
	if (!is_list)
		th_buf_add(out, th_json_str(input));
	while (is_list && th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if ((type.len && !th_str_is(type, "message")) ||
		    !th_str_is(th_json_get_str(it.val, "role"), "user") ||
		    !put_text(th_json_get(it.val, "content"), out))
			return invalid(fault, "what is said to a response that is under way is "
					      "messages of the user, with text alone");
	}
	if (!out->len || out->failed || out->len > TH_MESSAGE_MAX || memchr(out->ptr, 0, out->len))
		return invalid(fault, "input has 1 byte to 4 MiB of text");
	return true;
}

bool th_response_steer(struct th_response *p, struct th_str body, struct th_response_fault *fault)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;

	if (th_json_parse(body, &doc, NULL) != TH_OK)
		return invalid(fault, "the message is no JSON");
	if (!read_input(th_json_get(th_json_root(doc), "input"), &text, fault))
		return false;
	if (p->steers == TH_SERVE_STEERS_MAX)
		return th_response_fault(fault, 429, "too_many_pending_steers",
					 "%d of them wait until they are written",
					 TH_SERVE_STEERS_MAX);
	if (p->warm || !p->began || thole_session_state(p->hub->session) != THOLE_RUNNING)
		return th_response_fault(fault, 400, "response_not_active",
					 "the response does not run just now");
	if (thole_session_message(p->hub->session, text.ptr, &err) != 0)
		return th_response_fault(fault, th_status_of(err.code), "response_not_active", "%s",
					 err.text);
	p->steers++;
	th_server_kick(p->server);
	return true;
}

void th_response_steered(struct th_response *p)
{
	if (!p->steers)
		return;
	p->steers--;
	if (p->on_steered)
		p->on_steered(p);
}

bool th_response_steer_late(struct th_response_fault *fault)
{
	return th_response_fault(fault, 400, "response_already_completed",
				 "the response was over before it was said to it");
}
