/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_login.c - the person's way of a login: the address is printed, and the browser
 * comes back to a port of this machine; or its last address is pasted.
 */
#include "cli/mcp_login.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "io/address.h"
#include "io/http_server.h"
#include "io/listen.h"
#include "io/variable.h"
#include "mcp/authorize.h"
#include "mcp/login.h"
#include "wire/authority.h"

#define CALLBACK "/callback"
#define LINE_MAX_SIZE 8192

struct login {
	const struct th_mcp_login_options *o;
	struct th_str url;
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	struct th_http_server *http;
	struct th_listen *listen;
	struct th_mcp_authorize *authorize;
	struct th_poll *prompt;
	struct th_timer late;
	struct th_buf redirect;
	bool is_local; /* the server is of this very machine */
	bool over;
	struct th_err err;
};

/* ---- the browser comes back ---- */

static void page(struct th_http_request *r, int status, const char *text)
{
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	th_buf_printf(
	    &body, "<!doctype html><meta charset=\"utf-8\"><title>thole</title><p>%s</p>\n", text);
	th_http_reply(r, status, "text/html; charset=utf-8",
		      TH_STR("Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
			     "Content-Security-Policy: default-src 'none'\r\n"),
		      th_buf_str(&body));
}

static size_t on_head(void *ctx, struct th_http_request *r)
{
	(void)ctx;
	(void)r;
	return 0;
}

static void on_request(void *ctx, struct th_http_request *r)
{
	struct login *l = ctx;
	struct th_str authority = th_http_header(r, "Host");
	struct th_err err = {};

	/* A page of somebody else's whose name means this machine is not who we wait for. */
	if (!th_authority_is_loopback(authority) || !th_str_is(th_http_method(r), "GET") ||
	    !th_str_is(th_http_path(r), CALLBACK))
		page(r, 404, "There is nothing here.");
	else if (th_mcp_authorize_answer(l->authorize, th_http_query(r), &err) == TH_OK)
		page(r, 200, "The login goes on in the terminal. This page may be closed.");
	else
		page(r, 400,
		     "That was no answer to this login, or it was refused: see the terminal.");
}

static void on_gone(void *ctx, struct th_http_request *r)
{
	(void)ctx;
	(void)r;
}

static void on_connection(void *ctx, int fd)
{
	struct login *l = ctx;

	th_http_server_take(l->http, fd);
}

static const struct th_http_handlers handlers = {
	.on_head = on_head,
	.on_request = on_request,
	.on_gone = on_gone,
};

/* ---- or its address is pasted ---- */

static void on_line(void *ctx, unsigned events TH_UNUSED)
{
	struct login *l = ctx;
	char line[LINE_MAX_SIZE];
	struct th_err err = {};
	ssize_t n = read(STDIN_FILENO, line, sizeof(line));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) { /* the browser may still come back */
		l->prompt = th_poll_free(l->prompt);
		return;
	}
	if (th_mcp_authorize_answer(l->authorize, th_str_trim(th_str_n(line, (size_t)n)), &err) ==
	    TH_EPROTO)
		fprintf(stderr, "%s\n", err.msg);
	explicit_bzero(line, sizeof(line));
}

/* ---- the login ---- */

static void on_visit(void *ctx, struct th_str url)
{
	struct login *l = ctx;

	fprintf(stderr, "Open this address in a browser and log in:\n\n  %.*s\n\n", TH_FMT(url));
	if (!th_cli_terminal(STDIN_FILENO))
		return;
	fprintf(stderr,
		"A browser on another machine cannot come back here: paste the address that it "
		"ends at.\n");
	if (th_poll_new(l->loop, STDIN_FILENO, on_line, l, &l->prompt, NULL) == TH_OK)
		th_poll_set(l->prompt, TH_POLL_READ);
}

static void on_done(void *ctx, const struct th_err *err)
{
	struct login *l = ctx;

	l->over = true;
	if (err)
		l->err = *err;
	th_loop_stop(l->loop);
}

static void on_late(void *ctx)
{
	struct login *l = ctx;

	th_fail(&l->err, TH_ETIMEOUT, "nobody logged in within %d minutes", TH_OAUTH_LOGIN_S / 60);
	th_loop_stop(l->loop);
}

/* What a server says may not lead into a private network. */
static bool may_dial(void *ctx, const struct th_address *to)
{
	const struct login *l = ctx;
	static const struct th_address one = { { [15] = 1 } };
	bool is_loopback = !memcmp(to, &one, sizeof(one)) ||
			   (to->bytes[10] == 0xff && to->bytes[11] == 0xff && to->bytes[12] == 127);

	return th_address_is_public(to) || (l->is_local && is_loopback);
}

/* The port that the client was registered with is tried first. */
static enum th_code begin_listening(struct login *l, struct th_err *err)
{
	struct th_mcp_login before;
	char address[64];
	enum th_code code = TH_EBUSY;

	th_mcp_login_init(&before, l->url);
	if (l->o->port >= 0) {
		snprintf(address, sizeof(address), "127.0.0.1:%lld", (long long)l->o->port);
		code =
		    th_listen_new(l->loop, th_str_of(address), on_connection, l, &l->listen, err);
	} else {
		if (th_mcp_login_read(&before, NULL) == TH_OK && before.redirect.len)
			code = th_listen_new(l->loop, th_authority_of_url(before.redirect),
					     on_connection, l, &l->listen, NULL);
		if (code)
			code = th_listen_new(l->loop, TH_STR("127.0.0.1:0"), on_connection, l,
					     &l->listen, err);
	}
	th_mcp_login_deinit(&before);
	if (!code)
		th_buf_printf(&l->redirect, "http://127.0.0.1:%d" CALLBACK,
			      th_listen_port(l->listen));
	return code;
}

static enum th_code begin(struct login *l, struct th_err *err)
{
	const struct th_mcp_login_options *o = l->o;
	const char *secret = th_variable(o->client_secret_env);
	enum th_code code = th_loop_new(&l->loop, err);

	if (o->client_secret_env.len && (!secret || !secret[0]))
		return th_fail(err, TH_EUSAGE, "the environment variable %.*s is not set",
			       TH_FMT(th_utf8_cut(o->client_secret_env, 80)));
	if (!code)
		code = th_fetcher_new(l->loop, &l->fetcher, err);
	if (code)
		return code;
	if (!o->private_net)
		th_fetcher_only(l->fetcher, may_dial, l);
	th_timer_init(&l->late, l->loop, on_late, l);
	th_timer_start(&l->late, TH_OAUTH_LOGIN_S * (uint64_t)1000, 0);
	l->http =
	    th_http_server_new(l->loop,
			       &(struct th_http_handlers){ handlers.on_head, handlers.on_request,
							   .on_gone = on_gone, .ctx = l },
			       NULL);
	code = begin_listening(l, err);
	if (code)
		return code;
	return th_mcp_authorize_new(
	    &(struct th_mcp_authorize_spec){
		.loop = l->loop,
		.fetcher = l->fetcher,
		.url = l->url,
		.redirect = th_buf_str(&l->redirect),
		.client_id = o->client_id,
		.client_secret = th_str_of(secret ? secret : ""),
		.key_file = o->client_key,
		.client_document = o->client_document,
		.scope = o->scope,
		.by_client = o->as_client,
		.visit = on_visit,
		.done = on_done,
		.ctx = l,
	    },
	    &l->authorize, err);
}

/* Its address: as it was given, or of the server of that name in the agent file. */
static enum th_code find_url(const struct th_mcp_login_options *o, struct th_str server,
			     struct th_arena *a, struct th_str *ret, struct th_err *err)
{
	const struct th_agent_mcp *found;
	struct th_agent agent;
	enum th_code code;

	*ret = server;
	if (th_str_find(server, TH_STR("://")) >= 0)
		return TH_OK;
	if (!o->agent.len)
		return th_fail(err, TH_EUSAGE,
			       "\"%.*s\" is no address: give the agent file that names the server "
			       "(-a FILE)",
			       TH_FMT(th_str_sub(server, 0, 80)));
	code = th_agent_load(o->agent, a, &agent, err);
	if (code)
		return code;
	found = th_agent_mcp_find(&agent.mcp_servers, server);
	if (!found || !found->url.len)
		return th_fail(err, TH_EUSAGE, "%.*s has no server \"%.*s\" with a url",
			       TH_FMT(o->agent), TH_FMT(th_str_sub(server, 0, 80)));
	*ret = found->url;
	return TH_OK;
}

int th_cli_mcp_login(const struct th_mcp_login_options *o, struct th_str server)
{
	struct login l = { .o = o };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	th_buf_init(&l.redirect, TH_KIB);
	code = find_url(o, server, &a, &l.url, &l.err);
	if (!code && !th_oauth_is_safe(l.url) && !o->private_net)
		code = th_fail(&l.err, TH_EUSAGE,
			       "the server is at no https address, so a token would not be safe");
	l.is_local = th_authority_is_loopback(th_authority_of_url(l.url));
	if (!code)
		code = begin(&l, &l.err);
	if (!code)
		th_loop_run(l.loop);
	th_mcp_authorize_free(l.authorize);
	th_poll_free(l.prompt);
	th_timer_stop(&l.late);
	th_listen_free(l.listen);
	th_http_server_free(l.http);
	th_fetcher_free(l.fetcher);
	th_loop_free(l.loop);
	th_buf_deinit(&l.redirect);
	if (l.err.code)
		return th_cli_fail(&l.err);
	printf("logged in: %.*s\n", TH_FMT(l.url));
	return 0;
}

int th_cli_mcp_logout(const struct th_mcp_login_options *o, struct th_str server)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_err err = {};
	struct th_str url;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = find_url(o, server, &a, &url, &err);
	if (!code)
		code = th_mcp_login_remove(url, &err);
	if (code == TH_ENOENT)
		return th_cli_die(1, "there is no login of %.*s", TH_FMT(url));
	return code ? th_cli_fail(&err) : 0;
}
