/* SPDX-License-Identifier: Apache-2.0 */
/* forward_takes.c - which requests another node may have to answer. */
#include <stdio.h>

#include "server/forward.h"

bool th_forward_places(struct th_access *a, const struct thole_error *err)
{
	struct th_str text = th_str_of(err->text);
	char needs[TH_FIND_TEXT_MAX];
	size_t at = text.len;

	/* What a node passed on already was to be run by this one. */
	if (err->code != THOLE_EPLACE || !a->server->fleet || a->by_node ||
	    a->server->fleet->count >= TH_FLEET_FORWARDS_MAX)
		return false;
	while (at > 0 && text.ptr[at - 1] != ':')
		at--;
	text = th_str_trim(th_str_sub(text, at, text.len));
	if (at == 0 || !text.len || text.len >= sizeof(needs))
		return false;
	snprintf(needs, sizeof(needs), "%.*s", TH_FMT(text));
	th_forward_begin(a, TH_FIND_LABELS, needs, NULL, false);
	return true;
}

static bool is_here(struct th_server *s, const char *session)
{
	const struct th_hub *h = th_hub_find(s, session);

	return h && h->session;
}

static bool has_room(struct th_access *a)
{
	if (a->server->fleet->count < TH_FLEET_FORWARDS_MAX)
		return true;
	th_access_fail(a, 503, "overloaded", "too many requests are passed on already");
	return false;
}

bool th_forward_session(struct th_access *a, const char *session, th_access_fn *here)
{
	if (!a->server->fleet || is_here(a->server, session))
		return false;
	if (has_room(a))
		th_forward_begin(a, TH_FIND_SESSION, session, here, false);
	return true;
}

static void take_again(struct th_access *a)
{
	a->again = NULL;
	if (!th_forward_takes(a))
		a->route->fn(a);
}

bool th_forward_takes(struct th_access *a)
{
	char what[TH_FIND_TEXT_MAX];
	enum th_find_by by = TH_FIND_SESSION;

	if (!a->server->fleet)
		return false;
	if (th_forward_session_of(a, what)) {
		if (is_here(a->server, what))
			return false;
	} else if (th_needs_wait(&a->needs)) {
		a->again = take_again;
		return true;
	} else if (th_forward_keeper_of(a, what)) {
		by = TH_FIND_TAG;
	} else {
		return false;
	}
	if (!has_room(a))
		return true;
	th_forward_begin(a, by, what, a->route->fn, true);
	return true;
}
