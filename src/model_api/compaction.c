/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compaction.c - POST /v1/responses/compact: a conversation as its model sums it
 * up, and the newest words of who spoke to it.
 *
 * A session of its own gets the items, and no task begins.  Its model is asked
 * for a summary beside the task (thole_session_ask), and the session goes with
 * the answer.  The summary is an item of type compaction, which every server of
 * thole reads again (response_input.c); what stands before it was said by
 * somebody, word for word.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"
#include "server/listing.h"

static const char prompt[] =
    "The conversation above is replaced by what you answer now; only the newest messages of others "
    "than you stay beside it, word for word. Write what you have to know to go on: what is wanted, "
    "with every rule, limit and preference that was given; what was done, and how it ended; how "
    "files, programs, accounts and screens are now; what was found out; what remains, in order, "
    "with actions whose outcome is unknown; and the very next step. Keep names, paths, numbers, "
    "ids and commands exactly. Say nothing that is not above, and do not go on with the task.";

/* What a summary begins with, so that it is told from what somebody said. */
#define NOTE "[What was said before, summed up:]\n"

/* ---- what stays ---- */

static bool is_summary(struct th_str content)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);

	return th_json_unescape(content, &text) && th_str_starts(th_buf_str(&text), TH_STR(NOTE));
}

/* A message of somebody else than the model, and not too long to stay as it is. */
static bool may_stay(struct th_str item)
{
	struct th_str type = th_json_raw_get(item, "type"), role = th_json_raw_get(item, "role");

	return (!type.len || th_str_is(type, "\"message\"")) && role.len &&
	       !th_str_is(role, "\"assistant\"") && item.len <= TH_SERVE_STAYS_MAX &&
	       !is_summary(th_json_raw_get(item, "content"));
}

static void said(struct th_response *p, struct th_str items)
{
	struct th_buf stays TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_raw_iter it = th_json_raw_iter(items);
	struct th_jw w = th_jw(&stays);
	size_t left = 0;

	while (th_json_raw_next(&it))
		left += may_stay(it.val) ? it.val.len : 0;
	th_jw_array(&w);
	it = th_json_raw_iter(items);
	while (th_json_raw_next(&it)) {
		if (!may_stay(it.val))
			continue;
		if (left <= TH_SERVE_STAYS_MAX)
			th_jw_raw(&w, it.val);
		else
			left -= it.val.len; /* the oldest go */
	}
	th_jw_array_end(&w);
	p->stays = th_alloc(stays.len + 1);
	memcpy(p->stays, stays.ptr, stays.len + 1);
}

/* ---- the summary ---- */

static void over(struct th_response *p, int fault, struct th_str why)
{
	p->reply.status = TH_REPLY_FAILED;
	p->reply.fault = fault;
	p->reply.why = th_alloc(why.len + 1);
	memcpy(p->reply.why, why.ptr, why.len);
	p->reply.why[why.len] = '\0';
}

/* Its event is waited for instead, which is durable when it comes. */
static void on_answer(void *ctx, struct thole_session *s, const char *answer, const char *why)
{
	(void)ctx;
	(void)s;
	(void)answer;
	(void)why;
}

static bool put(struct th_response *p)
{
	struct thole_error err;

	if (thole_session_ask(p->hub->session, p->hub->user, prompt, on_answer, NULL, &err) == 0) {
		th_server_kick(p->server);
		return true;
	}
	over(p, th_status_of(err.code), th_str_of(err.text));
	return false;
}

static void event(struct th_response *p, const char *kind, struct th_str json)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *data, *usage;
	struct th_str answer, failed, class;

	if (strcmp(kind, "asked") != 0 || th_json_parse(json, &doc, NULL) != TH_OK)
		return;
	data = th_json_get(th_json_root(doc), "data");
	usage = th_json_get(data, "usage");
	answer = th_json_get_str(data, "answer");
	failed = th_json_get_str(data, "failed");
	class = th_json_get_str(data, "class");
	p->reply.tokens_in = th_json_get_int(usage, "input", 0);
	p->reply.tokens_out = th_json_get_int(usage, "output", 0);
	if (!answer.len) {
		over(p, class.len ? th_reply_fault(class) : 502,
		     failed.len ? failed : TH_STR("the model gave no summary"));
		return;
	}
	p->summary = th_alloc(answer.len + 1);
	memcpy(p->summary, answer.ptr, answer.len);
	p->summary[answer.len] = '\0';
	p->reply.status = TH_REPLY_COMPLETED;
}

/* ---- the answer ---- */

/* A list of one message, in base64: no secret, but nobody else's business. */
static void pack(const struct th_response *p, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_ANSWER_MAX);
	struct th_buf items TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw w = th_jw(&items);

	th_buf_printf(&text, NOTE "%s", p->summary);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	th_jw_kstr(&w, "role", TH_STR("user"));
	th_jw_kstr(&w, "content", th_buf_str(&text));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_base64_encode(out, items.ptr, items.len);
}

static void print(struct th_response *p, struct th_buf *out)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_buf packed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	char name[TH_LISTING_ID_MAX + 24];
	struct th_json_iter it;
	struct th_jw w = th_jw(out);

	snprintf(name, sizeof(name), "msg_%s", p->reply.name);
	if (th_json_parse(th_str_of(p->stays), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_root(doc));
		while (th_json_next(&it))
			th_listing_add(&list, it.val, name, true);
	}
	pack(p, &packed);
	th_jw_object(&w);
	th_jw_kstr(&w, "id", th_str_of(p->name));
	th_jw_kstr(&w, "object", TH_STR("response.compaction"));
	th_jw_kint(&w, "created_at", p->created_ms / 1000);
	th_jw_name(&w, TH_STR("output"));
	th_jw_array(&w);
	for (size_t i = 0; i < list.count; i++)
		th_jw_raw(&w, th_listing_get(&list, i));
	th_jw_object(&w);
	snprintf(name, sizeof(name), "cmp_%s_%zu", p->reply.name, list.count);
	th_jw_kstr(&w, "type", TH_STR("compaction"));
	th_jw_kstr(&w, "id", th_str_of(name));
	th_jw_kstr(&w, "encrypted_content", th_buf_str(&packed));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_jw_name(&w, TH_STR("usage"));
	th_reply_usage(&p->reply, &w);
	th_jw_object_end(&w);
}

const struct th_face th_face_compaction = {
	.wire = "responses",
	.print = print,
	.said = said,
	.put = put,
	.event = event,
};
