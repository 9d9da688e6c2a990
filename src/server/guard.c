/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - what is looked at before a request is read: the host it names, the
 * page it comes from, the token it has.
 *
 * Host and Origin are what keeps a page of another site, opened in a browser of
 * this machine, from calling: a name that resolves to us (DNS rebinding) is
 * none of ours, and a script of another origin says where it is from.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "io/clock.h"
#include "io/listen.h"
#include "server/fleet.h"
#include "server/service.h"
#include "wire/authority.h"

/* ---- where it comes from ---- */

/* An entry of X-Forwarded-For; some proxies write the port behind it. */
static bool read_hop(struct th_str text, struct th_address *ret)
{
	text = th_str_trim(text);
	return th_address_parse(text, ret) || th_address_parse(th_authority_host(text), ret);
}

void th_guard_from(struct th_access *a)
{
	const struct th_settings *set = &a->server->settings;
	struct th_str hops = th_http_header(a->request, "x-forwarded-for");
	struct th_address hop;
	bool trusted;

	a->has_from = th_http_peer(a->request, &a->from);
	trusted = a->has_from ? th_settings_trusts(set, &a->from) : set->proxy_unix;
	if (!trusted)
		return;
	a->from_https = th_http_header_count(a->request, "x-forwarded-proto") == 1 &&
			th_str_is(th_http_header(a->request, "x-forwarded-proto"), "https");
	if (th_http_header_count(a->request, "x-forwarded-for") != 1)
		return;
	/* Each proxy writes whom it heard behind what it was told: the last that is none of ours is
	 * the client; what stands before him he may have written himself. */
	for (int i = 0; trusted && hops.len && i < TH_SERVE_PROXIES_MAX; i++) {
		size_t at = hops.len;

		while (at > 0 && hops.ptr[at - 1] != ',')
			at--;
		if (!read_hop(th_str_sub(hops, at, hops.len), &hop))
			return;
		a->from = hop;
		a->has_from = true;
		trusted = th_settings_trusts(set, &hop);
		hops.len = at ? at - 1 : 0;
	}
}

/* ---- the place ---- */

/* What most requests say is looked at first. */
static bool is_ours(const struct th_server *s, struct th_str host)
{
	struct th_buf mine TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_serve_settings *set = &s->settings.s;
	struct th_str name = th_authority_host(host);

	if (th_listen_loopback(s->listen) && th_authority_is_loopback(host))
		return true;
	if (set->public_url.len && th_str_ieq(host, th_authority_of_url(set->public_url)))
		return true;
	if (set->fleet && th_str_ieq(host, th_authority_of_url(set->fleet->address)))
		return true;
	for (size_t i = 0; i < set->hosts.count; i++)
		if (name.len && th_str_ieq(name, th_authority_host(set->hosts.list[i])))
			return true;
	th_listen_print(s->listen, &mine);
	return th_str_ieq(host, th_buf_str(&mine));
}

/* The page is one that this server itself gave. */
static bool is_own_origin(const struct th_access *a, struct th_str origin)
{
	struct th_str url = a->server->settings.s.public_url;
	struct th_str place = th_authority_of_url(url);

	/* All of it up to the path. */
	if (place.len && th_str_istarts(url, origin) &&
	    origin.len == (size_t)(place.ptr - url.ptr) + place.len)
		return true;
	return th_authority_is_origin(origin, th_http_header(a->request, "host"),
				      th_http_secure(a->request) || a->from_https);
}

static bool is_origin(const struct th_access *a, struct th_str origin)
{
	const struct th_serve_settings *set = &a->server->settings.s;

	for (size_t i = 0; i < set->origins.count; i++)
		if (th_str_ieq(origin, set->origins.list[i]))
			return true;
	return is_own_origin(a, origin);
}

bool th_guard_https(const struct th_access *a)
{
	struct th_str url = a->server->settings.s.public_url;

	return th_http_secure(a->request) || a->from_https ||
	       (th_str_istarts(url, TH_STR("https://")) &&
		th_str_ieq(th_authority_of_url(url), th_http_header(a->request, "host")));
}

bool th_guard_place(struct th_access *a)
{
	struct th_str host = th_http_header(a->request, "host");
	struct th_str origin = th_http_header(a->request, "origin");

	if (!is_ours(a->server, host)) {
		a->server->metrics.refused_hosts++;
		th_access_fail(a, 403, "host",
			       "this server is not called that; serve.hosts in the "
			       "configuration has its further names");
		return false;
	}
	if (th_http_header_count(a->request, "origin") > 1 ||
	    (origin.ptr && !is_origin(a, origin)) ||
	    (!origin.ptr && !th_str_is(th_http_method(a->request), "GET") &&
	     th_str_ieq(th_http_header(a->request, "sec-fetch-site"), TH_STR("cross-site")))) {
		a->server->metrics.refused_hosts++;
		th_access_fail(a, 403, "origin",
			       "a page of another site may not call; "
			       "serve.origins in the configuration has those that may");
		return false;
	}
	return true;
}

/* ---- the caller ---- */

/* The file of `thole token` may have changed: who was revoked is out at once. */
static void refresh(struct th_server *s)
{
	struct th_tokens new = { 0 };
	char path[TH_PATH_LEN_MAX];
	struct th_err err = {};
	struct stat st;
	int64_t stamp = 0;
	enum th_code code;

	snprintf(path, sizeof(path), "%.*s", TH_FMT(s->o.token_store));
	if (stat(path, &st) == 0)
		stamp = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec + st.st_size +
			(int64_t)st.st_ino;
	if (stamp == s->tokens_stamp)
		return;
	s->tokens_stamp = stamp;
	code = th_tokens_load(path, &new, &err);
	if (!code && s->o.tokens.len) {
		snprintf(path, sizeof(path), "%.*s", TH_FMT(s->o.tokens));
		code = th_tokens_read(path, &new, &err);
	}
	if (code) { /* a file that cannot be read lets nobody in */
		th_tokens_deinit(&new);
		new = (struct th_tokens){ 0 };
	}
	th_tokens_deinit(&s->tokens);
	s->tokens = new;
	s->tokens_version++;
}

const struct th_tokens *th_guard_tokens(struct th_server *s)
{
	uint64_t pass = th_loop_pass_number(s->loop);

	if (s->tokens_pass != pass) { /* the requests of a pass were there before it began */
		s->tokens_pass = pass;
		refresh(s);
	}
	return &s->tokens;
}

static struct th_str token_of(const struct th_access *a)
{
	struct th_str text = th_http_header(a->request, "authorization");

	if (th_str_istarts(text, TH_STR("bearer ")))
		return th_str_trim(th_str_sub(text, 7, text.len));
	text = th_http_header(a->request, "x-api-key");
	if (!text.len && a->door)
		text = th_http_header(a->request, "x-session-api-key");
	return text;
}

struct th_str th_guard_cookie(const struct th_access *a)
{
	struct th_str rest = th_http_header(a->request, "cookie"), found = { NULL, 0 };

	if (th_http_header_count(a->request, "cookie") > 1)
		return found;
	while (rest.len) {
		struct th_str value = th_str_split(&rest, ';');
		struct th_str name = th_str_trim(th_str_split(&value, '='));

		if (!th_str_is(name, TH_LOGIN_COOKIE))
			continue;
		if (found.ptr) /* somebody put another one beside it: neither is believed */
			return (struct th_str){ NULL, 0 };
		found = th_str_trim(value);
	}
	return found;
}

/*
 * A browser sends the cookie whoever made it ask: the page of another server at another port of
 * this machine is of the same site.  So who changes something, or opens a WebSocket, which may,
 * says that he is our own page; and who only reads is not another one's.
 */
static bool is_own_page(const struct th_access *a)
{
	struct th_str origin = th_http_header(a->request, "origin");
	struct th_str site = th_http_header(a->request, "sec-fetch-site");
	struct th_str method = th_http_method(a->request);

	if (origin.ptr)
		return is_own_origin(a, origin);
	return (th_str_is(method, "GET") || th_str_is(method, "HEAD")) &&
	       !th_http_wants_socket(a->request) &&
	       (!site.ptr || th_str_is(site, "same-origin") || th_str_is(site, "none"));
}

/* Who asks: by a token, or without one by the cookie of a login. */
static bool find_caller(struct th_access *a, struct th_token *ret)
{
	const struct th_tokens *tokens = th_guard_tokens(a->server);
	struct th_str text = token_of(a), cookie = th_guard_cookie(a);
	const struct th_token *t = th_tokens_find(tokens, text);

	if (text.len) {
		if (t)
			*ret = *t;
		return t || th_fleet_caller(a, text, ret);
	}
	return cookie.len &&
	       th_tokens_find_of(tokens, TH_TOKEN_LOGIN, cookie, (int64_t)th_clock_wall_ms(), ret);
}

/* Of an IPv6 network each client has as many addresses as he likes: the network counts. */
static void put_network(const struct th_access *a, struct th_buf *out)
{
	struct th_address at = a->from;

	if (!a->has_from) {
		th_buf_add_cstr(out, "unix");
		return;
	}
	th_address_print(&at, out);
	if (th_str_find_char(th_buf_str(out), ':') < 0)
		return;
	memset(at.bytes + 8, 0, 8);
	th_buf_clear(out);
	th_address_print(&at, out);
}

bool th_guard_stranger(struct th_access *a)
{
	struct th_buf from TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_server *s = a->server;
	uint64_t wait_ms;

	put_network(a, &from);
	wait_ms =
	    th_rates_take(&s->strangers, th_buf_str(&from),
			  (double)s->settings.s.strangers_per_second, th_loop_now_ms(s->loop));
	if (!wait_ms)
		return true;
	s->metrics.refused_rate++;
	th_access_wait(a, 429, wait_ms, "rate_limit_exceeded",
		       "too many requests without a good token came from there");
	return false;
}

static bool in_rate(struct th_access *a)
{
	struct th_server *s = a->server;
	int64_t max = th_settings_quota(&s->settings, a->user).requests_per_second;
	uint64_t wait_ms =
	    th_rates_take(&s->users, th_str_of(a->user), (double)max, th_loop_now_ms(s->loop));

	if (!wait_ms)
		return true;
	s->metrics.refused_rate++;
	th_access_wait(a, 429, wait_ms, "rate_limit_exceeded", "%lld requests a second are allowed",
		       (long long)max);
	return false;
}

void th_guard_found(struct th_access *a, const struct th_token *t, unsigned needs)
{
	snprintf(a->user, sizeof(a->user), "%s", t->user);
	a->scopes = t->scopes;
	a->login_ms = t->expires_ms;
	a->priority = TH_MIN(TH_PRIORITY_NORMAL, th_quota_highest(a));
	if (a->by_node || a->link) /* the node that passes it on ends it */
		return;
	a->token = t->digest;
	a->scope = needs;
	a->tokens_version = a->server->tokens_version;
	th_access_link(a, &a->server->callers);
}

bool th_guard_caller(struct th_access *a)
{
	struct th_token t;

	if (!find_caller(a, &t)) {
		a->server->metrics.refused_tokens++;
		if (!th_guard_stranger(a))
			return false;
		th_access_fail(a, 401, "invalid_api_key", "%s",
			       token_of(a).len
				   ? "this token is not known here: it may be cut, revoked, or "
				     "of another server (thole token list)"
				   : "a token is needed: Authorization: Bearer TOKEN (thole token "
				     "new makes one)");
		return false;
	}
	if (t.kind == TH_TOKEN_LOGIN && !is_own_page(a)) {
		a->server->metrics.refused_hosts++;
		th_access_fail(a, 403, "origin", "a login is for the pages of this server alone");
		return false;
	}
	th_guard_found(a, &t, a->route && a->route->scope ? a->route->scope : TH_SCOPE_ALL);
	return a->by_node || in_rate(a); /* the node that passes it on has counted it */
}

bool th_guard_type(struct th_access *a)
{
	struct th_str type = th_http_header(a->request, "content-type");
	const char *wanted = a->route->type ? a->route->type : "application/json";

	type = th_str_trim(th_str_split(&type, ';'));
	if (!type.len && th_str_is(th_http_header(a->request, "content-length"), "0"))
		return true;
	if (!type.len && !th_http_header(a->request, "content-length").ptr &&
	    !th_http_header(a->request, "transfer-encoding").ptr)
		return true;
	if (th_str_ieq(type, th_str_of(wanted)))
		return true;
	/* As little as JSON itself may a page of another site send these without asking. */
	if (!a->route->type && th_str_istarts(type, TH_STR("application/")) &&
	    th_str_ends(type, TH_STR("+json")))
		return true;
	th_access_fail(a, 415, NULL, "the body must be %s", wanted);
	return false;
}
