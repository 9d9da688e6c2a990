/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - runs a program that an agent file declares as a tool, or as a hook.
 *
 * No model can ask for this tool: the driver makes its arguments from the agent
 * file's argv and the arguments of the model's call.  These go to the program's
 * standard input, as JSON; never into an argument or through a shell.  What it
 * writes to standard output is the result; what it writes to standard error is
 * progress, shown as it comes and kept out of the result of a success.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/agent.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/child.h"
#include "tools/clip.h"
#include "tools/tool.h"

#define TH_FIELDS_command(F)                                                                   \
	F(command, str, name, "name", TH_REQ | TH_NONEMPTY, "The tool, for messages.")         \
	F(command, strs, argv, "argv", TH_REQ | TH_NONEMPTY, "Program and arguments.")         \
	F(command, raw, input, "input", TH_REQ, "For its standard input.")                     \
	F(command, int, timeout_s, "timeout_s", TH_NONEG, "0: the longest there is.")          \
	F(command, strs, environment, "environment", 0, "NAME=value, beside the agent's.")     \
	F(command, strs, secrets, "secrets", 0, "Names of secrets that it gets.")              \
	F(command, bool, apart, "apart", 0, "The result is an object {out, err}, as written.") \
	F(command, int, most, "most", TH_NONEG, "Bytes of each that are given; 0: as for a model.")

TH_STRUCT(command)
extern const struct th_table th_command_table;
TH_TABLE(command, "arguments of command", false)

enum ending { ENDING_ITSELF, ENDING_TIMEOUT, ENDING_CANCEL };

struct command {
	struct th_tool_job *job;
	struct th_child *child;
	struct th_timer timer;
	struct th_clip out, progress; /* progress: its end, told with a failure */
	enum ending ending;
	int64_t timeout_ms;
	struct th_mask_stream masks[2]; /* of standard output, of standard error */
};

static const struct th_command *args_of(const struct command *c)
{
	return (const struct th_command *)c->job->args;
}

static void command_free(struct command *c)
{
	th_timer_stop(&c->timer);
	th_child_free(c->child);
	th_clip_deinit(&c->out);
	th_clip_deinit(&c->progress);
	th_mask_stream_deinit(&c->masks[0]);
	th_mask_stream_deinit(&c->masks[1]);
	free(c);
}

static void put(struct command *c, enum th_child_stream stream, struct th_str bytes)
{
	if (stream == TH_CHILD_OUT) {
		th_clip_add(&c->out, bytes);
	} else if (bytes.len > 0) {
		th_clip_add(&c->progress, bytes);
		if (!args_of(c)->apart)
			c->job->output(c->job, bytes);
	}
}

static void on_output(void *ctx, enum th_child_stream stream, struct th_str bytes)
{
	struct command *c = (struct command *)ctx;
	TH_CLEANUP(th_buf_deinit) struct th_buf masked = TH_BUF_INIT(TH_MIB);

	if (th_mask_empty(c->job->env->mask)) {
		put(c, stream, bytes);
		return;
	}
	th_mask_stream_feed(&c->masks[stream == TH_CHILD_ERR], bytes, &masked);
	put(c, stream, th_buf_str(&masked));
}

/* What was held back, once nothing more comes. */
static void put_rest(struct command *c)
{
	for (int i = 0; i < 2; i++) {
		TH_CLEANUP(th_buf_deinit) struct th_buf rest = TH_BUF_INIT(TH_MIB);

		th_mask_stream_end(&c->masks[i], &rest);
		put(c, i ? TH_CHILD_ERR : TH_CHILD_OUT, th_buf_str(&rest));
	}
}

static void on_timeout(void *ctx)
{
	struct command *c = (struct command *)ctx;

	if (c->ending == ENDING_ITSELF)
		c->ending = ENDING_TIMEOUT;
	th_child_kill(c->child);
}

/* ---- the result --------------------------------------------------------------------------- */

/* A JSON string is its text; any other output is as it was written. */
static void add_result(struct th_buf *out, const struct command *c)
{
	struct th_json_doc *doc = NULL;
	struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	bool whole = th_clip_text(&c->out, &text) == 0;

	if (whole && th_json_parse(th_str_trim(th_buf_str(&text)), &doc, NULL) == TH_OK &&
	    th_json_type(th_json_root(doc)) == TH_JSON_STR)
		th_clip_clean(out, th_json_str(th_json_root(doc)));
	else
		th_buf_add(out, th_str_trim(th_buf_str(&text)));
	th_json_free(doc);
	th_buf_deinit(&text);
}

static void add_failure(struct th_buf *out, const struct command *c, const struct th_child_exit *e)
{
	struct th_str name = th_utf8_cut(args_of(c)->name, 80);
	size_t before;

	if (c->ending == ENDING_TIMEOUT)
		th_buf_printf(out,
			      TH_ERROR_MARK
			      "%.*s was ended after %lld s, its time limit, with everything "
			      "it had started",
			      TH_FMT(name), (long long)(c->timeout_ms / 1000));
	else if (c->ending == ENDING_CANCEL)
		th_buf_printf(out,
			      TH_ERROR_MARK "%.*s was cancelled, with everything it had started",
			      TH_FMT(name));
	else if (e->not_started)
		th_buf_printf(out,
			      TH_ERROR_MARK "%.*s was not started: the sandbox could not be set up",
			      TH_FMT(name));
	else if (e->signalled)
		th_buf_printf(out, TH_ERROR_MARK "%.*s was ended by signal %d, %s", TH_FMT(name),
			      e->code, strsignal(e->code));
	else
		th_buf_printf(out, TH_ERROR_MARK "%.*s failed with exit status %d", TH_FMT(name),
			      e->code);
	before = out->len;
	th_buf_add_char(out, '\n');
	th_clip_text(&c->progress, out);
	if (c->out.size > 0 && out->len > before + 1 && out->ptr[out->len - 1] != '\n')
		th_buf_add_char(out, '\n');
	add_result(out, c);
	while (out->len > before && out->ptr[out->len - 1] == '\n')
		th_buf_truncate(out, out->len - 1);
}

static void add_stream(struct th_jw *w, const char *name, const struct th_clip *clip, size_t most)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf cut TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	(void)th_clip_text(clip, &text);
	th_text_clip(&cut, th_buf_str(&text), most);
	th_jw_kstr(w, name, th_buf_str(&cut));
}

static bool fits_as_string(struct th_str text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EXEC_OUTPUT_MAX);
	struct th_jw w = th_jw(&json);

	th_jw_str(&w, text);
	return th_buf_check(&json, "the output", NULL) == TH_OK;
}

/* Both streams, for who decides by them.  How long lines and quotes become in JSON is seen when
 * they are written: each stream is cut until both fit. */
static void add_apart(struct th_buf *out, const struct command *c)
{
	for (size_t most = TH_MIB;; most /= 2) {
		struct th_jw w = th_jw(out);

		th_buf_clear(out);
		th_jw_object(&w);
		add_stream(&w, "out", &c->out, most);
		add_stream(&w, "err", &c->progress, most);
		th_jw_object_end(&w);
		if (most <= TH_TOOL_OUTPUT_MODEL_MAX || fits_as_string(th_buf_str(out)))
			break;
	}
}

static void add_evidence(struct th_buf *out, const struct command *c, const struct th_child_exit *e)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kint(&w, e->signalled ? "signal" : "exit_code", e->code);
	if (c->ending == ENDING_TIMEOUT)
		th_jw_kbool(&w, "timed_out", true);
	if (c->ending == ENDING_CANCEL)
		th_jw_kbool(&w, "cancelled", true);
	th_jw_kuint(&w, "output_size", c->out.size);
	th_jw_object_end(&w);
}

static void on_exit_(void *ctx, const struct th_child_exit *e)
{
	struct command *c = (struct command *)ctx;
	struct th_tool_job *job = c->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(4 * TH_MIB);
	struct th_buf evidence = TH_BUF_INIT(TH_KIB);
	enum th_outcome_status status = TH_OUTCOME_DONE;

	put_rest(c);
	if (c->ending != ENDING_ITSELF || e->signalled || e->code != 0)
		status = TH_OUTCOME_FAILED;
	if (e->not_started)
		status = TH_OUTCOME_NOT_STARTED;
	if (args_of(c)->apart && status != TH_OUTCOME_NOT_STARTED)
		add_apart(&text, c);
	else if (status == TH_OUTCOME_DONE)
		add_result(&text, c);
	else
		add_failure(&text, c, e);
	add_evidence(&evidence, c, e);
	command_free(c);
	th_tool_text(job, status, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

/* ---- the start ---------------------------------------------------------------------------- */

/* A keyed one finds its key there. */
static const char *const *environment(struct th_tool_job *job)
{
	const struct th_command *args = (const struct th_command *)job->args;
	const struct th_strs *more = &args->environment;
	const char *const *base = job->env->environment;
	const char **ret;
	size_t count = 0;

	while (base && base[count])
		count++;
	ret = (const char **)th_arena_array(
	    job->arena, count + more->count + args->secrets.count + 2, sizeof(*ret));
	for (size_t i = 0; ret && i < count; i++)
		ret[i] = base[i];
	for (size_t i = 0; ret && i < more->count; i++)
		ret[count + i] = th_arena_cstr(job->arena, more->list[i]);
	count += more->count;
	for (size_t i = 0; ret && i < args->secrets.count; i++) {
		ret[count] = th_given_entry(&job->env->given, args->secrets.list[i]);
		count += ret[count] != NULL;
	}
	if (ret)
		ret[count] =
		    th_arena_printf(job->arena, "THOLE_EFFECT_ID=%.*s", TH_FMT(job->effect_id)).ptr;
	return ret;
}

static enum th_code start_child(struct command *c, struct th_err *err)
{
	const struct th_command *args = args_of(c);
	struct th_tool_job *job = c->job;
	const char **argv =
	    (const char **)th_arena_array(job->arena, args->argv.count + 1, sizeof(*argv));
	struct th_child_spec spec = {
		.argv = argv,
		.env = environment(job),
		.cwd = th_arena_cstr(job->arena, job->env->workspace),
		.write_in = true,
		.sandbox = job->env->sandbox,
		.tree = true,
		.limits = { .processes = TH_COMMAND_PROCESSES_MAX },
		.on_output = on_output,
		.on_exit = on_exit_,
		.ctx = c,
	};
	enum th_code code;

	if (!argv || !spec.env || !spec.cwd)
		return th_fail(err, TH_ELIMIT, "the command is too long");
	for (size_t i = 0; i < args->argv.count; i++) {
		argv[i] = th_arena_cstr(job->arena, args->argv.list[i]);
		if (!argv[i])
			return th_fail(err, TH_EUSAGE, "the command holds a NUL byte");
	}
	code = th_child_start(job->env->loop, &spec, &c->child, err);
	if (!code)
		code = th_child_write(c->child, args->input, err);
	if (!code)
		th_child_close_in(c->child);
	return code;
}

static void start(struct th_tool_job *job)
{
	const struct th_command *args = (const struct th_command *)job->args;
	struct th_err err = {};
	struct command *c;
	size_t most;

	if (job->env->workspace_fd < 0)
		th_fail(&err, TH_EUNSUPPORTED,
			"this session has no workspace, so there are no commands");
	else if (args->input.len > TH_COMMAND_INPUT_MAX)
		th_fail(&err, TH_ELIMIT, "the arguments of a command have at most %zu bytes",
			TH_COMMAND_INPUT_MAX);
	if (err.code) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	c = (struct command *)th_alloc(sizeof(*c));
	c->job = job;
	c->timeout_ms = th_tool_timeout_ms(job, args->timeout_s);
	most = (size_t)TH_MIN(args->most, (int64_t)TH_COMMAND_OUT_MAX);
	th_clip_init(&c->out, most ?: TH_TOOL_OUTPUT_MODEL_MAX);
	th_clip_init(&c->progress, most ?: TH_COMMAND_PROGRESS_MAX);
	th_mask_stream_init(&c->masks[0], job->env->mask);
	th_mask_stream_init(&c->masks[1], job->env->mask);
	th_timer_init(&c->timer, job->env->loop, on_timeout, c);
	if (start_child(c, &err)) {
		enum th_outcome_status status =
		    c->child ? TH_OUTCOME_FAILED : TH_OUTCOME_NOT_STARTED;

		command_free(c);
		th_tool_fail(job, status, &err);
		return;
	}
	job->state = c;
	job->clocks[0] = &c->timer;
	th_timer_start(&c->timer, (uint64_t)c->timeout_ms, 0);
}

static void cancel(struct th_tool_job *job)
{
	struct command *c = (struct command *)job->state;

	if (c->ending == ENDING_ITSELF)
		c->ending = ENDING_CANCEL;
	th_child_kill(c->child);
}

const struct th_tool th_tool_command = {
	.name = "command",
	.description = "A program that the agent file declares.",
	.class = TH_CLASS_R, /* as the agent file says; the executor takes the stricter of both */
	.arguments = &th_command_table,
	.start = start,
	.cancel = cancel,
};
