/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - whether a user may begin something more now. */
#include "server/internal.h"

static int64_t running(const struct th_server *s, const char *user)
{
	int64_t count = 0;

	for (const struct th_hub *h = s->hubs.first; h; h = h->next)
		count += strcmp(h->user, user) == 0 && th_hub_runs(h);
	return count;
}

bool th_quota_has_room(struct th_server *s, const char *user, struct th_refusal *ret)
{
	struct th_quota q = th_settings_quota(&s->settings, user);

	*ret = (struct th_refusal){ .wait_ms = 1000, .code = "sessions" };
	if (q.sessions && running(s, user) >= q.sessions) {
		(void)th_fail(&ret->why, TH_ELIMIT, "%lld of your sessions run, and no more may",
			      (long long)q.sessions);
		return false;
	}
	return true;
}

bool th_quota_begin(struct th_access *a)
{
	struct th_refusal r;

	if (th_quota_has_room(a->server, a->user, &r))
		return true;
	a->server->metrics.refused_quota++;
	th_access_wait(a, r.wait_ms, r.code, "%s", r.why.msg);
	return false;
}
