/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/net_rule.h"

#include "base/json.h"
#include "base/limits.h"
#include "rules/rule.h"

#define LABEL_MAX 63
#define METHOD_MAX 32

/* ---- hosts -------------------------------------------------------------------------------- */

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

/* Four numbers without leading zeros, which some read as octal. */
static bool is_v4(struct th_str host)
{
	for (int part = 0; part < 4; part++) {
		int64_t value;
		struct th_str digits = th_str_split(&host, '.');

		if (digits.len == 0 || digits.len > 3 || (digits.len > 1 && digits.ptr[0] == '0'))
			return false;
		for (size_t i = 0; i < digits.len; i++)
			if (!is_digit(digits.ptr[i]))
				return false;
		if (!th_str_i64(digits, &value) || value > 255 || (part < 3 && host.len == 0))
			return false;
	}
	return host.len == 0;
}

/* Only its letters: who dials parses it, and what is no address is not dialled. */
static bool is_v6(struct th_str host)
{
	size_t colons = 0;

	for (size_t i = 0; i < host.len; i++) {
		if (!is_hex(host.ptr[i]) && host.ptr[i] != ':' && host.ptr[i] != '.')
			return false;
		colons += host.ptr[i] == ':';
	}
	return colons >= 2 && host.len < 46 && host.ptr[host.len - 1] != '.';
}

/* Labels of letters, digits, - and _; the last one is no number, or it would be an address to
 * some. */
static bool is_name(struct th_str host)
{
	struct th_str label = { NULL, 0 };

	if (host.len == 0 || host.len > TH_NET_HOST_MAX || host.ptr[host.len - 1] == '.')
		return false;
	while (host.len > 0) {
		label = th_str_split(&host, '.');
		if (label.len == 0 || label.len > LABEL_MAX || label.ptr[0] == '-' ||
		    label.ptr[label.len - 1] == '-')
			return false;
		for (size_t i = 0; i < label.len; i++) {
			char c = lower(label.ptr[i]);

			if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
				return false;
		}
	}
	return !is_digit(label.ptr[0]);
}

bool th_net_host(struct th_str text, char ret[static TH_NET_HOST_MAX + 1], bool *ret_address)
{
	bool brackets = text.len >= 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']';

	if (brackets)
		text = th_str_sub(text, 1, text.len - 2);
	else if (text.len > 1 && text.ptr[text.len - 1] == '.')
		text.len--;
	if (text.len == 0 || text.len > TH_NET_HOST_MAX)
		return false;
	*ret_address = is_v6(text) || (!brackets && is_v4(text));
	if (!*ret_address && (brackets || !is_name(text)))
		return false;
	for (size_t i = 0; i < text.len; i++)
		ret[i] = lower(text.ptr[i]);
	ret[text.len] = '\0';
	return true;
}

/* ---- entries ------------------------------------------------------------------------------ */

static bool is_method(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 'A' || s.ptr[i] > 'Z')
			return false;
	return s.len > 0 && s.len <= METHOD_MAX;
}

/* Cuts the port off; false: what stands there is none. */
static bool take_port(struct th_str *host, int32_t *ret)
{
	ptrdiff_t from = host->len && host->ptr[0] == '[' ? th_str_find_char(*host, ']') : 0;
	struct th_str tail = th_str_sub(*host, from < 0 ? 0 : (size_t)from, host->len);
	ptrdiff_t colon = th_str_find_char(tail, ':');
	int64_t port;

	*ret = TH_NET_PORT_WEB;
	if (colon < 0)
		return true;
	struct th_str text = th_str_sub(tail, (size_t)colon + 1, tail.len);
	host->len -= text.len + 1;
	if (th_str_is(text, "*")) {
		*ret = TH_NET_PORT_ANY;
		return true;
	}
	if (text.len == 0 || !is_digit(text.ptr[0]) || !th_str_i64(text, &port) || port < 1 ||
	    port > 65535)
		return false;
	*ret = (int32_t)port;
	return true;
}

static enum th_code parse_host(struct th_str text, struct th_arena *a, struct th_net_rule *r,
			       struct th_err *err)
{
	char host[TH_NET_HOST_MAX + 1];

	if (th_str_is(text, "*")) {
		r->any = true;
		return TH_OK;
	}
	if (th_str_starts(text, TH_STR("*."))) {
		r->below = true;
		text = th_str_sub(text, 2, text.len);
	}
	if (!th_net_host(text, host, &r->address) || (r->below && r->address))
		return th_fail(err, TH_EUSAGE,
			       "must be HOST, HOST:PORT or HOST/PATH; a host is a name, *.NAME, * "
			       "or an address");
	r->host = th_arena_str(a, th_str_of(host));
	return r->host.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the list is too long");
}

static enum th_code parse_rule(struct th_str text, struct th_arena *a, struct th_net_rule *r,
			       struct th_err *err)
{
	ptrdiff_t blank = th_str_find_char(text, ' ');

	*r = (struct th_net_rule){ .port = TH_NET_PORT_WEB };
	if (text.len > TH_NET_RULE_LEN_MAX)
		return th_fail(err, TH_EUSAGE, "has more than %d bytes", TH_NET_RULE_LEN_MAX);
	if (th_str_find(text, TH_STR("://")) >= 0)
		return th_fail(err, TH_EUSAGE, "is a URL; write its host, without https://");
	if (blank >= 0) {
		r->method = th_arena_str(a, th_str_sub(text, 0, (size_t)blank));
		text = th_str_sub(text, (size_t)blank + 1, text.len);
		if (!is_method(r->method))
			return th_fail(err, TH_EUSAGE,
				       "has a blank, before which a method such as GET may stand");
	}
	ptrdiff_t slash = th_str_find_char(text, '/');
	if (slash >= 0) {
		r->path = th_arena_str(a, th_str_sub(text, (size_t)slash, text.len));
		text.len = (size_t)slash;
		if (!r->path.ptr)
			return th_fail(err, TH_ELIMIT, "the list is too long");
	}
	if (!take_port(&text, &r->port))
		return th_fail(err, TH_EUSAGE, "has a port that is neither 1 to 65535 nor *");
	return parse_host(text, a, r, err);
}

static enum th_code parse_list(const struct th_json *list, struct th_arena *a,
			       struct th_net_policy *ret, size_t *ret_at, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(list);
	size_t count = th_json_count(list);
	struct th_net_rule *rules;

	if (count == 0)
		return th_fail(err, TH_EUSAGE, "is an empty list; none says that");
	if (count > TH_NET_RULES_MAX)
		return th_fail(err, TH_EUSAGE, "has more than %d entries", TH_NET_RULES_MAX);
	rules = (struct th_net_rule *)th_arena_array(a, count, sizeof(*rules));
	if (!rules)
		return th_fail(err, TH_ELIMIT, "the list is too long");
	for (size_t i = 0; th_json_next(&it); i++) {
		*ret_at = i;
		if (th_json_type(it.val) != TH_JSON_STR)
			return th_fail(err, TH_EUSAGE, "must be a string");
		enum th_code code = parse_rule(th_json_str(it.val), a, &rules[i], err);
		if (code)
			return code;
	}
	*ret = (struct th_net_policy){ TH_NET_LIST, rules, count };
	return TH_OK;
}

enum th_code th_net_parse(struct th_str raw, struct th_arena *a, struct th_net_policy *ret,
			  size_t *ret_at, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	size_t at = SIZE_MAX;
	enum th_code code = TH_OK;

	*ret = (struct th_net_policy){ TH_NET_NONE, NULL, 0 };
	if (raw.len)
		code = th_json_parse(raw, &doc, err);
	const struct th_json *v = code || !doc ? NULL : th_json_root(doc);
	if (code == TH_OK && th_json_is_array(v))
		code = parse_list(v, a, ret, &at, err);
	else if (code == TH_OK && th_str_is(th_json_str(v), "host"))
		ret->kind = TH_NET_HOST;
	else if (code == TH_OK && !th_json_is_null(v) && !th_str_is(th_json_str(v), "none"))
		code = th_fail(err, TH_EUSAGE, "must be none, host or a list of hosts");
	if (ret_at)
		*ret_at = at;
	return code;
}

void th_net_of_words(struct th_str words, struct th_buf *json)
{
	struct th_jw w = th_jw(json);

	if (th_str_is(words, "none") || th_str_is(words, "host")) {
		th_jw_str(&w, words);
		return;
	}
	th_jw_array(&w);
	while (words.len > 0)
		th_jw_str(&w, th_str_trim(th_str_split(&words, ',')));
	th_jw_array_end(&w);
}

enum th_net_kind th_net_kind_of(struct th_str raw)
{
	raw = th_str_trim(raw);
	if (raw.len && raw.ptr[0] == '[')
		return TH_NET_LIST;
	return th_str_is(raw, "\"host\"") ? TH_NET_HOST : TH_NET_NONE;
}

/* ---- matching ----------------------------------------------------------------------------- */

static bool port_fits(const struct th_net_rule *r, uint16_t port)
{
	if (r->port == TH_NET_PORT_WEB)
		return port == 80 || port == 443;
	return r->port == TH_NET_PORT_ANY || r->port == port;
}

static bool host_fits(const struct th_net_rule *r, const struct th_net_target *t)
{
	if (r->any)
		return true;
	if (r->address || t->address)
		return r->address && t->address && th_str_eq(r->host, t->host);
	if (!r->below)
		return th_str_eq(r->host, t->host);
	return t->host.len > r->host.len + 1 && th_str_ends(t->host, r->host) &&
	       t->host.ptr[t->host.len - r->host.len - 1] == '.';
}

/* A path that a server may read as another one. */
static bool is_doubtful(struct th_str path)
{
	struct th_str rest = path;

	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] == '%' || path.ptr[i] == '\\' || path.ptr[i] == ';' ||
		    (path.ptr[i] == '/' && i + 1 < path.len && path.ptr[i + 1] == '/'))
			return true;
	while (rest.len > 0) {
		struct th_str part = th_str_split(&rest, '/');

		if (th_str_is(part, ".") || th_str_is(part, ".."))
			return true;
	}
	return false;
}

static bool request_fits(const struct th_net_rule *r, const struct th_net_target *t)
{
	struct th_str path = t->path;
	ptrdiff_t query = th_str_find_char(path, '?');

	if (!r->method.len && !r->path.len)
		return true;
	if (!t->method.len || (r->method.len && !th_str_eq(r->method, t->method)))
		return false;
	if (!r->path.len)
		return true;
	if (query >= 0)
		path.len = (size_t)query;
	return !is_doubtful(path) && th_glob(r->path, path, TH_STR("/"));
}

const struct th_net_rule *th_net_match(const struct th_net_policy *p,
				       const struct th_net_target *target)
{
	for (size_t i = 0; p->kind == TH_NET_LIST && i < p->count; i++)
		if (host_fits(&p->rules[i], target) && port_fits(&p->rules[i], target->port) &&
		    request_fits(&p->rules[i], target))
			return &p->rules[i];
	return NULL;
}

bool th_net_names(const struct th_net_policy *p, const struct th_net_target *target)
{
	for (size_t i = 0; p->kind == TH_NET_LIST && i < p->count; i++)
		if (host_fits(&p->rules[i], target) && port_fits(&p->rules[i], target->port))
			return true;
	return false;
}

bool th_net_lists_address(const struct th_net_policy *p, struct th_str address, uint16_t port)
{
	for (size_t i = 0; p->kind == TH_NET_LIST && i < p->count; i++)
		if (p->rules[i].address && th_str_eq(p->rules[i].host, address) &&
		    port_fits(&p->rules[i], port))
			return true;
	return false;
}
