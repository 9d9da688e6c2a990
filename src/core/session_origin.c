/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_origin.c - the fold of origins: whether untrusted bytes are in the
 * context, since when, and which hosts had been reached by then.
 */
#include <stdio.h>

#include "core/session.h"

#include "core/session_internal.h"

/* An agent file was checked when it was read; a policy that this build cannot read trusts nothing.
 */
void th_origins_init(struct th_session *s, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	if (th_untrusted_read(agent->untrusted, &s->origins.policy, &path, NULL))
		s->origins.policy =
		    (struct th_untrusted){ .origins = UINT32_MAX, .ask = UINT32_MAX };
}

static void reached(struct th_session *s, struct th_str host, int64_t port)
{
	struct th_session_origins *o = &s->origins;
	struct th_said_host *h;

	if (!o->hosts)
		o->hosts = th_arena_array(&s->memory, TH_HOSTS_SAID_MAX, sizeof(*o->hosts));
	for (size_t i = 0; i < o->host_count; i++)
		if (o->hosts[i].port == port && th_str_is(host, o->hosts[i].name))
			return;
	/* One more is asked about, though it was reached. */
	if (!o->hosts || o->host_count == TH_HOSTS_SAID_MAX || host.len > TH_NET_HOST_MAX)
		return;
	h = &o->hosts[o->host_count++];
	snprintf(h->name, sizeof(h->name), "%.*s", TH_FMT(host));
	h->port = (uint16_t)port;
	h->allow = true;
}

static void take_hosts(struct th_session *s, const struct th_json *evidence)
{
	struct th_json_iter it = th_json_iter(th_json_get(evidence, "network"));

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "decision"), "allowed"))
			reached(s, th_json_get_str(it.val, "host"),
				th_json_get_int(it.val, "port", 0));
}

void th_origins_take(struct th_step *st, const struct th_strs *origins)
{
	struct th_session_origins *o = &st->s->origins;
	unsigned bits = 0;

	for (size_t i = 0; i < origins->count; i++) {
		int at = th_origin_find(origins->list[i]);

		/* An origin that only another build knows may be anybody. */
		bits |= TH_ORIGIN_BIT(at < 0 ? (unsigned)TH_ORIGIN_WEB : (unsigned)at);
	}
	o->all |= bits;
	if (o->seq || !o->policy.origins)
		return;
	if (o->policy.ask & TH_GUARDED_BIT(TH_GUARDED_HOST))
		take_hosts(st->s, th_json_get(st->data, "evidence"));
	bits &= o->policy.origins;
	if (!bits)
		return;
	o->seq = st->ev->seq;
	o->first = (enum th_origin)__builtin_ctz(bits);
}

void th_origins_print(const struct th_session *s, struct th_jw *w)
{
	if (s->origins.all)
		th_jw_kuint(w, "origins", s->origins.all);
	if (s->origins.seq)
		th_jw_kuint(w, "untrusted", s->origins.seq);
	if (s->origins.host_count)
		th_jw_kuint(w, "reached", s->origins.host_count);
}
