/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far.c - executors of other machines: how this runtime reaches them, where others reach its own,
 * and where the log says that a session's is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "io/stream.h"
#include "rules/net_rule.h"
#include "runtime/internal.h"

enum th_code th_runtime_far(struct th_runtime *rt, const struct th_runtime_far *far,
			    struct th_err *err)
{
	struct th_tls_config *tls;
	char host[TH_NET_HOST_MAX + 1];
	bool is_address;
	uint16_t port;
	enum th_code code;

	if (far->place.len > TH_FLEET_TEXT_MAX ||
	    !th_stream_place(far->place, host, &is_address, &port))
		return th_fail(err, TH_EUSAGE, "executors: %.*s is not HOST:PORT",
			       TH_FMT(th_str_sub(far->place, 0, TH_FLEET_TEXT_MAX)));
	code = th_tls_config_mutual(far->cert, far->key, far->ca, false, &tls, err);
	if (code)
		return code;
	if (rt->far_tls)
		th_tls_config_replace(rt->far_tls, tls); /* clients have it */
	else
		rt->far_tls = tls;
	snprintf(rt->here, sizeof(rt->here), "%.*s", TH_FMT(far->place));
	return TH_OK;
}

static struct th_str far_of(const struct th_runtime_session *s)
{
	return s->far ? th_str_of(s->far) : TH_STR("");
}

/* Empty: here. */
static void set_far(struct th_runtime_session *s, struct th_str place)
{
	free(s->far);
	s->far = NULL;
	if (place.len) {
		s->far = th_alloc(place.len + 1);
		memcpy(s->far, place.ptr, place.len);
	}
}

static enum th_code on_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct th_runtime_session *s = ctx;
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_str place;

	(void)digest;
	(void)err;
	if (ev->kind != TH_EV_INTENT || th_json_parse(ev->data, &doc, NULL) != TH_OK)
		return TH_OK;
	place = th_json_get_str(th_json_root(doc), "executor");
	/* One without a journal may have been written before there was an executor. */
	if (place.len <= TH_FLEET_TEXT_MAX &&
	    (place.len || th_json_get_str(th_json_root(doc), "journal").len))
		set_far(s, place);
	return TH_OK;
}

struct th_str th_runtime_session_far(struct th_runtime_session *s)
{
	struct th_runtime *rt = s->rt;
	uint64_t head = s->row.head_seq, from;
	struct th_err ignored;

	if (!rt->far_tls || !s->stored || s->far_known)
		return far_of(s);
	s->far_known = true;
	from = head > TH_EXEC_PLACE_EVENTS_MAX ? head - TH_EXEC_PLACE_EVENTS_MAX : 1;
	/* What cannot be read here cannot be opened either, which says why. */
	if (rt->store->kind->read(rt->store, s->id, from, head, on_event, s, &ignored) ||
	    th_str_eq(th_str_of(rt->here), far_of(s)))
		set_far(s, TH_STR(""));
	return far_of(s);
}

void th_runtime_session_note_place(struct th_runtime_session *s)
{
	struct th_str place;

	if (!s->executor || !s->far)
		return;
	place = th_executor_client_place(s->executor);
	set_far(s, th_str_sub(place, 0, TH_FLEET_TEXT_MAX));
}

struct th_str th_runtime_far_of(struct th_runtime *rt, struct th_str session_id)
{
	struct th_runtime_session *s = rt->sessions;

	while (s && !th_str_eq(s->id, session_id))
		s = s->next;
	if (!s)
		return (struct th_str){ NULL, 0 };
	return s->executor ? th_executor_client_place(s->executor) : th_runtime_session_far(s);
}
