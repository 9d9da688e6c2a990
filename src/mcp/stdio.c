/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio.c - a server as a child: a message is a line of its standard input or output.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "io/child.h"
#include "mcp/internal.h"
#include "tools/clip.h"

#define SAID_MIN 100 /* bytes of it, and as many of a sentence for the words around it */

struct stdio {
	const char **argv, **environment;
	const char *folder;
	struct th_child *child;
	struct th_buf line, out;
	struct th_clip said; /* on its standard error */
	struct th_err why;   /* it is ended for that */
};

static struct stdio *of(const struct th_mcp_process *p)
{
	return (struct stdio *)p->channel;
}

/* ---- its end -------------------------------------------------------------------------------- */

/* Behind what is there: a traceback names the cause at its end, other programs at the beginning. */
static void put_said(struct th_str said, struct th_err *ret)
{
	struct th_buf line = TH_BUF_INIT(8 * TH_MCP_STDERR_MAX);
	struct th_str all, tail = TH_STR("");
	size_t len = strlen(ret->msg), room;

	if (len + 2 * SAID_MIN > sizeof(ret->msg)) {
		th_buf_deinit(&line);
		return;
	}
	room = sizeof(ret->msg) - len - SAID_MIN;
	th_text_line(&line, said, line.max);
	all = th_buf_str(&line);
	if (all.len > room) {
		tail = th_str_sub(all, all.len - room / 2, room / 2);
		while (tail.len && ((unsigned char)tail.ptr[0] & 0xc0) == 0x80)
			tail = th_str_sub(tail, 1, tail.len);
		all = th_utf8_cut(all, room - room / 2);
	}
	snprintf(ret->msg + len, sizeof(ret->msg) - len, "; it said: %.*s%s%.*s", TH_FMT(all),
		 tail.len ? " \u2026 " : "", TH_FMT(tail));
	th_buf_deinit(&line);
}

/* What is known of why it ended: its last words, too. */
static void put_why(const struct th_mcp_process *p, const struct th_child_exit *e,
		    struct th_err *ret)
{
	const struct stdio *c = of(p);
	struct th_buf said = TH_BUF_INIT(8 * TH_MCP_STDERR_MAX);

	/* One that closes its input may be on its way out: its own end says more than that. */
	if (c->why.code && (c->why.code != TH_ECONN || e->signalled || e->not_started))
		*ret = c->why;
	else if (e->not_started)
		th_fail(ret, TH_EIO, "the sandbox of the server %.*s could not be set up",
			TH_FMT(p->name));
	else if (e->signalled)
		th_fail(ret, TH_EIO, "the server %.*s was ended by signal %d", TH_FMT(p->name),
			e->code);
	else
		th_fail(ret, TH_EIO, "the server %.*s ended with exit status %d", TH_FMT(p->name),
			e->code);
	th_clip_text(&c->said, &said);
	if (th_str_trim(th_buf_str(&said)).len)
		put_said(th_str_trim(th_buf_str(&said)), ret);
	th_buf_deinit(&said);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_err why = {};
	/* An older server may end when it is asked what it does not know: once more, as it knows
	 * it. */
	of(p)->child = th_child_free(of(p)->child);
	th_buf_clear(&of(p)->line);
	if (!e->not_started && th_mcp_process_older(p))
		return;
	put_why(p, e, &why);
	th_mcp_process_over(p, &why);
}

static void stop(struct th_mcp_process *p, const struct th_err *why)
{
	of(p)->why = *why;
	th_child_kill(of(p)->child);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void send(struct th_mcp_process *p, struct th_str message)
{
	struct stdio *c = of(p);
	struct th_err err = {};

	th_buf_clear(&c->out);
	th_buf_add(&c->out, message);
	th_buf_add_char(&c->out, '\n');
	if (th_child_write(c->child, th_buf_str(&c->out), &err))
		th_mcp_process_doom(p, &err);
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct stdio *c = of(p);
	struct th_err err = {};
	const char *end;

	if (stream == TH_CHILD_ERR) {
		th_clip_add(&c->said, bytes);
		return;
	}
	while (p->stage != TH_MCP_DOOMED && bytes.len &&
	       (end = (const char *)memchr(bytes.ptr, '\n', bytes.len))) {
		struct th_str piece = th_str_n(bytes.ptr, (size_t)(end - bytes.ptr));

		bytes = th_str_sub(bytes, piece.len + 1, bytes.len);
		if (!c->line.len) {
			th_mcp_process_take(p, piece);
			continue;
		}
		th_buf_add(&c->line, piece);
		if (c->line.failed)
			break;
		th_mcp_process_take(p, th_buf_str(&c->line));
		th_buf_clear(&c->line);
	}
	if (p->stage == TH_MCP_DOOMED)
		return;
	th_buf_add(&c->line, bytes);
	if (c->line.failed) {
		th_fail(&err, TH_ELIMIT, "the server %.*s sent a message of more than %zu bytes",
			TH_FMT(p->name), TH_MCP_LINE_MAX);
		th_buf_deinit(&c->line);
		th_mcp_process_doom(p, &err);
	}
}

/* ---- its start ------------------------------------------------------------------------------ */

/* `room`: for so many more behind them. */
static const char **copy_list(struct th_arena *a, const char *const *before,
			      const struct th_strs *list, size_t room)
{
	const char **ret;
	size_t n = 0;

	while (before && before[n])
		n++;
	ret = (const char **)th_arena_array(a, n + list->count + room + 1, sizeof(*ret));
	for (size_t i = 0; ret && i < n; i++) {
		ret[i] = th_arena_cstr(a, th_str_of(before[i]));
		if (!ret[i])
			return NULL;
	}
	for (size_t i = 0; ret && i < list->count; i++) {
		ret[n + i] = th_arena_cstr(a, list->list[i]);
		if (!ret[n + i])
			return NULL;
	}
	return ret;
}

static void add_secrets(struct th_mcp_process *p, const char **environment,
			const struct th_strs *names)
{
	size_t n = 0;

	while (environment && environment[n])
		n++;
	for (size_t i = 0; environment && i < names->count; i++) {
		environment[n] = th_given_entry(&p->env->given, names->list[i]);
		n += environment[n] != NULL;
	}
}

static enum th_code init(struct th_mcp_process *p, const struct th_mcp_process_spec *spec,
			 struct th_err *err)
{
	struct stdio *c = (struct stdio *)TH_NEW(&p->memory, struct stdio);

	if (!c)
		return th_fail(err, TH_ELIMIT, "the server's command is too long");
	*c = (struct stdio){
		.argv = copy_list(&p->memory, NULL, &spec->argv, 0),
		.environment = copy_list(&p->memory, p->env->environment, &spec->environment,
					 spec->secrets.count),
		.folder = th_arena_cstr(&p->memory, p->env->workspace),
	};
	add_secrets(p, c->environment, &spec->secrets);
	th_buf_init(&c->line, TH_MCP_LINE_MAX);
	th_buf_init(&c->out, TH_MCP_LINE_MAX + 1);
	th_clip_init(&c->said, TH_MCP_STDERR_MAX);
	p->channel = c;
	if (!c->argv || !c->argv[0] || !c->environment || !c->folder)
		return th_fail(err, TH_EUSAGE,
			       "the server's command or environment is too long, or holds a NUL "
			       "byte");
	return TH_OK;
}

static enum th_code start(struct th_mcp_process *p, struct th_err *err)
{
	struct stdio *c = of(p);
	struct th_child_spec spec = {
		.argv = c->argv,
		.env = c->environment,
		.cwd = c->folder,
		.write_in = true,
		.sandbox = p->env->sandbox,
		.tree = true,
		.limits = { .processes = TH_COMMAND_PROCESSES_MAX },
		.on_output = on_output,
		.on_exit = on_exit_,
		.ctx = p,
	};

	c->why = (struct th_err){};
	th_clip_deinit(&c->said);
	th_clip_init(&c->said, TH_MCP_STDERR_MAX);
	return th_child_start(p->env->loop, &spec, &c->child, err);
}

static void free_(struct th_mcp_process *p)
{
	struct stdio *c = of(p);

	if (!c)
		return;
	th_child_free(c->child);
	th_clip_deinit(&c->said);
	th_buf_deinit(&c->line);
	th_buf_deinit(&c->out);
}

const struct th_mcp_transport th_mcp_stdio = {
	.init = init,
	.start = start,
	.send = send,
	.stop = stop,
	.free = free_,
};
