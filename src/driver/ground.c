/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ground.c - calls of a composed model: the planner described elements,
 * the grounder is asked where they are, all of a call at once, before the call
 * is recorded.
 *
 * A CALL event has the places that were found and what they cost, so a resumed
 * run asks only for calls that were not recorded yet.  What was found on the
 * same picture before is not asked for again.
 */
#include <stdlib.h>

#include "driver/internal.h"
#include "models/compose.h"
#include "models/dialect.h"
#include "models/dialect_elements.h"

#define TICKET_BIT (UINT64_C(1) << 63)
#define CACHE_SIZE 32

enum search_state { SEARCH_IDLE, SEARCH_ASKED, SEARCH_WAITS, SEARCH_OVER };

/* One element that is looked for. */
struct search {
	enum search_state state;
	struct th_target target;
	struct th_target_place place;
	int attempts;
	struct th_decoder *decoder;
	struct th_buf head, message, path, headers;
	struct th_str body[TH_GROUP_HOLES_MAX * 2 + 4];
	size_t body_count;
	struct th_digest blobs[1];
	size_t blob_count;
};

struct th_ground {
	struct th_ground *next;
	uint64_t answer_seq;
	size_t call; /* index into the fold's calls */
	struct th_arena memory;
	struct th_json_doc *item;
	struct th_digest picture;
	struct search list[TH_TARGETS_MAX];
	size_t count;
	int64_t requests, tokens_in, tokens_out, cost_nano;
	bool cost_unknown, unmetered;
};

/* Places found before: the newest replaces the oldest. */
struct th_ground_cache {
	struct {
		struct th_digest picture;
		char *description;
		struct th_point at;
	} list[CACHE_SIZE];
	size_t at;
};

static const struct th_profile *grounder_of(const struct th_live *l)
{
	return l->resolved->composed ? l->resolved->composed->grounder : NULL;
}

static struct th_request_options options_of(const struct th_live *l)
{
	return (struct th_request_options){
		.profile = grounder_of(l),
		.model = l->resolved->composed->grounder_name,
		.has_computer = true,
		.screen = l->options.screen,
		.image = l->options.image, /* it is shown the planner's picture */
	};
}

/* ---- places that are known ---------------------------------------------------------------- */

static bool recall(const struct th_live *l, const struct th_ground *g, struct search *s)
{
	const struct th_ground_cache *c = l->ground_cache;

	for (size_t i = 0; c && i < CACHE_SIZE; i++) {
		if (!c->list[i].description ||
		    !th_str_is(s->target.description, c->list[i].description) ||
		    !th_digest_eq(&c->list[i].picture, &g->picture))
			continue;
		s->place = (struct th_target_place){ .found = true, .at = c->list[i].at };
		return true;
	}
	return false;
}

static void remember(struct th_live *l, const struct th_ground *g, const struct search *s)
{
	struct th_ground_cache *c = l->ground_cache;
	size_t i;

	if (!c)
		c = l->ground_cache = th_alloc(sizeof(*c));
	i = c->at++ % CACHE_SIZE;
	free(c->list[i].description);
	c->list[i].picture = g->picture;
	c->list[i].at = s->place.at;
	c->list[i].description = th_alloc(s->target.description.len + 1);
	memcpy(c->list[i].description, s->target.description.ptr, s->target.description.len);
}

static void cache_free(struct th_live *l)
{
	for (size_t i = 0; l->ground_cache && i < CACHE_SIZE; i++)
		free(l->ground_cache->list[i].description);
	free(l->ground_cache);
	l->ground_cache = NULL;
}

/* ---- one request -------------------------------------------------------------------------- */

static struct th_ticket ticket_of(const struct th_live *l, const struct th_ground *g, size_t target)
{
	return th_live_ticket(l, TICKET_BIT | g->answer_seq << 16 | g->call << 4 | target);
}

static void search_clear(struct th_live *l, struct search *s)
{
	if (s->decoder)
		s->decoder = grounder_of(l)->wire->decoder_free(s->decoder);
	for (size_t i = 0; i < s->blob_count; i++)
		th_driver_text_drop(l->driver, &s->blobs[i]);
	th_buf_deinit(&s->head);
	th_buf_deinit(&s->message);
	th_buf_deinit(&s->path);
	th_buf_deinit(&s->headers);
	s->body_count = s->blob_count = 0;
}

static void ended(struct search *s, const char *why)
{
	s->state = SEARCH_OVER;
	s->place = (struct th_target_place){ .why = why };
}

static enum th_code body_build(struct th_live *l, const struct th_ground *g, struct search *s,
			       struct th_err *err)
{
	struct th_request_options o = options_of(l);
	const struct th_wire *wire = o.profile->wire;
	struct th_buf content = TH_BUF_INIT(TH_TARGET_MAX * 8);
	struct th_hole holes[4];
	struct th_group group = { .kind = TH_GROUP_MESSAGE, .role = TH_STR("user") };
	size_t count = 0, head, from = 0;
	enum th_code code;

	th_buf_init(&s->head, TH_REQUEST_MAX);
	th_buf_init(&s->message, TH_REQUEST_MAX);
	th_buf_init(&s->path, TH_REQUEST_HEAD_MAX);
	th_buf_init(&s->headers, TH_REQUEST_HEAD_MAX);
	wire->path(&o, &s->path);
	if (wire->headers)
		wire->headers(&o, &s->headers);
	wire->head(&o, &s->head);
	head = s->head.len;
	wire->tail(&o, &s->head);
	th_ground_message(o.profile, s->target.description, &g->picture, &content);
	group.content = th_buf_str(&content);
	code = th_group_render(&o, &group, true, &s->message, holes, TH_COUNT(holes), &count, err);
	th_buf_deinit(&content);
	if (!code)
		code = th_buf_check(&s->head, "the request", err);
	if (!code)
		code = th_buf_check(&s->message, "the request", err);
	if (code)
		return code;
	s->body[s->body_count++] = th_str_n(s->head.ptr, head);
	for (size_t i = 0; i < count; i++) {
		const struct th_hole *h = &holes[i];
		struct th_str text;

		if (h->kind != TH_HOLE_IMAGE || s->blob_count == TH_COUNT(s->blobs))
			continue;
		code = th_driver_text_need(l->driver, &h->blob, &text, err);
		if (code)
			return code;
		s->blobs[s->blob_count++] = h->blob;
		s->body[s->body_count++] = th_str_n(s->message.ptr + from, h->at - from);
		s->body[s->body_count++] = text;
		s->body[s->body_count++] = th_str_n(s->message.ptr + h->at, h->to - h->at);
		from = h->end;
	}
	s->body[s->body_count++] = th_str_n(s->message.ptr + from, s->message.len - from);
	s->body[s->body_count++] = th_str_n(s->head.ptr + head, s->head.len - head);
	return TH_OK;
}

static void ask(struct th_live *l, struct th_ground *g, struct search *s)
{
	struct th_driver *d = l->driver;
	struct th_err err = { 0 };
	struct th_model_call call = { .profile = grounder_of(l),
				      .base_url = l->resolved->grounder_url,
				      .agent = l->speaks,
				      .model_at = l->model_at,
				      .grounder = true,
				      .settings = l->session_config->agent->settings };
	enum th_code code = body_build(l, g, s, &err);

	if (!code) {
		call.path = th_buf_str(&s->path);
		call.headers = th_buf_str(&s->headers);
		call.body = s->body;
		call.body_count = s->body_count;
		call.total_ms_max =
		    th_session_time_left_ms(&l->fold, d->world.ops->now_ms(d->world.ctx));
		s->decoder = call.profile->wire->decoder_new(call.profile, NULL, NULL);
		s->state = SEARCH_ASKED;
		s->attempts++;
		g->requests++;
		code = d->world.ops->model_call(
		    d->world.ctx, ticket_of(l, g, (size_t)(s - g->list)), &call, &err);
	}
	if (code) {
		search_clear(l, s);
		ended(s, th_arena_printf(&g->memory, "the model that points could not be asked: %s",
					 err.msg)
			     .ptr);
	}
}

/* ---- a call ------------------------------------------------------------------------------- */

static void ground_free(struct th_live *l, struct th_ground *g)
{
	struct th_driver *d = l->driver;

	for (size_t i = 0; i < g->count; i++) {
		if (g->list[i].state == SEARCH_ASKED)
			d->world.ops->model_cancel(d->world.ctx, ticket_of(l, g, i));
		search_clear(l, &g->list[i]);
	}
	th_json_free(g->item);
	th_arena_deinit(&g->memory);
	free(g);
}

void th_live_grounds_free(struct th_live *l)
{
	while (l->grounds) {
		struct th_ground *g = l->grounds;

		l->grounds = g->next;
		ground_free(l, g);
	}
	cache_free(l);
}

static void print_grounding(const struct th_live *l, const struct th_ground *g, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "model", l->resolved->composed->grounder_name);
	th_jw_kint(&w, "requests", g->requests);
	th_jw_kint(&w, "input", g->tokens_in);
	th_jw_kint(&w, "output", g->tokens_out);
	if (!g->cost_unknown)
		th_jw_kint(&w, "cost_nano", g->cost_nano);
	if (g->unmetered)
		th_jw_kbool(&w, "unmetered", true);
	th_jw_key(&w, TH_STR("places"));
	th_jw_array(&w);
	for (size_t i = 0; i < g->count; i++) {
		const struct search *s = &g->list[i];

		th_jw_object(&w);
		th_jw_kstr(&w, "description", s->target.description);
		if (s->place.found) {
			th_jw_kint(&w, "x", s->place.at.x);
			th_jw_kint(&w, "y", s->place.at.y);
		} else {
			th_jw_kstr(&w, "error", th_str_of(s->place.why ?: "not found"));
		}
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
}

/* All is known: the call is recorded with its places. */
static void conclude(struct th_live *l, struct th_ground *g)
{
	struct th_target_place places[TH_TARGETS_MAX];
	struct th_buf item = TH_BUF_INIT(TH_ANSWER_MAX), grounding = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_err err = { 0 };
	struct th_call *c = &l->fold.calls[g->call];
	const struct th_dialect_context context = {
		.profile = l->resolved->profile,
		.screen = l->options.screen,
		.image = l->options.image,
		.turn = l->fold.totals.turns,
	};

	for (struct th_ground **at = &l->grounds; *at; at = &(*at)->next)
		if (*at == g) {
			*at = g->next;
			break;
		}
	for (size_t i = 0; i < g->count; i++)
		places[i] = g->list[i].place;
	if (th_elements_resolve(&context, th_json_root(g->item), places, g->count, &item, &err) ||
	    th_buf_check(&item, "the call", &err)) {
		th_live_lose(l, &err);
	} else {
		print_grounding(l, g, &grounding);
		th_live_record_item(l, c, th_buf_str(&item), th_buf_str(&grounding));
	}
	th_buf_deinit(&item);
	th_buf_deinit(&grounding);
	ground_free(l, g);
}

static bool over(const struct th_ground *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->list[i].state != SEARCH_OVER)
			return false;
	return true;
}

/* Since before a pause: its answer is still to come. */
static bool under_way(const struct th_live *l, size_t call)
{
	for (const struct th_ground *g = l->grounds; g; g = g->next)
		if (g->call == call && g->answer_seq == l->fold.answer_seq)
			return true;
	return false;
}

bool th_live_ground(struct th_live *l, struct th_call *c)
{
	struct th_target targets[TH_TARGETS_MAX];
	struct th_json_doc *item;
	struct th_ground *g;
	const char *limit = th_session_limit(&l->fold);
	const struct th_history *history;
	struct th_history *own;
	struct th_err err = { 0 };
	bool seen;

	if (!c->computer || !grounder_of(l))
		return false;
	if (under_way(l, (size_t)(c - l->fold.calls)))
		return true;
	if (th_json_parse(c->item, &item, NULL))
		return false;
	g = th_alloc(sizeof(*g));
	g->count = th_elements_targets(th_json_root(item), targets);
	if (g->count == 0) {
		th_json_free(item);
		free(g);
		return false;
	}
	g->item = item;
	g->answer_seq = l->fold.answer_seq;
	g->call = (size_t)(c - l->fold.calls);
	g->next = l->grounds;
	l->grounds = g;
	th_arena_init(&g->memory, TH_TURN_MEMORY_MAX);
	if (th_live_seen(l, &history, &own, &err)) {
		th_live_lose(l, &err);
		return true;
	}
	seen = th_history_last_image(history, &g->picture);
	th_history_free(own);
	for (size_t i = 0; i < g->count; i++) {
		struct search *s = &g->list[i];

		s->target = targets[i];
		if (!seen)
			ended(s, "there is no screenshot to find it on: take one first");
		else if (limit)
			ended(s, limit);
		else if (!s->target.description.len || s->target.description.len > TH_TARGET_MAX)
			ended(s, "its description must have 1 to 2000 bytes");
		else if (recall(l, g, s))
			s->state = SEARCH_OVER;
		else
			ask(l, g, s);
	}
	if (over(g))
		conclude(l, g);
	return true;
}

/* ---- answers ------------------------------------------------------------------------------ */

static struct search *find(struct th_driver *d, struct th_ticket t, struct th_live **ret_live,
			   struct th_ground **ret)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	for (struct th_ground *g = l && !l->lost ? l->grounds : NULL; g; g = g->next)
		for (size_t i = 0; i < g->count; i++)
			if (g->list[i].state == SEARCH_ASKED && ticket_of(l, g, i).seq == t.seq) {
				*ret_live = l;
				*ret = g;
				return &g->list[i];
			}
	return NULL;
}

bool th_ground_is(struct th_ticket t)
{
	return t.seq & TICKET_BIT;
}

bool th_ground_data(struct th_driver *d, struct th_ticket t, struct th_str bytes)
{
	struct th_live *l;
	struct th_ground *g;
	struct search *s = find(d, t, &l, &g);

	return s && grounder_of(l)->wire->feed(s->decoder, bytes) >= 0;
}

static void take_usage(struct th_live *l, struct th_ground *g, const struct th_usage *u)
{
	int64_t cost = th_model_cost_nano(grounder_of(l), u);

	g->tokens_in += TH_MAX(u->input, 0);
	g->tokens_out += TH_MAX(u->output, 0);
	g->cost_nano += TH_MAX(cost, 0);
	g->cost_unknown |= cost < 0;
	g->unmetered |= th_live_unmetered(l, grounder_of(l), u, cost);
}

/* The answer's point; false: it failed, and *ret_failure and a sentence say how. */
static bool read_answer(struct th_live *l, struct th_ground *g, struct search *s,
			const struct th_model_end *end, enum th_failure *ret_failure,
			struct th_err *err)
{
	const struct th_profile *p = grounder_of(l);
	struct th_request_options o = options_of(l);
	const struct th_dialect_context context = {
		.profile = p, .screen = o.screen, .image = o.image, .turn = 1
	};
	struct th_answer a = { .usage = { -1, -1, -1, -1, -1, -1 } };
	struct th_buf items = TH_BUF_INIT(TH_ANSWER_MAX);
	bool done = end->ok || p->wire->finished(s->decoder), good = false;

	*ret_failure = end->failure;
	if (done) {
		p->wire->end(s->decoder, false, &a);
		take_usage(l, g, &a.usage);
	} else if (end->status_only) {
		p->wire->error(s->decoder, end->http_status, &a);
		a.status = TH_ANSWER_FAILED;
	}
	if (!done && !end->status_only) {
		(void)th_fail(err, TH_EIO, "%.*s", TH_FMT(end->message));
	} else if (a.status == TH_ANSWER_FAILED) {
		int failure = th_failure_find(a.error_class);

		*ret_failure = failure >= 0 ? (enum th_failure)failure : TH_FAILURE_MALFORMED;
		(void)th_fail(err, TH_EPROTO, "%.*s", TH_FMT(a.error_message));
	} else {
		struct th_str list = a.items;

		*ret_failure = TH_FAILURE_REJECTED; /* the same question has the same answer */
		good = true;
		if (p->dialect->decode) {
			good = !p->dialect->decode(&context, a.items, &items, err) &&
			       !th_buf_check(&items, "the answer", err);
			list = th_buf_str(&items);
		}
		good = good && !th_ground_point(p, list, &s->place.at, err);
	}
	th_buf_deinit(&items);
	return good;
}

void th_ground_done(struct th_driver *d, struct th_ticket t, const struct th_model_end *end)
{
	struct th_live *l;
	struct th_ground *g;
	struct search *s = find(d, t, &l, &g);
	enum th_failure failure;
	struct th_err err = { 0 };
	uint32_t random;
	int64_t delay;

	if (!s)
		return;
	s->place.found = read_answer(l, g, s, end, &failure, &err);
	search_clear(l, s);
	s->state = SEARCH_OVER;
	if (s->place.found) {
		remember(l, g, s);
	} else {
		d->world.ops->random(d->world.ctx, &random, sizeof(random));
		delay = th_retry_delay_ms(failure, &end->hints, s->attempts,
					  (int)l->fold.attempts_max, random / 4294967296.0);
		s->place.why = th_arena_printf(&g->memory, "%s", err.msg).ptr;
		if (delay >= 0) {
			s->state = SEARCH_WAITS;
			d->world.ops->timer(d->world.ctx, th_live_ticket(l, 0), delay);
		}
	}
	if (over(g))
		conclude(l, g);
	th_live_pump(l);
}

void th_live_grounds_wake(struct th_live *l)
{
	for (struct th_ground *g = l->grounds; g;) {
		for (size_t i = 0; i < g->count; i++)
			if (g->list[i].state == SEARCH_WAITS)
				ask(l, g, &g->list[i]);
		if (over(g)) {
			conclude(l, g);
			g = l->grounds; /* a session that was lost here has none left */
		} else {
			g = g->next;
		}
	}
}
