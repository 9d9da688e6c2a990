/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_client_login.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "io/files.h"
#include "mcp/authorize.h"
#include "mcp/login.h"

#define DOCUMENT "https://conformance-test.local/client-metadata.json"
#define REDIRECT "http://127.0.0.1:9/callback"

static struct {
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	struct th_fetch_id fetch;
	struct th_mcp_authorize *authorize;
	struct th_buf location;
	bool good;
} the;

bool login_wanted(const char *url)
{
	struct th_mcp_login l;
	bool wanted;

	th_mcp_login_init(&l, th_str_of(url));
	wanted = th_mcp_login_read(&l, NULL) == TH_OK && l.noted;
	th_mcp_login_deinit(&l);
	return wanted;
}

static void on_done(void *ctx, const struct th_err *err)
{
	(void)ctx;
	the.good = err == NULL;
	if (err)
		fprintf(stderr, "login: %s\n", err->msg);
	th_loop_stop(the.loop);
}

static void on_header(void *ctx, struct th_str name, struct th_str value)
{
	(void)ctx;
	if (th_str_ieq(name, TH_STR("location")))
		th_buf_add(&the.location, value);
}

static void on_visited(void *ctx, const struct th_fetch_result *r)
{
	struct th_err err = {};

	(void)ctx;
	if (r->head.status / 100 == 3 &&
	    th_mcp_authorize_answer(the.authorize, th_buf_str(&the.location), &err) == TH_OK)
		return;
	fprintf(stderr, "login: status %d, %s\n", r->head.status, err.msg);
	th_loop_stop(the.loop);
}

static void on_visit(void *ctx, struct th_str url)
{
	struct th_fetch_request r = {
		.method = "GET", .url = url, .on_header = on_header, .on_done = on_visited
	};
	struct th_err err = {};

	(void)ctx;
	if (th_fetch_start(the.fetcher, &r, &the.fetch, &err)) {
		fprintf(stderr, "login: %s\n", err.msg);
		th_loop_stop(the.loop);
	}
}

/* The suite gives the key as text. */
static void put_key(struct th_str pem, struct th_buf *path)
{
	struct th_err err = {};

	if (!pem.len)
		return;
	th_buf_printf(path, "%s/key.pem", getenv("XDG_STATE_HOME"));
	if (th_file_write(path->ptr, pem, 0600, &err))
		fprintf(stderr, "%s\n", err.msg);
}

bool login_do(struct th_loop *loop, struct th_fetcher *fetcher, const char *url)
{
	const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf key TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	const struct th_json *root = NULL;
	struct th_err err = {};

	if (context && th_json_parse(th_str_of(context), &doc, NULL) == TH_OK)
		root = th_json_root(doc);
	put_key(th_json_get_str(root, "private_key_pem"), &key);
	the.loop = loop;
	the.fetcher = fetcher;
	the.good = false;
	th_buf_init(&the.location, TH_OAUTH_JSON_MAX);
	struct th_mcp_authorize_spec spec = {
		.loop = loop,
		.fetcher = fetcher,
		.url = th_str_of(url),
		.redirect = TH_STR(REDIRECT),
		.client_id = th_json_get_str(root, "client_id"),
		.client_secret = th_json_get_str(root, "client_secret"),
		.key_file = th_buf_str(&key),
		.client_document = TH_STR(DOCUMENT),
		.by_client = getenv("MCP_CONFORMANCE_SCENARIO") &&
			     strstr(getenv("MCP_CONFORMANCE_SCENARIO"), "client-credentials"),
		.visit = on_visit,
		.done = on_done,
	};
	if (th_mcp_authorize_new(&spec, &the.authorize, &err))
		fprintf(stderr, "login: %s\n", err.msg);
	else
		th_loop_run(loop);
	the.authorize = th_mcp_authorize_free(the.authorize);
	th_buf_deinit(&the.location);
	return the.good;
}
