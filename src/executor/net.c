/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c - a net that is a list: the session's own network, in which there is
 * nothing but the way to the egress.
 */
#include <stdio.h>

#include "base/limits.h"
#include "executor/state.h"
#include "io/role.h"
#include "rules/net_rule.h"

const char *const *th_exec_net_environment(const struct th_executor_server *x)
{
	/* ALL_PROXY is HTTP too: some programs fail when it names SOCKS and they lack the module.
	 */
	static const char *const list[] = {
		"HTTP_PROXY=" TH_NET_SPACE_PROXY,
		"http_proxy=" TH_NET_SPACE_PROXY,
		"HTTPS_PROXY=" TH_NET_SPACE_PROXY,
		"https_proxy=" TH_NET_SPACE_PROXY,
		"ALL_PROXY=" TH_NET_SPACE_PROXY,
		"all_proxy=" TH_NET_SPACE_PROXY,
		"NO_PROXY=localhost,127.0.0.1,::1",
		"no_proxy=localhost,127.0.0.1,::1",
		"NODE_USE_ENV_PROXY=1",
		NULL,
	};
	static const char *const none[] = { NULL };

	return x->egress ? list : none;
}

enum th_code th_exec_net_make(struct th_executor_server *x, struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	char self[TH_PATH_LEN_MAX];
	const char *program;
	struct th_net_policy policy;

	if (x->start.net.len == 0)
		return TH_OK;
	th_arena_init(&a, TH_MIB);
	enum th_code code = th_net_parse(x->start.net, &a, &policy, NULL, err);
	if (code)
		return th_prefix(err, code, "net");
	if (policy.kind != TH_NET_LIST)
		return TH_OK;
	if (x->start.no_sandbox)
		return th_fail(err, TH_EUSAGE,
			       "net: a list of hosts holds only in a sandbox; without one it must "
			       "be none or host");
	code = th_role_program(self, &program, err);
	if (code == TH_OK)
		code = th_net_space_new(&x->net_space, err);
	if (code)
		return th_prefix(err, code, "net: a list of hosts");
	const struct th_egress_options o = { .program = program,
					     .session = x->start.session,
					     .net = x->start.net,
					     .on_ask = x->on_ask,
					     .on_withdrawn = x->on_withdrawn,
					     .asks = x->start.net_ask,
					     .asks_listed = x->start.net_strict,
					     .ask_ctx = x,
					     .secrets = x->authority ? x->secrets : NULL,
					     .authority = x->authority,
					     .listen_fd = x->net_space.listen_fd };
	return th_egress_link_new(x->loop, &o, &x->egress, err);
}

void th_exec_net_deinit(struct th_executor_server *x)
{
	x->egress = th_egress_link_free(x->egress);
	th_net_space_close(&x->net_space);
}
