/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file of MCP servers: what is taken are programs that a table of an agent file
 * takes as well, with no value of thole's environment; what is refused has a sentence.
 */
#include "config/mcp_json.h"

#include <string.h>

#include "base/limits.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRETS "{\"KEY\": {\"give\": true, \"servers\": [\"mine\"]}}"

static void check_text(struct th_str text)
{
	assert(!memchr(text.ptr ?: "", '\0', text.len) && th_str_find(text, TH_STR("${")) < 0);
}

static void check_server(const struct th_agent_mcp *s)
{
	assert(s->command.count > 0 && s->command.list[0].len > 0 && s->url.len == 0);
	assert(s->token_env.len == 0 && s->headers.count == 0 && !th_str_is(s->name, "mine"));
	for (size_t i = 0; i < s->command.count; i++)
		check_text(s->command.list[i]);
	for (size_t i = 0; i < s->environment.count; i++) {
		check_text(s->environment.list[i]);
		assert(th_str_find(s->environment.list[i], TH_STR("=")) > 0);
	}
}

static void check_err(const struct th_err *err)
{
	assert(err->code != TH_OK && err->msg[0]);
	assert(th_utf8_valid(th_str_of(err->msg)) == strlen(err->msg));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_agent agent = { .secrets = TH_STR(SECRETS) };
	struct th_json_doc *doc = NULL;
	struct th_arena arena;
	struct th_err err = {};

	if (th_json_parse(th_str_n((const char *)data, size), &doc, NULL) != TH_OK)
		return 0;
	th_arena_init(&arena, 8 * TH_MIB);
	if (th_mcp_json_add(th_json_root(doc), &agent, &arena, &err) == TH_OK) {
		const struct th_agent_mcp *list = agent.mcp_servers.list;

		doc = th_json_free(doc); /* nothing of it is borrowed */
		assert(agent.mcp_servers.count <= TH_MCP_SERVERS_MAX);
		for (size_t i = 0; i < agent.mcp_servers.count; i++)
			check_server(&list[i]);
	} else {
		check_err(&err);
		assert(agent.mcp_servers.count == 0);
	}
	th_arena_deinit(&arena);
	th_json_free(doc);
	return 0;
}
