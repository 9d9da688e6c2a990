/* SPDX-License-Identifier: Apache-2.0 */
#include "server/log_load.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/service.h"

struct th_log_load {
	struct th_server *server;
	struct thole_reading *reading;
	thole_line_fn *fn;
	thole_done_fn *done;
	void *ctx;
	uint64_t next; /* the first event that has not come yet */
	char session[TH_SESSION_ID_MAX + 1];
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_log_load *l = ctx;

	l->next++;
	return l->fn(l->ctx, line, len);
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct th_log_load *l = ctx;
	struct thole_error e = { 0 };
	thole_done_fn *done = l->done;
	void *theirs = l->ctx;

	l->reading = NULL;
	if (!code) {
		code = thole_runtime_log(l->server->rt, l->session, l->next, on_line, l, &e);
		err = e.code ? &e : NULL;
	}
	free(l);
	done(theirs, code, err);
}

int th_log_load(struct th_server *s, const char *session, uint64_t from, thole_line_fn *fn,
		thole_done_fn *done, void *ctx, struct th_log_load **ret, struct thole_error *err)
{
	struct th_log_load *l = th_alloc(sizeof(*l));
	int code;

	*l = (struct th_log_load){
		.server = s, .fn = fn, .done = done, .ctx = ctx, .next = from ? from : 1
	};
	snprintf(l->session, sizeof(l->session), "%s", session);
	code =
	    thole_runtime_log_start(s->rt, session, l->next, on_line, on_read, l, &l->reading, err);
	if (code) {
		free(l);
		return code;
	}
	*ret = l;
	th_server_kick(s);
	return THOLE_OK;
}

void th_log_load_cancel(struct th_log_load *l)
{
	if (!l)
		return;
	thole_reading_free(l->reading);
	free(l);
}
