/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "io/clock.h"
#include "io/files.h"
#include "models/human.h"
#include "runtime/human_model_internal.h"

static struct th_question *find(const struct th_human_model *p, struct th_str id)
{
	struct th_question *q = p->first;

	while (q && !(q->over_http && th_str_is(id, q->id)))
		q = q->next;
	return q;
}

static const struct th_transcript *find_logged_call(const struct th_human_model *p,
						    struct th_str id)
{
	for (size_t i = 0; i < TH_MIN(p->transcript_count, (size_t)TH_HUMAN_ANSWERED_MAX); i++)
		if (th_str_is(id, p->transcript[i].id))
			return &p->transcript[i];
	return NULL;
}

static void print_time(int64_t ms, struct th_jw *w)
{
	time_t seconds = (time_t)(ms / 1000);
	char text[32];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		th_jw_kstr(w, "created_at", th_str_of(text));
}

static void print_question(const struct th_question *q, struct th_jw *w)
{
	th_jw_kstr(w, "id", th_str_of(q->id));
	th_jw_kstr(w, "model", TH_STR("human"));
	th_jw_kstr(w, "session", th_buf_str(&q->title));
	print_time(q->asked_ms, w);
	th_jw_kraw(w, "messages", th_buf_str(&q->messages));
}

static void say(struct th_httpd_caller *c, int status, const char *key, struct th_str text)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kstr(&w, key, text);
	th_jw_object_end(&w);
	th_httpd_reply(c, status, th_buf_str(&out));
}

static void list_pending(const struct th_human_model *p, struct th_httpd_caller *c)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("pending_calls"));
	th_jw_array(&w);
	for (const struct th_question *q = p->first; q; q = q->next) {
		if (!q->over_http)
			continue;
		th_jw_object(&w);
		print_question(q, &w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	if (out.failed)
		say(c, 413, "detail", TH_STR("too many questions are open to list them at once"));
	else
		th_httpd_reply(c, 200, th_buf_str(&out));
}

static void tell_status(const struct th_human_model *p, struct th_httpd_caller *c, struct th_str id)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	const struct th_question *q = find(p, id);
	const struct th_transcript *transcript = find_logged_call(p, id);
	struct th_jw w = th_jw(&out);

	if (!q && !transcript) {
		say(c, 404, "detail", TH_STR("there is no such question"));
		return;
	}
	th_jw_object(&w);
	if (q)
		print_question(q, &w);
	else
		th_jw_kstr(&w, "id", id);
	th_jw_kstr(&w, "status",
		   q                    ? TH_STR("pending")
		   : transcript->failed ? TH_STR("failed")
					: TH_STR("completed"));
	th_jw_object_end(&w);
	th_httpd_reply(c, 200, th_buf_str(&out));
}

/* The answer of {"response"?, "tool_calls"?}, or of {"error"}. */
static enum th_code read_answer(struct th_str body, bool failed, struct th_buf *answer,
				struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_json_parse(body, &doc, err);

	if (code)
		return code;
	if (!failed)
		return th_human_complete(th_json_root(doc), answer, err);
	th_human_fail(th_json_get_str(th_json_root(doc), "error"), answer);
	return th_buf_check(answer, "the answer", err);
}

static void take_answer(struct th_human_model *p, struct th_httpd_caller *c, struct th_str id,
			struct th_str body, bool failed)
{
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_question *q = find(p, id);
	struct th_answerer *a;
	struct th_err err = { 0 };

	if (!q) {
		say(c, 404, "detail", TH_STR("there is no such question, or it was answered"));
		return;
	}
	if (read_answer(body, failed, &answer, &err)) {
		say(c, 400, "detail", th_str_of(err.msg));
		return;
	}
	a = th_alloc(sizeof(*a));
	*a = (struct th_answerer){
		.next = p->answerers, .caller = c, .ticket = q->ticket, .transcript.failed = failed
	};
	memcpy(a->transcript.id, q->id, sizeof(a->transcript.id));
	p->answerers = a;
	th_human_model_answer(p, q, th_buf_str(&answer));
}

void th_human_model_committed(struct th_human_model *p)
{
	for (struct th_answerer **at = p ? &p->answerers : NULL; at && *at;) {
		struct th_answerer *a = *at;
		int durable = p->o.durable(p->o.ctx, a->ticket);

		if (!durable) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		if (durable > 0)
			p->transcript[p->transcript_count++ % TH_HUMAN_ANSWERED_MAX] =
			    a->transcript;
		if (durable > 0)
			say(a->caller, 200, "status", TH_STR("success"));
		else
			say(a->caller, 500, "detail",
			    TH_STR("the answer is not in the log: it could not be read, or the "
				   "session was lost; see GET /pending"));
		free(a);
	}
}

static void on_request(void *ctx, struct th_httpd_caller *c, struct th_str method,
		       struct th_str path, struct th_str body)
{
	struct th_human_model *p = ctx;
	struct th_str rest = th_str_sub(path, 1, path.len), verb = th_str_split(&rest, '/');
	bool get = th_str_is(method, "GET"), post = th_str_is(method, "POST");

	if (get && th_str_is(path, "/"))
		say(c, 200, "message", TH_STR("thole: GET /pending, POST /complete/ID"));
	else if (get && th_str_is(path, "/pending"))
		list_pending(p, c);
	else if (get && th_str_is(verb, "status"))
		tell_status(p, c, rest);
	else if (post && th_str_is(verb, "complete"))
		take_answer(p, c, rest, body, false);
	else if (post && th_str_is(verb, "fail"))
		take_answer(p, c, rest, body, true);
	else
		say(c, 404, "detail",
		    TH_STR("there is GET /pending, GET /status/ID, POST "
			   "/complete/ID and POST /fail/ID"));
}

/* A token of our own, in a file that only this user reads: it is not printed. */
static enum th_code make_token(struct th_human_model *p, struct th_err *err)
{
	struct th_buf hex TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(128);
	uint8_t bytes[16];
	enum th_code code = th_dir_of(TH_DIR_RUNTIME, &p->token_file, err);

	if (code)
		return code;
	th_random(bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		th_buf_printf(&hex, "%02x", bytes[i]);
	p->made = th_secret_new(th_buf_str(&hex));
	th_buf_printf(&p->token_file, "/human-%d.token", (int)getpid());
	return th_file_write(p->token_file.ptr, th_buf_str(&hex), 0600, err);
}

enum th_code th_human_model_listen(struct th_human_model *p, struct th_str url,
				   const struct th_secret *token, struct th_err *err)
{
	enum th_code code = token || p->made ? TH_OK : make_token(p, err);

	if (!code)
		code = th_httpd_new(p->o.loop, url, token ? token : p->made, on_request, p,
				    &p->httpd, err);
	if (code)
		return th_prefix(err, code, "where a person is asked, %.*s",
				 TH_FMT(th_utf8_cut(url, 100)));
	th_buf_add(&p->url, url);
	th_buf_printf(&p->out, "a person is asked at http://127.0.0.1:%d; ",
		      th_httpd_port(p->httpd));
	if (p->made)
		th_buf_printf(&p->out, "the token is in %s\n", p->token_file.ptr);
	else
		th_buf_add_cstr(&p->out, "the token is HUMAN_API_KEY's\n");
	th_human_model_show(p);
	return TH_OK;
}

void th_human_model_unlisten(struct th_human_model *p)
{
	while (p->answerers) {
		struct th_answerer *next = p->answerers->next;

		free(p->answerers);
		p->answerers = next;
	}
	p->httpd = th_httpd_free(p->httpd);
	p->made = th_secret_free(p->made);
	if (p->token_file.len)
		unlink(p->token_file.ptr);
	th_buf_deinit(&p->url);
	th_buf_deinit(&p->token_file);
}
