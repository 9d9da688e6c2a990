/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers.c - the editor's servers of tools (MCP), as those of the session's agent.
 *
 * What an agent is made of stands in the log, so a server that is given values (variables, headers)
 * is left out, and standard error says so: they may be secret.  A bearer token is not of these: it
 * stays in a variable of this process, which is of one address alone: sessions of other folders may
 * have servers of the same name.
 */
#include <stdio.h>
#include <stdlib.h>

#include "acp/acp.h"
#include "base/hash.h"
#include "base/wiped.h"
#include "console/console.h"

#define NAME_MAX_LEN 32 /* of a server, and of a variable's end */

/* Letters, digits and "_", of at most so many bytes. */
static void clean(struct th_str name, char ret[static NAME_MAX_LEN + 1])
{
	size_t len = TH_MIN(name.len, (size_t)NAME_MAX_LEN);

	for (size_t i = 0; i < len; i++) {
		char c = name.ptr[i];
		bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '_';

		ret[i] = good ? c : '_';
	}
	snprintf(ret + len, NAME_MAX_LEN + 1 - len, "%s", len ? "" : "server");
}

static bool put_program(const struct th_json *v, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(th_json_get(v, "args"));

	if (th_json_count(th_json_get(v, "env")) > 0)
		return false;
	th_jw_name(w, TH_STR("command"));
	th_jw_array(w);
	th_jw_str(w, th_json_get_str(v, "command"));
	while (th_json_next(&it))
		th_jw_str(w, th_json_str(it.val));
	th_jw_array_end(w);
	return true;
}

/* The token of its only header; empty: it has none.  False: it has others. */
static bool read_token(const struct th_json *headers, struct th_str *ret)
{
	const struct th_json *h = th_json_at(headers, 0);
	struct th_str value = th_json_get_str(h, "value");

	*ret = TH_STR("");
	if (!h)
		return true;
	if (th_json_count(headers) > 1 ||
	    !th_str_ieq(th_json_get_str(h, "name"), TH_STR("authorization")) ||
	    !th_str_istarts(value, TH_STR("Bearer ")))
		return false;
	*ret = th_str_trim(th_str_sub(value, 7, value.len));
	return ret->len > 0 && !memchr(ret->ptr, 0, ret->len);
}

static bool put_address(const struct th_json *v, const char *name, struct th_jw *w)
{
	struct th_buf secret TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(64 * TH_KIB);
	struct th_str url = th_json_get_str(v, "url"), token;
	char variable[NAME_MAX_LEN + 32], hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest d = th_sha256_of(url.ptr, url.len);

	if (!read_token(th_json_get(v, "headers"), &token))
		return false;
	th_jw_kstr(w, "url", url);
	if (!token.len)
		return true;
	th_digest_hex(&d, hex);
	snprintf(variable, sizeof(variable), "THOLE_ACP_TOKEN_%s_%.12s", name, hex);
	th_buf_add(&secret, token);
	if (secret.failed || setenv(variable, secret.ptr, 1) != 0)
		return false;
	th_jw_kstr(w, "token_env", th_str_of(variable));
	return true;
}

/* False: it is left out. */
static bool put_server(const struct th_json *v, struct th_jw *w)
{
	struct th_str type = th_json_get_str(v, "type");
	char name[NAME_MAX_LEN + 1];
	bool good = false;

	clean(th_json_get_str(v, "name"), name);
	th_jw_object(w);
	th_jw_kstr(w, "name", th_str_of(name));
	th_jw_kbool(w, "optional", true); /* a session works without it, as in the editor */
	if (!type.len && th_json_get_str(v, "command").len)
		good = put_program(v, w);
	else if (th_str_is(type, "http"))
		good = put_address(v, name, w);
	th_jw_object_end(w);
	return good;
}

static void say(const struct th_json *v, const char *why)
{
	struct th_str name = th_json_get_str(v, "name");

	(void)th_cli_die(0, "the editor's server \"%.*s\" is left out: %s",
			 (int)TH_MIN(name.len, (size_t)80), name.ptr ?: "", why);
}

/* A list for mcp_servers; empty: there is none. */
static void read_servers(const struct th_json *list, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(list);

	while (th_json_next(&it)) {
		struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
		struct th_jw w = th_jw(&one);

		if (!put_server(it.val, &w)) {
			say(it.val, "its kind is not known here, or it has values (env, headers), "
				    "which would stand in the log");
			continue;
		}
		th_buf_add_char(out, out->len ? ',' : '[');
		th_buf_add(out, th_buf_str(&one));
	}
	if (out->len)
		th_buf_add_char(out, ']');
}

int th_acp_servers(const struct acp *a, const struct th_json *list, struct thole_agent *agent,
		   struct thole_error *err)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	if (a->options->agent.len && th_json_count(list) > 0) {
		(void)th_cli_die(0, "the editor's servers are left out: an agent of a file has "
				    "those of its file");
		return 0;
	}
	read_servers(list, &out);
	if (out.failed) {
		err->code = THOLE_ELIMIT;
		snprintf(err->text, sizeof(err->text), "mcpServers are too long");
		return err->code;
	}
	return out.len && agent ? thole_agent_set_json(agent, "mcp_servers", out.ptr, err) : 0;
}
