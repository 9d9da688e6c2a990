/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c - sessions whose first task begins later: when, and how it is said to them.
 *
 * The time stands in the session's metadata, where stores find it and pages show it; that it waits
 * is an event, and so is that it begins.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/moment.h"
#include "io/clock.h"

int th_api_schedule_metadata(const char *metadata, int64_t start_ms, enum th_priority priority,
			     struct th_buf *out, struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(out);
	struct th_json_iter it;
	struct th_err e = { 0 };
	enum th_code code = th_json_parse(th_str_of(metadata ?: "{}"), &doc, &e);

	if (code)
		return th_api_out(code, &e, err);
	th_jw_object(&w);
	if (start_ms)
		th_jw_kint(&w, TH_START_MEMBER, start_ms);
	if (priority != TH_PRIORITY_NORMAL)
		th_jw_kstr(&w, TH_PRIORITY_MEMBER, th_str_of(th_priority_name(priority)));
	it = th_json_iter(th_json_root(doc));
	while (th_json_next(&it)) {
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	if (th_buf_check(out, "the metadata", &e) || out->len > TH_METADATA_MAX)
		return th_api_fail(err, TH_EUSAGE, "the metadata is longer than %zu bytes",
				   (size_t)TH_METADATA_MAX);
	/* A database finds both in what it takes for JSON, which has no zero. */
	if (th_str_find(th_buf_str(out), TH_STR("\\u0000")) >= 0)
		return th_api_fail(
		    err, TH_EUSAGE,
		    "metadata of a session that begins later, or has a priority, have "
		    "no \\u0000");
	return TH_OK;
}

int th_api_schedule_read(const char *text, int64_t *ret_ms, struct thole_error *err)
{
	int64_t now_ms = (int64_t)th_clock_wall_ms();
	struct th_err e = { 0 };

	*ret_ms = 0;
	if (th_moment_parse(th_str_of(text), now_ms, ret_ms, &e))
		return th_api_fail(err, TH_EUSAGE, "start_at: %s", e.msg);
	if (*ret_ms <= now_ms)
		*ret_ms = 0; /* at once */
	return TH_OK;
}

enum th_code th_api_schedule(struct thole_session *s, struct th_err *err)
{
	char at[TH_MOMENT_TEXT_SIZE], why[64];

	s->start_later = false;
	th_moment_print(s->start_ms, at);
	snprintf(why, sizeof(why), "it begins at %s", at);
	return th_driver_set_state(s->rt->driver, s->handle, TH_STATE_SCHEDULED, th_str_of(why),
				   err);
}

/* ---- those whose time comes ---- */

static bool waits(const struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);

	return s->start_ms && !s->lost && (s->start_later || (f && f->state == TH_STATE_SCHEDULED));
}

void th_api_schedule_note(struct thole_runtime *rt, int64_t start_ms)
{
	if (start_ms && (!rt->start_ms || start_ms < rt->start_ms))
		rt->start_ms = start_ms;
}

void th_api_schedule_came(struct thole_runtime *rt)
{
	th_api_schedule_note(rt, 1);
}

bool th_api_schedule_due(const struct thole_runtime *rt)
{
	return rt->start_ms && rt->start_ms <= (int64_t)th_clock_wall_ms();
}

/* A session that is open may not be in the store yet. */
void th_api_schedule_looked(struct thole_runtime *rt, int64_t next_ms)
{
	th_api_schedule_note(rt, next_ms);
	for (const struct thole_session *s = rt->sessions; s; s = s->next)
		if (waits(s))
			th_api_schedule_note(rt, s->start_ms);
}

bool th_api_schedule_begin(struct thole_runtime *rt, const char *id)
{
	struct thole_session *s = th_api_open_find(rt, id);
	const struct th_session *f = s ? th_api_fold(s) : NULL;
	struct thole_error ignored;

	if (!f)
		return false; /* it is being opened, or closed */
	return f->state != TH_STATE_SCHEDULED || thole_session_resume(s, &ignored) == 0;
}
