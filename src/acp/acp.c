/* SPDX-License-Identifier: Apache-2.0 */
/* acp.c - the command, its loop, and which message means what. */
#include "acp/acp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "console/console.h"
#include "io/clock.h"

#define READ_SIZE (64 * TH_KIB)
#define END_MS                                                                            \
	5000 /* how long the end waits for what is under way; a command goes on by itself \
	      */

static const struct th_option acp_options[] = {
	{ "agent", 'a', "FILE", TH_OPTION_TEXT, offsetof(struct acp_options, agent),
	  "agent file (see examples/); default: bash, edit and search", "FILE" },
	{ "model", 'm', "MODEL", TH_OPTION_TEXT, offsetof(struct acp_options, model),
	  "model (default: the agent file's, THOLE_MODEL, the configuration's)", "MODEL" },
	{ "approve", 0, "LIST", TH_OPTION_TEXT, offsetof(struct acp_options, approve),
	  "tools whose calls you are asked about in the editor, with commas; all", NULL },
	{ "net", 0, "none|host|LIST", TH_OPTION_TEXT, offsetof(struct acp_options, net),
	  "network of its commands: none (default), host, or hosts with commas", "host none" },
	TH_OPTIONS_END,
};

/* ---- messages ---- */

static void initialize(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	const struct th_json *can = th_json_get(params, "clientCapabilities");

	a->forms = th_json_is_object(th_json_get(th_json_get(can, "elicitation"), "form"));
	/* Whatever version it speaks: it is told ours, and may leave. */
	th_acp_result(
	    a, m->id,
	    TH_STR("{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":true,"
		   "\"promptCapabilities\":{\"image\":true,\"audio\":false,"
		   "\"embeddedContext\":true},\"mcpCapabilities\":{\"http\":true,\"sse\":false},"
		   "\"sessionCapabilities\":{\"list\":{},\"resume\":{},\"close\":{}}},"
		   "\"agentInfo\":{\"name\":\"thole\",\"title\":\"thole\",\"version\":\"" TH_VERSION
		   "\"},\"authMethods\":[]}"));
}

static void authenticate(struct acp *a, const struct th_rpc *m, const struct th_json *params)
{
	(void)params;
	th_acp_error(a, m->id, TH_RPC_EPARAMS,
		     "there is no way to log in: keys come from the environment");
}

static const struct {
	const char *method;
	th_acp_fn *fn;
} methods[] = {
	{ "initialize", initialize },      { "authenticate", authenticate },
	{ "session/new", th_acp_new },     { "session/load", th_acp_load },
	{ "session/list", th_acp_list },   { "session/resume", th_acp_resume },
	{ "session/close", th_acp_close }, { "session/prompt", th_acp_prompt },
};

static void on_request(struct acp *a, const struct th_rpc *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = {};

	if (th_json_parse(m->params.len ? m->params : TH_STR("{}"), &doc, &err) != TH_OK) {
		th_acp_error(a, m->id, TH_RPC_EPARAMS, err.msg);
		return;
	}
	for (size_t i = 0; i < TH_COUNT(methods); i++)
		if (th_str_is(m->method, methods[i].method)) {
			methods[i].fn(a, m, th_json_root(doc));
			return;
		}
	th_acp_error(a, m->id, TH_RPC_EMETHOD, "there is no such method");
}

static void on_notification(struct acp *a, const struct th_rpc *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (th_str_is(m->method, "session/cancel") && m->params.len &&
	    th_json_parse(m->params, &doc, NULL) == TH_OK)
		th_acp_cancel(a, m, th_json_root(doc));
}

static void on_line(struct acp *a, struct th_str line)
{
	struct th_rpc m;

	if (!th_str_trim(line).len)
		return;
	th_rpc_read(line, &m);
	switch (m.kind) {
	case TH_RPC_BROKEN:
		th_acp_error(a, m.id, TH_RPC_EPARSE, "a line is one JSON object");
		break;
	case TH_RPC_WRONG:
		th_acp_error(a, m.id, TH_RPC_EREQUEST, "that is no message of JSON-RPC 2.0");
		break;
	case TH_RPC_REQUEST:
		on_request(a, &m);
		break;
	case TH_RPC_NOTIFICATION:
		on_notification(a, &m);
		break;
	case TH_RPC_RESULT:
	case TH_RPC_ERROR:
		th_acp_answer(a, &m);
		break;
	}
}

/* ---- the loop ---- */

static int end_pipe[2] = { -1, -1 }; /* a byte in it: it was told to end */

static void on_signal(int signum)
{
	int errnum = errno;
	ssize_t ignored = write(end_pipe[1], "", 1); /* one that is full has told it already */

	(void)signum, (void)ignored;
	errno = errnum;
}

static bool signals_on(void)
{
	struct sigaction act = { .sa_handler = on_signal };

	signal(SIGPIPE, SIG_IGN);
	return pipe2(end_pipe, O_CLOEXEC | O_NONBLOCK) == 0 &&
	       sigaction(SIGTERM, &act, NULL) == 0 && sigaction(SIGINT, &act, NULL) == 0;
}

static void take_lines(struct acp *a, struct th_buf *in)
{
	char *end;

	while ((end = memchr(in->ptr, '\n', in->len))) {
		size_t len = (size_t)(end - in->ptr);

		on_line(a, th_str_n(in->ptr, len));
		th_buf_drop(in, len + 1);
	}
}

/* False: there is no more. */
static bool read_some(struct acp *a, struct th_buf *in)
{
	char bytes[READ_SIZE];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	th_buf_add_mem(in, bytes, (size_t)n);
	if (in->failed) {
		th_acp_error(a, TH_STR(""), TH_RPC_EPARSE, "a line is too long");
		return false;
	}
	take_lines(a, in);
	return n > 0;
}

static bool is_busy(const struct acp *a)
{
	for (const struct acp_session *s = a->sessions; s; s = s->next)
		if (s->prompt && thole_session_state(s->session) != THOLE_WAITING)
			return true;
	return false;
}

/* Nobody is there any more: what runs is held, so that it can be taken up where it was. */
static void hold_all(struct acp *a)
{
	for (struct acp_session *s = a->sessions; s; s = s->next)
		if (thole_session_state(s->session) == THOLE_RUNNING)
			(void)thole_session_pause(s->session, "the editor is gone", NULL);
}

static int run_loop(struct acp *a)
{
	struct th_buf in TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);
	struct thole_error err;
	uint64_t until_ms = 0; /* of the end */
	bool open = true;

	while (open || (is_busy(a) && th_clock_ms() < until_ms)) {
		struct pollfd p[] = { { open ? STDIN_FILENO : -1, POLLIN, 0 },
				      { thole_runtime_fd(a->rt), POLLIN, 0 },
				      { open ? end_pipe[0] : -1, POLLIN, 0 } };
		int timeout = thole_runtime_timeout_ms(a->rt);

		if (!open && (timeout < 0 || timeout > END_MS))
			timeout = END_MS;
		(void)poll(p, TH_COUNT(p), timeout);
		if (p[0].revents)
			open = read_some(a, &in);
		open = open && !p[2].revents && !a->mute;
		if (!open && !until_ms) {
			until_ms = th_clock_ms() + END_MS;
			hold_all(a);
		}
		if (thole_runtime_dispatch(a->rt, &err) != 0)
			return th_cli_die(1, "%s", err.text);
	}
	return 0;
}

static int run_with(struct acp *a)
{
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int status;

	if (thole_runtime_new((const char *[]){ "program", th_cli_self(), NULL }, &a->rt, &err))
		return th_cli_die(th_code_exit((enum th_code)err.code), "%s", err.text);
	if (th_acp_agent(a, NULL, &agent, &err) != 0) {
		(void)thole_runtime_free(a->rt);
		return th_cli_die(th_code_exit((enum th_code)err.code), "%s", err.text);
	}
	thole_agent_free(agent);
	th_cli_for_programs("an editor", "docs/ACP.md");
	status = run_loop(a);
	while (a->sessions)
		th_acp_session_free(a->sessions);
	(void)thole_runtime_free(a->rt);
	return status;
}

static int run_acp(const struct th_command *self, int argc, char **argv)
{
	struct acp_options o = {};
	struct th_operands rest;
	struct acp a = { .options = &o };
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0)
		return th_cli_die(2, "acp has no operands; see %s help acp", th_cli_program());
	if (!signals_on())
		return th_cli_die(1, "cannot take signals: %s", strerror(errno));
	return run_with(&a);
}

const struct th_command th_command_acp = {
	.name = "acp",
	.operands = "",
	.summary = "an agent for editors, on standard input and output",
	.text =
	    "Speaks the Agent Client Protocol, version 1 (docs/ACP.md): the editor starts it, and "
	    "shows what it says,\n"
	    "thinks and does. Its workspace is the folder that is open there. Calls that need "
	    "approval are asked about\n"
	    "in the editor. Each session is in the log, so thole log, thole resume and the "
	    "editor's list of sessions\n"
	    "find it again.\n\n"
	    "Examples:\n"
	    "  thole acp -m gpt-5.4 --approve bash,edit\n",
	.options = acp_options,
	.run = run_acp,
};
