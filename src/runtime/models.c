/* SPDX-License-Identifier: Apache-2.0 */
/*
 * models.c - requests to models in the hands of the fetcher, or of a
 * person who plays one.
 */
#include <stdlib.h>

#include "providers/human.h"
#include "runtime/internal.h"

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct th_runtime_request *c = ctx;

	c->hints = (struct th_retry_hints){ head->retry_after_ms, head->should_retry };
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_runtime_request *c = ctx;

	return th_driver_model_data(c->session->rt->driver, c->ticket, bytes);
}

static enum th_failure failure_of(enum th_fetch_end end)
{
	switch (end) {
	case TH_FETCH_CONNECT:
	case TH_FETCH_TLS:
		return TH_FAILURE_CONNECT;
	case TH_FETCH_TIMEOUT_CONNECT:
	case TH_FETCH_TIMEOUT_BYTE:
	case TH_FETCH_TIMEOUT_EVENT:
	case TH_FETCH_TIMEOUT_TOTAL:
		return TH_FAILURE_TIMEOUT;
	case TH_FETCH_CUT:
		return TH_FAILURE_CUT;
	case TH_FETCH_LIMIT:
	case TH_FETCH_CANCELLED: /* the decoder said stop: a maximum was passed */
		return TH_FAILURE_LIMIT;
	case TH_FETCH_PROTOCOL:
		return TH_FAILURE_MALFORMED;
	case TH_FETCH_OK:
	case TH_FETCH_STATUS:
	case TH_FETCH_END_COUNT:
		break;
	}
	return TH_FAILURE_MALFORMED;
}

static void model_call_drop(struct th_runtime_request *c)
{
	struct th_runtime_request **at = &c->session->calls;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	free(c);
}

static struct th_runtime_request *model_call_find(struct th_runtime *rt, struct th_ticket t)
{
	struct th_runtime_session *s = th_runtime_find(rt, t.index, t.generation);
	struct th_runtime_request *c = s ? s->calls : NULL;

	while (c && !th_ticket_eq(c->ticket, t))
		c = c->next;
	return c;
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_runtime_request *c = ctx;
	struct th_runtime_session *s = c->session;
	struct th_ticket ticket = c->ticket;
	struct th_model_end end = {
		.http_status = r->head.status,
		.ok = r->end == TH_FETCH_OK,
		.status_only = r->end == TH_FETCH_STATUS,
		.failure = failure_of(r->end),
		.message = r->end == TH_FETCH_CANCELLED
			       ? TH_STR("the answer is larger than allowed")
			       : th_str_of(r->err.msg),
		.hints = c->hints,
	};

	model_call_drop(c);
	th_driver_model_done(s->rt->driver, ticket, &end);
}

static int64_t deadline_ms(int64_t seconds, int64_t otherwise_ms)
{
	return seconds > 0 ? seconds * 1000 : otherwise_ms;
}

void th_world_model_deadlines(const struct th_model_call *call, struct th_fetch_request *r)
{
	const struct th_agent_model_settings *s = call->settings;
	int64_t idle = deadline_ms(s ? s->idle_seconds : 0, TH_MODEL_IDLE_MS);
	int64_t most = deadline_ms(s ? s->total_seconds : 0, TH_MODEL_TOTAL_MS);
	/* A task that is out of time has its last moment to hear so. */
	int64_t left = TH_MAX(call->total_ms_max, (int64_t)1);

	r->connect_ms = TH_MODEL_CONNECT_MS;
	r->byte_idle_ms = (uint64_t)idle;
	r->event_idle_ms = call->stream ? (uint64_t)idle : 0;
	r->total_ms = (uint64_t)(call->total_ms_max < 0 ? most : TH_MIN(most, left));
}

/* "name: value\n" lines; names are copied to `names`, where each ends with a zero. */
static size_t wire_headers(struct th_str lines, struct th_fetch_header *list, struct th_buf *names)
{
	size_t starts[TH_MODEL_HEADERS_MAX], count = 0;

	while (lines.len && count < TH_MODEL_HEADERS_MAX) {
		struct th_str line = th_str_split(&lines, '\n');

		starts[count] = names->len;
		th_buf_add(names, th_str_split(&line, ':'));
		th_buf_add_char(names, '\0');
		list[count++].value = th_str_trim(line);
	}
	for (size_t i = 0; i < count; i++)
		list[i].name = names->ptr + starts[i];
	return count;
}

enum th_code th_world_model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
				 struct th_err *err)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_session *s = th_runtime_find(rt, t.index, t.generation);
	const struct th_wire *wire = call->profile->wire;
	struct th_str base = call->base_url;
	struct th_fetch_header headers[3 + TH_MODEL_HEADERS_MAX] = {
		{ "Content-Type", TH_STR("application/json") },
		{ "Accept",
		  call->stream ? TH_STR("text/event-stream") : TH_STR("application/json") },
		{ "User-Agent", TH_STR("thole/" TH_VERSION) },
	};
	const struct th_resolved_models *resolved_models =
	    call->agent ? s->setup->members[call->agent - 1] : &s->setup->models;
	bool bearer = strcmp(wire->key_header, "Authorization") == 0;
	struct th_fetch_request r = {
		.method = call->get ? "GET" : "POST",
		.headers = headers,
		.header_count = 3,
		.secret = call->grounder ? resolved_models->keys[call->model_at].grounder
					 : resolved_models->keys[call->model_at].model,
		.secret_header = bearer ? NULL : wire->key_header,
		.body = call->body,
		.body_count = call->body_count,
		.on_head = on_head,
		.on_data = on_data,
		.on_done = on_done,
	};
	struct th_runtime_request *c;
	struct th_buf url, names;
	enum th_code code;

	if (wire == &th_wire_human)
		return th_human_model_ask(rt->person, t, s->id, call, err);
	assert(s && !model_call_find(rt, t));
	c = th_alloc(sizeof(*c));
	*c = (struct th_runtime_request){ .session = s, .ticket = t, .hints = { -1, -1 } };
	r.ctx = c;
	th_world_model_deadlines(call, &r);
	th_buf_init(&names, TH_REQUEST_HEAD_MAX);
	r.header_count += wire_headers(call->headers, headers + r.header_count, &names);
	th_buf_init(&url, TH_REQUEST_HEAD_MAX);
	while (th_str_ends(base, TH_STR("/")))
		base.len--;
	/* Some say where an API is with its version, some without. */
	if (th_str_ends(base, TH_STR("/v1")) && th_str_starts(call->path, TH_STR("/v1/")))
		base.len -= strlen("/v1");
	th_buf_add(&url, base);
	th_buf_add(&url, call->path);
	r.url = th_buf_str(&url);
	code = th_buf_check(&url, "the model's URL", err);
	if (!code)
		code = th_fetch_start(rt->fetcher, &r, &c->id, err);
	th_buf_deinit(&url);
	th_buf_deinit(&names);
	if (code) {
		free(c);
		return code;
	}
	c->next = s->calls;
	s->calls = c;
	return TH_OK;
}

void th_world_model_alive(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_request *c = model_call_find(rt, t);

	if (c)
		th_fetch_alive(rt->fetcher, c->id);
}

void th_world_model_cancel(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	struct th_runtime_request *c = model_call_find(rt, t);

	if (th_human_model_cancel(rt->person, t) || !c)
		return;
	th_fetch_cancel(rt->fetcher, c->id);
	model_call_drop(c);
}

/* ---- a person in a model's place ---------------------------------------------------------- */

static bool on_person_data(void *ctx, struct th_ticket t, struct th_str bytes)
{
	struct th_runtime *rt = ctx;

	return th_driver_model_data(rt->driver, t, bytes);
}

static void on_person_done(void *ctx, struct th_ticket t, const struct th_model_end *end)
{
	struct th_runtime *rt = ctx;

	th_driver_model_done(rt->driver, t, end);
}

static int is_person_durable(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;

	return th_driver_answered(rt->driver, t);
}

static void on_person_left(void *ctx, struct th_ticket t)
{
	struct th_runtime *rt = ctx;
	struct th_handle h = { t.index, t.generation };
	struct th_err err;
	struct th_model_end end = { .failure = TH_FAILURE_REJECTED, .hints = { -1, -1 } };

	if (!th_driver_set_state(rt->driver, h, TH_STATE_PAUSED,
				 TH_STR("the person who plays the model left"), &err))
		return;
	end.message = th_str_of(err.msg);
	th_driver_model_done(rt->driver, t, &end);
}

void th_runtime_human_model(struct th_runtime *rt, const struct th_runtime_options *options,
			    int person_in)
{
	struct th_human_model_options o = {
		.loop = rt->loop,
		.in_fd = person_in,
		.out_fd = options->person_out,
		.data = on_person_data,
		.done = on_person_done,
		.durable = is_person_durable,
		.left = on_person_left,
		.ctx = rt,
	};

	rt->person = th_human_model_new(&o);
}
