/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.c - room for sessions that are to run, over all runtimes of a store. */
#include <stdlib.h>

#include "api/api.h"
#include "runtime/reservations.h"

/* One that is asked for. */
struct th_api_reserving {
	struct th_api_reserving *next;
	struct thole_runtime *rt;
	struct th_reserve *ask;
	thole_done_fn *done;
	void *ctx;
	char name[TH_RESERVATION_NAME_MAX + 1];
};

static struct th_api_reserving **find(struct thole_runtime *rt, const char *name)
{
	struct th_api_reserving **at = &rt->reserving;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

static void take_out(struct th_api_reserving *r)
{
	struct th_api_reserving **at = &r->rt->reserving;

	while (*at != r) /* by itself: two of one name may be asked for */
		at = &(*at)->next;
	*at = r->next;
	th_loop_defer(r->rt->loop, &r->rt->deliver); /* thole_runtime_run may end */
}

static void on_reserved(void *ctx, const struct th_err *err)
{
	struct th_api_reserving *r = ctx;
	struct thole_error e = { 0 };
	int code = err ? th_api_out(err->code, err, &e) : TH_OK;

	take_out(r);
	r->done(r->ctx, code, code ? &e : NULL);
	free(r);
}

static int check(struct thole_runtime *rt, const char *name, struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	return code ?: th_api_text(name, "the reservation's name", 1, TH_RESERVATION_NAME_MAX, err);
}

static bool is_shared(const struct thole_runtime *rt)
{
	return th_runtime_store(rt->rt)->kind->reserve_many;
}

int thole_runtime_reserve_start(struct thole_runtime *rt, const char *name, const char *user,
				int64_t most, const char *const *resting, thole_done_fn *done,
				void *ctx, struct thole_error *err)
{
	struct th_session_room what = { .most = most };
	struct th_api_reserving *r;
	struct th_str *list;
	int code = check(rt, name, err);

	if (!code)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	if (!code && (!done || most < 1))
		code = th_api_fail(err, TH_EUSAGE, "done is NULL, or nothing may run");
	for (size_t i = 0; !code && resting && resting[i]; i++, what.resting_count++)
		code = th_api_text(resting[i], "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && !is_shared(rt))
		code = th_api_fail(err, TH_EUNSUPPORTED,
				   "the store is of this machine alone: no other runtime has "
				   "sessions in it");
	if (code)
		return code;
	list = th_alloc((what.resting_count + 1) * sizeof(*list));
	for (size_t i = 0; i < what.resting_count; i++)
		list[i] = th_str_of(resting[i]);
	what.name = th_str_of(name);
	what.user = th_str_of(user);
	what.resting = list;
	r = th_alloc(sizeof(*r));
	*r = (struct th_api_reserving){ .next = rt->reserving, .rt = rt, .done = done, .ctx = ctx };
	memcpy(r->name, name, what.name.len + 1);
	rt->reserving = r;
	r->ask = th_reserve(th_runtime_reservations(rt->rt), &what, on_reserved, r);
	free(list);
	return TH_OK;
}

int thole_runtime_reservation_use(struct thole_runtime *rt, const char *name,
				  const char *session_id, struct thole_error *err)
{
	struct th_store *store;
	int code = check(rt, name, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (code || !is_shared(rt))
		return code;
	store = th_runtime_store(rt->rt);
	store->kind->reservation_use(store, th_str_of(name), th_str_of(session_id));
	return TH_OK;
}

int thole_runtime_unreserve(struct thole_runtime *rt, const char *name, struct thole_error *err)
{
	struct th_api_reserving *r;
	int code = check(rt, name, err);

	if (code || !is_shared(rt))
		return code;
	r = *find(rt, name);
	if (r) {
		th_reserve_drop(r->ask);
		take_out(r);
		free(r);
	} else {
		th_unreserve(th_runtime_reservations(rt->rt), th_str_of(name));
	}
	return TH_OK;
}

void th_api_reserving_end(struct thole_runtime *rt)
{
	while (rt->reserving) {
		struct th_api_reserving *r = rt->reserving;

		th_reserve_drop(r->ask);
		rt->reserving = r->next;
		free(r);
	}
}
