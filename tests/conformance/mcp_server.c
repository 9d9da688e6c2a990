/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_server.c - thole's MCP protocol over the fixtures that the MCP conformance
 * suite wants: a server on 127.0.0.1 without tokens, for that suite alone.
 *
 * usage: conformance-mcp-server PORT (0: any free one; it is printed)
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "io/listen.h"
#include "mcp_fixtures.h"

static struct th_server server; /* only what the protocol and the check of hosts need */

static size_t on_head(void *ctx, struct th_http_request *r)
{
	struct th_access *a = th_alloc(sizeof(*a));

	(void)ctx;
	*a = (struct th_access){ .server = &server, .request = r, .scopes = TH_SCOPE_ALL };
	snprintf(a->user, sizeof(a->user), "suite");
	th_http_set_data(r, a);
	if (!th_guard_place(a))
		return 0;
	if (!th_str_is(th_http_path(r), "/mcp")) {
		th_access_fail(a, 404, NULL, "it is at /mcp");
		return 0;
	}
	return TH_SERVE_JSON_MAX;
}

static void on_request(void *ctx, struct th_http_request *r)
{
	(void)ctx;
	th_mcp_serve(th_http_data(r), &mcp_fixtures);
}

static void on_room(void *ctx, struct th_http_request *r)
{
	(void)ctx;
	(void)r;
}

static void on_gone(void *ctx, struct th_http_request *r)
{
	struct th_access *a = th_http_data(r);

	(void)ctx;
	if (a && a->gone)
		a->gone(a);
}

static void on_end(void *ctx, struct th_http_request *r, int status, uint64_t sent)
{
	(void)ctx;
	(void)status;
	(void)sent;
	free(th_http_data(r));
	th_http_set_data(r, NULL);
}

static void on_connection(void *ctx, int fd)
{
	(void)ctx;
	th_http_server_take(server.http, fd);
}

static void on_signal(void *ctx, int number)
{
	(void)ctx;
	(void)number;
	th_loop_stop(server.loop);
}

int main(int argc, char **argv)
{
	const struct th_http_handlers handlers = { .on_head = on_head,
						   .on_request = on_request,
						   .on_room = on_room,
						   .on_gone = on_gone,
						   .on_end = on_end };
	struct th_signal *ends = NULL;
	struct th_err err = {};
	char address[64];

	snprintf(address, sizeof(address), "127.0.0.1:%s", argc > 1 ? argv[1] : "0");
	signal(SIGPIPE, SIG_IGN);
	if (th_loop_new(&server.loop, &err) ||
	    th_signal_new(server.loop, SIGTERM, on_signal, NULL, &ends, &err) ||
	    th_listen_new(server.loop, th_str_of(address), on_connection, NULL, &server.listen,
			  &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	th_random(server.mcp_key, sizeof(server.mcp_key));
	server.http = th_http_server_new(server.loop, &handlers, NULL);
	printf("listening at http://127.0.0.1:%d/mcp\n", th_listen_port(server.listen));
	fflush(stdout);
	th_loop_run(server.loop);
	th_mcp_sessions_free(&server);
	th_listen_free(server.listen);
	th_http_server_free(server.http);
	th_signal_free(ends);
	th_loop_free(server.loop);
	return 0;
}
