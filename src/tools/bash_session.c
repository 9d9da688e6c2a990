/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bash_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/pty.h"

#define WORD_LEN 32
#define MARK_BEFORE "\x1b]7770;" /* an escape sequence that terminals pass over */
#define MARK_AFTER "\a"

/*
 * Typed once, as one line.  50: the terminal, 51: commands come, 52: ends are
 * said.  __thole_s is the status of the last command, which $? is again when the
 * next one begins.  Lines that a command did not read are read away at its end: an
 * answer to a program is never a command.  Where it left a terminal without lines, a
 * key is waited for no longer than a second.  __thole_x: the last command had set -x,
 * which is off between commands, so that only these are traced.  A command that lets its shell open
 * fewer files (ulimit -n) than these numbers cuts us off from it: they are low, but none that
 * people use.
 */
#define SET_UP                                                                                \
	"__thole_s=0 __thole_n= __thole_x=; __thole_q() { return \"$1\"; }; "                 \
	"__thole_p() { local s=$? l; [[ $- != *x* ]] || { set +x; __thole_x=x; }; "           \
	"if [[ -n $__thole_n ]]; then __thole_s=$s; "                                         \
	"while builtin read -t 0 -u 50; do builtin read -r -t 1 -u 50 l || break; done; "     \
	"builtin printf '\\e]7770;%s\\a' \"$__thole_n\" >&50; "                               \
	"builtin printf '%s %d %s\\0' \"$__thole_n\" \"$s\" \"$PWD\" >&52; __thole_n=; PS1= " \
	"PS2=; fi; }; __thole_w() { __thole_p 2>/dev/null; }; "                               \
	"exec 50>&2 51<&3 3<&- 52>&4 4>&-; export -n PS1 PS2; PS1= PS2=; "                    \
	"unset HISTFILE; set +o history\n"

/*
 * Typed for each command.  The command is no part of the line, so it may be long and
 * have any lines; it runs at the top level, so what it declares stays.  The end is said behind it,
 * or by the prompt when a signal broke the line off.  The control character in front clears what
 * is in the terminal's line, such as an answer to a program that has ended.
 */
#define RESTORE "[[ $- == *e* ]] || __thole_q \"$__thole_s\"; "
#define TRACED "'{ set -x; __thole_x=; " RESTORE "} 2>/dev/null; '"
#define TRIGGER                                                                      \
	"\x15PROMPT_COMMAND=__thole_w; IFS= builtin read -r -d '' -u 51 __thole_n; " \
	"IFS= builtin read -r -d '' -u 51 __thole_t; "                               \
	"[[ -z $__thole_x ]] || __thole_t=" TRACED "$__thole_t; " RESTORE            \
	"builtin eval \"$__thole_t\" 50>&- 51<&- 52>&-; { __thole_p; } 2>/dev/null\n"

const struct th_shell_kind th_shell_bash = {
	.argv = (const char *const[]){ "bash", "--noprofile", "--norc", "--noediting", "-i", NULL },
	.environment = (const char *const[]){ "PS1=", "PS2=", NULL },
	.exports = true,
	.set_up = SET_UP,
	.trigger = TRIGGER,
	.report_max = TH_PATH_LEN_MAX,
};

/* On a desktop only the first three descriptors reach the program. */
#define ON_DESKTOP "exec 3<&0 4>&1 0<&2 1>&2; exec setsid -c -w \"$@\""

struct th_shell_session {
	struct th_tool_env *env;
	const struct th_shell_kind *kind;
	struct th_shell_events events;
	struct th_arena arena;
	struct th_pty *pty;
	struct th_terminal *terminal;
	struct th_mask_stream mask; /* over what comes from it */
	int command_fd, report_fd;
	struct th_poll *command_poll, *report_poll;
	struct th_buf queue, report; /* of a command; of a report */
	char word[WORD_LEN + 1];
	char mark[sizeof(MARK_BEFORE) + WORD_LEN + sizeof(MARK_AFTER)];
	size_t mark_at;                                 /* of the mark, how much was just seen */
	char marker[sizeof("THOLE_SHELL=") + WORD_LEN]; /* on a desktop, in the environment */
	bool desktop, busy, marked, reported, inside, freed;
	int status;
	struct th_buf said; /* behind the status */
};

static void random_word(char ret[static WORD_LEN + 1])
{
	uint8_t bytes[WORD_LEN / 2];

	th_random(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static void destroy(struct th_shell_session *s)
{
	th_poll_free(s->command_poll);
	th_poll_free(s->report_poll);
	th_fd_close(&s->command_fd);
	th_fd_close(&s->report_fd);
	if (s->pty)
		th_pty_close(s->pty);
	if (s->desktop && s->marker[0])
		th_child_kill_marked(s->marker);
	th_terminal_free(s->terminal);
	th_buf_deinit(&s->queue);
	th_buf_deinit(&s->report);
	th_buf_deinit(&s->said);
	th_mask_stream_deinit(&s->mask);
	th_arena_deinit(&s->arena);
	free(s);
}

/* An event may free us: then it is done when the event's handler has returned. */
static void leave(struct th_shell_session *s)
{
	s->inside = false;
	if (s->freed)
		destroy(s);
}

/* ---- the end of a command ---- */

static void check_end(struct th_shell_session *s)
{
	if (!s->busy || !s->marked || !s->reported)
		return;
	s->busy = false;
	s->word[0] = '\0';
	s->events.ended(s->events.ctx, s->status, th_buf_str(&s->said));
}

/* "WORD STATUS REST" */
static void take_report(struct th_shell_session *s, struct th_str text)
{
	struct th_str word = th_str_split(&text, ' '), status = th_str_split(&text, ' ');
	int64_t number;

	if (!s->busy || s->reported || !th_str_is(word, s->word) || !th_str_i64(status, &number))
		return; /* not of this command */
	s->status = (int)number;
	s->reported = true;
	th_buf_clear(&s->said);
	th_buf_add(&s->said, text);
	check_end(s);
}

static void add_to_report(struct th_shell_session *s, struct th_str bytes)
{
	while (bytes.len > 0) {
		const char *end = (const char *)memchr(bytes.ptr, '\0', bytes.len);

		size_t len = end ? (size_t)(end - bytes.ptr) : bytes.len;

		/* Of a longer one the start: the command has ended all the same. */
		th_buf_add_mem(&s->report, bytes.ptr, TH_MIN(len, s->report.max - s->report.len));
		if (!end)
			return;
		bytes = th_str_sub(bytes, len + 1, bytes.len);
		struct th_buf whole = s->report;
		th_buf_init(&s->report, whole.max);
		if (!whole.failed)
			take_report(s, th_buf_str(&whole));
		th_buf_deinit(&whole);
	}
}

static void on_report(void *ctx, unsigned events)
{
	struct th_shell_session *s = (struct th_shell_session *)ctx;
	char chunk[16 * TH_KIB];
	ssize_t got;

	(void)events;
	s->inside = true;
	while ((got = read(s->report_fd, chunk, sizeof(chunk))) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			add_to_report(s, th_str_n(chunk, (size_t)got));
	if (got == 0)
		s->report_poll = th_poll_free(s->report_poll); /* the shell has ended */
	leave(s);
}

static void look_for_mark(struct th_shell_session *s, struct th_str bytes)
{
	size_t len = strlen(s->mark);

	for (size_t i = 0; i < bytes.len && s->busy && !s->marked; i++) {
		/* The mark has one ESC, its first byte: no other start can lie inside it. */
		if (bytes.ptr[i] != s->mark[s->mark_at])
			s->mark_at = 0;
		if (bytes.ptr[i] == s->mark[s->mark_at])
			s->mark_at++;
		s->marked = s->mark_at == len;
	}
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct th_shell_session *s = (struct th_shell_session *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf masked = TH_BUF_INIT(TH_MIB);

	(void)stream;
	s->inside = true;
	look_for_mark(s, bytes);
	if (!th_mask_empty(s->env->mask)) {
		th_mask_stream_feed(&s->mask, bytes, &masked);
		bytes = th_buf_str(&masked);
	}
	th_terminal_feed(s->terminal, bytes);
	s->events.output(s->events.ctx, bytes);
	if (!s->freed)
		check_end(s);
	leave(s);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct th_shell_session *s = (struct th_shell_session *)ctx;

	s->inside = true;
	s->busy = false;
	s->events.died(s->events.ctx, e);
	leave(s);
}

static void on_reply(void *ctx, struct th_str bytes)
{
	struct th_shell_session *s = (struct th_shell_session *)ctx;

	/* A file that is printed may hold a question too, and its answer would be typed to the
	 * shell: only who reads byte by byte has asked. */
	if (s->pty && !s->freed && !th_pty_reads_lines(s->pty))
		(void)!th_pty_write(s->pty, bytes, NULL);
}

/* ---- the start ---- */

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static const char *const *environment(struct th_shell_session *s)
{
	static const char *const own[] = { "TERM=xterm-256color", "PAGER=cat", "GIT_PAGER=cat" };
	size_t n = count_of(s->env->environment), more = count_of(s->kind->environment);
	const char **ret =
	    (const char **)th_arena_array(&s->arena, n + more + TH_COUNT(own) + 2, sizeof(*ret));

	for (size_t i = 0; ret && i < n; i++)
		ret[i] = s->env->environment[i];
	for (size_t i = 0; ret && i < TH_COUNT(own); i++)
		ret[n++] = own[i];
	for (size_t i = 0; ret && i < more; i++)
		ret[n++] = s->kind->environment[i];
	if (ret && s->desktop)
		ret[n] = s->marker;
	return ret;
}

/* Two pipes: `fds` are the shell's ends. */
static enum th_code make_pipes(struct th_shell_session *s, int fds[static 2], struct th_err *err)
{
	int command[2], report[2];

	if (pipe2(command, O_CLOEXEC) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	fds[0] = command[0];
	s->command_fd = command[1];
	if (pipe2(report, O_CLOEXEC) < 0)
		return th_fail_errno(err, errno, "make a pipe");
	s->report_fd = report[0];
	fds[1] = report[1];
	enum th_code code = th_fd_nonblock(s->command_fd, err);
	return code ? code : th_fd_nonblock(s->report_fd, err);
}

static const char *const *command_line(struct th_shell_session *s)
{
	const char *const *prefix =
	    s->env->desktop_prefix ? s->env->desktop_prefix(s->env->desktop_ctx) : NULL;
	size_t n = count_of(prefix), words = count_of(s->kind->argv);
	const char **ret;

	if (n == 0)
		return s->kind->argv;
	s->desktop = true;
	ret = (const char **)th_arena_array(&s->arena, n + words + 5, sizeof(*ret));
	if (!ret)
		return NULL;
	memcpy(ret, prefix, n * sizeof(*ret));
	ret[n] = "/bin/sh";
	ret[n + 1] = "-c";
	ret[n + 2] = ON_DESKTOP;
	ret[n + 3] = "sh";
	memcpy(ret + n + 4, s->kind->argv, words * sizeof(*ret));
	return ret;
}

static void on_command_room(void *ctx, unsigned events);

static enum th_code start(struct th_shell_session *s, const int fds[static 2], struct th_err *err)
{
	char word[WORD_LEN + 1];
	const char *const *argv = command_line(s);
	const struct th_child_fd plain[] = { { fds[0], 3 }, { fds[1], 4 } },
				 desktop[] = { { fds[0], 0 }, { fds[1], 1 } };
	enum th_code code;

	random_word(word);
	snprintf(s->marker, sizeof(s->marker), "THOLE_SHELL=%s", word);
	struct th_pty_spec spec = {
		.child = { .argv = argv,
			   .env = environment(s),
			   .cwd = th_arena_cstr(&s->arena, s->env->workspace),
			   .sandbox = s->desktop ? NULL : s->env->sandbox,
			   .tree = !s->desktop,
			   .limits = { .processes = TH_COMMAND_PROCESSES_MAX },
			   .on_output = on_output,
			   .on_exit = on_exit_,
			   .ctx = s },
		.rows = TH_TERMINAL_ROWS,
		.columns = TH_TERMINAL_COLUMNS,
		.more = s->desktop ? desktop : plain,
		.more_count = 2,
		.error_only = s->desktop,
		.no_echo = true,
	};
	if (!argv || !spec.child.env || !spec.child.cwd)
		return th_fail(err, TH_ELIMIT, "the environment is too long");
	code = th_pty_open(s->env->loop, &spec, &s->pty, err);
	if (!code)
		code = th_poll_new(s->env->loop, s->report_fd, on_report, s, &s->report_poll, err);
	if (!code)
		code = th_poll_new(s->env->loop, s->command_fd, on_command_room, s,
				   &s->command_poll, err);
	if (code)
		return code;
	th_poll_set(s->report_poll, TH_POLL_READ);
	th_poll_set(s->command_poll, 0);
	return s->kind->set_up ? th_pty_write(s->pty, th_str_of(s->kind->set_up), err) : TH_OK;
}

enum th_code th_shell_session_new(struct th_tool_env *env, const struct th_shell_kind *kind,
				  const struct th_shell_events *events,
				  struct th_shell_session **ret, struct th_err *err)
{
	struct th_shell_session *s = (struct th_shell_session *)th_alloc(sizeof(*s));
	int fds[2] = { -1, -1 };
	enum th_code code;

	s->env = env;
	s->kind = kind;
	s->events = *events;
	s->command_fd = s->report_fd = -1;
	th_mask_stream_init(&s->mask, env->mask);
	th_arena_init(&s->arena, TH_MIB);
	th_buf_init(&s->queue,
		    TH_COMMAND_SIZE_MAX + WORD_LEN + 96 +
			TH_SECRETS_MAX * (4 * TH_MASK_LEN_MAX + TH_SECRET_NAME_MAX + 16));
	th_buf_init(&s->report, WORD_LEN + 16 + kind->report_max);
	th_buf_init(&s->said, WORD_LEN + 16 + kind->report_max);
	s->terminal = th_terminal_new(on_reply, s);
	code = make_pipes(s, fds, err);
	if (!code)
		code = start(s, fds, err);
	th_fd_close(&fds[0]);
	th_fd_close(&fds[1]);
	if (code) {
		destroy(s);
		return code;
	}
	*ret = s;
	return TH_OK;
}

struct th_shell_session *th_shell_session_free(struct th_shell_session *s)
{
	if (!s)
		return NULL;
	s->freed = true;
	s->busy = false;
	if (!s->inside)
		destroy(s);
	return NULL;
}

/* ---- what it is told ---- */

static void write_queue(struct th_shell_session *s)
{
	while (s->queue.len > 0) {
		ssize_t put = write(s->command_fd, s->queue.ptr, s->queue.len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0 && errno != EAGAIN)
			th_buf_clear(&s->queue); /* it has ended, which is heard otherwise */
		if (put < 0)
			break;
		th_buf_drop(&s->queue, (size_t)put);
	}
	th_poll_set(s->command_poll, s->queue.len ? TH_POLL_WRITE : 0);
}

static void on_command_room(void *ctx, unsigned events)
{
	(void)events;
	write_queue((struct th_shell_session *)ctx);
}

/* They leave no trace (set -x), since how a shell quotes a value no mask knows. */
static void add_exports(struct th_shell_session *s, struct th_str command)
{
	size_t before = s->queue.len, empty;

	th_buf_add_cstr(&s->queue, "{ ");
	empty = s->queue.len;
	th_given_export(&s->env->given, command, &s->queue);
	if (s->queue.len == empty)
		th_buf_truncate(&s->queue, before);
	else
		th_buf_add_cstr(&s->queue, RESTORE "} 2>/dev/null\n");
}

enum th_code th_shell_session_run(struct th_shell_session *s, struct th_str command,
				  struct th_err *err)
{
	enum th_code code;

	assert(!s->busy && command.len <= TH_COMMAND_SIZE_MAX);
	th_pty_calm(s->pty);
	th_terminal_calm(s->terminal);
	code = s->kind->trigger ? th_pty_write(s->pty, th_str_of(s->kind->trigger), err) : TH_OK;
	if (code)
		return code;
	random_word(s->word);
	snprintf(s->mark, sizeof(s->mark), MARK_BEFORE "%s" MARK_AFTER, s->word);
	s->mark_at = 0;
	s->marked = s->reported = false;
	s->busy = true;
	th_buf_add_mem(&s->queue, s->word, WORD_LEN + 1);
	if (s->kind->exports)
		add_exports(s, command);
	th_buf_add(&s->queue, command);
	th_buf_add_char(&s->queue, '\0');
	write_queue(s);
	return TH_OK;
}

bool th_shell_session_busy(const struct th_shell_session *s)
{
	return s->busy;
}

enum th_code th_shell_session_type(struct th_shell_session *s, struct th_str bytes,
				   struct th_err *err)
{
	return th_pty_write(s->pty, bytes, err);
}

bool th_shell_session_signal(struct th_shell_session *s, int signum)
{
	return th_pty_signal(s->pty, signum);
}

void th_shell_session_pause(struct th_shell_session *s, bool paused)
{
	th_pty_pause(s->pty, paused);
}

struct th_terminal *th_shell_session_terminal(struct th_shell_session *s)
{
	return s->terminal;
}
