/* SPDX-License-Identifier: Apache-2.0 */
#include "server/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "wire/authority.h"

#define STRANGERS 100 /* a second, of one address */

#define AT(member) offsetof(struct th_serve_user, member)
static const struct th_field user_fields[] = {
	{ "name", AT(name), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "whose", NULL, NULL, false, 0 },
	{ "sessions", AT(sessions), TH_FIELD_int, TH_NONEG, "running at once; 0: no limit", NULL,
	  NULL, true, -1 },
	{ "turns_per_day", AT(turns_per_day), TH_FIELD_int, TH_NONEG, "0: no limit", NULL, NULL,
	  true, -1 },
	{ "cost_usd_per_day", AT(cost_usd_per_day), TH_FIELD_num, TH_NONEG, "0: no limit", NULL,
	  NULL, true, -1 },
	{ "requests_per_second", AT(requests_per_second), TH_FIELD_int, TH_NONEG, "0: no limit",
	  NULL, NULL, true, -1 },
	{ "priority", AT(priority), TH_FIELD_str, TH_NONEMPTY,
	  "the highest that the user's sessions may have", NULL, NULL, false, 0 },
};
#undef AT
static const struct th_table user_table = { "user",
					    "a user's own quotas",
					    user_fields,
					    TH_COUNT(user_fields),
					    sizeof(struct th_serve_user),
					    false };

// clang-format off
static const struct th_field fields[] = {
	TH_FIELDS_serve_settings(TH_FIELD_ROW)
	{ "users", offsetof(struct th_serve_settings, users), TH_FIELD_objects, 0, "quotas of single users, in place of those for everybody", &user_table, NULL, false, 0 },
	{ "webhooks", offsetof(struct th_serve_settings, webhooks), TH_FIELD_objects, 0, "who is told when a session ends or waits", &th_serve_webhook_table, NULL, false, 0 },
	{ "fleet", offsetof(struct th_serve_settings, fleet), TH_FIELD_object, 0, "the fleet that this server is a node of: docs/FLEET.md", &th_serve_fleet_table, NULL, false, 0 },
};
// clang-format on
const struct th_table th_serve_settings_table = {
	"serve", "serve", fields, TH_COUNT(fields), sizeof(struct th_serve_settings), false
};

/* ---- checks ---- */

static enum th_code read_proxies(struct th_settings *s, struct th_err *err)
{
	const struct th_strs *list = &s->s.proxies;

	if (list->count > TH_SERVE_PROXIES_MAX)
		return th_fail(err, TH_ELIMIT, "proxies: at most %d", TH_SERVE_PROXIES_MAX);
	s->proxies = th_alloc((list->count + 1) * sizeof(*s->proxies));
	for (size_t i = 0; i < list->count; i++) {
		if (th_str_is(list->list[i], "unix"))
			s->proxy_unix = true;
		else if (th_subnet_parse(list->list[i], &s->proxies[s->proxy_count]))
			s->proxy_count++;
		else
			return th_fail(
			    err, TH_EUSAGE,
			    "proxies[%zu]: \"%.*s\" is no address, no range of them such "
			    "as 10.0.0.0/8, and not unix",
			    i, (int)TH_MIN(list->list[i].len, (size_t)100), list->list[i].ptr);
	}
	return TH_OK;
}

/* Whose pages a client may have fetched: a scheme and a host, with a port or without. */
static enum th_code check_secret_servers(const struct th_settings *s, struct th_err *err)
{
	const struct th_strs *list = &s->s.secret_servers;

	if (list->count > TH_SERVE_SECRET_SERVERS_MAX)
		return th_fail(err, TH_ELIMIT, "secret_servers: at most %d",
			       TH_SERVE_SECRET_SERVERS_MAX);
	for (size_t i = 0; i < list->count; i++)
		if (!th_authority_origin_ok(list->list[i]))
			return th_fail(err, TH_EUSAGE,
				       "secret_servers[%zu]: \"%.*s\" is not of the form "
				       "https://HOST or https://HOST:PORT, in small letters",
				       i, (int)TH_MIN(list->list[i].len, (size_t)100),
				       list->list[i].ptr);
	return TH_OK;
}

bool th_settings_secret_server(const struct th_settings *s, struct th_str url)
{
	const struct th_strs *list = &s->s.secret_servers;

	for (size_t i = 0; i < list->count; i++)
		if (th_authority_url_of(url, list->list[i]))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct th_serve_user *x = a, *y = b;

	return th_str_cmp(x->name, y->name);
}

static enum th_code check_priority(struct th_str name, struct th_err *err)
{
	enum th_priority ignored;

	if (!name.len || th_priority_parse(name, &ignored))
		return TH_OK;
	return th_fail(err, TH_EUSAGE, "priority is " TH_PRIORITY_NAMES);
}

static enum th_code check_priorities(const struct th_settings *s, struct th_err *err)
{
	const struct th_serve_user *list = s->s.users.list;
	enum th_code code = check_priority(s->s.priority, err);

	for (size_t i = 0; i < s->s.users.count && !code; i++)
		code = th_prefix(err, check_priority(list[i].priority, err), "users");
	return code;
}

/* In order, to be found fast. */
static enum th_code sort_users(struct th_settings *s, struct th_err *err)
{
	struct th_serve_user *list = s->s.users.list;
	size_t count = s->s.users.count;

	if (count > TH_SERVE_USERS_MAX)
		return th_fail(err, TH_ELIMIT, "users: at most %d", TH_SERVE_USERS_MAX);
	if (count)
		qsort(list, count, sizeof(*list), by_name);
	for (size_t i = 1; i < count; i++)
		if (th_str_eq(list[i - 1].name, list[i].name))
			return th_fail(err, TH_EUSAGE, "users: \"%.*s\" stands there twice",
				       (int)TH_MIN(list[i].name.len, (size_t)100),
				       list[i].name.ptr);
	return TH_OK;
}

enum th_code th_settings_parse(struct th_str json, struct th_settings *ret, struct th_err *err)
{
	struct th_settings new = { 0 };
	enum th_code code = TH_OK;

	th_arena_init(&new.memory, TH_CONFIG_SIZE_MAX);
	if (json.len) {
		code = th_json_parse(json, &new.doc, err);
		if (!code)
			code = th_table_parse(&th_serve_settings_table, th_json_root(new.doc),
					      &new.memory, &new.s, err);
	}
	if (!code)
		code = read_proxies(&new, err);
	if (!code)
		code = check_secret_servers(&new, err);
	if (!code)
		code = sort_users(&new, err);
	if (!code)
		code = check_priorities(&new, err);
	if (!code)
		code = th_settings_webhooks(&new, err);
	if (!code)
		code = th_settings_fleet(&new, err);
	if (code) {
		th_settings_deinit(&new);
		return th_prefix(err, code, "serve");
	}
	if (!new.s.strangers_per_second)
		new.s.strangers_per_second = STRANGERS;
	*ret = new;
	return TH_OK;
}

void th_settings_deinit(struct th_settings *s)
{
	free(s->proxies);
	if (s->webhooks)
		explicit_bzero(s->webhooks, s->webhook_count * sizeof(*s->webhooks));
	free(s->webhooks);
	th_secret_free(s->fleet_secret);
	th_json_free(s->doc);
	th_arena_deinit(&s->memory);
	*s = (struct th_settings){ 0 };
}

/* ---- questions ---- */

bool th_settings_trusts(const struct th_settings *s, const struct th_address *proxy)
{
	for (size_t i = 0; i < s->proxy_count; i++)
		if (th_subnet_has(&s->proxies[i], proxy))
			return true;
	return false;
}

struct th_quota th_settings_quota(const struct th_settings *s, const char *user)
{
	struct th_quota q = { s->s.sessions_per_user, s->s.requests_per_second, s->s.turns_per_day,
			      s->s.cost_usd_per_day, TH_PRIORITY_NORMAL };
	const struct th_serve_user key = { .name = th_str_of(user) }, *own = NULL;

	if (s->s.users.count)
		own = bsearch(&key, s->s.users.list, s->s.users.count, sizeof(key), by_name);
	(void)th_priority_parse(s->s.priority, &q.priority);
	if (own)
		(void)th_priority_parse(own->priority, &q.priority);
	if (own && own->sessions >= 0)
		q.sessions = own->sessions;
	if (own && own->requests_per_second >= 0)
		q.requests_per_second = own->requests_per_second;
	if (own && own->turns_per_day >= 0)
		q.turns_per_day = own->turns_per_day;
	if (own && own->cost_usd_per_day >= 0)
		q.cost_usd_per_day = own->cost_usd_per_day;
	return q;
}

/* ---- computers that may be chosen ---- */

bool th_settings_computer(const struct th_settings *s, struct th_str kind)
{
	return th_strs_has(&s->s.computers, kind) || th_str_is(kind, "none");
}

void th_settings_put_computers(const struct th_settings *s, struct th_jw *w)
{
	for (size_t i = 0; i < s->s.computers.count; i++)
		th_jw_str(w, s->s.computers.list[i]);
}
