/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/sh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/child.h"
#include "io/files.h"
#include "tools/edit_history.h"

/* $1: the folder; the rest: the program with its arguments. */
#define IN_FOLDER "cd -- \"$1\" && shift && exec \"$@\""

/*
 * The output of a command on a desktop.  It goes on being read, into nothing,
 * when the command has ended but left programs running: these would be killed
 * by writing to a pipe that nobody reads.
 */
struct th_tool_drain {
	struct th_tool_drain *next;
	struct th_tool_env *env;
	struct th_sh *sh; /* NULL: it has ended */
	struct th_poll *poll;
	int fd;
};

struct th_sh {
	struct th_tool_job *job;
	struct th_child *child;
	struct th_tool_drain *drain; /* NULL: io/child.c reads the output */
	int said_fd;                 /* what the stand-in says; -1: there is none */
	char marker[sizeof("THOLE_EFFECT=") + TH_EFFECT_ID_MAX]; /* in the command's environment */
	struct th_timer timer;
	enum th_sh_ending ending;
	struct th_sh_spec spec;
	struct th_mask_stream out, err; /* of what it writes */
};

static void sh_free(struct th_sh *s)
{
	th_timer_stop(&s->timer);
	th_child_free(s->child);
	if (s->drain)
		s->drain->sh = NULL;
	th_fd_close(&s->said_fd);
	th_mask_stream_deinit(&s->out);
	th_mask_stream_deinit(&s->err);
	free(s);
}

static void put(struct th_sh *s, enum th_child_stream stream, struct th_str bytes)
{
	struct th_clip *to = stream == TH_CHILD_ERR && s->spec.err ? s->spec.err : s->spec.out;

	if (bytes.len == 0)
		return;
	th_clip_add(to, bytes);
	s->job->output(s->job, bytes);
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct th_sh *s = (struct th_sh *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf masked = TH_BUF_INIT(TH_MIB);

	if (th_mask_empty(s->job->env->mask)) {
		put(s, stream, bytes);
		return;
	}
	th_mask_stream_feed(stream == TH_CHILD_ERR ? &s->err : &s->out, bytes, &masked);
	put(s, stream, th_buf_str(&masked));
}

/* What was held back, once nothing more comes. */
static void put_rest(struct th_sh *s)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf rest = TH_BUF_INIT(TH_MIB);

	th_mask_stream_end(&s->out, &rest);
	put(s, TH_CHILD_OUT, th_buf_str(&rest));
	th_buf_clear(&rest);
	th_mask_stream_end(&s->err, &rest);
	put(s, TH_CHILD_ERR, th_buf_str(&rest));
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
	if (d->sh)
		d->sh->drain = NULL;
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
	if (d->sh)
		on_output(d->sh, TH_CHILD_OUT, th_str_n(chunk, (size_t)got));
	return true;
}

static void on_drain(void *ctx, unsigned events)
{
	struct th_tool_drain *d = (struct th_tool_drain *)ctx;
	(void)events;
	for (int i = 0; i < 8 && drain_read(d); i++)
		;
}

static enum th_code drain_new(struct th_sh *s, int *ret_write_fd, struct th_err *err)
{
	struct th_tool_env *env = s->job->env;
	struct th_tool_drain *d, *oldest = NULL;
	size_t count = 0;
	int fds[2];

	for (d = env->drains; d; d = d->next) {
		count++;
		oldest = d->sh ? oldest : d;
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
static void drain_leave(struct th_sh *s)
{
	for (int i = 0; i < 64 && s->drain && drain_read(s->drain); i++)
		;
	if (s->drain)
		s->drain->sh = NULL;
	s->drain = NULL;
}

void th_tool_env_deinit(struct th_tool_env *env)
{
	while (env->drains)
		drain_free(env->drains);
	th_bash_free(env);
	th_python_free(env);
	th_memory_free(env);
	th_editor_state_free(env->edit);
	env->edit = NULL;
}

/* ---- the end ---- */

static void kill_all(struct th_sh *s)
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
	struct th_sh *s = (struct th_sh *)ctx;
	if (s->ending == TH_SH_ITSELF)
		s->ending = TH_SH_TIMEOUT;
	kill_all(s);
}

/* On a desktop the child only stands for the command: what became of that? */
static enum th_outcome_status stand_in_status(const struct th_sh *s)
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

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct th_sh *s = (struct th_sh *)ctx;
	struct th_sh_spec spec = s->spec;
	struct th_sh_end end = { .status = stand_in_status(s), .ending = s->ending, .exit = *e };

	drain_leave(s);
	put_rest(s);
	if (s->ending != TH_SH_ITSELF && s->marker[0])
		th_child_kill_marked(s->marker); /* what it forked while it was being killed */
	if (e->not_started)
		end.status = TH_OUTCOME_NOT_STARTED;
	else if (s->ending != TH_SH_ITSELF)
		end.status = TH_OUTCOME_FAILED;
	sh_free(s);
	spec.ended(spec.ctx, &end);
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;
	while (list && list[n])
		n++;
	return n;
}

/* Among the desktop's programs: the child is only the command's stand-in. */
static enum th_code start_on_desktop(struct th_sh *s, struct th_child_spec *spec, size_t env_count,
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

static enum th_code start_child(struct th_sh *s, struct th_err *err)
{
	const struct th_tool_env *env = s->job->env;
	const char *const *prefix =
	    env->desktop_prefix ? env->desktop_prefix(env->desktop_ctx) : NULL;
	const char *cwd = th_arena_cstr(s->job->arena, env->workspace);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_COMMAND_SIZE_MAX);
	size_t n = count_of(prefix), words = count_of(s->spec.argv);
	const char **argv =
	    (const char **)th_arena_array(s->job->arena, n + words + 6, sizeof(*argv));

	if (!argv || !cwd)
		return th_fail(err, TH_ELIMIT, "the command is too long");
	for (size_t i = 0; i < words; i++)
		th_buf_printf(&text, "%s\n", s->spec.argv[i]);
	if (!words)
		th_buf_add_cstr(&text, s->spec.command);
	for (size_t i = 0; i < n; i++)
		argv[i] = prefix[i];
	argv[n] = "/bin/sh";
	argv[n + 1] = "-c";
	argv[n + 2] = words > 0 ? IN_FOLDER : s->spec.command;
	if (words > 0) {
		argv[n + 3] = "sh";
		argv[n + 4] = s->spec.folder ?: ".";
		memcpy(argv + n + 5, s->spec.argv, words * sizeof(*argv));
	}
	struct th_child_spec spec = {
		.argv = argv,
		.env = th_given_environment(&env->given, th_buf_str(&text), env->environment,
					    s->job->arena),
		.cwd = cwd,
		.merge_err = !s->spec.err,
		.sandbox = env->sandbox,
		.tree = true,
		.limits = { .processes = TH_COMMAND_PROCESSES_MAX },
		.on_output = on_output,
		.on_exit = on_exit_,
		.ctx = s,
	};
	if (!spec.env && env->environment)
		return th_fail(err, TH_ELIMIT, "the environment is too long");
	if (n > 0)
		return start_on_desktop(s, &spec, count_of(spec.env), err);
	return th_child_start(env->loop, &spec, &s->child, err);
}

enum th_code th_sh_check(struct th_tool_job *job, struct th_str command, const char **ret,
			 struct th_err *err)
{
	if (job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there are no commands");
	if (command.len > TH_COMMAND_SIZE_MAX)
		return th_fail(
		    err, TH_ELIMIT,
		    "a command of %zu bytes is longer than %zu: write it to a file and run that",
		    command.len, TH_COMMAND_SIZE_MAX);
	*ret = th_arena_cstr(job->arena, command);
	return *ret ? TH_OK : th_fail(err, TH_EUSAGE, "the command holds a NUL byte");
}

enum th_code th_sh_start(struct th_tool_job *job, const struct th_sh_spec *spec, struct th_sh **ret,
			 struct th_err *err)
{
	struct th_sh *s = (struct th_sh *)th_alloc(sizeof(*s));
	enum th_code code;

	s->job = job;
	s->said_fd = -1;
	s->spec = *spec;
	th_mask_stream_init(&s->out, job->env->mask);
	th_mask_stream_init(&s->err, job->env->mask);
	th_timer_init(&s->timer, job->env->loop, on_timeout, s);
	code = start_child(s, err);
	if (code) {
		sh_free(s);
		return code;
	}
	*ret = s;
	job->clocks[0] = &s->timer;
	th_timer_start(&s->timer, (uint64_t)spec->timeout_ms, 0);
	return TH_OK;
}

void th_sh_cancel(struct th_sh *s)
{
	if (s->ending == TH_SH_ITSELF)
		s->ending = TH_SH_CANCEL;
	kill_all(s);
}
