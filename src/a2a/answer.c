/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - answers of the A2A protocol, in the words of JSON-RPC or of HTTP+JSON. */
#include <stdarg.h>

#include "a2a/internal.h"
#include "server/fleet.h"

#define REST_TYPE "application/a2a+json"

/* An error of HTTP+JSON has the status and the names of google.rpc. */
static const struct word {
	int code, status;
	const char *name, *reason;
} words[] = {
	{ TH_A2A_ENOTFOUND, 404, "NOT_FOUND", "TASK_NOT_FOUND" },
	{ TH_A2A_EOVER, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE" },
	{ TH_A2A_ENOPUSH, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED" },
	{ TH_A2A_EUNSUPPORTED, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION" },
	{ TH_A2A_ETYPE, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED" },
	{ TH_A2A_ENOCARD, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED" },
	{ TH_A2A_EVERSION, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED" },
	{ TH_RPC_EPARSE, 400, "INVALID_ARGUMENT", NULL },
	{ TH_RPC_EREQUEST, 400, "INVALID_ARGUMENT", NULL },
	{ TH_RPC_EPARAMS, 400, "INVALID_ARGUMENT", NULL },
	{ TH_RPC_EMETHOD, 404, "NOT_FOUND", NULL },
	{ TH_RPC_EINTERNAL, 500, "INTERNAL", NULL },
};

static void fail_rest(struct th_a2a *m, int code, struct th_str text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	const struct word *word = words;
	struct th_jw w = th_jw(&json);

	while (word->code != code && word->code != TH_RPC_EINTERNAL)
		word++;
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("error"));
	th_jw_object(&w);
	th_jw_kint(&w, "code", word->status);
	th_jw_kstr(&w, "status", th_str_of(word->name));
	th_jw_kstr(&w, "message", text);
	th_jw_name(&w, TH_STR("details"));
	th_jw_array(&w);
	if (word->reason) {
		th_jw_object(&w);
		th_jw_kstr(&w, "@type", TH_STR("type.googleapis.com/google.rpc.ErrorInfo"));
		th_jw_kstr(&w, "reason", th_str_of(word->reason));
		th_jw_kstr(&w, "domain", TH_STR("a2a-protocol.org"));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_access_text(m->access, word->status, REST_TYPE, th_buf_str(&json));
}

void th_a2a_answer(struct th_a2a *m, const struct th_buf *result)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	if (m->rest) {
		th_access_text(m->access, 200, REST_TYPE, th_buf_str(result));
		return;
	}
	th_rpc_print_result(m->id, th_buf_str(result), &json);
	th_access_json(m->access, 200, &json);
}

void th_a2a_answer_nothing(struct th_a2a *m)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_add_cstr(&json, m->rest || m->v1 ? "{}" : "null");
	th_a2a_answer(m, &json);
}

void th_a2a_fail(struct th_a2a *m, int code, const char *fmt, ...)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	if (m->rest) {
		fail_rest(m, code, th_buf_str(&text));
		return;
	}
	th_rpc_print_error(m->id, code, th_buf_str(&text), TH_STR(""), &json);
	th_access_json(m->access, 200, &json);
}

void th_a2a_fail_api(struct th_a2a *m, const struct thole_error *err)
{
	if (th_forward_places(m->access, err))
		return;
	struct thole_error space;

	err = th_error_public(m->access->server, err, &space);
	int code = err->code == THOLE_ENOENT                                ? TH_A2A_ENOTFOUND
		   : err->code == THOLE_EPROTO                              ? TH_A2A_EUNSUPPORTED
		   : err->code == THOLE_EUSAGE || err->code == THOLE_EEXIST ? TH_RPC_EPARAMS
									    : TH_RPC_EINTERNAL;

	th_a2a_fail(m, code, "%s", err->text);
}

struct th_hub *th_a2a_open(struct th_a2a *m, const char *id)
{
	const struct th_found *open = th_need_open(&m->access->needs, id, m->access->user, true);

	m->waits = !open;
	if (!open)
		return NULL;
	if (open->err) {
		th_a2a_fail_api(m, open->err);
		return NULL;
	}
	return th_hub_find(m->access->server, id);
}

void th_a2a_no_task(struct th_a2a *m)
{
	th_a2a_fail(m, TH_A2A_ENOTFOUND, "there is no such task");
}

int64_t th_a2a_history(const struct th_a2a *m)
{
	const struct th_json *n = th_json_get(m->params, "historyLength");

	if (!n)
		n = th_json_get(th_json_get(m->params, "configuration"), "historyLength");
	return th_json_int(n, TH_A2A_HISTORY_MAX);
}

void th_a2a_put_task(const struct th_a2a_task *t, bool v1, int64_t history, bool wrap,
		     struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (v1 && wrap) {
		th_jw_object(&w);
		th_jw_name(&w, TH_STR("task"));
	}
	th_a2a_print_task(t, v1, history, &w);
	if (v1 && wrap)
		th_jw_object_end(&w);
}

void th_a2a_answer_task(struct th_a2a *m, const struct th_a2a_task *t, int64_t history, bool plain)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	th_a2a_put_task(t, m->v1, history, !plain, &out);
	th_a2a_answer(m, &out);
}
