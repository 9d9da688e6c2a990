/* SPDX-License-Identifier: Apache-2.0 */
#include "config/mcp_json.h"

#include <string.h>

#include "agents/agent_secret.h"
#include "base/text.h"
#include "config/config.h"
#include "wire/authority.h"

/* What may stand in one; of those that say nothing here nothing is taken. */
static const char *const members[] = { "command", "args",      "env",         "type",
				       "name",    "transport", "description", NULL };
static const char *const address_members[] = { "url",  "headers",     "type", "transport",
					       "name", "description", NULL };

static enum th_code check_known(const struct th_json *v, const char *const *known,
				struct th_err *err)
{
	struct th_json_iter it = th_json_iter(v);

	while (th_json_next(&it))
		if (th_names_find(known, it.key) < 0 && th_json_says(it.val))
			return th_fail(err, TH_EUSAGE, "has %.*s, which is not known here",
				       TH_FMT(th_utf8_cut(it.key, 80)));
	return TH_OK;
}

static struct th_str kind_of(const struct th_json *v)
{
	struct th_str type = th_json_get_str(v, "type");

	return type.len ? type : th_json_get_str(v, "transport");
}

static enum th_code check_members(const struct th_json *v, struct th_err *err)
{
	struct th_str kind = kind_of(v);

	if (!th_json_get_str(v, "command").len)
		return th_fail(err, TH_EUSAGE, "has no command");
	if (kind.len && !th_str_is(kind, "stdio"))
		return th_fail(err, TH_EUSAGE, "is no program on standard input and output");
	return check_known(v, members, err);
}

static enum th_code check_text(struct th_str text, struct th_err *err)
{
	if (memchr(text.ptr ?: "", '\0', text.len))
		return th_fail(err, TH_EUSAGE, "has a NUL byte");
	return th_str_find(text, TH_STR("${")) >= 0
		   ? th_fail(err, TH_EUSAGE,
			     "has ${…}: values of thole's environment are not for files")
		   : TH_OK;
}

static enum th_code put_argv(const struct th_json *v, struct th_jw *w, struct th_err *err)
{
	const struct th_json *args = th_json_get(v, "args");
	struct th_json_iter it = th_json_iter(args);
	enum th_code code = check_text(th_json_get_str(v, "command"), err);

	if (!code && !th_json_is_null(args) && !th_json_is_array(args))
		code = th_fail(err, TH_EUSAGE, "has args that are no list of texts");

	th_jw_key(w, TH_STR("command"));
	th_jw_array(w);
	th_jw_str(w, th_json_get_str(v, "command"));
	while (!code && th_json_next(&it)) {
		code = th_json_type(it.val) == TH_JSON_STR
			   ? check_text(th_json_str(it.val), err)
			   : th_fail(err, TH_EUSAGE, "has args that are no list of texts");
		th_jw_str(w, th_json_str(it.val));
	}
	th_jw_array_end(w);
	return code;
}

static enum th_code put_environment(const struct th_json *v, struct th_jw *w, struct th_err *err)
{
	const struct th_json *env = th_json_get(v, "env");
	struct th_json_iter it = th_json_iter(env);
	struct th_buf entry TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code = th_json_is_null(env) || th_json_is_object(env)
				? TH_OK
				: th_fail(err, TH_EUSAGE, "has an env that is no object of texts");

	th_jw_key(w, TH_STR("environment"));
	th_jw_array(w);
	while (!code && th_json_next(&it)) {
		th_buf_clear(&entry);
		th_buf_printf(&entry, "%.*s=%.*s", TH_FMT(it.key), TH_FMT(th_json_str(it.val)));
		code = th_json_type(it.val) == TH_JSON_STR && th_secret_name_ok(it.key)
			   ? check_text(th_buf_str(&entry), err)
			   : th_fail(err, TH_EUSAGE, "has an env that is no object of texts");
		code = code ?: th_buf_check(&entry, "a variable", err);
		th_jw_str(w, th_buf_str(&entry));
	}
	th_jw_array_end(w);
	return code;
}

static enum th_code check_address(const struct th_json *v, const struct th_strs *origins,
				  struct th_err *err)
{
	static const char *const kinds[] = { "http", "streamable-http", "streamable_http", "sse",
					     NULL };
	struct th_str url = th_json_get_str(v, "url"), kind = kind_of(v);
	bool named = false;

	if (!origins)
		return th_fail(err, TH_EUSAGE,
			       "is at an address: such a server must be named in the agent file");
	for (size_t i = 0; i < origins->count; i++)
		named = named || th_authority_url_of(url, origins->list[i]);
	if (!named)
		return th_fail(err, TH_EUSAGE,
			       "is at an address which subagents.servers of the agent file does "
			       "not name");
	if (kind.len && th_names_find(kinds, kind) < 0)
		return th_fail(err, TH_EUSAGE, "is of the type %.*s, which is not known here",
			       TH_FMT(th_utf8_cut(kind, 80)));
	return check_text(url, err) ?: check_known(v, address_members, err);
}

static enum th_code put_address(const struct th_json *v, struct th_jw *w, struct th_err *err)
{
	const struct th_json *headers = th_json_get(v, "headers");
	struct th_json_iter it = th_json_iter(headers);
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code =
	    th_json_is_null(headers) || th_json_is_object(headers)
		? TH_OK
		: th_fail(err, TH_EUSAGE, "has headers that are no object of texts");

	th_jw_kstr(w, "url", th_json_get_str(v, "url"));
	th_jw_key(w, TH_STR("headers"));
	th_jw_array(w);
	while (!code && th_json_next(&it)) {
		th_buf_clear(&line);
		th_buf_printf(&line, "%.*s: %.*s", TH_FMT(it.key), TH_FMT(th_json_str(it.val)));
		code = th_json_type(it.val) == TH_JSON_STR && it.key.len &&
			       th_str_find_char(it.key, ':') < 0
			   ? check_text(th_buf_str(&line), err)
			   : th_fail(err, TH_EUSAGE, "has headers that are no object of texts");
		code = code ?: th_buf_check(&line, "a header", err);
		th_jw_str(w, th_buf_str(&line));
	}
	th_jw_array_end(w);
	return code;
}

static enum th_code put_program(const struct th_json *v, struct th_jw *w, struct th_err *err)
{
	return check_members(v, err) ?: put_argv(v, w, err) ?: put_environment(v, w, err);
}

/* A secret is given to a server by its name: a stranger's may not take it. */
static enum th_code check_name(const struct th_agent *agent, struct th_str name, struct th_err *err)
{
	struct th_buf secrets TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_jw w = th_jw(&secrets);

	th_jw_object(&w);
	th_agent_secrets_name(agent->secrets, TH_SECRET_TO_SERVER, name, &w);
	th_jw_object_end(&w);
	return th_str_is(th_buf_str(&secrets), "{}")
		   ? TH_OK
		   : th_fail(err, TH_EUSAGE, "has the name of one that gets a secret");
}

enum th_code th_mcp_json_put(const struct th_json *v, const struct th_agent *agent,
			     const struct th_strs *origins, struct th_jw *list, struct th_err *err)
{
	const struct th_json *outer = th_json_get(v, "mcpServers");
	struct th_json_iter it = th_json_iter(outer ? outer : v);
	enum th_code code = TH_OK;

	if (!th_json_is_object(outer ? outer : v))
		return th_fail(err, TH_EUSAGE, "its servers are no object: NAME -> {command: …}");
	while (!code && th_json_next(&it)) {
		th_jw_object(list);
		th_jw_kstr(list, "name", it.key);
		code = check_name(agent, it.key, err);
		if (!code && th_json_get_str(it.val, "url").len)
			code =
			    check_address(it.val, origins, err) ?: put_address(it.val, list, err);
		else if (!code)
			code = put_program(it.val, list, err);
		th_jw_object_end(list);
		if (code)
			(void)th_prefix(err, code, "the server %.*s",
					TH_FMT(th_utf8_cut(it.key, 80)));
	}
	return code;
}

enum th_code th_mcp_json_add(const struct th_json *v, struct th_agent *agent, struct th_arena *a,
			     struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&text);
	struct th_agent more = {};
	struct th_agent_mcp *list;
	struct th_json_iter it;
	size_t count = agent->mcp_servers.count;
	enum th_code code;

	th_jw_array(&w);
	code = th_mcp_json_put(v, agent, NULL, &w, err);
	th_jw_array_end(&w);
	code = code ?: th_buf_check(&text, "its servers", err);
	code = code ?: th_json_parse(th_buf_str(&text), &doc, err);
	list = th_arena_array(a, count + th_json_count(th_json_root(doc)) + 1, sizeof(*list));
	if (!code && !list)
		code = th_fail(err, TH_ELIMIT, "the servers are too large");
	if (code)
		return code;
	if (count)
		memcpy(list, agent->mcp_servers.list, count * sizeof(*list));
	it = th_json_iter(th_json_root(doc));
	while (!code && th_json_next(&it)) {
		if (th_agent_mcp_find(&agent->mcp_servers, th_json_get_str(it.val, "name")))
			continue;
		code = th_table_parse(&th_agent_mcp_table, it.val, a, &list[count], err);
		count++;
	}
	more.mcp_servers = (struct th_objects){ list, count };
	code = code ?: th_agent_mcp_check(&more.mcp_servers, &path, err);
	code = code ?: th_agent_copy(&more, a, &more, err); /* the document goes */
	if (!code)
		agent->mcp_servers = more.mcp_servers;
	return code;
}
