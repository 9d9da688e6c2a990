/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - programs on terminals of a computer without an agent (tools/pty.c). */
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/computer.h"
#include "core/session.h"
#include "io/clock.h"

struct thole_terminal {
	struct thole_terminal *prev, *next;
	struct thole_computer *computer;
	thole_terminal_fn *fn;
	void *ctx;
	struct th_executor_id call; /* {0, 0}: the computer is being started */
	char id[TH_UUID_TEXT_SIZE + 1], digest[TH_SHA256_HEX_SIZE + 1];
	char *arguments;
	struct th_buf typed; /* before its program was there */
	int columns, rows;   /* as it was resized meanwhile; 0: it was not */
	bool accepted, ended, busy, freed;
	int status;
	char reason[TH_ERR_MSG_MAX];
};

static void take_out(struct thole_terminal *t)
{
	struct thole_computer *c = t->computer;

	if (t->prev)
		t->prev->next = t->next;
	else
		c->terminals = t->next;
	if (t->next)
		t->next->prev = t->prev;
	c->terminal_count--;
	t->computer = NULL;
}

static void destroy(struct thole_terminal *t)
{
	if (t->computer)
		take_out(t);
	th_buf_deinit(&t->typed);
	free(t->arguments);
	free(t);
}

/* Its own callback may free it. */
static void tell(struct thole_terminal *t, uint64_t offset, struct th_str bytes)
{
	t->busy = true;
	t->fn(t->ctx, t, offset, bytes.ptr, bytes.len);
	t->busy = false;
	if (t->freed && t->ended)
		destroy(t);
}

static void end(struct thole_terminal *t, int status, const char *why)
{
	t->ended = true;
	t->status = status;
	snprintf(t->reason, sizeof(t->reason), "%s", why);
	tell(t, 0, (struct th_str){ NULL, 0 });
}

static void send(struct thole_terminal *t)
{
	struct thole_computer *c = t->computer;

	if (!t->accepted || t->ended || (!t->typed.len && !t->columns))
		return;
	th_executor_client_input(c->client, t->call, th_buf_str(&t->typed), t->columns, t->rows);
	th_buf_clear(&t->typed);
	t->columns = t->rows = 0;
}

static void on_accepted(void *ctx)
{
	struct thole_terminal *t = ctx;

	t->accepted = true;
	send(t);
}

static void on_output(void *ctx, uint64_t offset, struct th_str bytes)
{
	struct thole_terminal *t = ctx;

	if (!t->freed)
		tell(t, offset, bytes);
}

static void on_finished(void *ctx, const struct th_effect_result *r)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct thole_terminal *t = ctx;
	struct th_str id = th_str_of(t->id);
	const struct th_json *e = NULL;

	th_executor_client_forget(t->computer->client, &id, 1);
	t->call = (struct th_executor_id){ 0 };
	t->ended = true;
	if (t->freed) {
		destroy(t);
		return;
	}
	if (r->evidence.len && th_json_parse(r->evidence, &doc, NULL) == TH_OK)
		e = th_json_root(doc);
	if (e && r->status != TH_OUTCOME_NOT_STARTED) {
		end(t, (int)th_json_get_int(e, "exit_code", 128 + th_json_get_int(e, "signal", 0)),
		    "");
		return;
	}
	if (!th_json_unescape(r->output, &said) || !said.len)
		th_buf_add_cstr(&said, "its program could not be run");
	end(t, -1, said.ptr);
}

/* Its screen is there, so that the program finds it. */
static void on_ready(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	struct thole_terminal *t = ctx;
	const struct th_effect_call what = {
		.effect_id = th_str_of(t->id),
		.class = TH_CLASS_W,
		.tool = TH_STR("pty"),
		.arguments = th_str_of(t->arguments),
		.digest = th_str_of(t->digest),
	};
	const struct th_executor_handlers h = { .on_accepted = on_accepted,
						.on_output = on_output,
						.on_finished = on_finished,
						.ctx = t };

	if (t->freed) {
		destroy(t);
		return;
	}
	if (!info) {
		end(t, -1, err->msg);
		return;
	}
	th_api_computer_ready(t->computer, info);
	t->call = th_executor_client_run(t->computer->client, &what, &h);
}

/* ---- the API ---- */

static int read_side(const char *name, const char *text, int64_t *ret, struct thole_error *err)
{
	if (th_str_i64(th_str_of(text), ret) && *ret >= 1 && *ret <= TH_PTY_SIDE_MAX)
		return TH_OK;
	return th_api_fail(err, TH_EUSAGE, "%s is 1 to %d", name, TH_PTY_SIDE_MAX);
}

/* The arguments of the tool, from the options. */
static int put_arguments(const char *const *options, struct th_buf *out, struct thole_error *err)
{
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMPUTER_ACTIONS_SIZE_MAX);
	struct th_jw w = th_jw(out), list = th_jw(&more);
	const char *command = "bash", *folder = "";
	int64_t columns = 80, rows = 24;
	int code = TH_OK;

	th_jw_array(&list);
	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err)
			   ?: th_api_text(options[1], *options, 1, TH_COMMAND_SIZE_MAX, err);
		if (code)
			return code;
		if (strcmp(*options, "command") == 0)
			command = options[1];
		else if (strcmp(*options, "folder") == 0)
			folder = options[1];
		else if (strcmp(*options, "columns") == 0)
			code = read_side("columns", options[1], &columns, err);
		else if (strcmp(*options, "rows") == 0)
			code = read_side("rows", options[1], &rows, err);
		else if (strcmp(*options, "environment") == 0)
			th_jw_str(&list, th_str_of(options[1]));
		else
			return th_api_fail(
			    err, TH_EUSAGE,
			    "a terminal's options are command, folder, columns, rows and "
			    "environment, not \"%.64s\"",
			    *options);
	}
	th_jw_array_end(&list);
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_str_of(command));
	th_jw_kint(&w, "columns", columns);
	th_jw_kint(&w, "rows", rows);
	if (*folder)
		th_jw_kstr(&w, "folder", th_str_of(folder));
	th_jw_kraw(&w, "environment", th_buf_str(&more));
	th_jw_object_end(&w);
	if (!code && (out->failed || more.failed))
		return th_api_fail(err, TH_ELIMIT, "the options are too long");
	return code;
}

int thole_terminal_new(struct thole_computer *c, const char *const *options, thole_terminal_fn *fn,
		       void *ctx, struct thole_terminal **ret, struct thole_error *err)
{
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) =
	    TH_BUF_INIT(TH_COMPUTER_ACTIONS_SIZE_MAX);
	struct thole_terminal *t;
	struct th_uuid id;
	int code =
	    c ? th_api_enter(c->rt, err) : th_api_fail(err, TH_EUSAGE, "the computer is NULL");

	if (!code && (!fn || !ret))
		code = th_api_fail(err, TH_EUSAGE, "fn or ret is NULL");
	if (!code)
		code = put_arguments(options, &arguments, err);
	if (!code && c->terminal_count >= TH_PTYS_MAX)
		code = th_api_fail(err, TH_ELIMIT, "%d terminals of the computer are open",
				   TH_PTYS_MAX);
	if (code)
		return code;
	t = th_alloc(sizeof(*t));
	*t = (struct thole_terminal){ .computer = c,
				      .fn = fn,
				      .ctx = ctx,
				      .arguments = th_api_copy(th_buf_str(&arguments)),
				      .typed = TH_BUF_INIT(TH_PTY_TYPED_MAX),
				      .next = c->terminals };
	id = th_uuid_now();
	th_uuid_text(&id, t->id);
	th_call_digest(TH_STR("pty"), th_str_of(t->arguments), t->digest);
	if (t->next)
		t->next->prev = t;
	c->terminals = t;
	c->terminal_count++;
	*ret = t;
	th_executor_client_ready(c->client, true, on_ready, t);
	return TH_OK;
}

static int enter(struct thole_terminal *t, struct thole_error *err)
{
	int code = t ? th_api_enter(t->computer->rt, err)
		     : th_api_fail(err, TH_EUSAGE, "the terminal is NULL");

	if (!code && t->ended)
		code = th_api_fail(err, TH_EPROTO, "the terminal's program has ended");
	return code;
}

int thole_terminal_write(struct thole_terminal *t, const void *bytes, size_t size,
			 struct thole_error *err)
{
	int code = enter(t, err);

	if (!code && size && !bytes)
		code = th_api_fail(err, TH_EUSAGE, "bytes is NULL");
	if (!code && size > TH_PTY_TYPED_MAX - t->typed.len)
		code = th_api_fail(err, TH_ELIMIT,
				   "more than %zu bytes at once, or before its "
				   "program is there",
				   TH_PTY_TYPED_MAX);
	if (code)
		return code;
	th_buf_add_mem(&t->typed, bytes, size);
	send(t);
	return TH_OK;
}

int thole_terminal_resize(struct thole_terminal *t, int columns, int rows, struct thole_error *err)
{
	int code = enter(t, err);

	if (!code &&
	    (columns < 1 || columns > TH_PTY_SIDE_MAX || rows < 1 || rows > TH_PTY_SIDE_MAX))
		code = th_api_fail(err, TH_EUSAGE, "a terminal has 1 to %d columns and rows",
				   TH_PTY_SIDE_MAX);
	if (code)
		return code;
	t->columns = columns;
	t->rows = rows;
	send(t);
	return TH_OK;
}

bool thole_terminal_ended(const struct thole_terminal *t)
{
	return t && t->ended;
}

int thole_terminal_status(const struct thole_terminal *t)
{
	return t ? t->status : -1;
}

const char *thole_terminal_reason(const struct thole_terminal *t)
{
	return t ? t->reason : "";
}

void thole_terminal_free(struct thole_terminal *t)
{
	if (!t || t->freed || th_api_enter(t->computer->rt, NULL))
		return;
	t->freed = true;
	th_executor_client_cancel(t->computer->client, t->call);
	if (!t->busy && t->ended)
		destroy(t);
}

void th_api_terminals_end(struct thole_computer *c)
{
	while (c->terminals) {
		struct thole_terminal *t = c->terminals;

		take_out(t);
		t->freed = t->ended = true;
		if (!t->busy) /* else its own callback has freed the computer */
			destroy(t);
	}
}
