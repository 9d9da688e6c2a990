/* SPDX-License-Identifier: Apache-2.0 */

#include "live/side_request.h"

#include <stdlib.h>

#include "live/delegation.h"
#include "live/log.h"
#include "live/queue.h"
#include "model_wire/frame.h"
#include "transcript/plan.h"

/* What differs between the callers, for the service. */
static const struct kind {
	bool own_key;        /* its model has a key of its own: the grounder's */
	const char *subject; /* of the sentence that says why it was not asked */
} kinds[TH_SIDE_KIND_COUNT] = {
	[TH_SIDE_GROUNDER] = { true, "the model that points" },
	[TH_SIDE_CONDENSER] = { false, "the model that summarizes" },
	[TH_SIDE_JUDGE] = { false, "the model that judges" },
	[TH_SIDE_SAMPLER] = { false, "the model" },
	[TH_SIDE_READER] = { false, "the model that reads in quarantine" },
	[TH_SIDE_HOOK] = { false, "the model that decides" },
	[TH_SIDE_ASKED] = { false, "the model" },
};

struct th_side_request {
	struct th_side_request *next;
	uint64_t id; /* of its ticket */
	struct th_side_ask ask;
	bool waits; /* for the timer, to be sent again */
	int attempts;
	struct th_reservation reserved;
	struct th_decoder *decoder; /* NULL: it is not with the model */
	struct th_buf frame, message, path, headers;
	struct th_body body;
};

static const struct th_wire *wire_of(const struct th_side_request *r)
{
	return r->ask.options.profile->wire;
}

static struct th_ticket ticket_of(const struct th_live *l, const struct th_side_request *r)
{
	return th_live_ticket_of(l, TH_TICKET_SIDE, r->id);
}

static struct th_side_request *side_free(struct th_live *l, struct th_side_request *r)
{
	for (struct th_side_request **at = &l->sides; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	if (r->decoder)
		r->decoder = wire_of(r)->decoder_free(r->decoder);
	th_body_deinit(l, &r->body);
	th_buf_deinit(&r->frame);
	th_buf_deinit(&r->message);
	th_buf_deinit(&r->path);
	th_buf_deinit(&r->headers);
	free(r);
	return NULL;
}

/* ---- the request -------------------------------------------------------------------------- */

/* The message's bytes, with the pictures' between them. */
static enum th_code put_message(struct th_live *l, struct th_side_request *r,
				const struct th_hole *holes, size_t count, struct th_err *err)
{
	size_t from = 0;

	for (size_t i = 0; i < count; i++) {
		const struct th_hole *h = &holes[i];
		enum th_code code;

		if (h->kind != TH_HOLE_IMAGE)
			continue;
		th_body_add(&r->body, th_str_n(r->message.ptr + from, h->at - from));
		code = th_body_add_picture(l, &r->body, &h->blob, err);
		if (code)
			return code;
		th_body_add(&r->body, th_str_n(r->message.ptr + h->at, h->to - h->at));
		from = h->end;
	}
	th_body_add(&r->body, th_str_n(r->message.ptr + from, r->message.len - from));
	return TH_OK;
}

static enum th_code build(struct th_live *l, struct th_side_request *r, struct th_err *err)
{
	const struct th_request_options *o = &r->ask.options;
	const struct th_wire *wire = wire_of(r);
	struct th_hole holes[TH_GROUP_HOLES_MAX] TH_UNSET, more[TH_GROUP_HOLES_MAX] TH_UNSET;
	struct th_group group = { .kind = TH_GROUP_MESSAGE,
				  .role = TH_STR("user"),
				  .content = r->ask.content };
	bool first = !(r->ask.history && th_history_items(l->history));
	size_t count = 0, head, none = 0;
	enum th_code code;

	wire->path(o, &r->path);
	th_request_headers(o, &r->headers);
	code = th_request_frame(o, &r->frame, &head, err);
	if (!code)
		code = th_group_render(o, &group, first, &r->message, holes, TH_COUNT(holes),
				       &count, err);
	for (size_t i = 0; i < r->ask.group_count && !code; i++)
		code = th_group_render(o, &r->ask.groups[i], false, &r->message, more,
				       TH_COUNT(more), &none, err);
	if (!code)
		code = th_buf_check(&r->frame, "the request", err);
	if (!code)
		code = th_buf_check(&r->message, "the request", err);
	if (code)
		return code;
	th_body_add(&r->body, th_str_n(r->frame.ptr, head));
	if (r->ask.history)
		code = th_body_add_history(l, &r->body, false, err);
	if (!code)
		code = put_message(l, r, holes, count, err);
	th_body_add(&r->body, th_str_n(r->frame.ptr + head, r->frame.len - head));
	return code;
}

/* Its text and its answer count; what a picture takes is not known before. */
static enum th_code reserve(struct th_live *l, struct th_side_request *r, struct th_err *err)
{
	struct th_reservation all = { 0 };
	size_t bytes = 0;
	const char *limit;
	struct th_usage most = { .input = 0, .cached = -1, .written = -1, .reasoning = -1 };

	for (size_t i = 0; i < r->body.count; i++)
		bytes += r->body.parts[i].len;
	most.input = (int64_t)(bytes - r->body.blob_size) / TH_SIDE_TOKEN_BYTES;
	most.output = r->ask.output_max;
	r->reserved.tokens = most.input + most.output;
	r->reserved.cost_nano =
	    TH_MAX(th_model_cost_nano(r->ask.options.profile, &most), (int64_t)0);
	for (const struct th_side_request *s = l->sides; s; s = s->next) {
		all.tokens += s->reserved.tokens;
		all.cost_nano += s->reserved.cost_nano;
	}
	limit = th_session_limit_with(&l->fold, all) ?: th_live_shared_limit(l, all);
	return limit ? th_fail(err, TH_ELIMIT, "%s", limit) : TH_OK;
}

static enum th_code transmit(struct th_live *l, struct th_side_request *r, struct th_err *err)
{
	struct th_driver *d = l->driver;
	const struct kind *kind = &kinds[r->ask.kind];
	int64_t left = th_session_time_left_ms(&l->fold, d->world.ops->now_ms(d->world.ctx));
	int64_t most = r->ask.total_ms_max;
	struct th_model_call call = {
		.profile = r->ask.options.profile,
		.base_url = r->ask.base_url,
		.agent = r->ask.judge ? 0 : l->speaks, /* only the first has one */
		.model_at = r->ask.reader  ? th_config_reader_at(l->session_config)
			    : r->ask.judge ? th_config_judge_at(&l->team_config)
					   : l->model_at,
		.grounder = kind->own_key,
		.settings = l->session_config->agent->settings,
		.path = th_buf_str(&r->path),
		.headers = th_buf_str(&r->headers),
		.body = r->body.parts,
		.body_count = r->body.count,
		.stream = r->ask.options.stream,
		.total_ms_max = most && left >= 0 ? TH_MIN(most, left) : most ?: left,
	};
	enum th_code code;

	r->waits = false;
	r->decoder = call.profile->wire->decoder_new(call.profile, NULL, NULL);
	r->attempts++;
	r->ask.usage->requests++;
	code = d->world.ops->model_call(d->world.ctx, ticket_of(l, r), &call, err);
	if (code)
		r->decoder = wire_of(r)->decoder_free(r->decoder);
	return code ? th_prefix(err, code, "%s could not be asked", kind->subject) : TH_OK;
}

enum th_code th_side_request(struct th_live *l, const struct th_side_ask *ask,
			     struct th_side_request **ret, struct th_err *err)
{
	struct th_side_request *r = th_alloc(sizeof(*r));
	enum th_code code;

	r->ask = *ask;
	r->id = ++l->side_count;
	r->next = l->sides;
	l->sides = r;
	th_buf_init(&r->frame, TH_REQUEST_MAX);
	th_buf_init(&r->message, TH_REQUEST_MAX);
	th_buf_init(&r->path, TH_REQUEST_HEAD_MAX);
	th_buf_init(&r->headers, TH_REQUEST_HEAD_MAX);
	code = build(l, r, err);
	r->ask.content = TH_STR("");
	r->ask.groups = NULL;
	r->ask.group_count = 0;
	if (code)
		(void)th_prefix(err, code, "%s could not be asked", kinds[ask->kind].subject);
	if (!code)
		code = reserve(l, r, err);
	if (!code)
		code = transmit(l, r, err);
	*ret = code ? side_free(l, r) : r;
	return code;
}

void th_side_cancel(struct th_live *l, struct th_side_request *r)
{
	if (!r)
		return;
	if (r->decoder)
		l->driver->world.ops->model_cancel(l->driver->world.ctx, ticket_of(l, r));
	side_free(l, r);
}

void th_side_cancel_all(struct th_live *l)
{
	while (l->sides)
		th_side_cancel(l, l->sides);
}

/* ---- the answer --------------------------------------------------------------------------- */

static struct th_side_request *find(struct th_driver *d, struct th_ticket t, struct th_live **ret)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	assert(t.kind == TH_TICKET_SIDE);
	for (struct th_side_request *r = l && !l->lost ? l->sides : NULL; r; r = r->next)
		if (r->decoder && r->id == t.seq) {
			*ret = l;
			return r;
		}
	return NULL;
}

bool th_side_data(struct th_driver *d, struct th_ticket t, struct th_str bytes)
{
	struct th_live *l;
	struct th_side_request *r = find(d, t, &l);

	return r && wire_of(r)->feed(r->decoder, bytes) >= 0;
}

static void take_usage(const struct th_live *l, struct th_side_request *r, const struct th_usage *u)
{
	const struct th_profile *p = r->ask.options.profile;
	int64_t cost = th_model_cost_nano(p, u);
	struct th_side_usage one = { .tokens_in = TH_MAX(u->input, (int64_t)0),
				     .tokens_out = TH_MAX(u->output, (int64_t)0),
				     .cost_nano = TH_MAX(cost, (int64_t)0),
				     .cost_unknown = cost < 0,
				     .unmetered = th_live_unmetered(l, p, u, cost) };

	th_side_add(r->ask.usage, &one);
}

struct th_request_options th_side_bare(const struct th_live *l, struct th_side_bare *bare)
{
	const struct th_agent_model_settings *settings = l->options.agent->settings;
	struct th_request_options ret = l->options;

	bare->settings =
	    settings ? *settings : (struct th_agent_model_settings){ TH_SETTINGS_UNSET };
	bare->settings.tool_choice = TH_STR("");
	bare->settings.background = false;
	bare->agent = *l->options.agent;
	bare->agent.instructions = bare->agent.hosted_tools = TH_STR("");
	bare->agent.settings = &bare->settings;
	ret.agent = &bare->agent;
	ret.tools = NULL;
	ret.tool_count = 0;
	ret.has_computer = false;
	ret.previous = TH_STR("");
	ret.conversation = false;
	ret.choice = (struct th_tool_choice){ 0 };
	ret.format = (struct th_output_format){ 0 };
	return ret;
}

bool th_side_text(struct th_str items, const char *to, struct th_buf *text, struct th_err *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_next next;

	th_arena_init(&memory, TH_TURN_MEMORY_MAX);
	if (th_plan_answer(items, &memory, text, &next, err))
		return false;
	if (next.kind == TH_NEXT_FINAL && !next.refusal)
		return true;
	if (next.refusal)
		return th_fail(err, TH_EPROTO, "the model refused to %s", to) == TH_OK;
	return th_fail(err, TH_EPROTO, "the model called a tool instead") == TH_OK;
}

/* False: it failed, and *ret_failure and a sentence say how. */
static bool read_answer(struct th_live *l, struct th_side_request *r,
			const struct th_model_end *end, enum th_failure *ret_failure,
			struct th_err *err)
{
	const struct th_wire *wire = wire_of(r);
	struct th_answer a = { .usage = { -1, -1, -1, -1, -1, -1 } };
	bool done = end->ok || wire->finished(r->decoder);

	*ret_failure = end->failure;
	if (done) {
		wire->end(r->decoder, false, &a);
		take_usage(l, r, &a.usage);
	} else if (end->status_only) {
		wire->error(r->decoder, end->http_status, &a);
		a.status = TH_ANSWER_FAILED;
	} else {
		(void)th_fail(err, TH_EIO, "%.*s", TH_FMT(end->message));
		return false;
	}
	if (a.status == TH_ANSWER_FAILED) {
		int failure = th_failure_find(a.error_class);

		*ret_failure = failure >= 0 ? (enum th_failure)failure : TH_FAILURE_MALFORMED;
		(void)th_fail(err, TH_EPROTO, "%.*s", TH_FMT(a.error_message));
		return false;
	}
	if (r->ask.raw) {
		th_buf_clear(r->ask.raw);
		th_buf_add(r->ask.raw, a.raw);
	}
	*ret_failure = TH_FAILURE_REJECTED; /* the same question has the same answer */
	return r->ask.read(l, r->ask.ctx, a.items, err);
}

static void finish(struct th_live *l, struct th_side_request *r, const struct th_err *err)
{
	th_side_done_fn *done = r->ask.done;
	void *ctx = r->ask.ctx;

	side_free(l, r);
	done(l, ctx, err);
}

void th_side_end(struct th_driver *d, struct th_ticket t, const struct th_model_end *end)
{
	struct th_live *l;
	struct th_side_request *r = find(d, t, &l);
	enum th_failure failure;
	struct th_err err = { 0 };
	int64_t delay = -1;
	uint32_t random;
	bool good;

	if (!r)
		return;
	good = read_answer(l, r, end, &failure, &err);
	r->decoder = wire_of(r)->decoder_free(r->decoder);
	if (!good) {
		d->world.ops->random(d->world.ctx, &random, sizeof(random));
		delay = th_retry_delay_ms(failure, &end->hints, r->attempts,
					  (int)l->fold.attempts_max, random / 4294967296.0);
	}
	if (delay >= 0) {
		r->waits = true;
		d->world.ops->timer(d->world.ctx, th_live_ticket(l, 0), delay);
	} else {
		if (!good && r->ask.failure)
			*r->ask.failure = (int)failure;
		finish(l, r, good ? NULL : &err);
	}
	th_live_pump(l);
}

/* A callback may change the list, so the walk begins again after each. */
void th_side_wake(struct th_live *l)
{
	struct th_side_request *r = l->sides;

	while (r) {
		struct th_err err = { 0 };

		if (r->waits && transmit(l, r, &err)) {
			finish(l, r, &err);
			r = l->sides;
		} else {
			r = r->next;
		}
	}
}
