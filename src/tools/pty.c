/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pty.c - a program on a terminal of its own: what it writes comes as it is, and
 * what is typed goes to it.  For people's programs that show a terminal; the
 * terminal of an agent's shell is bash_session.h.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "io/child.h"
#include "io/loop.h"
#include "io/pty.h"
#include "tools/sh.h"

// clang-format off
#define TH_FIELDS_pty_run(F)                                                                       \
	F(pty_run, str, command, "command", TH_REQ | TH_NONEMPTY, "command line for /bin/sh")    \
	F(pty_run, int, columns, "columns", TH_REQ | TH_POSITIVE, "width of the terminal")       \
	F(pty_run, int, rows, "rows", TH_REQ | TH_POSITIVE, "height of the terminal")            \
	F(pty_run, str, folder, "folder", 0, "where it begins; default: the workspace")          \
	F(pty_run, strs, environment, "environment", 0, "NAME=value, beside that of commands")
// clang-format on
TH_STRUCT(pty_run)
extern const struct th_table th_pty_run_table;
TH_TABLE(pty_run, "arguments of pty", false)

/* $1: the folder, $2: the command. */
#define BEGIN                                                                           \
	"case $1 in '~') cd;; '~/'*) cd -- \"$HOME/${1#??}\";; *) cd -- \"$1\";; esac " \
	"|| exit 127; exec /bin/sh -c \"$2\""

struct pty {
	struct th_tool_job *job;
	struct th_pty *pty;
	struct th_mask_stream mask;
	struct th_timer timer;
	char marker[sizeof("THOLE_EFFECT=") + TH_EFFECT_ID_MAX]; /* "": not on a desktop */
	bool timed_out, cancelled;
};

static void pty_free(struct pty *p)
{
	th_timer_stop(&p->timer);
	if (p->pty)
		th_pty_close(p->pty);
	/* What it forked while it was being killed; what a program leaves behind by itself lives.
	 */
	if (p->marker[0] && (p->timed_out || p->cancelled))
		th_child_kill_marked(p->marker);
	th_mask_stream_deinit(&p->mask);
	free(p);
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct pty *p = (struct pty *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf masked = TH_BUF_INIT(TH_MIB);

	(void)stream;
	if (!th_mask_empty(p->job->env->mask)) {
		th_mask_stream_feed(&p->mask, bytes, &masked);
		bytes = th_buf_str(&masked);
	}
	if (bytes.len > 0)
		p->job->output(p->job, bytes);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct pty *p = (struct pty *)ctx;
	struct th_tool_job *job = p->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf rest = TH_BUF_INIT(TH_MIB);
	struct th_buf evidence = TH_BUF_INIT(TH_KIB);
	enum th_outcome_status status = TH_OUTCOME_DONE;
	struct th_jw w = th_jw(&evidence);

	th_mask_stream_end(&p->mask, &rest);
	if (rest.len > 0)
		job->output(job, th_buf_str(&rest));
	if (e->not_started)
		status = TH_OUTCOME_NOT_STARTED;
	else if (p->timed_out || p->cancelled)
		status = TH_OUTCOME_FAILED;
	th_jw_object(&w);
	th_jw_kint(&w, e->signalled ? "signal" : "exit_code", e->code);
	if (p->timed_out)
		th_jw_kbool(&w, "timed_out", true);
	if (p->cancelled)
		th_jw_kbool(&w, "cancelled", true);
	th_jw_object_end(&w);
	pty_free(p);
	th_tool_text(job, status, TH_STR("the terminal's program has ended"),
		     th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void kill_all(struct pty *p)
{
	th_child_kill(th_pty_child(p->pty));
	if (p->marker[0]) /* on a desktop the child only stands for it */
		th_child_kill_marked(p->marker);
}

static void on_timeout(void *ctx)
{
	struct pty *p = (struct pty *)ctx;

	p->timed_out = true;
	kill_all(p);
}

/* ---- the start ---- */

static bool is_variable(struct th_str entry)
{
	ptrdiff_t len = th_str_find_char(entry, '=');

	for (ptrdiff_t i = 0; i < len; i++)
		if (entry.ptr[i] != '_' && !isalpha((unsigned char)entry.ptr[i]) &&
		    (i == 0 || !isdigit((unsigned char)entry.ptr[i])))
			return false;
	return len > 0 && !memchr(entry.ptr, '\0', entry.len);
}

static const char *const *environment(struct pty *p, struct th_err *err)
{
	const struct th_strs *more = &((const struct th_pty_run *)p->job->args)->environment;
	const char *const *base = p->job->env->environment;
	const char **ret;
	size_t count = 0;

	while (base && base[count])
		count++;
	ret = (const char **)th_arena_array(p->job->arena, count + more->count + 3, sizeof(*ret));
	if (!ret) {
		(void)th_fail(err, TH_ELIMIT, "the environment is too long");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		ret[i] = base[i];
	ret[count++] = "TERM=xterm-256color";
	for (size_t i = 0; i < more->count; i++) {
		if (!is_variable(more->list[i])) {
			(void)th_fail(err, TH_EUSAGE, "an entry of the environment is NAME=value");
			return NULL;
		}
		ret[count++] = th_arena_cstr(p->job->arena, more->list[i]);
	}
	if (p->marker[0])
		ret[count] = p->marker;
	return ret;
}

/* `prefix`: of a desktop, or NULL. */
static const char *const *command_line(struct pty *p, const char *const *prefix)
{
	const struct th_pty_run *args = (const struct th_pty_run *)p->job->args;
	size_t n = 0;
	const char **ret;

	while (prefix && prefix[n])
		n++;
	ret = (const char **)th_arena_array(p->job->arena, n + 7, sizeof(*ret));
	if (!ret)
		return NULL;
	for (size_t i = 0; i < n; i++)
		ret[i] = prefix[i];
	ret[n] = "/bin/sh";
	ret[n + 1] = "-c";
	ret[n + 2] = BEGIN;
	ret[n + 3] = "sh";
	ret[n + 4] = args->folder.len ? th_arena_cstr(p->job->arena, args->folder) : ".";
	ret[n + 5] = th_arena_cstr(p->job->arena, args->command);
	return ret[n + 4] && ret[n + 5] ? ret : NULL;
}

static enum th_code open_pty(struct pty *p, struct th_err *err)
{
	const struct th_pty_run *args = (const struct th_pty_run *)p->job->args;
	const struct th_tool_env *env = p->job->env;
	const char *const *prefix =
	    env->desktop_prefix ? env->desktop_prefix(env->desktop_ctx) : NULL;
	bool desktop = prefix && prefix[0];

	if (desktop)
		snprintf(p->marker, sizeof(p->marker), "THOLE_EFFECT=%.*s",
			 TH_FMT(p->job->effect_id));
	struct th_pty_spec spec = {
		.child = { .argv = command_line(p, prefix),
			   .env = environment(p, err),
			   .cwd = th_arena_cstr(p->job->arena, env->workspace),
			   .sandbox = desktop ? NULL : env->sandbox,
			   .tree = !desktop,
			   .limits = { .processes = TH_COMMAND_PROCESSES_MAX },
			   .on_output = on_output,
			   .on_exit = on_exit_,
			   .ctx = p },
		.rows = (uint16_t)args->rows,
		.columns = (uint16_t)args->columns,
		.lent = desktop, /* there it becomes that of the program's session */
	};
	if (!spec.child.env)
		return err->code;
	if (!spec.child.argv || !spec.child.cwd)
		return th_fail(err, TH_EUSAGE, "the command or the folder holds a NUL byte");
	return th_pty_open(env->loop, &spec, &p->pty, err);
}

static enum th_code check(const struct th_tool_job *job, struct th_err *err)
{
	const struct th_pty_run *args = (const struct th_pty_run *)job->args;

	if (job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there are no commands");
	if (args->command.len > TH_COMMAND_SIZE_MAX || args->folder.len >= TH_PATH_LEN_MAX)
		return th_fail(err, TH_ELIMIT, "the command or the folder is too long");
	if (args->columns > TH_PTY_SIDE_MAX || args->rows > TH_PTY_SIDE_MAX)
		return th_fail(err, TH_EUSAGE, "a terminal has 1 to %d columns and rows",
			       TH_PTY_SIDE_MAX);
	return TH_OK;
}

static void start(struct th_tool_job *job)
{
	struct th_err err = {};
	struct pty *p;

	if (check(job, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	p = (struct pty *)th_alloc(sizeof(*p));
	p->job = job;
	th_mask_stream_init(&p->mask, job->env->mask);
	th_timer_init(&p->timer, job->env->loop, on_timeout, p);
	if (open_pty(p, &err)) {
		enum th_outcome_status status =
		    err.code == TH_EUSAGE ? TH_OUTCOME_REFUSED : TH_OUTCOME_NOT_STARTED;

		pty_free(p);
		th_tool_fail(job, status, &err);
		return;
	}
	job->state = p;
	th_timer_start(&p->timer, (uint64_t)th_tool_timeout_ms(job, 0), 0);
}

static void cancel(struct th_tool_job *job)
{
	struct pty *p = (struct pty *)job->state;

	p->cancelled = true;
	kill_all(p);
}

/* What is typed beyond what the terminal takes is lost, as on any. */
static void input(struct th_tool_job *job, struct th_str bytes, int64_t columns, int64_t rows)
{
	struct pty *p = (struct pty *)job->state;

	if (columns > 0 && columns <= TH_PTY_SIDE_MAX && rows > 0 && rows <= TH_PTY_SIDE_MAX)
		(void)!th_pty_resize(p->pty, (uint16_t)rows, (uint16_t)columns, NULL);
	if (bytes.len > 0)
		(void)!th_pty_write(p->pty, bytes, NULL);
}

const struct th_tool th_tool_pty = {
	.name = "pty",
	.description = "A program on a terminal.",
	.class = TH_CLASS_W,
	.arguments = &th_pty_run_table,
	.start = start,
	.cancel = cancel,
	.input = input,
};
