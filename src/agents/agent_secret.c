/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/agent_secret.h"

#include "base/limits.h"
#include "base/shell.h"
#include "base/text.h"

#define HEADERS_MAX 8

struct form {
	struct th_str env, file, from, hosts;
	struct th_strs headers, tools, servers;
	bool give, hooks;
};

#define AT(member) offsetof(struct form, member)
static const struct th_field form_fields[] = {
	{ "env", AT(env), TH_FIELD_str, TH_NONEMPTY, "variable that has the value", NULL, NULL,
	  false, 0 },
	{ "file", AT(file), TH_FIELD_str, TH_NONEMPTY, "or the file, an absolute path", NULL, NULL,
	  false, 0 },
	{ "from", AT(from), TH_FIELD_raw, 0, "or who is asked: {url: …} or {command: […]}", NULL,
	  NULL, false, 0 },
	{ "hosts", AT(hosts), TH_FIELD_raw, 0, "where it may go, as in net", NULL, NULL, false, 0 },
	{ "give", AT(give), TH_FIELD_bool, 0,
	  "instead of hosts: commands that name it get the value itself", NULL, NULL, false, 0 },
	{ "headers", AT(headers), TH_FIELD_strs, TH_NONEMPTY,
	  "in which headers; default: authorization", NULL, NULL, false, 0 },
	{ "tools", AT(tools), TH_FIELD_strs, TH_NONEMPTY,
	  "with give: and these programs that are tools", NULL, NULL, false, 0 },
	{ "servers", AT(servers), TH_FIELD_strs, TH_NONEMPTY,
	  "with give: and these MCP servers that are programs", NULL, NULL, false, 0 },
	{ "hooks", AT(hooks), TH_FIELD_bool, 0, "with give: and hooks whose line names it", NULL,
	  NULL, false, 0 },
};
static const struct th_table form_table = {
	"agent_secret",        "A secret of an agent.", form_fields,
	TH_COUNT(form_fields), sizeof(struct form),     false,
};

#define SOURCE_AT(member) offsetof(struct th_secret_source, member)
static const struct th_field source_fields[] = {
	{ "url", SOURCE_AT(url), TH_FIELD_str, TH_NONEMPTY, "server that is asked by a GET", NULL,
	  NULL, false, 0 },
	{ "command", SOURCE_AT(command), TH_FIELD_strs, TH_NONEMPTY, "or program and arguments",
	  NULL, NULL, false, 0 },
	{ "token_env", SOURCE_AT(token_env), TH_FIELD_str, TH_NONEMPTY,
	  "url: variable that has the token of the request", NULL, NULL, false, 0 },
	{ "token_header", SOURCE_AT(token_header), TH_FIELD_str, TH_NONEMPTY,
	  "url: header of that token; default: authorization, as a bearer's", NULL, NULL, false,
	  0 },
	{ "pass", SOURCE_AT(pass), TH_FIELD_strs, TH_NONEMPTY,
	  "command: variables of thole's that it gets", NULL, NULL, false, 0 },
	{ "member", SOURCE_AT(member), TH_FIELD_strs, TH_NONEMPTY,
	  "names that lead to the value in an answer that is JSON", NULL, NULL, false, 0 },
	{ "refresh_s", SOURCE_AT(refresh_s), TH_FIELD_int, TH_POSITIVE,
	  "seconds after which it is asked for again; default: never", NULL, NULL, false, 0 },
	{ "timeout_s", SOURCE_AT(timeout_s), TH_FIELD_int, TH_POSITIVE,
	  "seconds for an answer; default 30", NULL, NULL, false, 0 },
};
static const struct th_table source_table = {
	"secret_source",         "Who is asked for a secret.",    source_fields,
	TH_COUNT(source_fields), sizeof(struct th_secret_source), false,
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool th_secret_name_ok(struct th_str name)
{
	return th_shell_name_ok(name) && name.len <= TH_SECRET_NAME_MAX;
}

bool th_secret_header_ok(struct th_str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!is_letter(name.ptr[i]) && name.ptr[i] != '-' &&
		    (name.ptr[i] < '0' || name.ptr[i] > '9'))
			return false;
	/* These say where a request goes, or how long it is. */
	static const char *const not [] = { "host", "content-length", "transfer-encoding",
					    "connection" };
	for (size_t i = 0; i < TH_COUNT(not ); i++)
		if (th_str_ieq(name, th_str_of(not [i])))
			return false;
	return name.len > 0 && name.len <= TH_SECRET_NAME_MAX;
}

static enum th_code check_hosts(struct th_str raw, struct th_arena *a, struct th_buf *path,
				struct th_err *err)
{
	struct th_net_policy hosts;
	size_t at;
	enum th_code code = th_net_parse(raw, a, &hosts, &at, err);

	th_buf_add_cstr(path, ".hosts");
	if (code && at != SIZE_MAX)
		th_buf_printf(path, "[%zu]", at);
	if (code == TH_OK && hosts.kind != TH_NET_LIST)
		code = th_fail(err, TH_EUSAGE, "must be a list of hosts");
	for (size_t i = 0; code == TH_OK && i < hosts.count; i++) {
		const struct th_net_rule *r = &hosts.rules[i];

		if (!r->any && !r->method.len && !r->path.len)
			continue;
		th_buf_printf(path, "[%zu]", i);
		code = th_fail(err, TH_EUSAGE,
			       r->any ? "is any host; a secret goes to hosts that are named"
				      : "has a method or a path; a secret goes to a whole host");
	}
	return code;
}

/* The document goes with our caller. */
static void copy_strs(struct th_strs *list, struct th_arena *a)
{
	for (size_t i = 0; i < list->count; i++)
		list->list[i] = th_arena_str(a, list->list[i]);
}

static enum th_code check_source(const struct th_secret_source *s, struct th_err *err)
{
	if (!s->url.len == !s->command.count)
		return th_fail(err, TH_EUSAGE, "has either a url or a command");
	if (s->url.len && !th_str_starts(s->url, TH_STR("http://")) &&
	    !th_str_starts(s->url, TH_STR("https://")))
		return th_fail(err, TH_EUSAGE, "has a url that is not http:// or https://");
	if (s->command.count && (s->token_env.len || s->token_header.len))
		return th_fail(err, TH_EUSAGE, "has a token, which is for a url");
	if (s->token_env.len && !th_shell_name_ok(s->token_env))
		return th_fail(
		    err, TH_EUSAGE,
		    "has a token_env that is no name of a variable (letters, digits and _)");
	if (s->token_header.len && (!s->token_env.len || !th_secret_header_ok(s->token_header)))
		return th_fail(err, TH_EUSAGE, "has a token_header that %s",
			       s->token_env.len ? "may hold no token" : "has no token_env");
	if (s->url.len && s->pass.count)
		return th_fail(err, TH_EUSAGE, "has pass, which is for a command");
	if (s->command.count > TH_COMMAND_ARGV_MAX || s->pass.count > TH_SECRET_PASS_MAX ||
	    s->member.count > TH_SECRET_MEMBER_MAX)
		return th_fail(err, TH_EUSAGE,
			       "has more than %d arguments, %d variables or %d names of members",
			       TH_COMMAND_ARGV_MAX, TH_SECRET_PASS_MAX, TH_SECRET_MEMBER_MAX);
	if (s->timeout_s > TH_SECRET_LOOKUP_S_MAX)
		return th_fail(err, TH_EUSAGE, "has a timeout_s of more than %d",
			       TH_SECRET_LOOKUP_S_MAX);
	return TH_OK;
}

static enum th_code read_source(const struct th_json *v, struct th_arena *a,
				struct th_agent_secret *ret, struct th_buf *path,
				struct th_err *err)
{
	struct th_secret_source *s = TH_NEW(a, struct th_secret_source);
	enum th_code code = s ? th_table_parse(&source_table, v, a, s, err)
			      : th_fail(err, TH_ELIMIT, "the secrets are too long");

	th_buf_add_cstr(path, ".from");
	code = code ?: check_source(s, err);
	if (code)
		return code;
	s->url = th_arena_str(a, s->url);
	s->token_env = th_arena_str(a, s->token_env);
	s->token_header = th_arena_str(a, s->token_header);
	copy_strs(&s->command, a);
	copy_strs(&s->pass, a);
	copy_strs(&s->member, a);
	s->timeout_s = s->timeout_s ?: TH_SECRET_LOOKUP_S;
	ret->from = s;
	return TH_OK;
}

static enum th_code read_one(const struct th_json *v, struct th_arena *a,
			     struct th_agent_secret *ret, struct th_buf *path, struct th_err *err)
{
	struct form form;
	enum th_code code = th_table_parse(&form_table, v, a, &form, err);

	if (code)
		return code;
	if ((form.env.len > 0) + (form.file.len > 0) + (form.from.len > 0) > 1)
		return th_fail(err, TH_EUSAGE,
			       "has two of env, file and from; the value comes from one of them");
	if (!form.give && (form.tools.count || form.servers.count || form.hooks))
		return th_fail(err, TH_EUSAGE,
			       "has tools, servers or hooks, which get a value with give alone");
	if (form.env.len && !th_shell_name_ok(form.env)) {
		th_buf_add_cstr(path, ".env");
		return th_fail(err, TH_EUSAGE,
			       "must be the name of a variable (letters, digits and _)");
	}
	if (form.file.len && form.file.ptr[0] != '/') {
		th_buf_add_cstr(path, ".file");
		return th_fail(err, TH_EUSAGE, "must be an absolute path");
	}
	if (form.give && (form.hosts.len || form.headers.count))
		return th_fail(err, TH_EUSAGE,
			       "has both give and hosts: with give, commands get the value; with "
			       "hosts, they get a placeholder, and these hosts the value");
	if (!form.give && !form.hosts.len)
		return th_fail(
		    err, TH_EUSAGE,
		    "hosts is missing: where it may go; or give, for commands that name it");
	ret->give = form.give;
	ret->hooks = form.hooks;
	ret->tools = form.tools;
	ret->servers = form.servers;
	copy_strs(&ret->tools, a);
	copy_strs(&ret->servers, a);
	ret->env =
	    form.env.len || form.file.len || form.from.len ? th_arena_str(a, form.env) : ret->name;
	ret->file = th_arena_str(a, form.file);
	ret->hosts = th_arena_str(a, form.hosts);
	ret->headers = form.headers;
	copy_strs(&ret->headers, a);
	if (form.headers.count == 0) {
		ret->headers.list = TH_NEW(a, struct th_str);
		if (!ret->headers.list)
			return th_fail(err, TH_ELIMIT, "the secrets are too long");
		ret->headers.list[ret->headers.count++] = TH_STR("authorization");
	}
	for (size_t i = 0; i < ret->headers.count; i++)
		if (i == HEADERS_MAX || !th_secret_header_ok(ret->headers.list[i])) {
			th_buf_printf(path, ".headers[%zu]", i);
			return th_fail(err, TH_EUSAGE,
				       i == HEADERS_MAX ? "is one too many: there may be 8"
							: "is no header that may hold a secret");
		}
	if (form.from.len) {
		size_t len = path->len;

		code = read_source(th_json_get(v, "from"), a, ret, path, err);
		if (code)
			return code;
		th_buf_truncate(path, len);
	}
	return form.give ? TH_OK : check_hosts(form.hosts, a, path, err);
}

enum th_code th_secret_trim(struct th_buf *value, struct th_err *err)
{
	while (value->len > 0 &&
	       (value->ptr[value->len - 1] == '\n' || value->ptr[value->len - 1] == '\r'))
		th_buf_truncate(value, value->len - 1);
	if (value->len < TH_MASK_LEN_MIN || value->len > TH_MASK_LEN_MAX)
		return th_fail(err, TH_EUSAGE,
			       "its value has %zu bytes; a secret that can be masked has %d to %d",
			       value->len, TH_MASK_LEN_MIN, TH_MASK_LEN_MAX);
	for (size_t i = 0; i < value->len; i++)
		if ((unsigned char)value->ptr[i] < ' ' || value->ptr[i] == 0x7f)
			return th_fail(err, TH_EUSAGE,
				       "its value has a byte that no header may have");
	return TH_OK;
}

bool th_secret_named(struct th_str command, struct th_str name)
{
	for (size_t i = 0; name.len && i + name.len <= command.len; i++) {
		char before = i ? command.ptr[i - 1] : ' ';
		char after = i + name.len < command.len ? command.ptr[i + name.len] : ' ';

		if (!is_letter(before) && !is_digit(before) && !is_letter(after) &&
		    !is_digit(after) && th_str_ieq(th_str_sub(command, i, name.len), name))
			return true;
	}
	return false;
}

enum th_code th_agent_secrets_read(struct th_str raw, struct th_arena *a,
				   struct th_agent_secrets *ret, struct th_buf *path,
				   struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	enum th_code code = TH_OK;

	*ret = (struct th_agent_secrets){ NULL, 0 };
	if (!raw.len)
		return TH_OK;
	code = th_json_parse(raw, &doc, err);
	if (code == TH_OK && !th_json_is_object(th_json_root(doc)))
		code = th_fail(err, TH_EUSAGE, "must be an object: NAME -> {hosts: […]}");
	size_t count = doc ? th_json_count(th_json_root(doc)) : 0;
	if (count > TH_SECRETS_MAX)
		code = th_fail(err, TH_EUSAGE, "has more than %d secrets", TH_SECRETS_MAX);
	ret->list = (struct th_agent_secret *)th_arena_array(a, count + 1, sizeof(*ret->list));
	if (code == TH_OK && !ret->list)
		code = th_fail(err, TH_ELIMIT, "the secrets are too long");
	if (code)
		return code;
	for (struct th_json_iter it = th_json_iter(doc ? th_json_root(doc) : NULL);
	     th_json_next(&it);) {
		struct th_agent_secret *s = &ret->list[ret->count];

		th_buf_clear(path);
		th_buf_add(path, th_utf8_cut(it.key, TH_SECRET_NAME_MAX));
		*s = (struct th_agent_secret){ .name = th_arena_str(a, it.key) };
		if (!th_secret_name_ok(it.key))
			return th_fail(
			    err, TH_EUSAGE,
			    "is no name of a variable (letters, digits and _; at most %d)",
			    TH_SECRET_NAME_MAX);
		for (size_t i = 0; i < ret->count; i++)
			if (th_str_eq(ret->list[i].name, s->name))
				return th_fail(err, TH_EUSAGE, "is there twice");
		code = read_one(it.val, a, s, path, err);
		if (code)
			return code;
		ret->count++;
	}
	th_buf_clear(path);
	return TH_OK;
}

static bool takes(const struct th_agent_secret *s, enum th_secret_taker kind, struct th_str taker)
{
	switch (kind) {
	case TH_SECRET_TO_TOOL:
		return th_strs_has(&s->tools, taker);
	case TH_SECRET_TO_SERVER:
		return th_strs_has(&s->servers, taker);
	case TH_SECRET_TO_HOOK:
		return s->hooks && th_secret_named(taker, s->name);
	}
	return false;
}

void th_agent_secrets_name(struct th_str raw, enum th_secret_taker kind, struct th_str taker,
			   struct th_jw *w)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	TH_CLEANUP(th_buf_deinit) struct th_buf path = TH_BUF_INIT(TH_KIB);
	struct th_agent_secrets secrets;
	struct th_err ignored;
	bool any = false;

	th_arena_init(&a, TH_MIB);
	/* What is wrong with them was said when the session began. */
	if (!raw.len || th_agent_secrets_read(raw, &a, &secrets, &path, &ignored))
		return;
	for (size_t i = 0; i < secrets.count; i++) {
		if (!takes(&secrets.list[i], kind, taker))
			continue;
		if (!any) {
			th_jw_key(w, TH_STR("secrets"));
			th_jw_array(w);
		}
		any = true;
		th_jw_str(w, secrets.list[i].name);
	}
	if (any)
		th_jw_array_end(w);
}
