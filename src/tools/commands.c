/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.c - runs several commands, one after the other, or one program with
 * its arguments (tools/sh.h), and tells what each wrote to its two streams.
 *
 * No model can ask for this tool: it is what the tool "shell" does for models
 * that call it by the Responses API's own items (events/native.h).  The whole
 * call is one effect: it is in the journal as accepted before the first command
 * begins, and finished when the last has ended.
 */
#include <stdlib.h>

#include "agents/agent.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/clock.h"
#include "tools/sh.h"

#define COMMAND_SHOWN_MAX 200 /* bytes of a command before its output */

#define TH_FIELDS_commands(F)                                                             \
	F(commands, strs, commands, "commands", 0,                                        \
	  "Command lines for /bin/sh, run in the workspace one after the other; or")      \
	F(commands, strs, argv, "argv", TH_NONEMPTY, "a program and its arguments,")      \
	F(commands, str, folder, "folder", 0, "and the folder that it is run in.")        \
	F(commands, int, timeout_ms, "timeout_ms", TH_NONEG,                              \
	  "Milliseconds after which they are ended with everything they started; 0: the " \
	  "longest there is.")                                                            \
	F(commands, int, max_output_length, "max_output_length", TH_NONEG,                \
	  "Characters of their output that are shown.")

TH_STRUCT(commands)
extern const struct th_table th_commands_table;
TH_TABLE(commands, "arguments of commands", false)

struct commands {
	struct th_tool_job *job;
	struct th_sh *sh;
	struct th_clip out, err;
	size_t at, clip_size;
	uint64_t until_ms;
	enum th_outcome_status status; /* of all so far */
	bool over, cancelled;          /* no further one is begun */
	bool late;                     /* because the time is over */
	struct th_buf text, evidence;
	struct th_jw w;
};

static const struct th_commands *args_of(const struct commands *c)
{
	return (const struct th_commands *)c->job->args;
}

/* How many there are, a program with its arguments being one. */
static size_t count_of(const struct th_commands *args)
{
	return args->argv.count ? 1 : args->commands.count;
}

/* How the command is shown to people. */
static void add_command(const struct commands *c, struct th_buf *out)
{
	const struct th_commands *args = args_of(c);

	if (!args->argv.count)
		th_buf_add(out, args->commands.list[c->at]);
	for (size_t i = 0; i < args->argv.count; i++) {
		th_buf_add_cstr(out, i > 0 ? " " : "");
		th_buf_add(out, args->argv.list[i]);
	}
}

/* Whether it can be run here; what of it is started, in the job's arena. */
static enum th_code prepare(struct th_tool_job *job, size_t at, struct th_sh_spec *spec,
			    struct th_err *err)
{
	const struct th_commands *args = (const struct th_commands *)job->args;
	size_t size = args->folder.len, count = args->argv.count;
	const char **argv, *folder;
	enum th_code code;

	if (!count)
		return th_sh_check(job, args->commands.list[at], &spec->command, err);
	argv = (const char **)th_arena_array(job->arena, count + 1, sizeof(*argv));
	if (!argv)
		return th_fail(err, TH_ELIMIT, "the command has too many words");
	for (size_t i = 0; i < count; i++) {
		size += args->argv.list[i].len + 1;
		code = th_sh_check(job, args->argv.list[i], &argv[i], err);
		if (code)
			return code;
	}
	code = th_sh_check(job, args->folder, &folder, err);
	if (code)
		return code;
	if (size > TH_COMMAND_SIZE_MAX)
		return th_fail(err, TH_ELIMIT, "a command has at most %zu bytes, this one has %zu",
			       TH_COMMAND_SIZE_MAX, size);
	spec->argv = argv;
	/* To cd a - is the folder before. */
	spec->folder = !args->folder.len ? NULL : th_str_is(args->folder, "-") ? "./-" : folder;
	return TH_OK;
}

static void finish(struct commands *c)
{
	struct th_tool_job *job = c->job;
	enum th_outcome_status status = c->status;
	struct th_buf text, evidence;

	th_jw_array_end(&c->w);
	if (c->cancelled)
		th_jw_kbool(&c->w, "cancelled", true);
	th_jw_object_end(&c->w);
	text = c->text;
	evidence = c->evidence;
	free(c);
	th_tool_text(job, status, th_str_trim(th_buf_str(&text)),
		     th_buf_check(&evidence, "", NULL) ? TH_STR("") : th_buf_str(&evidence));
	th_buf_deinit(&text);
	th_buf_deinit(&evidence);
}

/* "exit", or "timeout"; a signal as the shell numbers it. */
static void put_outcome(struct commands *c, const struct th_sh_end *end)
{
	bool timeout = end ? end->ending == TH_SH_TIMEOUT : c->late;
	int code = !end ? 1 : end->exit.signalled ? 128 + end->exit.code : end->exit.code;

	th_jw_key(&c->w, TH_STR("outcome"));
	th_jw_object(&c->w);
	th_jw_kstr(&c->w, "type", timeout ? TH_STR("timeout") : TH_STR("exit"));
	if (!timeout)
		th_jw_kint(&c->w, "exit_code", code);
	th_jw_object_end(&c->w);
}

/* The description for other models. */
static void add_text(struct commands *c, struct th_str out, struct th_str err,
		     const struct th_sh_end *end)
{
	struct th_buf command = TH_BUF_INIT(2 * TH_COMMAND_SIZE_MAX);

	add_command(c, &command);
	th_buf_printf(&c->text, "%s$ %.*s\n", c->text.len ? "\n" : "",
		      TH_FMT(th_utf8_cut(th_buf_str(&command), COMMAND_SHOWN_MAX)));
	th_buf_deinit(&command);
	th_buf_add(&c->text, out);
	if (out.len && out.ptr[out.len - 1] != '\n')
		th_buf_add_char(&c->text, '\n');
	if (err.len)
		th_buf_printf(&c->text, "stderr:\n%.*s%s", TH_FMT(err),
			      err.ptr[err.len - 1] != '\n' ? "\n" : "");
	if (end ? end->ending == TH_SH_TIMEOUT : c->late)
		th_buf_add_cstr(&c->text, "status: timeout\n");
	else if (!end)
		th_buf_add_cstr(&c->text, "status: not run\n");
	else if (end->exit.signalled)
		th_buf_printf(&c->text, "ended by signal %d\n", end->exit.code);
	else if (end->exit.code)
		th_buf_printf(&c->text, "exit code: %d\n", end->exit.code);
	else if (!out.len && !err.len)
		th_buf_add_cstr(&c->text, "(no output)\n");
}

/* `end` NULL: it was not begun. */
static void tell(struct commands *c, struct th_str out, struct th_str err,
		 const struct th_sh_end *end)
{
	th_jw_object(&c->w);
	th_jw_kstr(&c->w, "stdout", out);
	th_jw_kstr(&c->w, "stderr", err);
	put_outcome(c, end);
	th_jw_object_end(&c->w);
	add_text(c, out, err, end);
	c->at++;
}

static void run_next(struct commands *c);

static void on_ended(void *ctx, const struct th_sh_end *end)
{
	struct commands *c = (struct commands *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf err = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);

	c->sh = NULL;
	th_clip_text(&c->out, &out);
	th_clip_text(&c->err, &err);
	th_clip_deinit(&c->out);
	th_clip_deinit(&c->err);
	c->over |= end->ending != TH_SH_ITSELF || end->status != TH_OUTCOME_DONE;
	c->late |= end->ending == TH_SH_TIMEOUT;
	if (end->status == TH_OUTCOME_NOT_STARTED && c->at > 0)
		c->status = TH_OUTCOME_FAILED; /* those before it were */
	else if (end->status != TH_OUTCOME_DONE)
		c->status = end->status;
	tell(c, th_buf_str(&out), th_buf_str(&err), end);
	run_next(c);
}

static void cannot_begin(struct commands *c, const struct th_err *why)
{
	struct th_sh_end end = { .status = TH_OUTCOME_NOT_STARTED, .exit = { .code = 1 } };
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);

	th_buf_printf(&text, TH_ERROR_MARK "%s", why->msg);
	c->status = c->at > 0 ? TH_OUTCOME_FAILED : TH_OUTCOME_NOT_STARTED;
	c->over = true;
	tell(c, TH_STR(""), th_buf_str(&text), &end);
	th_buf_deinit(&text);
}

static bool begin(struct commands *c)
{
	struct th_sh_spec spec = { .out = &c->out, .err = &c->err, .ended = on_ended, .ctx = c };
	uint64_t now = th_clock_ms();
	struct th_err err = {};

	if (now >= c->until_ms) {
		c->status = TH_OUTCOME_FAILED;
		c->over = c->late = true;
		return false;
	}
	spec.timeout_ms = (int64_t)(c->until_ms - now);
	if (prepare(c->job, c->at, &spec, &err)) {
		cannot_begin(c, &err);
		return false;
	}
	th_clip_init(&c->out, c->clip_size);
	th_clip_init(&c->err, c->clip_size);
	if (th_sh_start(c->job, &spec, &c->sh, &err)) {
		th_clip_deinit(&c->out);
		th_clip_deinit(&c->err);
		cannot_begin(c, &err);
		return false;
	}
	return true;
}

static void run_next(struct commands *c)
{
	size_t count = count_of(args_of(c));

	while (c->at < count && !c->over)
		if (begin(c))
			return;
	while (c->at < count)
		tell(c, TH_STR(""), TH_STR("[not run: an earlier command was ended]"), NULL);
	finish(c);
}

/* All of them, before the first is run. */
static enum th_code check(struct th_tool_job *job, struct th_err *err)
{
	const struct th_commands *args = (const struct th_commands *)job->args;
	struct th_sh_spec spec;
	enum th_code code = TH_OK;

	if (!args->commands.count == !args->argv.count)
		return th_fail(err, TH_EUSAGE, "the call names no command");
	if (args->commands.count > TH_COMMANDS_MAX)
		return th_fail(err, TH_ELIMIT, "one call runs at most %d commands, not %zu",
			       TH_COMMANDS_MAX, args->commands.count);
	for (size_t i = 0; i < count_of(args) && !code; i++)
		code = prepare(job, i, &spec, err);
	return code;
}

static void start(struct th_tool_job *job)
{
	const struct th_commands *args = (const struct th_commands *)job->args;
	int64_t most = th_tool_timeout_ms(job, 0);
	struct th_err err = {};
	struct commands *c;

	if (check(job, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	if (args->timeout_ms > 0)
		most = TH_MIN(most, args->timeout_ms);
	c = (struct commands *)th_alloc(sizeof(*c));
	c->job = job;
	c->status = TH_OUTCOME_DONE;
	c->until_ms = th_clock_ms() + (uint64_t)most;
	c->clip_size = TH_TOOL_OUTPUT_MODEL_MAX / (2 * count_of(args)); /* in all as of one */
	th_buf_init(&c->text, 16 * TH_TOOL_OUTPUT_MODEL_MAX);
	th_buf_init(&c->evidence, 16 * TH_TOOL_OUTPUT_MODEL_MAX);
	c->w = th_jw(&c->evidence);
	th_jw_object(&c->w);
	th_jw_key(&c->w, TH_STR("commands"));
	th_jw_array(&c->w);
	job->state = c;
	run_next(c);
}

static void cancel(struct th_tool_job *job)
{
	struct commands *c = (struct commands *)job->state;

	c->cancelled = c->over = true;
	th_sh_cancel(c->sh);
}

const struct th_tool th_tool_commands = {
	.name = "commands",
	.description = "Several commands, for a model that calls the shell by an item of its API.",
	.class = TH_CLASS_W,
	.arguments = &th_commands_table,
	.start = start,
	.cancel = cancel,
};
