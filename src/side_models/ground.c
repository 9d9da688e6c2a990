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
#include "side_models/ground.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/picture_type.h"
#include "dialects/dialect.h"
#include "dialects/elements.h"
#include "history/history.h"
#include "live/blob_text.h"
#include "live/log.h"
#include "live/side_request.h"
#include "profiles/compose.h"
#include "turns/team.h"

#define CACHE_SIZE 32

/* One element that is looked for. */
struct search {
	struct th_ground *of;
	struct th_side_request *request; /* NULL: its place is known, or why there is none */
	struct th_target target;
	struct th_target_place place;
};

struct th_ground {
	struct th_ground *next;
	uint64_t answer_seq;
	th_record_item_fn *record;
	size_t call; /* index into the fold's calls */
	struct th_arena memory;
	struct th_json_doc *item;
	struct th_digest picture;
	const char *media_type; /* of it */
	struct search list[TH_TARGETS_MAX];
	size_t count;
	struct th_side_usage usage;
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

static void ended(struct search *s, const char *why)
{
	s->request = NULL;
	s->place = (struct th_target_place){ .why = why };
}

static th_side_read_fn read_point;
static th_side_done_fn on_answered;

static void ask(struct th_live *l, struct th_ground *g, struct search *s)
{
	struct th_buf content = TH_BUF_INIT(TH_TARGET_MAX * 8);
	struct th_side_ask a = { .kind = TH_SIDE_GROUNDER,
				 .options = options_of(l),
				 .base_url = l->resolved->grounder_url,
				 .usage = &g->usage,
				 .read = read_point,
				 .done = on_answered,
				 .ctx = s };
	struct th_err err = { 0 };

	th_ground_message(a.options.profile, s->target.description, &g->picture, g->media_type,
			  &content);
	a.content = th_buf_str(&content);
	if (th_side_request(l, &a, &s->request, &err))
		ended(s, th_arena_printf(&g->memory, "%s", err.msg).ptr);
	th_buf_deinit(&content);
}

/* By its bytes: the history has it in the form of the planner's provider. */
static const char *media_type_of(struct th_live *l, const struct th_digest *picture)
{
	struct th_buf head TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PICTURE_TYPE_BYTES);
	const char *type = NULL;
	struct th_str text;
	struct th_err err;

	/* One that cannot be had is told by the request, which needs it, too. */
	if (th_driver_text_need(l->driver, picture, &text, &err))
		return "image/png";
	if (th_base64_decode(&head, th_str_sub(text, 0, TH_PICTURE_TYPE_BYTES / 3 * 4)))
		type = th_picture_type(th_buf_str(&head));
	th_driver_text_drop(l->driver, picture);
	return type ?: "image/png";
}

/* ---- a call ------------------------------------------------------------------------------- */

static void ground_free(struct th_live *l, struct th_ground *g)
{
	for (size_t i = 0; i < g->count; i++)
		th_side_cancel(l, g->list[i].request);
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
	th_side_print(&g->usage, &w);
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
		g->record(l, c, th_buf_str(&item), th_buf_str(&grounding));
	}
	th_buf_deinit(&item);
	th_buf_deinit(&grounding);
	ground_free(l, g);
}

void th_live_grounds_stop(struct th_live *l)
{
	while (l->grounds) {
		struct th_ground *g = l->grounds;

		for (size_t i = 0; i < g->count; i++)
			if (g->list[i].request) {
				th_side_cancel(l, g->list[i].request);
				ended(&g->list[i], TH_CALL_CANCELLED_WHY);
			}
		conclude(l, g);
	}
}

static bool over(const struct th_ground *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->list[i].request)
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

bool th_live_ground(struct th_live *l, struct th_call *c, th_record_item_fn *record)
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
	g->record = record;
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
	g->media_type = seen ? media_type_of(l, &g->picture) : "";
	for (size_t i = 0; i < g->count; i++) {
		struct search *s = &g->list[i];

		s->of = g;
		s->target = targets[i];
		if (!seen)
			ended(s, "there is no screenshot to find it on: take one first");
		else if (limit)
			ended(s, limit);
		else if (!s->target.description.len || s->target.description.len > TH_TARGET_MAX)
			ended(s, "its description must have 1 to 2000 bytes");
		else if (!recall(l, g, s))
			ask(l, g, s);
	}
	if (over(g))
		conclude(l, g);
	return true;
}

/* ---- answers ------------------------------------------------------------------------------ */

static bool read_point(struct th_live *l, void *ctx, struct th_str items, struct th_err *err)
{
	const struct th_profile *p = grounder_of(l);
	struct th_request_options o = options_of(l);
	const struct th_dialect_context context = {
		.profile = p, .screen = o.screen, .image = o.image, .turn = 1
	};
	struct th_buf decoded = TH_BUF_INIT(TH_ANSWER_MAX);
	struct search *s = ctx;
	bool good = true;

	assert(p && p->dialect);
	if (p->dialect->decode) {
		good = !p->dialect->decode(&context, items, &decoded, err) &&
		       !th_buf_check(&decoded, "the answer", err);
		items = th_buf_str(&decoded);
	}
	good = good && !th_ground_point(p, items, &s->place.at, err);
	th_buf_deinit(&decoded);
	return good;
}

static void on_answered(struct th_live *l, void *ctx, const struct th_err *err)
{
	struct search *s = ctx;
	struct th_ground *g = s->of;

	s->request = NULL;
	if (err) {
		ended(s, th_arena_printf(&g->memory, "%s", err->msg).ptr);
	} else {
		s->place.found = true;
		remember(l, g, s);
	}
	if (over(g))
		conclude(l, g);
}
