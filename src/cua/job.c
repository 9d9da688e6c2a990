/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - a command from its message to its answer (cua.h). */
#include <stdarg.h>
#include <stdlib.h>

#include "base/text.h"

#include "cua/cua.h"

void th_cua_detail(struct th_access *a, int status, const char *fmt, ...)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_error_print_detail(text.ptr, &json);
	th_access_json(a, status, &json);
}

static void job_free(struct th_cua_job *job)
{
	struct th_cua *c = job->cua;

	if (job->prev)
		job->prev->next = job->next;
	else
		c->jobs = job->next;
	if (job->next)
		job->next->prev = job->prev;
	c->job_count--;
	th_json_free(job->doc);
	th_buf_deinit(&job->bytes);
	th_buf_deinit(&job->path);
	th_buf_deinit(&job->out);
	free(job);
}

void th_cua_answer(struct th_cua_job *job, struct th_str json)
{
	th_cua_answered_fn *answered = job->answered;
	void *to = job->to;

	job_free(job);
	if (answered)
		answered(to, json);
}

void th_cua_forget(struct th_cua *c, const void *to)
{
	for (struct th_cua_job *job = c->jobs; job; job = job->next)
		if (job->to == to)
			job->answered = NULL;
}

void th_cua_jobs_free(struct th_cua *c)
{
	while (c->jobs)
		job_free(c->jobs);
}

void th_cua_done(struct th_cua_job *job, struct th_str members)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	th_buf_printf(&json, "{\"success\":true%s", members.len ? "," : "");
	th_buf_add(&json, members);
	th_buf_add_char(&json, '}');
	if (json.failed)
		th_cua_fail(job, "the answer is too long");
	else
		th_cua_answer(job, th_buf_str(&json));
}

void th_cua_fail(struct th_cua_job *job, const char *fmt, ...)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(512 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_cua_print_error(th_buf_str(&text), &json);
	th_cua_answer(job, th_buf_str(&json));
}

static const struct th_cua_row *row_of(const struct th_cua *c, const struct th_cua_row *rows,
				       struct th_str name)
{
	for (size_t i = 0; rows == c->rows && c->aliases[i][0]; i++)
		if (th_str_is(name, c->aliases[i][0]))
			name = th_str_of(c->aliases[i][1]);
	for (const struct th_cua_row *row = rows; row->name; row++)
		if (th_str_is(name, row->name))
			return row;
	return NULL;
}

bool th_cua_begin(struct th_cua *c, const struct th_cua_row *rows, struct th_str message,
		  th_cua_answered_fn *answered, void *to, int *ret_status, struct th_err *ret_why)
{
	struct th_cua_job *job;
	struct th_json_doc *doc = NULL;
	struct th_cua_command command;
	const struct th_cua_row *row = NULL;
	enum th_code code = th_cua_parse(message, &doc, &command, ret_why);

	*ret_status = 400;
	if (!code && !(row = row_of(c, rows, command.name)))
		code = th_fail(ret_why, TH_ENOENT, "Unknown command: %.*s",
			       TH_FMT(th_utf8_cut(command.name, 100)));
	if (!code && c->job_count == TH_SERVE_CUA_JOBS_MAX) {
		*ret_status = 429;
		code =
		    th_fail(ret_why, TH_ELIMIT, "%d commands are under way", TH_SERVE_CUA_JOBS_MAX);
	}
	if (code) {
		th_json_free(doc);
		return false;
	}
	job = th_alloc(sizeof(*job));
	*job = (struct th_cua_job){ .cua = c,
				    .answered = answered,
				    .to = to,
				    .doc = doc,
				    .command = command,
				    .row = row,
				    .next = c->jobs };
	th_buf_init(&job->bytes, TH_SERVE_CUA_READ_MAX + TH_KIB);
	th_buf_init(&job->out, TH_SERVE_CUA_READ_MAX + TH_KIB);
	th_buf_init(&job->path, 2 * TH_PATH_LEN_MAX);
	if (job->next)
		job->next->prev = job;
	c->jobs = job;
	c->job_count++;
	row->fn(job);
	return true;
}

const struct th_token *th_cua_token(struct th_cua *c, struct th_str text)
{
	const struct th_token *t = th_tokens_find(th_guard_tokens(c->server), text);

	return t && t->scopes & TH_SCOPE_RUN ? t : NULL;
}
