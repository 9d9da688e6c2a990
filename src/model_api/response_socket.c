/* SPDX-License-Identifier: Apache-2.0 */
/* response_socket.c - the Responses API over a WebSocket: what its client says. */
#include <stdlib.h>

#include "model_api/response_lanes.h"

/* The message's stream_id; empty: it has none. */
static bool read_id(struct th_str text, char ret[static TH_SERVE_STREAM_ID_MAX + 1])
{
	struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str raw = th_json_raw_get(text, "stream_id");

	ret[0] = '\0';
	if (!raw.len || th_str_is(raw, "null"))
		return true;
	if (!th_json_unescape(raw, &id) || id.failed || !id.len ||
	    id.len > TH_SERVE_STREAM_ID_MAX || memchr(id.ptr, 0, id.len))
		return false;
	memcpy(ret, id.ptr, id.len);
	ret[id.len] = '\0';
	return true;
}

static void take_text(struct th_lanes *s, struct th_str text)
{
	struct th_str type = th_json_raw_inside(th_json_raw_get(text, "type"));
	bool steers = th_str_is(type, "response.steer");
	char id[TH_SERVE_STREAM_ID_MAX + 1], *copy;
	struct th_lane *l;
	bool full;

	if (!read_id(text, id)) {
		th_lanes_fault(s, "", 400, "invalid_value", "stream_id is a text of 1 to 64 bytes");
		return;
	}
	if (!steers && !th_str_is(type, "response.create")) {
		th_lanes_fault(s, id, 400, "invalid_request_error",
			       "a message is {\"type\": \"response.create\", …} or {\"type\": "
			       "\"response.steer\", …}");
		return;
	}
	if (steers) {
		th_lanes_steer(s, id, text);
		return;
	}
	full = s->waiting >= TH_SERVE_QUEUE_MAX;
	l = full ? NULL : th_lane_of(s, id);
	if (!l) {
		th_lanes_fault(s, id, 429, "rate_limit_exceeded",
			       full ? "too many responses wait on this socket"
				    : "too many streams of this socket have a response under way");
		return;
	}
	copy = th_alloc(text.len + 1);
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	th_lane_put(l, copy);
	th_lanes_next(s);
}

static void on_message(struct th_access *a, struct th_str text, bool is_text)
{
	struct th_lanes *s = a->ctx;

	if (s->ended || s->close)
		return;
	th_lanes_enter(s);
	if (is_text)
		take_text(s, text);
	else
		th_lanes_fault(s, "", 400, NULL, "messages are text");
	th_lanes_leave(s);
}

void th_v1_responses_socket(struct th_access *a)
{
	struct th_lanes *s;

	if (!th_http_wants_socket(a->request)) {
		th_access_fail(a, 426, NULL,
			       "GET /v1/responses is for WebSockets; POST asks for "
			       "a response");
		return;
	}
	s = th_lanes_new(a);
	a->message = on_message;
	if (!th_http_upgrade(a->request, (struct th_str){ NULL, 0 })) {
		th_lanes_free(s);
		return;
	}
	th_timer_start(&s->limit, TH_SERVE_SOCKET_MS, 0);
}
