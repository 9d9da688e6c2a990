/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - thole serve: options into a runtime and a server, and the process around them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/services.h"
#include "cli/token.h"
#include "config/read.h"
#include "io/files.h"
#include "io/loop.h"
#include "server/server.h"

struct serve_options {
	struct th_common common;
	struct th_str listen, agents, tokens, cert, key, workspaces, models, sandbox, cua, cua_net,
	    openhands;
	bool quiet, cua_open;
	int64_t drain_s;
};

#define AT(member) offsetof(struct serve_options, member)
static const struct th_option serve_options[] = {
	{ "listen", 0, "ADDRESS", TH_OPTION_TEXT, AT(listen),
	  "127.0.0.1:7711 (the default), [::1]:7711, 0.0.0.0:7711, unix:PATH; port 0: any", NULL },
	{ "agents", 0, "DIR", TH_OPTION_TEXT, AT(agents),
	  "folder of agent files: DIR/NAME.yaml is agent NAME; \"default\" is always there",
	  "DIR" },
	{ "tokens", 0, "FILE", TH_OPTION_TEXT, AT(tokens),
	  "tokens beside those of thole token: lines TOKEN USER SCOPES, mode 0600", "FILE" },
	{ "workspaces", 0, "DIR", TH_OPTION_TEXT, AT(workspaces),
	  "each session has a folder of its own there (default: workspaces in the state directory)",
	  "DIR" },
	{ "tls-cert", 0, "FILE", TH_OPTION_TEXT, AT(cert), "certificate chain, PEM", "FILE" },
	{ "tls-key", 0, "FILE", TH_OPTION_TEXT, AT(key), "its key, PEM", "FILE" },
	{ "cua", 0, "ADDRESS", TH_OPTION_TEXT, AT(cua),
	  "a desktop for clients of Cua's computer-server: 127.0.0.1:8000 (docs/CUA.md)", NULL },
	{ "cua-open", 0, NULL, TH_OPTION_FLAG, AT(cua_open),
	  "that desktop without a token, for every program of this machine", NULL },
	{ "cua-net", 0, "none|host", TH_OPTION_TEXT, AT(cua_net),
	  "network of that desktop and of its browser: none (default), or host", "host none" },
	{ "openhands", 0, "ADDRESS", TH_OPTION_TEXT, AT(openhands),
	  "conversations for clients of OpenHands' agent-server: 127.0.0.1:8010 "
	  "(docs/OPENHANDS.md)",
	  NULL },
	{ "sandbox", 0, "off", TH_OPTION_TEXT, AT(sandbox),
	  "off: commands are not confined; the desktop stays as it is", "off" },
	{ "drain-s", 0, "N", TH_OPTION_INT, AT(drain_s),
	  "a node of a fleet that is to end gives what runs to the others first, for so long "
	  "(default: 30)",
	  NULL },
	{ "quiet", 'q', NULL, TH_OPTION_FLAG, AT(quiet), "no line for each request", NULL },
	TH_OPTION_MODELS(struct serve_options, models),
	TH_OPTIONS_COMMON(struct serve_options, common),
	TH_OPTIONS_END,
};
#undef AT

struct process {
	const struct serve_options *o;
	struct th_loop *loop;
	struct thole_runtime *rt;
	struct th_server *server;
	struct th_config *config, *config_before; /* whose texts the server borrows */
	struct th_signal *signals[3];
	struct th_timer drain, drained; /* looks whether all is handed over; waits no longer */
	struct th_timer end, late;      /* looks whether all are answered; does not wait longer */
	struct th_arena memory;
	struct th_buf link; /* of the first start; empty: none */
	bool ending;
	int status;
};

/* ---- systemd ---- */

/* sd_notify(3): a datagram to the socket that NOTIFY_SOCKET names; without one, nothing. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(at.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(at.sun_path, path, len);
	if (path[0] == '@')
		at.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&at,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		th_cli_die(1, "NOTIFY_SOCKET: the service manager does not listen");
	close(fd);
}

/* ---- signals ---- */

#define END_MS 5000 /* for those who are being answered */
#define END_LOOK_MS 20
#define DRAIN_S 30
#define DRAIN_S_MAX 86400

static void on_end_look(void *ctx)
{
	struct process *p = ctx;

	if (th_server_idle(p->server))
		th_loop_stop(p->loop);
}

static void on_end_late(void *ctx)
{
	struct process *p = ctx;

	th_loop_stop(p->loop);
}

static void finish(struct process *p)
{
	th_timer_stop(&p->drain);
	th_timer_stop(&p->drained);
	th_server_finish(p->server);
	th_timer_init(&p->end, p->loop, on_end_look, p);
	th_timer_start(&p->end, 0, END_LOOK_MS);
	th_timer_init(&p->late, p->loop, on_end_late, p);
	th_timer_start(&p->late, END_MS, 0);
}

static void on_drain_look(void *ctx)
{
	struct process *p = ctx;

	if (th_server_left(p->server) == 0)
		finish(p);
}

static void on_drain_late(void *ctx)
{
	finish(ctx);
}

static void end(struct process *p)
{
	if (p->ending) { /* asked twice: at once */
		th_loop_stop(p->loop);
		return;
	}
	p->ending = true;
	notify("STOPPING=1");
	if (p->o->drain_s == 0 || !th_server_drain(p->server)) {
		finish(p);
		return;
	}
	th_timer_start(&p->drain, 0, END_LOOK_MS);
	th_timer_start(&p->drained, (uint64_t)p->o->drain_s * 1000, 0);
}

/* CLOCK_MONOTONIC, as sd_notify(3) has it: what was asked for later is another reload. */
static unsigned long long now_us(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_MONOTONIC, &now) == 0
		   ? (unsigned long long)now.tv_sec * 1000000 +
			 (unsigned long long)now.tv_nsec / 1000
		   : 0;
}

static void reload(struct process *p)
{
	struct th_buf state TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_config *config = NULL;
	struct th_err err = {};
	enum th_code code;

	th_buf_printf(&state, "RELOADING=1\nMONOTONIC_USEC=%llu", now_us());
	notify(state.ptr);
	code = th_cli_config(&p->o->common, &config, &err);
	if (!code)
		code = th_config_part_err(config->file, "serve",
					  th_server_reload(p->server, config->serve, &err), &err);
	if (code) {
		th_config_free(config);
		(void)th_prefix(&err, code, "reload, all stays as it was");
		(void)th_cli_fail(&err);
	} else {
		p->config_before = th_config_free(p->config_before);
		p->config_before = p->config;
		p->config = config;
	}
	notify("READY=1");
}

static void on_signal(void *ctx, int signum)
{
	struct process *p = ctx;

	if (signum == SIGHUP)
		reload(p);
	else
		end(p);
}

static void on_failure(void *ctx, const struct th_err *err)
{
	struct process *p = ctx;

	p->status = th_cli_fail(err);
	th_loop_stop(p->loop);
}

/* ---- start ---- */

static enum th_code new_runtime(struct process *p, struct th_err *err)
{
	const struct serve_options *o = p->o;
	const char *options[16] = { "program", th_cli_self() };
	const struct {
		const char *name;
		struct th_str value;
	} more[] = {
		{ "store", o->common.store },
		{ "config", o->common.config },
		{ "models", o->models },
		{ "sandbox", o->sandbox.len ? TH_STR("none") : o->sandbox },
	};
	struct thole_error e;
	size_t at = 2;

	for (size_t i = 0; i < TH_COUNT(more); i++) {
		if (!more[i].value.len)
			continue;
		options[at++] = more[i].name;
		options[at++] = th_arena_cstr(&p->memory, more[i].value) ?: "";
	}
	if (thole_runtime_new(options, &p->rt, &e) != 0)
		return th_fail(err, (enum th_code)e.code, "%s", e.text);
	return TH_OK;
}

static enum th_code in_state(struct process *p, const char *name, struct th_str *ret,
			     struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code = th_dir_of(TH_DIR_STATE, &path, err);

	th_buf_add_char(&path, '/');
	th_buf_add_cstr(&path, name);
	if (!code)
		code = th_buf_check(&path, "a path in the state directory", err);
	if (!code)
		*ret = th_arena_str(&p->memory, th_buf_str(&path));
	return code;
}

/* *ret: what was given, or nothing.  What cannot be written is said now, and not to the first user.
 */
static enum th_code workspaces(struct process *p, struct th_str *ret, struct th_err *err)
{
	bool given = ret->len > 0;
	enum th_code code = given ? TH_OK : in_state(p, "workspaces", ret, err);
	const char *path = th_arena_cstr(&p->memory, *ret) ?: "";

	if (!code)
		code = th_dir_make(path, 0700, err);
	if (!code && access(path, W_OK | X_OK) != 0)
		code = th_fail_errno(err, errno, "no folder can be made in %s", path);
	return code && given ? th_prefix(err, code, "--workspaces") : code;
}

/* Where the commands of Cua's desktop begin. */
static enum th_code cua_folder(struct process *p, struct th_str *ret, struct th_err *err)
{
	enum th_code code = in_state(p, "cua", ret, err);

	return code ? code : th_dir_make(th_arena_cstr(&p->memory, *ret) ?: "", 0700, err);
}

/* The first start: a link to log in with, where a person sees it and no journal does. */
static enum th_code first_link(struct process *p, struct th_str store, struct th_err *err)
{
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	if (th_server_has_tokens(p->server))
		return TH_OK;
	th_server_print(p->server, &url);
	if (!th_cli_terminal(STDOUT_FILENO) || th_str_starts(th_buf_str(&url), TH_STR("unix:"))) {
		fprintf(stderr,
			"thole: nobody has a token yet, so nobody can call; make one: %s token "
			"new %.*s\n",
			th_cli_program(), TH_FMT(th_cli_user()));
		return TH_OK;
	}
	th_buf_add_cstr(&p->link, "open this within ten minutes; it is good once: ");
	code = th_token_link(store, th_buf_str(&url), TH_STR("local"),
			     TH_STR("read,run,approve,admin"), &p->link, err);
	th_buf_add_char(&p->link, '\n');
	return code;
}

static enum th_code start(struct process *p, struct th_err *err)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	const struct serve_options *o = p->o;
	struct th_server_options so = {
		.services = th_services,
		.listen = o->listen.len ? o->listen : TH_STR("127.0.0.1:7711"),
		.agents = o->agents,
		.tokens = o->tokens,
		.workspaces = o->workspaces,
		.cua = o->cua,
		.cua_open = o->cua_open,
		.cua_net_host = th_str_is(o->cua_net, "host"),
		.openhands = o->openhands,
		.no_sandbox = o->sandbox.len > 0,
		.journal = o->quiet ? -1 : STDERR_FILENO,
		.on_failure = on_failure,
		.ctx = p,
	};
	enum th_code code = th_cli_config(&o->common, &p->config, err);

	if (code)
		return code;
	so.serve = p->config->serve;
	so.cert = o->cert.len ? th_arena_cstr(&p->memory, o->cert) : NULL;
	so.key = o->key.len ? th_arena_cstr(&p->memory, o->key) : NULL;
	code = th_token_store(&p->memory, &so.token_store, err);
	if (!code)
		code = workspaces(p, &so.workspaces, err);
	if (!code)
		code = in_state(p, "webhooks.jsonl", &so.outbox, err);
	if (!code && o->cua.len)
		code = cua_folder(p, &so.cua_folder, err);
	if (!code)
		code = th_loop_new(&p->loop, err);
	if (!code) {
		th_timer_init(&p->drain, p->loop, on_drain_look, p);
		th_timer_init(&p->drained, p->loop, on_drain_late, p);
	}
	for (size_t i = 0; !code && i < TH_COUNT(signals); i++)
		code = th_signal_new(p->loop, signals[i], on_signal, p, &p->signals[i], err);
	if (!code)
		code = new_runtime(p, err);
	if (!code)
		code = th_config_part_err(p->config->file, "serve",
					  th_server_new(p->loop, p->rt, &so, &p->server, err), err);
	return code ? code : first_link(p, so.token_store, err);
}

static void stop(struct process *p)
{
	th_timer_stop(&p->drain);
	th_timer_stop(&p->drained);
	th_timer_stop(&p->end);
	th_timer_stop(&p->late);
	th_server_free(p->server);
	for (size_t i = 0; i < TH_COUNT(p->signals); i++)
		th_signal_free(p->signals[i]);
	(void)thole_runtime_free(p->rt);
	p->loop = th_loop_free(p->loop);
	th_config_free(p->config_before);
	th_config_free(p->config);
	th_arena_deinit(&p->memory);
	th_buf_deinit(&p->link);
}

static int serve(struct process *p)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_err err = {};
	enum th_code code = start(p, &err);

	if (code)
		return th_cli_fail(&err);
	th_buf_add_cstr(&line, "listening at ");
	th_server_print(p->server, &line);
	th_buf_add_char(&line, '\n');
	th_server_print_services(p->server, &line);
	th_buf_add(&line, th_buf_str(&p->link));
	p->status = th_cli_print(&line, 0);
	notify("READY=1");
	th_loop_run(p->loop);
	return p->status;
}

static int run_serve(const struct th_command *self, int argc, char **argv)
{
	struct serve_options o = { .drain_s = DRAIN_S };
	struct process p = { .o = &o, .link = TH_BUF_INIT(4 * TH_KIB) };
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	int status;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0)
		return th_cli_die(2, "serve has no operands; see %s help serve", th_cli_program());
	if (!o.cert.len != !o.key.len)
		return th_cli_die(2, "--tls-cert and --tls-key go together");
	if (o.cua_open && !o.cua.len)
		return th_cli_die(2, "--cua-open goes with --cua");
	if (o.cua_net.len && !o.cua.len)
		return th_cli_die(2, "--cua-net goes with --cua");
	if (o.cua_net.len && !th_str_is(o.cua_net, "host") && !th_str_is(o.cua_net, "none"))
		return th_cli_die(2, "--cua-net is none or host");
	if (o.drain_s > DRAIN_S_MAX)
		return th_cli_die(2, "--drain-s is at most %d", DRAIN_S_MAX);
	if (o.sandbox.len && !th_str_is(o.sandbox, "off"))
		return th_cli_die(2, "--sandbox can only be off");
	th_arena_init(&p.memory, TH_MIB);
	th_fds_raise(); /* ten thousand streams are ten thousand descriptors */
	(void)signal(SIGPIPE, SIG_IGN);
	status = serve(&p);
	stop(&p);
	return status;
}

const struct th_command th_command_serve = {
	.name = "serve",
	.operands = "",
	.summary = "sessions over HTTP, for programs and people",
	.text = "Serves the log's sessions: /api begins, leads and watches them (docs/HTTP.md). "
		"Each request needs a token,\n"
		"which belongs to a user, who sees only his own sessions. Prints where it listens; "
		"each request is a line\n"
		"of JSON on standard error. SIGHUP reads configuration, agents and tokens again; "
		"SIGTERM stops taking\n"
		"requests and leaves every session so that the next start takes it up, or another "
		"node of "
		"the fleet (docs/FLEET.md).\n\n"
		"Examples:\n"
		"  thole token new alice\n"
		"  thole serve --agents agents/\n"
		"  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:7711/api/sessions\n",
	.options = serve_options,
	.run = run_serve,
};
