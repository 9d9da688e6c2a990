/* SPDX-License-Identifier: Apache-2.0 */
/* response_told.c - what a WebSocket of the Responses API is told beside the events of responses.
 */
#include "model_api/response_lanes.h"

static struct th_jw message(struct th_buf *json, const char *type, const char *id)
{
	struct th_jw w = th_jw(json);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	if (id[0])
		th_jw_kstr(&w, "stream_id", th_str_of(id));
	return w;
}

void th_lanes_unread(struct th_lanes *s)
{
	s->close = 1008;
	th_loop_defer(s->server->loop, &s->closing);
}

static void wire_send(struct th_lanes *s, struct th_jw *w)
{
	th_jw_object_end(w);
	if (!s->gone && th_http_send(s->access->request, th_buf_str(w->out), true) == TH_ELIMIT)
		th_lanes_unread(s);
}

/* "error": {…} */
static void put_error(struct th_jw *w, int status, const char *code, const char *text)
{
	struct th_buf error TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	th_error_print(status, code ? code : "invalid_request_error", text, &error);
	th_jw_kraw(w, "error", th_json_raw_get(th_buf_str(&error), "error"));
}

void th_lanes_fault(struct th_lanes *s, const char *id, int status, const char *code,
		    const char *text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = message(&json, "error", id);

	th_jw_kint(&w, "status", status);
	put_error(&w, status, code, text);
	wire_send(s, &w);
}

void th_lanes_tell_steer(struct th_lanes *s, const char *id, struct th_str response,
			 const struct th_response_fault *why)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w =
	    message(&json, why ? "response.steer.failed" : "response.steer.accepted", id);

	th_jw_kstr(&w, "previous_response_id", response);
	if (why)
		put_error(&w, why->status, why->code, why->message);
	wire_send(s, &w);
}
