/* SPDX-License-Identifier: Apache-2.0 */
/* response_steering.c - something is said to a response by a request of its own. */
#include <stdlib.h>

#include "model_api/response_internal.h"

/* Answered when it is written, or when the response is over before. */
struct steering {
	struct th_listener listener;
	struct th_access *access;
	size_t ahead; /* messages that are written before it */
};

static struct th_access *let_go(struct steering *s)
{
	struct th_access *a = s->access;

	th_hub_unlisten(&s->listener);
	a->gone = NULL;
	a->ctx = NULL;
	free(s);
	return a;
}

static void on_gone(struct th_access *a)
{
	(void)let_go(a->ctx);
}

static void refuse(struct th_access *a, const struct th_response_fault *fault)
{
	th_access_fault(a, fault->status, fault->code, fault->param, fault->message);
}

static void accept(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("response.steer.accepted"));
	th_jw_kstr(&w, "previous_response_id", th_str_of(a->args[0]));
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

/* The response listens since longer, and so is told first. */
static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct steering *s = TH_CONTAINER_OF(l, struct steering, listener);
	struct th_access *a = s->access;
	struct th_response_fault late = { 0 };

	if (note && thole_note_kind(note) == THOLE_NOTE_EVENT &&
	    strcmp(thole_note_name(note), "message") == 0 && s->ahead-- == 0) {
		accept(let_go(s));
	} else if (!note || !th_response_find(a->server, a->user, th_str_of(a->args[0]))) {
		(void)th_response_steer_late(&late);
		refuse(let_go(s), &late);
	}
}

void th_v1_responses_steer(struct th_access *a)
{
	struct th_response *p = th_response_find(a->server, a->user, th_str_of(a->args[0]));
	struct th_response_fault fault = { 0 };
	struct steering *s;
	size_t ahead = p ? p->steers : 0;
	bool good;

	if (!p)
		good = th_response_fault(&fault, 404, "response_not_found",
					 "no response %s is under way", a->args[0]);
	else if (p->socket)
		good = th_response_fault(&fault, 400, "response_not_active",
					 "the response is a WebSocket's: it is said there");
	else
		good = th_response_steer(p, th_http_body(a->request), &fault);
	if (!good) {
		refuse(a, &fault);
		return;
	}
	s = th_alloc(sizeof(*s));
	*s = (struct steering){ .access = a, .ahead = ahead, .listener.fn = on_note };
	a->ctx = s;
	a->gone = on_gone;
	th_hub_listen(p->hub, &s->listener);
}
