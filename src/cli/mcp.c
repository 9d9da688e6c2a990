/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - thole mcp: an MCP server on standard input and output, for hosts that
 * start their servers as programs; and logins at servers of others (mcp_login.h).
 *
 * Without an operand it is a bridge: each line goes to POST /mcp of a thole serve, each answer
 * comes back as a line.  It knows the protocol only as far as its frames.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/cli.h"
#include "cli/mcp_login.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "remote/remote.h"
#include "wire/jsonrpc.h"
#include "wire/sse.h"

#define READ_SIZE (64 * TH_KIB)
#define RUNNING_MAX 64
#define TOTAL_MS 3700000 /* the longest wait that a tool may ask for, and more */
#define SESSION_SIZE 256
#define MODERN "io.modelcontextprotocol/protocolVersion"

struct mcp_options {
	struct th_str server, token_file;
	struct th_mcp_login_options login;
};

static const struct th_option mcp_options[] = {
	TH_OPTION_SERVER(struct mcp_options, server),
	TH_OPTION_TOKEN_FILE(struct mcp_options, token_file),
	TH_OPTIONS_MCP_LOGIN(struct mcp_options, login),
	TH_OPTIONS_END,
};

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	if (s.len)
		memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

struct bridge;

/* A message under way. */
struct job {
	struct job *next;
	struct bridge *bridge;
	struct th_fetch_id fetch;
	char *line, *id; /* id: its JSON text; "": it gets no answer */
	struct th_str body;
	struct th_buf answer;
	struct th_sse stream; /* its messages come one after the other */
	bool streams, answered, listens;
};

struct bridge {
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	const struct th_place *place;
	struct job *jobs;
	size_t count;
	char session[SESSION_SIZE]; /* that the server gave this client; may be empty */
	bool listens;               /* to what it says unasked */
	struct th_buf in;
	char bytes[READ_SIZE]; /* what the worker reads */
	ssize_t got;
	bool over, reads; /* standard input has ended; a worker reads it */
	bool ends;        /* nothing is read any more */
	int status;
};

static void read_more(struct bridge *b);

/* ---- to the host ---- */

static void say(struct bridge *b, struct th_str line)
{
	if (!th_cli_write(STDOUT_FILENO, line) || !th_cli_write(STDOUT_FILENO, TH_STR("\n"))) {
		b->status = 1; /* nobody reads */
		th_loop_stop(b->loop);
	}
}

static void say_error(struct bridge *b, const char *id, int code, const char *message)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	th_rpc_print_error(th_str_of(id), code, th_str_of(message), TH_STR(""), &out);
	say(b, th_buf_str(&out));
}

/* ---- to the server ---- */

static void job_free(struct job *j)
{
	struct bridge *b = j->bridge;
	struct job **at = &b->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	b->count -= !j->listens;
	th_sse_deinit(&j->stream);
	th_buf_deinit(&j->answer);
	free(j->line);
	free(j->id);
	free(j);
	if (b->over && !b->count)
		th_loop_stop(b->loop);
	else
		read_more(b);
}

static void on_header(void *ctx, struct th_str name, struct th_str value)
{
	struct job *j = ctx;

	if (th_str_ieq(name, TH_STR("content-type")))
		j->streams = th_str_istarts(value, TH_STR("text/event-stream"));
	else if (th_str_ieq(name, TH_STR("mcp-session-id")) &&
		 value.len < sizeof(j->bridge->session))
		snprintf(j->bridge->session, sizeof(j->bridge->session), "%.*s", TH_FMT(value));
}

/* A message for the host: one line. */
static void say_message(struct job *j, struct th_str message)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_BODY_MAX);

	if (th_json_parse(message, &doc, NULL) != TH_OK ||
	    !th_json_get_str(th_json_root(doc), "jsonrpc").len)
		return;
	j->answered |= th_str_is(th_json_raw_get(message, "id"), j->id) &&
		       !th_json_get_str(th_json_root(doc), "method").len;
	th_json_print(th_json_root(doc), &line); /* a line has no line feed */
	say(j->bridge, th_buf_str(&line));
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct job *j = ctx;
	struct th_sse_event event;
	int found;

	if (!j->streams) {
		th_buf_add(&j->answer, bytes);
		return !j->answer.failed;
	}
	while ((found = th_sse_next(&j->stream, &bytes, &event, NULL)) > 0)
		say_message(j, event.data);
	return found == 0;
}

static void listen(struct bridge *b);

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct job *j = ctx;
	struct bridge *b = j->bridge;
	bool began = strstr(j->line, "\"initialize\"") != NULL;

	if (j->listens)
		b->listens = false;
	else if (!j->streams)
		say_message(j, th_str_trim(th_buf_str(&j->answer)));
	if (!j->answered && !j->listens && j->id[0]) {
		char text[TH_ERR_MSG_MAX + 64];

		if (r->end == TH_FETCH_OK)
			snprintf(text, sizeof(text), "thole serve ended its answer early");
		else if (r->end == TH_FETCH_STATUS)
			snprintf(text, sizeof(text), "thole serve answered with status %d%s",
				 r->head.status,
				 r->head.status == 401 ? ": set THOLE_TOKEN, or --token-file" : "");
		else
			snprintf(text, sizeof(text), "thole serve: %s", r->err.msg);
		say_error(b, j->id, -32000, text);
	}
	job_free(j);
	if (began && b->session[0])
		listen(b);
}

static struct job *job_new(struct bridge *b, struct th_str line)
{
	struct job *j = th_alloc(sizeof(*j));

	*j = (struct job){ .next = b->jobs, .bridge = b, .line = copy(line) };
	/* An answer of the host has an id too, and gets no answer. */
	j->id =
	    copy(th_json_raw_get(line, "method").len ? th_json_raw_get(line, "id") : TH_STR(""));
	j->body = th_str_n(j->line, line.len);
	th_buf_init(&j->answer, TH_HTTP_BODY_MAX);
	th_sse_init(&j->stream, TH_HTTP_BODY_MAX);
	b->jobs = j;
	return j;
}

/* What Mcp-Name must say. */
static struct th_str name_of(struct th_str params)
{
	static const char *const members[] = { "name", "uri", "taskId" };
	struct th_str name = { NULL, 0 };

	for (size_t i = 0; i < TH_COUNT(members) && !name.len; i++)
		name = th_json_raw_inside(th_json_raw_get(params, members[i]));
	return name;
}

static void start(struct bridge *b, struct job *j, struct th_fetch_request *r)
{
	struct th_err err = {};

	r->url = th_buf_str(&b->place->url);
	r->unix_path = b->place->unix_path;
	r->secret = b->place->token;
	r->connect_ms = TH_MODEL_CONNECT_MS;
	r->on_header = on_header;
	r->on_data = on_data;
	r->on_done = on_done;
	r->ctx = j;
	if (th_fetch_start(b->fetcher, r, &j->fetch, &err) == TH_OK)
		return;
	if (!j->listens)
		say_error(b, j->id, -32000, err.msg);
	job_free(j);
}

/* What the server says unasked, as long as it says anything. */
static void listen(struct bridge *b)
{
	const struct th_fetch_header headers[] = {
		{ "Accept", TH_STR("text/event-stream") },
		{ "Mcp-Session-Id", th_str_of(b->session) },
	};
	struct th_fetch_request r = { .method = "GET",
				      .headers = headers,
				      .header_count = TH_COUNT(headers) };
	struct job *j;

	if (b->listens)
		return;
	b->listens = true;
	j = job_new(b, TH_STR("{}"));
	j->listens = true;
	start(b, j, &r);
}

static void send_line(struct bridge *b, struct th_str line)
{
	struct th_str params = th_json_raw_get(line, "params");
	struct th_str method = th_json_raw_inside(th_json_raw_get(line, "method"));
	struct th_str name = name_of(params);
	struct th_str version =
	    th_json_raw_inside(th_json_raw_get(th_json_raw_get(params, "_meta"), MODERN));
	struct th_fetch_header headers[5] = {
		{ "Content-Type", TH_STR("application/json") },
		{ "Accept", TH_STR("application/json, text/event-stream") },
	};
	size_t count = 2;
	struct job *j = job_new(b, line);
	struct th_fetch_request r = {
		.method = "POST",
		.headers = headers,
		.body_count = 1,
		.body = &j->body,
		.once = true, /* a message begins or leads something */
		.total_ms = TOTAL_MS,
	};

	b->count++;
	if (version.len) {
		headers[count++] = (struct th_fetch_header){ "MCP-Protocol-Version", version };
		headers[count++] = (struct th_fetch_header){ "Mcp-Method", method };
		if (name.len)
			headers[count++] = (struct th_fetch_header){ "Mcp-Name", name };
	} else if (b->session[0]) {
		headers[count++] =
		    (struct th_fetch_header){ "Mcp-Session-Id", th_str_of(b->session) };
	}
	r.header_count = count;
	start(b, j, &r);
}

/* The host does not want an answer any more: the server sees that its caller left. */
static bool is_cancel(struct bridge *b, struct th_str line)
{
	struct th_str id = th_json_raw_get(th_json_raw_get(line, "params"), "requestId");

	if (!th_str_is(th_json_raw_get(line, "method"), "\"notifications/cancelled\"") || !id.len)
		return false;
	for (struct job *j = b->jobs; j; j = j->next)
		if (th_str_is(id, j->id)) {
			th_fetch_cancel(b->fetcher, j->fetch);
			job_free(j);
			break;
		}
	return true;
}

static void on_line(struct bridge *b, struct th_str line)
{
	line = th_str_trim(line);
	if (!line.len)
		return;
	if (!th_json_valid(line) || !th_json_raw_is_object(line))
		say_error(b, "", -32700, "a line is one JSON object");
	else if (!is_cancel(b, line))
		send_line(b, line);
}

/* ---- standard input ---- */

static void take_lines(struct bridge *b)
{
	char *end;

	while (b->count < RUNNING_MAX && (end = memchr(b->in.ptr, '\n', b->in.len))) {
		size_t len = (size_t)(end - b->in.ptr);
		char *line = copy(th_str_n(b->in.ptr, len));

		th_buf_drop(&b->in, len + 1);
		on_line(b, th_str_n(line, len));
		free(line);
	}
}

static void read_job(void *ctx)
{
	struct bridge *b = ctx;

	do
		b->got = read(STDIN_FILENO, b->bytes, sizeof(b->bytes));
	while (b->got < 0 && errno == EINTR);
}

static void on_read(void *ctx)
{
	struct bridge *b = ctx;

	b->reads = false;
	if (b->got > 0)
		th_buf_add_mem(&b->in, b->bytes, (size_t)b->got);
	if (b->in.failed) {
		say_error(b, "", -32700, "a line is too long");
		b->got = 0;
	}
	b->over = b->got <= 0;
	take_lines(b);
	if (b->over && !b->count)
		th_loop_stop(b->loop);
	read_more(b);
}

static void read_more(struct bridge *b)
{
	if (b->ends || b->reads || b->count >= RUNNING_MAX)
		return;
	if (memchr(b->in.ptr, '\n', b->in.len)) {
		take_lines(b);
		if (b->reads || b->count >= RUNNING_MAX)
			return;
	}
	if (b->over)
		return;
	b->reads = true;
	th_work(b->loop, read_job, on_read, b);
}

/* ---- the command ---- */

static int bridge_run(struct bridge *b)
{
	struct th_err err = {};
	enum th_code code = th_loop_new(&b->loop, &err);

	if (!code)
		code = th_fetcher_new(b->loop, &b->fetcher, &err);
	if (!code) {
		read_more(b);
		th_loop_run(b->loop);
	}
	b->ends = true;
	b->fetcher = th_fetcher_free(b->fetcher);
	b->loop = th_loop_free(b->loop);
	return code ? th_cli_fail(&err) : b->status;
}

static int run_mcp(const struct th_command *self, int argc, char **argv)
{
	struct mcp_options o = { .login.port = -1 };
	struct th_operands rest;
	struct th_place place;
	struct bridge *b;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	int status;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count == 2 && !strcmp(rest.list[0], "login"))
		return th_cli_mcp_login(&o.login, th_str_of(rest.list[1]));
	if (rest.count == 2 && !strcmp(rest.list[0], "logout"))
		return th_cli_mcp_logout(&o.login, th_str_of(rest.list[1]));
	if (rest.count > 0)
		return th_cli_die(
		    2, "mcp takes nothing, or login or logout and a server; see %s help mcp",
		    th_cli_program());
	code = th_place_init(&place, o.server, o.token_file, "http://127.0.0.1:7711", &err);
	if (code)
		return th_cli_fail(&err);
	th_buf_add_cstr(&place.url, "/mcp");
	b = th_alloc(sizeof(*b));
	*b = (struct bridge){ .place = &place };
	th_buf_init(&b->in, TH_SERVE_JSON_MAX);
	th_cli_for_programs("an MCP host", "docs/MCP.md");
	status = bridge_run(b);
	th_buf_deinit(&b->in);
	free(b);
	th_place_deinit(&place);
	return status;
}

const struct th_command th_command_mcp = {
	.name = "mcp",
	.operands = "[login URL|NAME | logout URL|NAME]",
	.summary = "an MCP server on standard input and output; logins at others",
	.text =
	    "Alone, a bridge to the MCP server of a running thole serve (docs/MCP.md): each line "
	    "of "
	    "standard input is\n"
	    "a message, each answer is a line of standard output. Ends with standard input, once "
	    "all is answered.\n\n"
	    "login gets a token for a server that an agent uses (mcp_servers, url) and that "
	    "wants one: it prints an\n"
	    "address for the browser, which comes back to a port of this machine. The token is "
	    "in the state directory, for\n"
	    "this user only, is renewed by itself, and goes to that server alone. logout forgets "
	    "it.\n\n"
	    "Examples:\n"
	    "  THOLE_TOKEN=… thole mcp --server https://agents.example.org\n"
	    "  thole mcp login https://tracker.example/mcp\n"
	    "  thole mcp login tracker -a agent.yaml\n",
	.words = "login logout",
	.options = mcp_options,
	.run = run_mcp,
};
