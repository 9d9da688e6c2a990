/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - how sessions of the C API end: by their caller, for another runtime, or lost; and
 * when one is freed.
 */
#include <stdlib.h>

#include "api/api.h"
#include "computer/image.h"

/* Those that the caller gave back, and that are not closed yet. */
static void ended_add(struct thole_session *s)
{
	s->next_ended = s->rt->ended;
	if (s->next_ended)
		s->next_ended->at_ended = &s->next_ended;
	s->at_ended = &s->rt->ended;
	s->rt->ended = s;
}

static void ended_remove(struct thole_session *s)
{
	if (!s->at_ended)
		return;
	*s->at_ended = s->next_ended;
	if (s->next_ended)
		s->next_ended->at_ended = s->at_ended;
	s->at_ended = NULL;
}

void th_api_session_unref(struct thole_session *s)
{
	struct thole_runtime *rt = s->rt;

	if (--s->users > 0)
		return;
	ended_remove(s);
	if (s->prev)
		s->prev->next = s->next;
	else
		rt->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
	if (rt->busy == s)
		rt->busy = NULL;
	th_api_named_remove(s);
	th_api_agent_unref(s->agent);
	th_png_free(s->png);
	free(s->message_later);
	free(s->take_later);
	free(s->reason_later);
	free(s->handoff);
	free(s->text);
	free(s->id);
	free(s);
}

void th_api_session_lose(struct thole_session *s, const struct th_err *err)
{
	s->lost = true;
	s->why = *err;
	s->opening = false;
	th_api_calls_forget(s);
	th_api_tell(s, THOLE_NOTE_REST, TH_STR("lost"), th_str_of(err->msg), (struct th_str){ 0 },
		    (struct th_str){ 0 }, 0, NULL);
}

void th_api_session_end(struct thole_session *s)
{
	if (s->freed)
		return;
	s->freed = true;
	th_api_watchers_end(s);
	s->rt->session_count--;
	ended_add(s);
	th_api_calls_forget(s);
}

void thole_session_free(struct thole_session *s)
{
	if (!s || th_api_enter_session(s, NULL) == THOLE_EUSAGE || s->freed)
		return;
	th_api_session_end(s);
	th_api_deliver_soon(s->rt);
	if (s->opening && th_runtime_give_up(s->rt->rt, s)) {
		s->opening = false;
		th_api_session_unref(s); /* the driver has it not, and will not */
	}
	th_api_session_unref(s);
}

int thole_session_hand_over(struct thole_session *s, bool now, struct thole_error *err)
{
	int code = th_api_enter_session(s, err);
	struct thole_runtime *rt;
	struct th_handle handle;
	struct th_err e = { 0 };
	enum th_code bad;

	if (code || s->freed)
		return code;
	rt = s->rt;
	handle = s->handle;
	if (!th_runtime_store(rt->rt)->kind->abandoned)
		return th_api_fail(err, TH_EUNSUPPORTED,
				   "the store is of this machine alone; there is nobody to go on");
	if (s->opening || !s->handle.generation ||
	    (!th_driver_drain(rt->driver, s->handle) && !now))
		return th_api_fail(err, TH_EBUSY, "something of the session is under way");
	th_api_session_end(s);
	/* The loop turns until all of it is durable: th_api_sessions_reap is not to close it then.
	 */
	s->handle = (struct th_handle){ 0 };
	bad = th_runtime_hand_over(rt->rt, handle, &e);
	th_api_deliver_soon(rt);
	th_api_session_unref(s); /* the caller's, and the driver's */
	th_api_session_unref(s);
	return th_api_out(bad, &e, err);
}

/* Does a command or a desktop of it live on, which nobody needs any more? */
static bool ends_executor(const struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);
	bool over = f && (f->state == TH_STATE_FINISHED || f->state == TH_STATE_STOPPED);

	if (!over || !s->agent)
		return over;
	return (s->agent->def.computer && !s->agent->see) ||
	       s->agent->def.tools.count > s->agent->tool_count;
}

void th_api_sessions_reap(struct thole_runtime *rt)
{
	for (struct thole_session *s = rt->ended, *next; s; s = next) {
		next = s->next_ended;
		if (s->opening || !s->handle.generation ||
		    !th_driver_durable(rt->driver, s->handle))
			continue;
		th_runtime_close(rt->rt, s->handle, ends_executor(s));
		s->handle = (struct th_handle){ 0 };
		th_api_session_unref(s);
	}
}

void th_api_sessions_close(struct thole_runtime *rt)
{
	while (rt->sessions) {
		rt->sessions->users = 1;
		th_api_session_unref(rt->sessions);
	}
	free(rt->named);
	rt->named = NULL;
	rt->named_size = 0;
}
