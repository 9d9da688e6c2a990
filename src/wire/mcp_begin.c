/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_begin.c - the first words to a server (MCP), and its answers: which era of the protocol it
 * speaks, and what it can do.
 */
#include "wire/mcp_talk.h"

#include <stdio.h>

#include "base/field.h"
#include "base/text.h"
#include "wire/mcp_offer.h"

#define UNSUPPORTED_VERSION (-32022)

static const char *const legacy[] = { TH_MCP_REVISION_LEGACY, "2025-06-18", "2025-03-26",
				      "2024-11-05", NULL };

static void discover(struct th_mcp_client *c)
{
	c->discover_id = ++c->ids;
	th_mcp_say(c, c->discover_id, "server/discover", TH_STR("{}"), 0, true);
}

static void initialize(struct th_mcp_client *c)
{
	struct th_buf params = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&params);

	c->initialize_id = ++c->ids;
	th_jw_object(&w);
	th_jw_kstr(&w, "protocolVersion", TH_STR(TH_MCP_REVISION_LEGACY));
	th_mcp_say_capabilities(c, &w, "capabilities", false);
	th_mcp_say_self(&w, "clientInfo");
	th_jw_object_end(&w);
	th_mcp_say(c, c->initialize_id, "initialize", th_buf_str(&params), 0, false);
	th_buf_deinit(&params);
}

/* Tells us when its list changes: a request of its own, which never ends. */
static void listen_to(struct th_mcp_client *c)
{
	c->listen_id = ++c->ids;
	th_mcp_say(c, c->listen_id, "subscriptions/listen",
		   TH_STR("{\"notifications\":{\"toolsListChanged\":true}}"), 0, true);
}

static void open_modern(struct th_mcp_client *c)
{
	c->era = TH_MCP_ERA_MODERN;
	c->discover_id = c->initialize_id = 0;
	c->open = true;
	snprintf(c->revision, sizeof(c->revision), "%s", TH_MCP_REVISION_MODERN);
	if (c->tells_changes)
		listen_to(c);
	c->ops->opened(c->ctx);
}

void th_mcp_client_begin(struct th_mcp_client *c)
{
	assert(!c->open);
	if (c->era == TH_MCP_ERA_MODERN)
		open_modern(c);
	else if (c->era == TH_MCP_ERA_LEGACY)
		initialize(c);
	else
		discover(c);
}

bool th_mcp_client_silent(struct th_mcp_client *c)
{
	if (c->open || c->initialize_id)
		return false;
	initialize(c);
	return true;
}

/* ---- the first answers -------------------------------------------------------------------- */

static void note_software(struct th_mcp_client *c, const struct th_json *info)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_str name = th_utf8_cut(th_json_get_str(info, "name"), 80);
	struct th_str version = th_utf8_cut(th_json_get_str(info, "version"), 40);

	if (name.len) {
		th_text_line(&text, name, 80);
		th_buf_add_cstr(&text, version.len ? " " : "");
		th_text_line(&text, version, 40);
		snprintf(c->software, sizeof(c->software), "%.*s",
			 TH_FMT(th_utf8_cut(th_buf_str(&text), sizeof(c->software) - 1)));
	}
	th_buf_deinit(&text);
}

static void note_instructions(struct th_mcp_client *c, const struct th_json *result)
{
	th_buf_clear(&c->instructions);
	th_buf_add(&c->instructions,
		   th_utf8_cut(th_json_get_str(result, "instructions"), TH_MCP_INSTRUCTIONS_MAX));
}

static void note_abilities(struct th_mcp_client *c, const struct th_json *capabilities)
{
	const struct th_json *tools = th_json_get(capabilities, "tools");

	c->tells_changes = th_json_bool(th_json_get(tools, "listChanged"), false);
	c->abilities = 0;
	if (th_json_is_object(th_json_get(capabilities, "resources")))
		c->abilities |= TH_MCP_RESOURCES;
	if (th_json_is_object(th_json_get(capabilities, "prompts")))
		c->abilities |= TH_MCP_PROMPTS;
	if (th_json_is_object(th_json_get(capabilities, "completions")))
		c->abilities |= TH_MCP_COMPLETIONS;
	if (th_json_is_object(th_json_get(capabilities, "logging")))
		c->abilities |= TH_MCP_LOGGING;
	if (th_json_is_object(th_json_get(
		th_json_get(th_json_get(th_json_get(capabilities, "tasks"), "requests"), "tools"),
		"call")))
		c->abilities |= TH_MCP_TASKS;
}

static enum th_code on_discovered(struct th_mcp_client *c, const struct th_json *result)
{
	struct th_json_iter it = th_json_iter(th_json_get(result, "supportedVersions"));
	bool ours = false;

	while (th_json_is_array(it.parent) && th_json_next(&it))
		ours |= th_str_is(th_json_str(it.val), TH_MCP_REVISION_MODERN);
	if (!ours) {
		(void)th_mcp_client_silent(c);
		return TH_OK;
	}
	note_abilities(c, th_json_get(result, "capabilities"));
	note_software(c, th_json_get(th_json_get(result, "_meta"), TH_MCP_META "serverInfo"));
	note_instructions(c, result);
	open_modern(c);
	return TH_OK;
}

static enum th_code on_initialized(struct th_mcp_client *c, const struct th_json *result,
				   struct th_err *err)
{
	struct th_str revision = th_json_get_str(result, "protocolVersion");

	if (th_names_find(legacy, revision) < 0)
		return th_fail(err, TH_EPROTO,
			       "the server speaks revision \"%.*s\" of MCP, which is none "
			       "of " TH_MCP_REVISION_MODERN
			       " and 2024-11-05 to " TH_MCP_REVISION_LEGACY,
			       TH_FMT(th_utf8_cut(revision, 40)));
	c->era = TH_MCP_ERA_LEGACY;
	c->discover_id = c->initialize_id = 0;
	c->open = true;
	snprintf(c->revision, sizeof(c->revision), "%.*s", TH_FMT(revision));
	note_abilities(c, th_json_get(result, "capabilities"));
	note_software(c, th_json_get(result, "serverInfo"));
	note_instructions(c, result);
	th_mcp_say_call(c, 0, "notifications/initialized", TH_STR(""));
	c->ops->opened(c->ctx);
	return TH_OK;
}

/* A modern server, which refuses the revision that we said; perhaps only for now. */
static enum th_code on_unsupported(struct th_mcp_client *c, const struct th_json *data,
				   struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "supported"));
	bool modern = false, older = false;

	while (th_json_is_array(it.parent) && th_json_next(&it)) {
		modern |= th_str_is(th_json_str(it.val), TH_MCP_REVISION_MODERN);
		older |= th_names_find(legacy, th_json_str(it.val)) >= 0;
	}
	if (modern && !c->refused) {
		c->refused = true;
		discover(c);
		return TH_OK;
	}
	if (older) {
		(void)th_mcp_client_silent(c);
		return TH_OK;
	}
	return th_fail(
	    err, TH_EPROTO,
	    "the server speaks no revision of MCP that is known here: " TH_MCP_REVISION_MODERN
	    ", or 2024-11-05 to " TH_MCP_REVISION_LEGACY);
}

enum th_code th_mcp_begin_take(struct th_mcp_client *c, uint64_t id, const struct th_rpc *m,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str why;

	if (th_json_parse(m->value, &doc, err))
		return th_prefix(err, TH_EPROTO, "the server's first answer");
	if (id == c->discover_id) {
		c->discover_id = 0;
		if (m->kind == TH_RPC_RESULT)
			return on_discovered(c, th_json_root(doc));
		if (th_json_get_int(th_json_root(doc), "code", 0) == UNSUPPORTED_VERSION)
			return on_unsupported(c, th_json_get(th_json_root(doc), "data"), err);
		(void)th_mcp_client_silent(c);
		return TH_OK;
	}
	if (m->kind == TH_RPC_RESULT)
		return on_initialized(c, th_json_root(doc), err);
	c->initialize_id = 0;
	why = th_utf8_cut(th_json_get_str(th_json_root(doc), "message"), 300);
	return th_fail(err, TH_EPROTO, "the server refused to begin: %.*s", TH_FMT(why));
}
