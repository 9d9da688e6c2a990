/* SPDX-License-Identifier: Apache-2.0 */
#include "server/log_load.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/service.h"

struct th_log_load {
	struct th_server *server;
	struct th_listener listener;
	struct thole_reading *reading;
	thole_line_fn *fn;
	thole_done_fn *done;
	void *ctx;
	uint64_t next;      /* the first event that has not come yet */
	uint64_t held_from; /* the first one that is held; 0: none */
	struct th_buf held; /* told meanwhile, a newline behind each */
	char session[TH_SESSION_ID_MAX + 1];
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct th_log_load *l = ctx;

	l->next++;
	return l->fn(l->ctx, line, len);
}

static void on_note(struct th_listener *listener, const struct thole_note *note)
{
	struct th_log_load *l = TH_CONTAINER_OF(listener, struct th_log_load, listener);

	if (!note || thole_note_kind(note) != THOLE_NOTE_EVENT)
		return;
	if (l->held_from && l->held.failed)
		return; /* it is read again */
	if (!l->held_from)
		l->held_from = thole_note_seq(note);
	th_buf_add_cstr(&l->held, thole_note_json(note));
	th_buf_add_char(&l->held, '\n');
}

/* What was told meanwhile, as far as it was not read.  *ret_gap: some of it is only in the log. */
static int give_held(struct th_log_load *l, bool *ret_gap)
{
	struct th_str rest = th_buf_str(&l->held);
	uint64_t seq = l->held_from;
	int code = 0;

	*ret_gap = l->held_from && (l->held.failed || seq > l->next);
	if (*ret_gap)
		return 0;
	for (; rest.len && !code; seq++) {
		struct th_str line = th_str_split(&rest, '\n');

		if (seq == l->next)
			code = on_line(l, line.ptr, line.len);
	}
	return code;
}

static void load_free(struct th_log_load *l)
{
	thole_reading_free(l->reading);
	th_hub_unlisten(&l->listener);
	th_buf_deinit(&l->held);
	free(l);
}

static void on_read(void *ctx, int code, const struct thole_error *err);

static int read_on(struct th_log_load *l, struct thole_error *err)
{
	return thole_runtime_log_start(l->server->rt, l->session, l->next, on_line, on_read, l,
				       &l->reading, err);
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct th_log_load *l = ctx;
	struct thole_error e = { 0 };
	thole_done_fn *done = l->done;
	void *theirs = l->ctx;
	bool gap = false;

	l->reading = NULL;
	if (code == THOLE_ENOENT && l->held_from == 1)
		code = 0; /* it was not written yet when the reading began */
	if (!code)
		code = give_held(l, &gap);
	if (!code && gap) {
		th_buf_clear(&l->held);
		l->held_from = 0;
		code = read_on(l, &e);
		if (!code)
			return;
		err = &e;
	}
	load_free(l);
	done(theirs, code, code ? err : NULL);
}

int th_log_load(struct th_server *s, const char *session, const char *user, uint64_t from,
		thole_line_fn *fn, thole_done_fn *done, void *ctx, struct th_log_load **ret,
		struct thole_error *err)
{
	struct th_log_load *l = th_alloc(sizeof(*l));
	int code;

	*l = (struct th_log_load){
		.server = s, .fn = fn, .done = done, .ctx = ctx, .next = from ? from : 1
	};
	th_buf_init(&l->held, TH_HTTP_REPLY_MAX);
	snprintf(l->session, sizeof(l->session), "%s", session);
	l->listener = (struct th_listener){ .fn = on_note, .only_listens = true };
	th_hub_listen(th_hub_get(s, session, user), &l->listener);
	code = read_on(l, err);
	if (code) {
		load_free(l);
		return code;
	}
	*ret = l;
	th_server_kick(s);
	return THOLE_OK;
}

void th_log_load_cancel(struct th_log_load *l)
{
	if (l)
		load_free(l);
}
