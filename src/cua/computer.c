/* SPDX-License-Identifier: Apache-2.0 */
/* computer.c - calls of the face's computer, and what they say (cua.h). */
#include <stdlib.h>

#include "base/shell.h"
#include "base/text.h"

#include "cua/cua.h"

/* What a result says, as one text: a string, or the texts of a list of parts. */
static void add_said(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	th_buf_add(out, th_json_str(output));
	while (th_json_is_array(output) && th_json_next(&it))
		th_buf_add(out, th_json_get_str(it.val, "text"));
}

/* The sentence alone, without "error: " before it. */
static struct th_str sentence(struct th_str said)
{
	return th_str_starts(said, TH_STR("error: ")) ? th_str_sub(said, 7, said.len) : said;
}

static void on_called(void *ctx, const char *status, const char *output, const char *evidence,
		      const void *bytes, size_t size)
{
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *known TH_CLEANUP(th_json_freep) = NULL;
	struct th_cua_job *job = ctx;
	const struct th_json *e, *why;

	if (th_json_parse(th_str_of(output), &doc, NULL) == TH_OK)
		add_said(th_json_root(doc), &said);
	if (evidence && th_json_parse(th_str_of(evidence), &known, NULL) != TH_OK)
		known = NULL;
	e = known ? th_json_root(known) : NULL;
	job->evidence = e;
	job->output = doc ? th_json_root(doc) : NULL;
	job->written = th_str_n(bytes, size);
	why = th_json_get(e, "error");
	if (th_json_bool(th_json_get(e, "timed_out"), false))
		job->then(job, th_buf_str(&said), -1, TH_STR(""));
	else if (strcmp(status, "done") == 0)
		job->then(
		    job, th_buf_str(&said),
		    (int)th_json_get_int(e, "exit_code", 128 + th_json_get_int(e, "signal", 0)),
		    th_str_n(bytes, size));
	else if (th_json_get_str(why, "message").len)
		th_cua_fail(job, "%.*s", TH_FMT(th_json_get_str(why, "message")));
	else
		th_cua_fail(job, "%s: %.*s", status, TH_FMT(sentence(th_buf_str(&said))));
}

void th_cua_call(struct th_cua_job *job, const char *tool, struct th_str arguments,
		 int64_t timeout_ms, th_cua_then *then)
{
	th_cua_call_of(job, job->cua->computer, tool, arguments, timeout_ms, then);
}

void th_cua_call_of(struct th_cua_job *job, struct thole_computer *of, const char *tool,
		    struct th_str arguments, int64_t timeout_ms, th_cua_then *then)
{
	struct thole_error e;

	job->then = then;
	if (thole_computer_call(of, tool, arguments.ptr, timeout_ms, on_called, job, &e) != 0)
		th_cua_fail(job, "%s", e.text);
	else
		th_server_kick(job->cua->server);
}

void th_cua_act(struct th_cua_job *job, struct th_str actions, th_cua_then *then)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kraw(&w, "actions", actions);
	th_jw_kbool(&w, "whole", true);
	th_jw_object_end(&w);
	if (json.failed)
		th_cua_fail(job, "the command is too long");
	else
		th_cua_call(job, "computer", th_buf_str(&json), 0, then);
}

void th_cua_shell(struct th_cua_job *job, struct th_str path, struct th_str script,
		  th_cua_then *then)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&json);

	th_buf_add_cstr(&text, "LC_ALL=C p=");
	th_shell_word(path, &text);
	th_buf_add_cstr(&text, "; case $p in '~') p=$HOME;; '~/'*) p=$HOME/${p#??};; esac; ");
	th_buf_add(&text, script);
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_buf_str(&text));
	th_jw_object_end(&w);
	if (text.failed || json.failed)
		th_cua_fail(job, "the command is too long");
	else
		th_cua_call(job, "shell", th_buf_str(&json), 30000, then);
}

bool th_cua_need(struct th_cua_job *job, const char *name, struct th_str *ret)
{
	*ret = th_json_get_str(job->command.params, name);
	if (ret->ptr)
		return true;
	th_cua_fail(job, "%s() missing 1 required positional argument: '%s'", job->row->name, name);
	return false;
}
