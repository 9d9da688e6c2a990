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

#include "io/listen.h"
#include "server/internal.h"
#include "wire/authority.h"

/* ---- the place ---- */

static bool is_ours(const struct th_server *s, struct th_str host)
{
	struct th_buf mine TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_serve_settings *set = &s->settings.s;
	struct th_str name = th_authority_host(host);

	th_listen_print(s->listen, &mine);
	if (th_str_ieq(host, th_buf_str(&mine)))
		return true;
	if (set->public_url.len && th_str_ieq(host, th_authority_of_url(set->public_url)))
		return true;
	for (size_t i = 0; i < set->hosts.count; i++)
		if (name.len && th_str_ieq(name, th_authority_host(set->hosts.list[i])))
			return true;
	if (!th_listen_loopback(s->listen))
		return false;
	return th_authority_is_loopback(host);
}

static bool is_origin(const struct th_access *a, struct th_str origin)
{
	const struct th_serve_settings *set = &a->server->settings.s;
	struct th_str url = set->public_url;

	for (size_t i = 0; i < set->origins.count; i++)
		if (th_str_ieq(origin, set->origins.list[i]))
			return true;
	if (url.len && th_str_istarts(url, origin) &&
	    (url.len == origin.len || url.ptr[origin.len] == '/'))
		return true;
	return th_authority_is_origin(origin, th_http_header(a->request, "host"),
				      th_http_secure(a->request));
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
}

static struct th_str token_of(const struct th_access *a)
{
	struct th_str text = th_http_header(a->request, "authorization");

	if (th_str_istarts(text, TH_STR("bearer ")))
		return th_str_trim(th_str_sub(text, 7, text.len));
	text = th_http_header(a->request, "x-api-key");
	return text;
}

/* A bucket that fills again: as many requests a second, and as many at once. */
static bool in_rate(struct th_server *s, const char *user)
{
	double max = (double)s->settings.s.requests_per_second;
	uint64_t now_ms = th_loop_now_ms(s->loop);
	struct th_rate *r = s->rates;
	size_t count = 0;

	if (max <= 0)
		return true;
	while (r && strcmp(r->user, user) != 0) {
		r = r->next;
		count++;
	}
	if (!r && count >= TH_SERVE_RATE_USERS_MAX)
		return true;
	if (!r) {
		r = th_alloc(sizeof(*r));
		*r = (struct th_rate){ .next = s->rates, .left = max, .at_ms = now_ms };
		snprintf(r->user, sizeof(r->user), "%s", user);
		s->rates = r;
	}
	r->left = TH_MIN(max, r->left + (double)(now_ms - r->at_ms) * max / 1000);
	r->at_ms = now_ms;
	if (r->left < 1)
		return false;
	r->left -= 1;
	return true;
}

bool th_guard_caller(struct th_access *a)
{
	const struct th_token *t;
	struct th_str text = token_of(a);

	refresh(a->server);
	t = th_tokens_find(&a->server->tokens, text);
	if (!text.len || !t) {
		a->server->metrics.refused_tokens++;
		th_access_fail(a, 401, "invalid_api_key",
			       "a token is needed: Authorization: Bearer TOKEN (thole token new "
			       "makes one)");
		return false;
	}
	snprintf(a->user, sizeof(a->user), "%s", t->user);
	a->scopes = t->scopes;
	if (!in_rate(a->server, a->user)) {
		a->server->metrics.refused_rate++;
		th_access_fail(a, 429, "rate_limit_exceeded", "%lld requests a second are allowed",
			       (long long)a->server->settings.s.requests_per_second);
		return false;
	}
	return true;
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
	th_access_fail(a, 415, NULL, "the body must be %s", wanted);
	return false;
}
