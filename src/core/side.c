/* SPDX-License-Identifier: Apache-2.0 */
#include "core/side.h"

#include "core/session_internal.h"

#define X(id, name) name,
static const char *const names[] = { TH_SIDE_KINDS(X) };
#undef X

const char *th_side_name(enum th_side_kind k)
{
	assert(k < TH_SIDE_KIND_COUNT);
	return names[k];
}

void th_side_print(const struct th_side_usage *u, struct th_jw *w)
{
	th_jw_kint(w, "requests", u->requests);
	th_jw_kint(w, "input", u->tokens_in);
	th_jw_kint(w, "output", u->tokens_out);
	if (!u->cost_unknown)
		th_jw_kint(w, "cost_nano", u->cost_nano);
	if (u->unmetered)
		th_jw_kbool(w, "unmetered", true);
}

static int64_t number(const struct th_json *object, const char *key)
{
	return TH_MAX(th_json_get_int(object, key, 0), (int64_t)0);
}

struct th_side_usage th_side_read(const struct th_json *object)
{
	return (struct th_side_usage){
		.requests = number(object, "requests"),
		.tokens_in = number(object, "input"),
		.tokens_out = number(object, "output"),
		.cost_nano = number(object, "cost_nano"),
		.cost_unknown = th_json_is_null(th_json_get(object, "cost_nano")),
		.unmetered = th_json_bool(th_json_get(object, "unmetered"), false),
	};
}

void th_side_add(struct th_side_usage *to, const struct th_side_usage *more)
{
	to->requests = th_add_up(to->requests, more->requests);
	to->tokens_in = th_add_up(to->tokens_in, more->tokens_in);
	to->tokens_out = th_add_up(to->tokens_out, more->tokens_out);
	to->cost_nano = th_add_up(to->cost_nano, more->cost_nano);
	to->cost_unknown |= more->cost_unknown;
	to->unmetered |= more->unmetered;
}
