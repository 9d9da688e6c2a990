/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell.c - runs a command.
 *
 * The command is the model's own text, so it is given to /bin/sh as one
 * argument; nothing of ours is ever put into it.  Whatever it starts ends with
 * it (io/child.h), unless there is a desktop: then it runs among the desktop's
 * programs, and what it leaves running lives until the desktop closes; only a
 * timeout or a cancel ends that too.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "core/agent.h"
#include "io/child.h"
#include "io/files.h"
#include "tools/clip.h"
#include "tools/tool.h"

#define TH_FIELDS_shell(F)                                      \
	F(shell, str, command, "command", TH_REQ | TH_NONEMPTY, \
	  "Command line for /bin/sh, run in the workspace.")    \
	F(shell, int, timeout_s, "timeout_s", TH_POSITIVE,      \
	  "Seconds after which it is ended with everything it started; default 120.")

TH_STRUCT(shell)
extern const struct th_table th_shell_table;
TH_TABLE(shell, "arguments of shell", false)

enum ending { ENDING_ITSELF, ENDING_TIMEOUT, ENDING_CANCEL };

/*
 * The output of a command on a desktop.  It goes on being read, into nothing,
 * when the command has ended but left programs running: these would be killed
 * by writing to a pipe that nobody reads.
 */
struct th_tool_drain {
	struct th_tool_drain *next;
	struct th_tool_env *env;
	struct shell *shell; /* NULL: it has ended */
	struct th_poll *poll;
	int fd;
};

struct shell {
	struct th_tool_job *job;
	struct th_child *child;
	struct th_tool_drain *drain; /* NULL: io/child.c reads the output */
	int said_fd;                 /* what the stand-in says; -1: there is none */
	char marker[sizeof("THOLE_EFFECT=") + TH_EFFECT_ID_MAX]; /* in the command's environment */
	struct th_timer timer;
	struct th_clip clip;
	enum ending ending;
	int64_t timeout_ms;
};

static void shell_free(struct shell *s)
{
	th_timer_stop(&s->timer);
	th_child_free(s->child);
	if (s->drain)
		s->drain->shell = NULL;
	th_fd_close(&s->said_fd);
	th_clip_deinit(&s->clip);
	free(s);
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct shell *s = (struct shell *)ctx;
	(void)stream;
	th_clip_add(&s->clip, bytes);
	s->job->output(s->job, bytes);
}

/* ---- output on a desktop ---- */

#define DRAINS_MAX 64

static void drain_free(struct th_tool_drain *d)
{
	for (struct th_tool_drain **at = &d->env->drains; *at; at = &(*at)->next)
		if (*at == d) {
			*at = d->next;
			break;
		}
	if (d->shell)
		d->shell->drain = NULL;
	th_poll_free(d->poll);
	th_fd_close(&d->fd);
	free(d);
}

/* False: there is nothing more now, or never again. */
static bool drain_read(struct th_tool_drain *d)
{
	char chunk[32 * TH_KIB];
	ssize_t got = read(d->fd, chunk, sizeof(chunk));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (got <= 0) {
		drain_free(d);
		return false;
	}
	if (d->shell)
		on_output(d->shell, TH_CHILD_OUT, th_str_n(chunk, (size_t)got));
	return true;
}

static void on_drain(void *ctx, unsigned events)
{
	struct th_tool_drain *d = (struct th_tool_drain *)ctx;
	(void)events;
	for (int i = 0; i < 8 && drain_read(d); i++)
		;
}

static enum th_code drain_new(struct shell *s, int *ret_write_fd, struct th_err *err)
{
	struct th_tool_env *env = s->job->env;
	struct th_tool_drain *d, *oldest = NULL;
	size_t count = 0;
	int fds[2];

	for (d = env->drains; d; d = d->next) {
		count++;
		oldest = d->shell ? oldest : d;
	}
	if (count >= DRAINS_MAX && oldest)
		drain_free(oldest);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	d = (struct th_tool_drain *)th_alloc(sizeof(*d));
	*d = (struct th_tool_drain){ env->drains, env, s, NULL, fds[0] };
	env->drains = s->drain = d;
	enum th_code code = th_fd_nonblock(d->fd, err);
	if (code == TH_OK)
		code = th_poll_new(env->loop, d->fd, on_drain, d, &d->poll, err);
	if (code) {
		th_fd_close(&fds[1]);
		drain_free(d);
		return code;
	}
	th_poll_set(d->poll, TH_POLL_READ);
	*ret_write_fd = fds[1];
	return TH_OK;
}

/* What the command has written until its end; the rest is not its own. */
static void drain_leave(struct shell *s)
{
	for (int i = 0; i < 64 && s->drain && drain_read(s->drain); i++)
		;
	if (s->drain)
		s->drain->shell = NULL;
	s->drain = NULL;
}

void th_tool_env_deinit(struct th_tool_env *env)
{
	while (env->drains)
		drain_free(env->drains);
}

/* ---- the end ---- */

static void kill_all(struct shell *s)
{
	/* On a desktop the child only stands for the command, and its group dies with it; what has
	 * left the group is found by its environment. */
	bool desktop = s->marker[0] != '\0';
	th_child_kill(s->child);
	if (desktop)
		th_child_kill_marked(s->marker);
}

static void on_timeout(void *ctx)
{
	struct shell *s = (struct shell *)ctx;
	if (s->ending == ENDING_ITSELF)
		s->ending = ENDING_TIMEOUT;
	kill_all(s);
}

/* On a desktop the child only stands for the command: what became of that? */
static enum th_outcome_status stand_in_status(const struct shell *s)
{
	char said[4];
	ssize_t got = s->said_fd >= 0 ? read(s->said_fd, said, sizeof(said)) : 0;

	if (got <= 0)
		return TH_OUTCOME_DONE;
	if (memchr(said, TH_STANDIN_NOT_STARTED, (size_t)got))
		return TH_OUTCOME_NOT_STARTED;
	if (!memchr(said, TH_STANDIN_LOST, (size_t)got))
		return TH_OUTCOME_DONE;
	return memchr(said, TH_STANDIN_STARTED, (size_t)got) ? TH_OUTCOME_FAILED
							     : TH_OUTCOME_UNKNOWN;
}

/* The last line of what the model is told. */
static void add_ending(struct th_buf *out, const struct shell *s, const struct th_child_exit *e,
		       enum th_outcome_status status)
{
	if (out->len > 0 && out->ptr[out->len - 1] != '\n')
		th_buf_add_char(out, '\n');
	if (s->ending == ENDING_TIMEOUT)
		th_buf_printf(
		    out, "[ended after %lld s, its time limit, with everything it had started]",
		    (long long)(s->timeout_ms / 1000));
	else if (s->ending == ENDING_CANCEL)
		th_buf_add(out, TH_STR("[cancelled, and ended with everything it had started]"));
	else if (e->not_started)
		th_buf_add(out, TH_STR("[not started: the sandbox could not be set up]"));
	else if (status == TH_OUTCOME_NOT_STARTED)
		th_buf_add(out, TH_STR("[not started]"));
	else if (status == TH_OUTCOME_UNKNOWN)
		th_buf_add(out, TH_STR("[it may or may not have happened; it was not repeated]"));
	else if (status == TH_OUTCOME_FAILED)
		th_buf_add(out, TH_STR("[it had begun, and was cut off]"));
	else if (e->signalled)
		th_buf_printf(out, "[ended by signal %d, %s]", e->code, strsignal(e->code));
	else
		th_buf_printf(out, "[exit code %d]", e->code);
}

static void add_evidence(struct th_buf *out, const struct shell *s, const struct th_child_exit *e,
			 uint64_t left_out)
{
	struct th_jw w = th_jw(out);
	th_jw_object(&w);
	if (e->signalled)
		th_jw_kint(&w, "signal", e->code);
	else
		th_jw_kint(&w, "exit_code", e->code);
	if (s->ending == ENDING_TIMEOUT)
		th_jw_kbool(&w, "timed_out", true);
	if (s->ending == ENDING_CANCEL)
		th_jw_kbool(&w, "cancelled", true);
	th_jw_kuint(&w, "output_size", s->clip.size);
	if (left_out > 0)
		th_jw_kuint(&w, "left_out", left_out);
	th_jw_object_end(&w);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct shell *s = (struct shell *)ctx;
	struct th_tool_job *job = s->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_buf evidence = TH_BUF_INIT(1024);
	enum th_outcome_status status = stand_in_status(s);

	drain_leave(s);
	if (s->ending != ENDING_ITSELF && s->marker[0])
		th_child_kill_marked(s->marker); /* what it forked while it was being killed */
	uint64_t left_out = th_clip_text(&s->clip, &text);
	add_ending(&text, s, e, status);
	add_evidence(&evidence, s, e, left_out);
	if (e->not_started)
		status = TH_OUTCOME_NOT_STARTED;
	else if (s->ending != ENDING_ITSELF)
		status = TH_OUTCOME_FAILED;
	shell_free(s);
	th_tool_text(job, status, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;
	while (list && list[n])
		n++;
	return n;
}

/* Among the desktop's programs: the child is only the command's stand-in. */
static enum th_code start_on_desktop(struct shell *s, struct th_child_spec *spec, size_t env_count,
				     struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int write_fd = -1;
	const char **env =
	    (const char **)th_arena_array(s->job->arena, env_count + 2, sizeof(*env));

	if (!env)
		return th_fail(err, TH_ELIMIT, "the environment is too long");
	snprintf(s->marker, sizeof(s->marker), "THOLE_EFFECT=%.*s", TH_FMT(s->job->effect_id));
	for (size_t i = 0; i < env_count; i++)
		env[i] = spec->env[i];
	env[env_count] = s->marker;
	TH_CLEANUP(th_fd_close) int say_fd = -1;
	int said[2];
	enum th_code code = drain_new(s, &write_fd, err);
	if (code)
		return code;
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	s->said_fd = said[0];
	say_fd = said[1];
	const struct th_child_fd fds[] = { { write_fd, 1 },
					   { write_fd, 2 },
					   { say_fd, TH_STANDIN_FD } };
	spec->env = env;
	spec->fds = fds;
	spec->fd_count = TH_COUNT(fds);
	spec->on_output = NULL;
	spec->sandbox = NULL;
	spec->tree = false;
	return th_child_start(s->job->env->loop, spec, &s->child, err);
}

static enum th_code start_child(struct shell *s, const char *command, struct th_err *err)
{
	const struct th_tool_env *env = s->job->env;
	const char *const *prefix =
	    env->desktop_prefix ? env->desktop_prefix(env->desktop_ctx) : NULL;
	const char *cwd = th_arena_cstr(s->job->arena, env->workspace);
	size_t n = count_of(prefix);
	const char **argv = (const char **)th_arena_array(s->job->arena, n + 4, sizeof(*argv));

	if (!argv || !cwd)
		return th_fail(err, TH_ELIMIT, "the command is too long");
	for (size_t i = 0; i < n; i++)
		argv[i] = prefix[i];
	argv[n] = "/bin/sh";
	argv[n + 1] = "-c";
	argv[n + 2] = command;
	struct th_child_spec spec = {
		.argv = argv,
		.env = env->environment,
		.cwd = cwd,
		.merge_err = true,
		.sandbox = env->sandbox,
		.tree = true,
		.limits = { .processes = TH_COMMAND_PROCESSES_MAX },
		.on_output = on_output,
		.on_exit = on_exit_,
		.ctx = s,
	};
	if (n > 0)
		return start_on_desktop(s, &spec, count_of(env->environment), err);
	return th_child_start(env->loop, &spec, &s->child, err);
}

static void start(struct th_tool_job *job)
{
	const struct th_shell *args = (const struct th_shell *)job->args;
	struct th_err err = {};
	const char *command = NULL;

	if (job->env->workspace_fd < 0)
		th_fail(&err, TH_EUNSUPPORTED,
			"this session has no workspace, so there are no commands");
	else if (args->command.len > TH_COMMAND_SIZE_MAX)
		th_fail(
		    &err, TH_ELIMIT,
		    "a command of %zu bytes is longer than %zu: write it to a file and run that",
		    args->command.len, TH_COMMAND_SIZE_MAX);
	else if (!(command = th_arena_cstr(job->arena, args->command)))
		th_fail(&err, TH_EUSAGE, "the command holds a NUL byte");
	if (err.code) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	struct shell *s = (struct shell *)th_alloc(sizeof(*s));
	s->job = job;
	s->said_fd = -1;
	s->timeout_ms = th_tool_timeout_ms(job, args->timeout_s);
	th_clip_init(&s->clip, TH_TOOL_OUTPUT_MODEL_MAX);
	th_timer_init(&s->timer, job->env->loop, on_timeout, s);
	if (start_child(s, command, &err)) {
		shell_free(s);
		th_tool_fail(job, TH_OUTCOME_NOT_STARTED, &err);
		return;
	}
	job->state = s;
	th_timer_start(&s->timer, (uint64_t)s->timeout_ms, 0);
}

static void cancel(struct th_tool_job *job)
{
	struct shell *s = (struct shell *)job->state;
	if (s->ending == ENDING_ITSELF)
		s->ending = ENDING_CANCEL;
	kill_all(s);
}

const struct th_tool th_tool_shell = {
	.name = "shell",
	.description =
	    "Run a command with /bin/sh in the workspace and see what it prints (standard output "
	    "and "
	    "errors together) and its exit code. Everything it starts ends with it. Long output is "
	    "shown with its middle left out.",
	.class = TH_CLASS_W,
	.arguments = &th_shell_table,
	.start = start,
	.cancel = cancel,
};
