/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/renew.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wiped.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/sign.h"

struct th_mcp_renew {
	void (*done)(void *ctx, bool good);
	void *ctx;
	struct th_mcp_login login;
	struct th_mcp_ask ask;
	struct th_timer timer;
	bool running;
	int lock, tries;
};

static int64_t now_s(void)
{
	return (int64_t)(th_clock_wall_ms() / 1000);
}

static bool can_renew(const struct th_mcp_login *l)
{
	return l->token_at.len && (l->refresh || l->by_client);
}

const struct th_secret *th_mcp_renew_token(const struct th_mcp_renew *r)
{
	return r->login.access;
}

bool th_mcp_renew_due(const struct th_mcp_renew *r)
{
	const struct th_mcp_login *l = &r->login;

	return can_renew(l) &&
	       (!l->access || (l->expires_s && l->expires_s - now_s() < TH_OAUTH_EARLY_S));
}

static void finish(struct th_mcp_renew *r, bool good)
{
	r->running = false;
	th_fd_close(&r->lock);
	r->done(r->ctx, good);
}

/* A person may have logged in anew meanwhile, or out, without the lock: that stands. */
static bool is_as_asked(const struct th_mcp_renew *r)
{
	const struct th_secret *ours = r->login.access;
	struct th_mcp_login now;
	bool same;

	th_mcp_login_init(&now, r->login.url);
	same = th_mcp_login_read(&now, NULL) == TH_OK && !now.access == !ours &&
	       (!ours || th_secret_eq(ours, th_secret_expose(now.access)));
	th_mcp_login_deinit(&now);
	return same;
}

static void on_answer(void *ctx, int status, const struct th_err *err)
{
	struct th_mcp_renew *r = (struct th_mcp_renew *)ctx;
	struct th_oauth_tokens tokens;
	struct th_arena arena;
	bool good;

	(void)err;
	if (!is_as_asked(r)) {
		finish(r, th_mcp_renew_reload(r));
		return;
	}
	th_arena_init(&arena, 4 * TH_OAUTH_JSON_MAX);
	good = status && th_oauth_tokens_read(status, th_buf_str(&r->ask.answer), &arena, &tokens,
					      NULL) == TH_OK;
	if (good) {
		th_mcp_login_take(&r->login, &tokens, now_s());
		/* A token that cannot be written down is good for this process. */
		(void)!th_mcp_login_write(&r->login, NULL);
	}
	th_arena_deinit(&arena);
	finish(r, good);
}

/* False: the key cannot be used. */
static bool put_assertion(const struct th_mcp_login *l, struct th_buf *out)
{
	if (l->method != TH_OAUTH_JWT)
		return true;
	return th_mcp_login_assertion(l, now_s(), out, NULL) == TH_OK;
}

static void ask_for_token(struct th_mcp_renew *r)
{
	const struct th_mcp_login *l = &r->login;
	struct th_oauth_client client = th_mcp_login_client(l);
	struct th_buf body = TH_BUF_INIT(8 * TH_OAUTH_TOKEN_MAX);
	struct th_buf authorization = TH_BUF_INIT(16 * TH_OAUTH_TEXT_MAX);
	struct th_buf assertion = TH_BUF_INIT(TH_OAUTH_TOKEN_MAX);
	struct th_oauth_request q = {
		.grant = l->by_client ? TH_OAUTH_CLIENT : TH_OAUTH_REFRESH,
		.client = &client,
		.refresh = l->refresh && !l->by_client ? th_secret_expose(l->refresh) : TH_STR(""),
		.scope = l->by_client ? l->scope : TH_STR(""),
		.resource = l->resource,
	};
	bool good = put_assertion(l, &assertion);

	q.assertion = th_buf_str(&assertion);
	if (good) {
		th_oauth_request_put(&q, &body, &authorization);
		th_mcp_ask_start(&r->ask, l->token_at, "application/x-www-form-urlencoded",
				 th_buf_str(&body), th_buf_str(&authorization));
	}
	th_buf_wipe(&body);
	th_buf_wipe(&authorization);
	th_buf_deinit(&assertion);
	if (!good)
		finish(r, false);
}

bool th_mcp_renew_reload(struct th_mcp_renew *r)
{
	struct th_secret *old =
	    r->login.access ? th_secret_new(th_secret_expose(r->login.access)) : NULL;
	bool is_new;

	if (r->ask.running) { /* its answer is for the login that is there */
		th_secret_free(old);
		return false;
	}
	(void)!th_mcp_login_read(&r->login, NULL); /* it may have gone: the old one is tried */
	is_new = r->login.access && (!old || !th_secret_eq(old, th_secret_expose(r->login.access)));
	th_secret_free(old);
	return is_new;
}

/* With the lock, or when it is waited for: another process may have renewed it meanwhile. */
static void on_timer(void *ctx)
{
	struct th_mcp_renew *r = (struct th_mcp_renew *)ctx;
	bool is_new;

	r->lock = th_mcp_login_lock(r->login.url);
	if (r->lock < 0 && ++r->tries < TH_OAUTH_LOCK_TRIES_MAX) {
		th_timer_start(&r->timer, TH_OAUTH_LOCK_MS, 0);
		return;
	}
	is_new = th_mcp_renew_reload(r);
	if (is_new || r->lock < 0 || !can_renew(&r->login))
		finish(r, is_new);
	else
		ask_for_token(r);
}

bool th_mcp_renew_start(struct th_mcp_renew *r)
{
	struct th_mcp_login fresh;
	bool good;

	if (r->running)
		return true;
	th_mcp_login_init(&fresh, r->login.url);
	good = th_mcp_login_read(&fresh, NULL) == TH_OK &&
	       (can_renew(&fresh) ||
		(fresh.access && (!r->login.access ||
				  !th_secret_eq(r->login.access, th_secret_expose(fresh.access)))));
	th_mcp_login_deinit(&fresh);
	if (!good)
		return false;
	r->running = true;
	r->tries = 0;
	th_timer_start(&r->timer, 0, 0);
	return true;
}

struct th_mcp_renew *th_mcp_renew_new(struct th_loop *loop, struct th_fetcher *fetcher,
				      struct th_str url, void (*done)(void *ctx, bool good),
				      void *ctx)
{
	struct th_mcp_renew *r = (struct th_mcp_renew *)th_alloc(sizeof(*r));

	*r = (struct th_mcp_renew){ .done = done, .ctx = ctx, .lock = -1 };
	th_mcp_login_init(&r->login, url);
	(void)!th_mcp_login_read(&r->login, NULL); /* most servers have none */
	th_mcp_ask_init(&r->ask, loop, fetcher, on_answer, r);
	th_timer_init(&r->timer, loop, on_timer, r);
	return r;
}

struct th_mcp_renew *th_mcp_renew_free(struct th_mcp_renew *r)
{
	if (!r)
		return NULL;
	th_timer_stop(&r->timer);
	th_mcp_ask_deinit(&r->ask);
	th_mcp_login_deinit(&r->login);
	th_fd_close(&r->lock);
	free(r);
	return NULL;
}
