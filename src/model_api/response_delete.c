/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_delete.c - responses deleted: one that is all of its session takes
 * that with it; another one is noted in the session's metadata as deleted, and
 * is not found any more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"

#define DELETED "deleted" /* the events after which deleted responses begin */
#define DELETED_MAX 256   /* of one session */

bool th_stored_is_deleted(const struct th_stored *d)
{
	struct th_json_iter it = th_json_iter(th_json_get(d->member, DELETED));

	while (th_json_next(&it))
		if ((uint64_t)th_json_uint(it.val, 0) == d->after)
			return true;
	return false;
}

/* The session's metadata with one more number. */
static void put_metadata(const struct th_stored *d, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(th_json_root(d->doc), "metadata"));
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	while (th_json_next(&it)) {
		struct th_json_iter members = th_json_iter(it.val);

		th_jw_key(&w, it.key);
		if (!th_str_is(it.key, TH_RESPONSE_MEMBER)) {
			th_jw_json(&w, it.val);
			continue;
		}
		th_jw_object(&w);
		while (th_json_next(&members)) {
			if (th_str_is(members.key, DELETED))
				continue;
			th_jw_key(&w, members.key);
			th_jw_json(&w, members.val);
		}
		th_jw_name(&w, TH_STR(DELETED));
		th_jw_array(&w);
		members = th_json_iter(th_json_get(it.val, DELETED));
		while (th_json_next(&members))
			th_jw_json(&w, members.val);
		th_jw_uint(&w, d->after);
		th_jw_array_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
}

void th_response_deleted(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kstr(&w, "id", th_str_of(a->args[0]));
	th_jw_kstr(&w, "object", TH_STR("response"));
	th_jw_kbool(&w, "deleted", true);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

static void hidden(struct th_access *a, const char *session, int status)
{
	(void)session;
	(void)status;
	th_response_deleted(a);
}

static bool refused(struct th_access *a, const struct th_stored *d)
{
	if (d->reply.status == TH_REPLY_RUNNING)
		th_access_fail(a, 409, "conflict", "the response is not over yet; cancel it first");
	else if (th_json_count(th_json_get(d->member, DELETED)) >= DELETED_MAX)
		th_access_fail(a, 413, "limit",
			       "of one session at most %d responses are deleted one by one; "
			       "DELETE /api/sessions/{id} deletes it",
			       DELETED_MAX);
	else
		return false;
	return true;
}

void th_response_hide(struct th_access *a, const struct th_stored *d)
{
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_METADATA_MAX);

	if (refused(a, d))
		return;
	put_metadata(d, &metadata);
	th_access_describe(a, d->session, NULL, metadata.ptr, hidden);
}

void th_response_delete(struct th_access *a, const struct th_stored *d, th_discarded_fn *discarded)
{
	const struct th_json *metadata = th_json_get(th_json_root(d->doc), "metadata");
	bool whole =
	    d->after == 0 && d->is_head && !th_json_get_str(metadata, TH_CONVERSATION_MEMBER).len;

	if (!whole)
		th_response_hide(a, d);
	else if (!refused(a, d))
		th_access_discard(a, d->session, discarded);
}
