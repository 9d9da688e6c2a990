/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_rule.c - a list and a host, with a NUL between them.  Whatever they
 * are: a host is normalised once and for all, and a tunnel never gets through an
 * entry about plain HTTP.
 */
#include <assert.h>
#include <stdint.h>

#include "base/limits.h"
#include "rules/net_rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const struct th_net_policy *p, struct th_str text)
{
	char host[TH_NET_HOST_MAX + 1], again[TH_NET_HOST_MAX + 1];
	bool address, same;

	if (!th_net_host(text, host, &address))
		return;
	assert(th_net_host(th_str_of(host), again, &same) && same == address &&
	       strcmp(host, again) == 0);
	struct th_net_target t = { .host = th_str_of(host), .address = address, .port = 443 };
	const struct th_net_rule *r = th_net_match(p, &t);
	assert(!r || (r->method.len == 0 && r->path.len == 0));
	t.port = 80;
	t.method = TH_STR("GET");
	t.path = text;
	(void)th_net_match(p, &t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str rest = th_str_n(data, size), first;
	struct th_net_policy policy;
	struct th_arena a;
	struct th_err err;

	if (size > 20000)
		return 0;
	first = th_str_split(&rest, '\0');
	th_arena_init(&a, TH_MIB);
	if (th_net_parse(first, &a, &policy, NULL, &err) == TH_OK)
		match(&policy, rest);
	th_arena_deinit(&a);
	return 0;
}
