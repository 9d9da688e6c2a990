/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/agent_secret.h"

#include "base/limits.h"
#include "base/text.h"

#define HEADERS_MAX 8

struct form {
	struct th_str env, file, hosts;
	struct th_strs headers;
	bool give;
};

#define AT(member) offsetof(struct form, member)
static const struct th_field form_fields[] = {
	{ "env", AT(env), TH_FIELD_str, TH_NONEMPTY, "variable that has the value", NULL, NULL,
	  false, 0 },
	{ "file", AT(file), TH_FIELD_str, TH_NONEMPTY, "or the file, an absolute path", NULL, NULL,
	  false, 0 },
	{ "hosts", AT(hosts), TH_FIELD_raw, 0, "where it may go, as in net", NULL, NULL, false, 0 },
	{ "give", AT(give), TH_FIELD_bool, 0,
	  "instead of hosts: commands that name it get the value itself", NULL, NULL, false, 0 },
	{ "headers", AT(headers), TH_FIELD_strs, TH_NONEMPTY,
	  "in which headers; default: authorization", NULL, NULL, false, 0 },
};
static const struct th_table form_table = {
	"agent_secret",        "A secret of an agent.", form_fields,
	TH_COUNT(form_fields), sizeof(struct form),     false,
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
	for (size_t i = 0; i < name.len; i++)
		if (!is_letter(name.ptr[i]) && (i == 0 || name.ptr[i] < '0' || name.ptr[i] > '9'))
			return false;
	return name.len > 0 && name.len <= TH_SECRET_NAME_MAX;
}

static bool is_header(struct th_str name)
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

static enum th_code read_one(const struct th_json *v, struct th_arena *a,
			     struct th_agent_secret *ret, struct th_buf *path, struct th_err *err)
{
	struct form form;
	enum th_code code = th_table_parse(&form_table, v, a, &form, err);

	if (code)
		return code;
	if (form.env.len && form.file.len)
		return th_fail(err, TH_EUSAGE,
			       "has env and file; the value comes from one of them");
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
	/* The document goes with our caller. */
	ret->env = form.env.len || form.file.len ? th_arena_str(a, form.env) : ret->name;
	ret->file = th_arena_str(a, form.file);
	ret->hosts = th_arena_str(a, form.hosts);
	ret->headers = form.headers;
	for (size_t i = 0; i < ret->headers.count; i++)
		ret->headers.list[i] = th_arena_str(a, ret->headers.list[i]);
	if (form.headers.count == 0) {
		ret->headers.list = TH_NEW(a, struct th_str);
		if (!ret->headers.list)
			return th_fail(err, TH_ELIMIT, "the secrets are too long");
		ret->headers.list[ret->headers.count++] = TH_STR("authorization");
	}
	for (size_t i = 0; i < ret->headers.count; i++)
		if (i == HEADERS_MAX || !is_header(ret->headers.list[i])) {
			th_buf_printf(path, ".headers[%zu]", i);
			return th_fail(err, TH_EUSAGE,
				       i == HEADERS_MAX ? "is one too many: there may be 8"
							: "is no header that may hold a secret");
		}
	return form.give ? TH_OK : check_hosts(form.hosts, a, path, err);
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
