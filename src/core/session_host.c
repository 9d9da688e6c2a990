/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_host.c - the fold of hosts that a call asks for while it runs, and
 * what a person said of them.
 *
 * A word holds for the task, or, said for good, for the session.  The question
 * ends with its call: what nobody decided by then is asked again.
 */
#include <stdio.h>

#include "core/session.h"

#include "base/text.h"
#include "core/session_internal.h"

void th_host_digest(struct th_str name, uint16_t port, char out[static TH_SHA256_HEX_SIZE + 1])
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_KIB);
	struct th_jw w = th_jw(&text);

	th_jw_object(&w);
	th_jw_kstr(&w, "host", name);
	th_jw_kint(&w, "port", port);
	th_jw_object_end(&w);
	th_call_digest(TH_STR("net"), th_buf_str(&text), out);
}

const struct th_said_host *th_session_host(const struct th_session *s, struct th_str name,
					   uint16_t port)
{
	for (size_t i = 0; i < s->host_count; i++)
		if (s->hosts[i].port == port && th_str_is(name, s->hosts[i].name))
			return &s->hosts[i];
	return NULL;
}

/* `reached`: nobody was asked, so it answers nothing where net does not list the host. */
static void print_host(const struct th_said_host *h, bool reached, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "host", th_str_of(h->name));
	th_jw_kint(w, "port", h->port);
	th_jw_kbool(w, "allow", h->allow);
	if (reached)
		th_jw_kbool(w, "listed", true);
	th_jw_object_end(w);
}

void th_session_hosts_print(const struct th_session *s, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_array(&w);
	for (size_t i = 0; i < s->origins.host_count; i++)
		print_host(&s->origins.hosts[i], true, &w);
	for (size_t i = 0; i < s->host_count; i++) /* the newer word, and so the one that holds */
		print_host(&s->hosts[i], false, &w);
	th_jw_array_end(&w);
}

void th_hosts_print(const struct th_session *s, struct th_jw *w)
{
	if (s->host_count == 0)
		return;
	th_jw_key(w, TH_STR("hosts"));
	th_jw_array(w);
	for (size_t i = 0; i < s->host_count; i++) {
		const struct th_said_host *h = &s->hosts[i];
		char text[TH_NET_HOST_MAX + 40];

		snprintf(text, sizeof(text), "%s:%u %s%s", h->name, h->port,
			 h->allow ? "allowed" : "refused", h->always ? " for good" : "");
		th_jw_str(w, th_str_of(text));
	}
	th_jw_array_end(w);
}

void th_hosts_begin_task(struct th_session *s)
{
	size_t left = 0;

	for (size_t i = 0; i < s->host_count; i++)
		if (s->hosts[i].always)
			s->hosts[left++] = s->hosts[i];
	s->host_count = left;
}

/* One more than there is room for is asked about each time. */
static void said(struct th_session *s, const struct th_call_host *h, bool always)
{
	struct th_said_host *at =
	    (struct th_said_host *)(uintptr_t)th_session_host(s, h->name, h->port);

	if (!s->hosts)
		s->hosts = th_arena_array(&s->memory, TH_HOSTS_SAID_MAX, sizeof(*s->hosts));
	if (!at && s->hosts && s->host_count < TH_HOSTS_SAID_MAX)
		at = &s->hosts[s->host_count++];
	if (!at)
		return;
	snprintf(at->name, sizeof(at->name), "%.*s", TH_FMT(h->name));
	at->port = h->port;
	at->allow = h->phase == TH_HOST_ALLOWED;
	at->always = always;
}

enum th_code th_host_asked(struct th_step *st, struct th_call *c,
			   const struct th_ev_approval_requested *d)
{
	char digest[TH_SHA256_HEX_SIZE + 1];

	if (!c || c->host.phase == TH_HOST_ASKED)
		return th_fail(st->err, TH_EPROTO, "no call runs that could ask for this host");
	if (d->host.len > TH_NET_HOST_MAX || d->port < 1 || d->port > UINT16_MAX)
		return th_fail(st->err, TH_EPROTO, "what is asked for is no host with a port");
	th_host_digest(d->host, (uint16_t)d->port, digest);
	if (!th_str_is(d->digest, digest))
		return th_fail(st->err, TH_EPROTO, "the digest is of another host");
	c->host = (struct th_call_host){ .phase = TH_HOST_ASKED,
					 .name = th_arena_str(&st->s->turn, d->host),
					 .port = (uint16_t)d->port,
					 .seq = st->ev->seq };
	c->reason = th_arena_str(&st->s->turn, d->reason);
	if (!c->host.name.ptr)
		return th_session_full(st);
	c->expires_ms = d->expires_ms;
	return TH_OK;
}

enum th_code th_host_decided(struct th_step *st, struct th_call *c,
			     const struct th_ev_approval_decided *d)
{
	struct th_session *s = st->s;
	char digest[TH_SHA256_HEX_SIZE + 1];

	th_host_digest(c->host.name, c->host.port, digest);
	if (!th_str_is(d->digest, digest))
		return th_fail(st->err, TH_EPROTO,
			       "the decision is about another host than the one that is asked for");
	c->expires_ms = 0;
	if (d->withdrawn) { /* nobody waits for a word */
		c->host.phase = TH_HOST_NONE;
		return TH_OK;
	}
	c->host.phase = d->approve ? TH_HOST_ALLOWED : TH_HOST_REFUSED;
	if (!d->expired)
		said(s, &c->host, d->always);
	th_step_emit(st->out,
		     (struct th_effect){ .kind = TH_DO_HOST, .call = (uint32_t)(c - s->calls) });
	return TH_OK;
}
