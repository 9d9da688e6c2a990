/* SPDX-License-Identifier: Apache-2.0 */
/* response_get.c - responses of the store: looked at, followed, cancelled. */
#include <stdio.h>
#include <stdlib.h>

#include "server/response_internal.h"

static void not_found(struct th_access *a)
{
	th_access_fail(a, 404, "response_not_found", "there is no response %.*s",
		       (int)TH_MIN(strlen(a->args[0]), (size_t)80), a->args[0]);
}

/* The response of the first argument.  False: it was answered. */
static bool load(struct th_access *a, struct th_stored *d)
{
	struct th_hub *h;

	if (!th_stored_load(a->server, a->user, th_str_of(a->args[0]), d)) {
		not_found(a);
		return false;
	}
	if (!th_json_bool(th_json_get(d->member, "store"), true)) {
		th_stored_deinit(d);
		not_found(a);
		return false;
	}
	h = th_hub_find(a->server, d->session);
	if (d->reply.status == TH_REPLY_RUNNING && !(h && h->session))
		d->reply.status = TH_REPLY_CANCELLED; /* its caller was gone, or its server */
	return true;
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
	th_buf_init(&p->message.text, TH_ANSWER_MAX);
	th_buf_init(&p->reasoning.text, TH_ANSWER_MAX);
	d->reply = (struct th_reply){ 0 };
	d->functions = NULL;
	d->function_count = 0;
	th_response_name(d->session, d->after, p->name);
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

void th_v1_responses_get(struct th_access *a)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_stored d;
	int64_t after = -1;

	if (!th_access_query_int(a, "starting_after", &after) || !load(a, &d))
		return;
	if (th_access_query(a, "stream", &text) && th_str_is(th_buf_str(&text), "true"))
		follow(a, &d, after);
	else
		answer_object(a, &d);
	th_stored_deinit(&d);
}

void th_v1_responses_delete(struct th_access *a)
{
	struct th_stored d;

	if (!load(a, &d))
		return;
	th_stored_deinit(&d);
	th_access_fail(a, 501, "unsupported",
		       "sessions are not deleted yet, and a response is one");
}

void th_v1_responses_cancel(struct th_access *a)
{
	struct thole_error err;
	struct th_stored d;
	struct th_hub *h;

	if (!load(a, &d))
		return;
	if (!th_json_bool(th_json_get(d.member, "background"), false)) {
		th_stored_deinit(&d);
		th_access_fail(a, 400, NULL,
			       "only a response in the background can be cancelled; "
			       "the others end when their connection is closed");
		return;
	}
	h = th_hub_find(a->server, d.session);
	if (d.reply.status == TH_REPLY_RUNNING && h && h->session) {
		if (thole_session_cancel(h->session, THOLE_NOW, &err) == 0)
			d.reply.status = TH_REPLY_CANCELLED;
		th_server_kick(a->server);
	}
	answer_object(a, &d);
	th_stored_deinit(&d);
}

/* ---- what it was asked with ---- */

struct inputs {
	struct th_buf list; /* items, each with an id, NUL between */
	size_t *at;
	size_t count;
	bool over;
};

static void add_input(struct inputs *in, const struct th_json *item, uint64_t seq)
{
	struct th_jw w = th_jw(&in->list);
	struct th_json_iter it = th_json_iter(item);
	char id[64];

	snprintf(id, sizeof(id), "item_%llu_%zu", (unsigned long long)seq, in->count);
	in->at = th_realloc(in->at, (in->count + 1) * sizeof(*in->at));
	in->at[in->count++] = in->list.len;
	th_jw_object(&w);
	if (!th_json_get_str(item, "id").len)
		th_jw_kstr(&w, "id", th_str_of(id));
	if (!th_json_get_str(item, "type").len)
		th_jw_kstr(&w, "type", TH_STR("message"));
	while (th_json_next(&it)) {
		th_jw_key(&w, it.key);
		if (th_str_is(it.key, "content") && th_json_type(it.val) == TH_JSON_STR) {
			th_jw_array(&w);
			th_jw_object(&w);
			th_jw_kstr(&w, "type", TH_STR("input_text"));
			th_jw_kstr(&w, "text", th_json_str(it.val));
			th_jw_object_end(&w);
			th_jw_array_end(&w);
		} else {
			th_jw_json(&w, it.val);
		}
	}
	th_jw_object_end(&w);
	th_buf_add_char(&in->list, '\0');
}

static int on_input(void *ctx, const char *line, size_t len)
{
	struct inputs *in = ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v, *data;
	struct th_str kind;

	if (th_json_parse(th_str_n(line, len), &doc, NULL) != TH_OK)
		return 1;
	v = th_json_root(doc);
	data = th_json_get(v, "data");
	kind = th_json_get_str(v, "kind");
	if (th_str_is(kind, "items_added")) {
		struct th_json_iter it = th_json_iter(th_json_get(data, "items"));

		while (th_json_next(&it))
			add_input(in, it.val, (uint64_t)th_json_get_int(v, "seq", 0));
	} else if (th_str_is(kind, "message")) {
		add_input(in, data, (uint64_t)th_json_get_int(v, "seq", 0));
	} else if (th_str_is(kind, "model_requested")) {
		return 1;
	}
	return 0;
}

static void print_inputs(const struct inputs *in, int64_t limit, bool ascending,
			 struct th_str after, struct th_jw *w)
{
	struct th_buf first TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf last TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	bool skipping = after.len > 0, more = false;
	int64_t given = 0;

	th_jw_object(w);
	th_jw_kstr(w, "object", TH_STR("list"));
	th_jw_name(w, TH_STR("data"));
	th_jw_array(w);
	for (size_t i = 0; i < in->count; i++) {
		const char *text = in->list.ptr + in->at[ascending ? i : in->count - 1 - i];
		struct th_str id = th_json_raw_inside(th_json_raw_get(th_str_of(text), "id"));

		if (skipping) {
			skipping = !th_str_eq(id, after);
			continue;
		}
		if (given == limit) {
			more = true;
			break;
		}
		th_jw_raw(w, th_str_of(text));
		if (!given++)
			th_buf_add(&first, id);
		th_buf_clear(&last);
		th_buf_add(&last, id);
	}
	th_jw_array_end(w);
	if (given) {
		th_jw_kstr(w, "first_id", th_buf_str(&first));
		th_jw_kstr(w, "last_id", th_buf_str(&last));
	} else {
		th_jw_kraw(w, "first_id", TH_STR("null"));
		th_jw_kraw(w, "last_id", TH_STR("null"));
	}
	th_jw_kbool(w, "has_more", more);
	th_jw_object_end(w);
}

void th_v1_responses_items(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf order TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct inputs in = { .list = TH_BUF_INIT(TH_HTTP_REPLY_MAX) };
	struct th_jw w = th_jw(&json);
	struct thole_error err;
	struct th_stored d;
	int64_t limit = 20;

	if (!th_access_query_int(a, "limit", &limit))
		return;
	if (limit < 1 || limit > 100) {
		th_access_fail(a, 400, NULL, "limit is 1 to 100");
		return;
	}
	if (!load(a, &d))
		return;
	(void)th_access_query(a, "after", &after);
	(void)thole_runtime_log(a->server->rt, d.session, d.after + 1, on_input, &in, &err);
	print_inputs(&in, limit,
		     th_access_query(a, "order", &order) && th_str_is(th_buf_str(&order), "asc"),
		     th_buf_str(&after), &w);
	th_access_json(a, 200, &json);
	th_buf_deinit(&in.list);
	free(in.at);
	th_stored_deinit(&d);
}
