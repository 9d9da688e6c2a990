/* SPDX-License-Identifier: Apache-2.0 */
/*
 * letter.c - what a task's hook is told: the task as it was with the event, folded from its log.
 */
#include <stdlib.h>

#include "a2a/internal.h"

struct writing {
	struct th_letter *letter;
	struct thole_reading *reading;
	struct th_json_doc *more; /* the hook's */
	struct th_a2a_task task;
};

static void writing_free(struct writing *x)
{
	x->letter->writing = NULL;
	thole_reading_free(x->reading);
	th_json_free(x->more);
	th_a2a_task_deinit(&x->task);
	free(x);
}

/* ---- the letter ---- */

/* One that has no room for the answer says the status alone: GetTask has the rest. */
static void put_body(struct th_letter *l, struct th_a2a_task *t, bool v1)
{
	th_a2a_put_task(t, v1, 0, true, &l->body);
	if (!l->body.failed)
		return;
	th_buf_clear(&l->body);
	free(t->output);
	t->output = NULL;
	th_a2a_put_task(t, v1, 0, true, &l->body);
}

static struct th_buf *add_header(struct th_letter *l, const char *name)
{
	struct th_letter_header *h = &l->headers[l->header_count++];

	h->name = name;
	return &h->value;
}

static void put_headers(struct th_letter *l, const struct th_json *more)
{
	struct th_str scheme = th_json_get_str(more, "scheme");
	struct th_str credentials = th_json_get_str(more, "credentials");
	struct th_str token = th_json_get_str(more, "token");

	if (scheme.len && credentials.len)
		th_buf_printf(add_header(l, "Authorization"), "%.*s %.*s", TH_FMT(scheme),
			      TH_FMT(credentials));
	if (token.len)
		th_buf_add(add_header(l, "X-A2A-Notification-Token"), token);
}

static void finish(struct writing *x)
{
	const struct th_json *more = th_json_root(x->more);
	bool v1 = th_json_bool(th_json_get(more, "v1"), true);
	struct th_letter *l = x->letter;

	l->type = v1 ? "application/a2a+json" : "application/json";
	put_body(l, &x->task, v1);
	put_headers(l, more);
}

/* ---- its log ---- */

static int on_line(void *ctx, const char *line, size_t len)
{
	struct writing *x = ctx;

	if (!th_a2a_task_event(&x->task, th_str_n(line, len)))
		return 1;
	return x->task.last_seq >= x->letter->seq ? 1 : 0;
}

static void on_read(void *ctx, int code, const struct thole_error *err)
{
	struct writing *x = ctx;
	struct th_letter *l = x->letter;
	bool whole = code == 1 && x->task.last_seq == l->seq;

	(void)err;
	x->reading = NULL;
	if (whole)
		finish(x);
	writing_free(x);
	th_letter_done(l, whole                  ? TH_LETTER_WRITTEN
			  : th_code_passes(code) ? TH_LETTER_RETRY
						 : TH_LETTER_GONE);
}

static void write_letter(struct th_letter *l)
{
	struct writing *x = th_alloc(sizeof(*x));
	char session[TH_SESSION_ID_MAX + 1];
	struct thole_error err = { 0 };
	int code = THOLE_ENOENT;
	uint64_t after = 0;

	*x = (struct writing){ .letter = l };
	l->writing = x;
	if (th_session_name(l->hook->session, session) &&
	    th_json_parse_secret(l->hook->more, &x->more, NULL) == TH_OK) {
		after = (uint64_t)th_json_get_int(th_json_root(x->more), "task", 0);
		th_a2a_task_init(&x->task, session, after);
		code = thole_runtime_log_start(l->server->rt, session, after + 1, on_line, on_read,
					       x, &x->reading, &err);
	}
	if (code) {
		writing_free(x);
		th_letter_done(l, th_code_passes(code) ? TH_LETTER_RETRY : TH_LETTER_GONE);
		return;
	}
	th_server_kick(l->server);
}

static void cancel(struct th_letter *l)
{
	if (l->writing)
		writing_free(l->writing);
}

const struct th_letters th_a2a_letters = { write_letter, cancel };
