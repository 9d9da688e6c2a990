/* SPDX-License-Identifier: Apache-2.0 */
/* fleet_list.c - GET /api/fleet: the runtimes of the store, as they are now, and its slow
 * statements. */
#include <stdlib.h>

#include "server/service.h"

struct list {
	struct th_access *access;
	struct thole_reading *reading;
	struct th_buf json;
	size_t count;
	bool slow; /* the list of statements is being read */
};

static void list_free(struct list *l)
{
	l->access->gone = NULL;
	l->access->reads = false;
	l->access->ctx = NULL;
	thole_reading_free(l->reading);
	th_buf_deinit(&l->json);
	free(l);
}

static void on_gone(struct th_access *a)
{
	list_free(a->ctx);
}

static int on_line(void *ctx, const char *line, size_t len)
{
	struct list *l = ctx;

	th_buf_add_cstr(&l->json, l->count++ ? "," : "");
	th_buf_add(&l->json, th_str_n(line, len));
	return 0;
}

static void on_done(void *ctx, int code, const struct thole_error *why)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = { 0 };
	struct list *l = ctx;
	struct th_access *a = l->access;
	struct thole_error err;

	l->reading = NULL;
	if (!code && !l->slow) {
		l->slow = true;
		l->count = 0;
		th_buf_add_cstr(&l->json, "],\"slow\":[");
		code =
		    thole_runtime_slow_start(a->server->rt, on_line, on_done, l, &l->reading, &err);
		why = &err;
		if (!code) {
			th_server_kick(a->server);
			return;
		}
	}
	th_buf_add_cstr(&l->json, "]}");
	json = l->json;
	l->json = (struct th_buf){ 0 };
	list_free(l);
	if (code)
		th_access_error(a, why);
	else
		th_access_json(a, 200, &json);
}

void th_api_fleet(struct th_access *a)
{
	struct list *l = th_alloc(sizeof(*l));
	struct thole_error err;

	*l = (struct list){ .access = a };
	th_buf_init(&l->json, (TH_FLEET_NODES_MAX + TH_STORE_SLOW_MAX) * 4 * TH_KIB);
	th_buf_add_cstr(&l->json, "{\"nodes\":[");
	a->ctx = l;
	a->gone = on_gone;
	a->reads = true;
	if (thole_runtime_nodes_start(a->server->rt, NULL, on_line, on_done, l, &l->reading,
				      &err) == 0) {
		th_server_kick(a->server);
		return;
	}
	list_free(l);
	th_access_error(a, &err);
}
