/* SPDX-License-Identifier: Apache-2.0 */
/* response_get.c - responses of the store: looked at, followed, cancelled. */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"

static void not_found(struct th_access *a)
{
	th_access_fail(a, 404, "response_not_found", "there is no response %.*s",
		       (int)TH_MIN(strlen(a->args[0]), (size_t)80), a->args[0]);
}

/* A request about a response, which waits until that is read. */
struct request {
	struct th_access *access;
	struct th_stored stored;
	struct th_stored_load *load;
	void (*fn)(struct request *r); /* what it asks for; answers */
	int64_t starting_after;
	bool stream;
	bool later; /* `fn` is called again: it needs something of the store */
};

static void request_free(struct request *r)
{
	r->access->ctx = NULL;
	r->access->gone = NULL;
	r->access->reads = false;
	th_stored_deinit(&r->stored);
	free(r);
}

static void on_gone(struct th_access *a)
{
	struct request *r = a->ctx;

	if (r->load)
		th_stored_load_cancel(r->load);
	request_free(r);
}

static void answer_error(struct th_access *a, const struct thole_error *err)
{
	if (err->code == THOLE_ENOENT)
		not_found(a);
	else
		th_access_error(a, err);
}

/* What it asks for. */
static void do_it(struct th_access *a)
{
	struct request *r = a->ctx;

	a->ctx = NULL; /* of who answers later */
	a->gone = NULL;
	a->reads = false;
	r->later = false;
	r->fn(r);
	if (r->later) {
		a->ctx = r;
		a->gone = on_gone;
		a->reads = true;
		return;
	}
	th_stored_deinit(&r->stored);
	free(r);
}

static void on_loaded(void *ctx, const struct thole_error *err)
{
	struct request *r = ctx;
	struct th_stored *d = &r->stored;
	struct th_hub *h = th_hub_find(r->access->server, d->session);
	struct th_access *a = r->access;
	struct thole_error e;

	r->load = NULL;
	if (!err && th_json_bool(th_json_get(d->member, "store"), true)) {
		if (d->reply.status == TH_REPLY_RUNNING && !(h && h->session))
			d->reply.status =
			    TH_REPLY_CANCELLED; /* its caller was gone, or its server */
		a->again = do_it;
		do_it(a);
		return;
	}
	e = err ? *err : (struct thole_error){ .code = THOLE_ENOENT };
	request_free(r);
	answer_error(a, &e);
}

/* Reads the response of the first argument, and goes on with `fn`. */
static void with_response(struct th_access *a, const struct request *what)
{
	struct request *r = th_alloc(sizeof(*r));
	struct thole_error err;

	*r = *what;
	r->access = a;
	a->ctx = r;
	a->gone = on_gone;
	a->reads = true;
	if (th_stored_load_start(a->server, a->user, th_str_of(a->args[0]), &r->stored, on_loaded,
				 r, &r->load, &err) != 0) {
		request_free(r);
		answer_error(a, &err);
	}
}

/* What is stored as a response that nobody waits for; its reply is d's no more. */
static struct th_response *as_response(struct th_server *s, struct th_stored *d)
{
	struct th_response *p = th_alloc(sizeof(*p));
	struct th_buf echo TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX * 2);
	const struct th_json *members = th_json_get(d->member, "echo");

	*p = (struct th_response){ .server = s,
				   .face = &th_face_responses,
				   .after = d->after,
				   .reply = d->reply,
				   .functions = d->functions,
				   .function_count = d->function_count,
				   .background =
				       th_json_bool(th_json_get(d->member, "background"), false),
				   .store = true };
	th_buf_init(&p->shown.text, TH_ANSWER_MAX);
	d->reply = (struct th_reply){ 0 };
	d->functions = NULL;
	d->function_count = 0;
	th_response_name(d->session, d->after, p->name);
	snprintf(p->conversation, sizeof(p->conversation), "%.*s",
		 TH_FMT(th_json_get_str(th_json_get(th_json_root(d->doc), "metadata"),
					TH_CONVERSATION_MEMBER)));
	if (members)
		th_json_print(members, &echo);
	p->echo = th_alloc(echo.len + 1);
	memcpy(p->echo, echo.ptr, echo.len + 1);
	p->created_ms = p->reply.began_ms;
	return p;
}

static void answer_object(struct th_access *a, struct th_stored *d)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_response *p = as_response(a->server, d);
	struct th_jw w = th_jw(&json);

	th_response_print(p, &w, true);
	th_response_free(p);
	th_access_json(a, 200, &json);
}

/* The same frames again, from one on, then those that come. */
static void follow(struct th_access *a, struct th_stored *d, int64_t after)
{
	struct th_response *p;
	struct th_hub *h = th_hub_get(a->server, d->session, a->user);

	p = as_response(a->server, d);
	p->background = true; /* its reader may leave, and it goes on */
	p->stream = true;
	p->skip = after;
	p->access = a;
	th_response_listen(p, h);
	th_response_started(p);
	(void)th_response_caught_up(p);
}

static void get(struct request *r)
{
	if (r->stream)
		follow(r->access, &r->stored, r->starting_after);
	else
		answer_object(r->access, &r->stored);
}

void th_v1_responses_get(struct th_access *a)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct request r = { .fn = get, .starting_after = -1 };

	if (!th_access_query_int(a, "starting_after", &r.starting_after))
		return;
	r.stream = th_access_query(a, "stream", &text) && !th_str_is(th_buf_str(&text), "false");
	if (r.stream && !th_str_is(th_buf_str(&text), "true")) {
		th_access_fault(a, 400, "invalid_value", "stream", "stream is true or false");
		return;
	}
	with_response(a, &r);
}

static void hide(struct request *r)
{
	th_response_hide(r->access, &r->stored);
}

static void on_discarded(struct th_access *a, const char *session, const struct thole_error *err)
{
	(void)session;
	/* Another session shares its events, or it is still being written: it is only hidden. */
	if (err && err->code == THOLE_EBUSY)
		with_response(a, &(struct request){ .fn = hide });
	else if (err)
		th_access_error(a, err);
	else
		th_response_deleted(a);
}

static void delete (struct request *r)
{
	th_response_delete(r->access, &r->stored, on_discarded);
}

void th_v1_responses_delete(struct th_access *a)
{
	with_response(a, &(struct request){ .fn = delete });
}

static void cancel(struct request *r)
{
	struct th_access *a = r->access;
	struct th_stored *d = &r->stored;
	struct thole_error err;
	struct th_hub *h;

	if (!th_json_bool(th_json_get(d->member, "background"), false)) {
		th_access_fail(a, 400, NULL,
			       "only a response in the background can be cancelled; "
			       "the others end when their connection is closed");
		return;
	}
	h = th_hub_find(a->server, d->session);
	if (d->reply.status == TH_REPLY_RUNNING && h && h->session) {
		if (thole_session_cancel(h->session, THOLE_NOW, &err) == 0)
			d->reply.status = TH_REPLY_CANCELLED;
		th_server_kick(a->server);
	}
	answer_object(a, d);
}

void th_v1_responses_cancel(struct th_access *a)
{
	with_response(a, &(struct request){ .fn = cancel });
}

/* ---- what it was asked with ---- */

static void items(struct request *r)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_access *a = r->access;
	struct thole_error err;
	enum th_stored_result result = th_asked_list(&a->needs, a->user, &r->stored, &list, &err);

	r->later = result == TH_STORED_PENDING;
	if (result == TH_STORED_FOUND)
		th_listing_answer(&list, a);
	else if (!r->later)
		th_access_error(a, &err);
}

void th_v1_responses_items(struct th_access *a)
{
	with_response(a, &(struct request){ .fn = items });
}
