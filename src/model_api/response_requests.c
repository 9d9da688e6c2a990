/* SPDX-License-Identifier: Apache-2.0 */
/* response_requests.c - /v1: responses that are asked for, and what may be asked. */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "model_api/response_internal.h"
#include "server/fleet.h"

/* False: something is to be read first, and it is made again then. */
static bool make(struct th_access *a, const struct th_face *face, struct th_stored *before,
		 const struct thole_error *lost)
{
	const struct th_order order = {
		.face = face, .body = th_http_body(a->request), .before = before, .lost = lost
	};
	struct th_response_fault fault;

	if (!th_response_make(a, &order, NULL, &fault) && !fault.pending &&
	    !th_forward_places(a, &fault.lacks))
		th_access_fault(a, fault.status, fault.code, fault.param, fault.message);
	return !fault.pending;
}

/* A request that waits until the response that it goes on from was read. */
struct going_on {
	struct th_access *access;
	const struct th_face *face;
	struct th_stored before;
	struct thole_error lost; /* why it could not be */
	struct th_stored_load *load;
};

static void going_on_free(struct going_on *g)
{
	th_stored_deinit(&g->before);
	free(g);
}

static void on_gone(struct th_access *a)
{
	struct going_on *g = a->ctx;

	if (g->load)
		th_stored_load_cancel(g->load);
	going_on_free(g);
}

static void going_on_wait(struct going_on *g)
{
	g->access->ctx = g;
	g->access->gone = on_gone;
	g->access->reads = true;
}

static void make_it(struct th_access *a)
{
	struct going_on *g = a->ctx;

	a->ctx = NULL; /* of who answers */
	a->gone = NULL;
	a->reads = false;
	if (make(a, g->face, &g->before, g->lost.code ? &g->lost : NULL))
		going_on_free(g);
	else
		going_on_wait(g);
}

static void on_before(void *ctx, const struct thole_error *err)
{
	struct going_on *g = ctx;

	g->load = NULL;
	if (err)
		g->lost = *err;
	g->access->again = make_it;
	make_it(g->access);
}

static void create(struct th_access *a, const struct th_face *face)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct going_on *g;
	struct thole_error err;

	th_response_tier(a, th_http_body(a->request));
	if (!th_quota_begin(a))
		return;
	th_response_before(th_http_body(a->request), &name);
	if (!name.len) {
		(void)make(a, face, NULL, NULL);
		return;
	}
	g = th_alloc(sizeof(*g));
	*g = (struct going_on){ .access = a, .face = face };
	going_on_wait(g);
	if (th_stored_load_start(a->server, a->user, th_buf_str(&name), &g->before, on_before, g,
				 &g->load, &err) != 0)
		on_before(g, &err);
}

void th_v1_responses_create(struct th_access *a)
{
	create(a, &th_face_responses);
}

void th_v1_responses_compact(struct th_access *a)
{
	create(a, &th_face_compaction);
}

/* About four bytes to a token: what no model's own count can be is said at once. */
static void answer_tokens(struct th_access *a, const char *object)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = th_access_body(a);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);

	if (!doc)
		return;
	th_json_print(th_json_root(doc), &text);
	th_buf_printf(&json, "{%s\"input_tokens\":%zu}", object,
		      text.len / TH_SIDE_TOKEN_BYTES + 1);
	th_access_json(a, 200, &json);
}

void th_v1_responses_tokens(struct th_access *a)
{
	answer_tokens(a, "\"object\":\"response.input_tokens\",");
}

void th_v1_messages_tokens(struct th_access *a)
{
	answer_tokens(a, "");
}

static void put_model(struct th_jw *w, struct th_str name)
{
	th_jw_object(w);
	th_jw_kstr(w, "id", name);
	th_jw_kstr(w, "object", TH_STR("model"));
	th_jw_kint(w, "created", 0);
	th_jw_kstr(w, "owned_by", TH_STR("thole"));
	th_jw_object_end(w);
}

void th_v1_models(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_strs *models = &a->server->settings.s.models;
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kstr(&w, "object", TH_STR("list"));
	th_jw_name(&w, TH_STR("data"));
	th_jw_array(&w);
	for (size_t i = 0; i < a->server->agents.count; i++)
		put_model(&w, th_str_of(a->server->agents.list[i].name));
	for (size_t i = 0; i < models->count; i++)
		put_model(&w, models->list[i]);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

void th_v1_model(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_strs *models = &a->server->settings.s.models;
	struct th_str name = th_str_of(a->args[0]);
	struct th_jw w = th_jw(&json);

	if (!th_served_find(&a->server->agents, name) && !th_strs_has(models, name)) {
		th_access_fail(a, 404, "model_not_found", "there is no model of that name");
		return;
	}
	put_model(&w, name);
	th_access_json(a, 200, &json);
}
