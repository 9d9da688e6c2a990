/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - hosts that the session's programs want to reach, and that its net
 * does not list: one after the other is asked for, in the name of a call that
 * runs.  Where none runs, or nobody is connected, it is refused.
 *
 * What a runtime says of hosts comes with each run, and replaces what was said
 * before; what it answers in between is added.
 */
#include <stdio.h>

#include "base/limits.h"
#include "executor/state.h"

static void say(struct th_executor_server *x, const char *host, uint16_t port, bool allow,
		const char *why)
{
	if (x->egress)
		th_egress_link_answer(x->egress, th_str_of(host), port, allow, why);
}

/* ---- what was said ---- */

static struct th_exec_said *said_of(struct th_executor_server *x, struct th_str host, int64_t port)
{
	for (size_t i = 0; i < x->said_count; i++)
		if (x->said[i].port == port && th_str_is(host, x->said[i].name))
			return &x->said[i];
	return NULL;
}

/* `listed`: it answers only where net lists the host. */
static void add_said(struct th_executor_server *x, struct th_str host, int64_t port, bool allow,
		     bool listed)
{
	struct th_exec_said *at = said_of(x, host, port);

	if (host.len > TH_NET_HOST_MAX || port < 1 || port > UINT16_MAX)
		return;
	if (!at && x->said_count < TH_COUNT(x->said))
		at = &x->said[x->said_count++];
	if (!at)
		return;
	snprintf(at->name, sizeof(at->name), "%.*s", TH_FMT(host));
	at->port = (uint16_t)port;
	at->allow = allow;
	at->listed = listed;
}

void th_exec_ask_said(struct th_executor_server *x, const struct th_exec_run *m)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;

	if (m->hosts.len == 0 || th_json_parse(m->hosts, &doc, NULL))
		return;
	x->strict = m->strict;
	struct th_json_iter it = th_json_iter(th_json_root(doc));
	x->said_count = 0;
	while (th_json_next(&it))
		add_said(x, th_json_get_str(it.val, "host"), th_json_get_int(it.val, "port", 0),
			 th_json_bool(th_json_get(it.val, "allow"), false),
			 th_json_bool(th_json_get(it.val, "listed"), false));
}

/* ---- asking ---- */

/* The oldest call that runs, and whose runtime hears it; none that is about to end. */
static struct th_exec_sub *find_asker(struct th_executor_server *x,
				      const struct th_exec_effect *ending,
				      struct th_exec_effect **ret)
{
	struct th_exec_sub *found = NULL;

	for (struct th_exec_effect *e = x->effects; e; e = e->next)
		for (struct th_exec_sub *sub = e->subs; sub; sub = sub->next)
			if (e != ending && e->started && !e->finished && !e->settling &&
			    !e->cancelled && !sub->client->dead && sub->client->epoch > 0) {
				found = sub;
				*ret = e;
			}
	return found;
}

static bool send_asks(struct th_executor_server *x, const struct th_exec_sub *sub)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(4 * TH_KIB);
	struct th_exec_host m = { .op = TH_STR("asks"),
				  .id = sub->id,
				  .host = th_str_of(x->asks[0].name),
				  .port = x->asks[0].port,
				  .listed = x->asks[0].listed };

	th_exec_print(&th_exec_host_table, &m, &head);
	return th_exec_send(sub->client, th_buf_str(&head), TH_STR(""));
}

/* The first question is over. */
static void drop_first(struct th_executor_server *x, bool allow, const char *why)
{
	struct th_exec_said first = x->asks[0];

	x->asking = NULL;
	x->asking_client = NULL;
	for (size_t i = 1; i < x->ask_count; i++)
		x->asks[i - 1] = x->asks[i];
	x->ask_count--;
	say(x, first.name, first.port, allow, why);
}

static void ask_next(struct th_executor_server *x, const struct th_exec_effect *ending)
{
	while (x->ask_count > 0 && !x->asking) {
		struct th_exec_effect *e;
		const struct th_exec_sub *sub = find_asker(x, ending, &e);

		if (!sub || !send_asks(x, sub)) {
			drop_first(x, false, "no call is under way that could ask for it");
			continue;
		}
		x->asking = e;
		x->asking_client = sub->client;
		th_tool_clocks_hold(&e->job);
	}
}

void th_exec_ask(void *ctx, struct th_str host, uint16_t port, bool listed)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	const struct th_exec_said *known = said_of(x, host, port);
	char name[TH_NET_HOST_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", TH_FMT(host));
	if (listed && !x->strict) {
		say(x, name, port, true, "");
		return;
	}
	if (known && (listed || !known->listed)) {
		say(x, name, port, known->allow, "nobody allowed it");
		return;
	}
	for (size_t i = 0; i < x->ask_count; i++)
		if (x->asks[i].port == port && th_str_is(host, x->asks[i].name))
			return;
	if (x->ask_count == TH_COUNT(x->asks)) {
		say(x, name, port, false, "too many hosts are asked for");
		return;
	}
	x->asks[x->ask_count] = (struct th_exec_said){ .port = port, .listed = listed };
	snprintf(x->asks[x->ask_count].name, sizeof(x->asks[0].name), "%s", name);
	x->ask_count++;
	ask_next(x, NULL);
}

/* Whoever is asked is told that it is over. */
static void send_withdrawn(struct th_executor_server *x)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(4 * TH_KIB);
	struct th_exec_host m = { .op = TH_STR("asks"),
				  .host = th_str_of(x->asks[0].name),
				  .port = x->asks[0].port,
				  .withdrawn = true };

	for (struct th_exec_sub *sub = x->asking->subs; sub; sub = sub->next)
		if (sub->client == x->asking_client) {
			m.id = sub->id;
			th_exec_print(&th_exec_host_table, &m, &head);
			(void)th_exec_send(sub->client, th_buf_str(&head), TH_STR(""));
			return;
		}
}

void th_exec_ask_withdrawn(void *ctx, struct th_str host, uint16_t port)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;
	size_t at = 0;

	while (at < x->ask_count &&
	       (x->asks[at].port != port || !th_str_is(host, x->asks[at].name)))
		at++;
	if (at == x->ask_count)
		return;
	if (at == 0 && x->asking) {
		send_withdrawn(x);
		th_tool_clocks_go_on(&x->asking->job);
		drop_first(x, false, "it hung up");
		ask_next(x, NULL);
		return;
	}
	x->ask_count--;
	for (; at < x->ask_count; at++)
		x->asks[at] = x->asks[at + 1];
}

void th_exec_on_host(struct th_exec_client *c, const struct th_exec_host *m)
{
	struct th_executor_server *x = c->x;

	if (c->epoch <= 0 || c->epoch < th_ledger_epoch(x->ledger))
		return;
	add_said(x, m->host, m->port, m->allow, false);
	if (x->asking && x->asks[0].port == m->port && th_str_is(m->host, x->asks[0].name)) {
		th_tool_clocks_go_on(&x->asking->job);
		drop_first(x, m->allow, "nobody allowed it");
	}
	ask_next(x, NULL);
}

void th_exec_ask_cancelled(struct th_exec_effect *e)
{
	if (e->x->asking == e)
		th_tool_clocks_go_on(&e->job);
	th_exec_ask_over(e);
}

/* Its tool may have freed the clocks. */
void th_exec_ask_over(const struct th_exec_effect *e)
{
	struct th_executor_server *x = e->x;

	if (x->asking != e)
		return;
	drop_first(x, false, "its call ended before anybody decided");
	ask_next(x, e);
}

void th_exec_ask_client_gone(const struct th_exec_client *c)
{
	struct th_executor_server *x = c->x;

	if (!x->asking || x->asking_client != c)
		return;
	th_tool_clocks_go_on(&x->asking->job);
	drop_first(x, false, "who could decide is gone; try again");
	ask_next(x, NULL);
}
