/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thole/thole.h>

#include "base/arena.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "cli/demo_model.h"
#include "cli/token.h"
#include "io/clock.h"
#include "io/files.h"

#define LISTEN "127.0.0.1:7711"
#define BEGIN_MS 60000 /* until its first question is there */

static const char agent_text[] =
    "name: %s\n"
    "model: " TH_DEMO_MODEL "\n"
    "base_url: http://127.0.0.1:%d/v1\n"
    "tools: [shell, read_file]\n"
    "computer: {kind: desktop, width: 1024, height: 640}\n"
    "approve: [shell]\n"
    "rules:\n"
    "  - {tool: computer, class: write, decide: ask, message: it acts on the desktop}\n"
    "limits: {turns: 20}\n";

static const char task[] = "Open a terminal on your desktop, write the line \"" TH_DEMO_LINE
			   "\" into " TH_DEMO_FILE ", and check that it is there.";

struct tour {
	char folder[TH_PATH_LEN_MAX]; /* absolute */
	struct th_arena a;
	struct th_demo_model *model;
	const char *store, *agents, *workspaces, *tokens, *listen;
};

static const char *path_in(struct tour *t, const char *before, const char *name)
{
	struct th_str path = th_arena_printf(&t->a, "%s%s/%s", before, t->folder, name);

	assert(path.ptr);
	return path.ptr;
}

static enum th_code make_folder(struct tour *t, struct th_str wanted, struct th_err *err)
{
	char made[] = "/tmp/thole-demo-XXXXXX";
	char *name = wanted.len ? th_arena_cstr(&t->a, wanted) : mkdtemp(made);
	enum th_code code = TH_OK;

	if (!name)
		return th_fail_errno(err, errno, "cannot make a folder in /tmp");
	if (wanted.len)
		code = th_dir_make(name, 0755, err);
	if (!code && !realpath(name, t->folder))
		code = th_fail_errno(err, errno, "%s", name);
	/* Root's commands run as nobody, who must find the workspaces below it. */
	if (!code && !wanted.len && chmod(t->folder, 0755) != 0)
		code = th_fail_errno(err, errno, "%s", t->folder);
	if (code)
		return code;
	t->store = path_in(t, "sqlite:", "log.db");
	t->agents = path_in(t, "", "agents");
	t->workspaces = path_in(t, "", "workspaces");
	t->tokens = path_in(t, "", "tokens");
	code = th_dir_make(t->agents, 0755, err);
	return code ? code : th_dir_make(t->workspaces, 0755, err);
}

static enum th_code write_agent(struct tour *t, const char *name, struct th_str *ret,
				struct th_err *err)
{
	const char *path = th_arena_printf(&t->a, "%s/%s.yaml", t->agents, name).ptr;

	*ret = th_arena_printf(&t->a, agent_text, name, th_demo_model_port(t->model));
	assert(path && ret->ptr);
	return th_file_write(path, *ret, 0644, err);
}

/* A token, so that the server has one and does not offer to make the first: for curl. */
static enum th_code write_token(struct tour *t, struct th_err *err)
{
	uint8_t random[24];
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		th_buf_printf(&text, "%02x", random[i]);
	th_buf_add_cstr(&text, " local read,run,approve\n");
	return th_file_write(t->tokens, th_buf_str(&text), 0600, err);
}

/* No file or variable of the user's has a part in it. */
static enum th_code set_up(struct tour *t, struct th_str *ret_agent, struct th_err *err)
{
	enum th_code code;

	setenv("XDG_CONFIG_HOME", t->folder, 1);
	setenv("XDG_STATE_HOME", t->folder, 1);
	setenv("OPENAI_API_KEY", "scripted", 1);
	unsetenv("OPENAI_BASE_URL");
	unsetenv("THOLE_MODEL");
	unsetenv("THOLE_STORE");
	setenv("no_proxy", "127.0.0.1", 1);
	setenv("NO_PROXY", "127.0.0.1", 1);
	code = th_demo_model_start(NULL, NULL, &t->model, err);
	/* Whatever is begun from the page is played by the script, too. */
	if (!code)
		code = write_agent(t, "default", ret_agent, err);
	if (!code)
		code = write_agent(t, "demo", ret_agent, err);
	return code ? code : write_token(t, err);
}

/* A session up to its first question; the server goes on with it. */
static enum th_code begin(struct tour *t, struct th_str agent_file, struct th_err *err)
{
	const char *const runtime_options[] = { "store", t->store, "program", th_cli_self(), NULL };
	const char *const session_options[] = { "id", "demo", "user", "local", NULL };
	const char *workspace = th_arena_printf(&t->a, "%s/demo", t->workspaces).ptr;
	struct thole_runtime *rt = NULL;
	struct thole_agent *agent = NULL;
	struct thole_session *session = NULL;
	struct thole_error e = { 0 };
	enum th_code code = th_dir_make(workspace, 0777, err);
	int failed;

	if (!code && chmod(workspace, 0777) != 0)
		code = th_fail_errno(err, errno, "%s", workspace);
	if (code)
		return code;
	failed = thole_runtime_new(runtime_options, &rt, &e) ||
		 thole_agent_parse(th_arena_cstr(&t->a, agent_file), "demo.yaml", &agent, &e) ||
		 thole_agent_set(agent, "workspace", workspace, &e) ||
		 thole_session_new_with(rt, agent, session_options, &session, &e) ||
		 thole_session_message(session, task, &e) ||
		 thole_session_wait(session, BEGIN_MS, &e);
	if (failed)
		code = th_fail(err, (enum th_code)e.code, "%s", e.text);
	else if (thole_session_state(session) != THOLE_WAITING)
		code = th_fail(err, TH_EIO, "the session does not wait, as it should: %s",
			       thole_session_reason(session) ?: "it goes on");
	thole_session_free(session);
	thole_agent_free(agent);
	(void)thole_runtime_free(rt);
	return code;
}

static enum th_code greet(struct tour *t, struct th_err *err)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str tokens, url = th_arena_printf(&t->a, "http://%s", t->listen);
	enum th_code code = th_token_store(&t->a, &tokens, err);

	th_buf_add_cstr(&out, "A session waits for you in the page. The model is a script "
			      "(\"" TH_DEMO_MODEL "\"); all else is real.\n"
			      "Open this within ten minutes; it is good once:\n\n  ");
	if (!code)
		code = th_token_link(tokens, url, TH_STR("local"), TH_STR("read,run,approve"), &out,
				     err);
	th_buf_printf(&out,
		      "\n\nCtrl-C ends it; everything is in %s, and `rm -r` throws it away.\n",
		      t->folder);
	if (!code && th_cli_print(&out, 0) != 0)
		code = th_fail(err, TH_EIO, "cannot write to standard output");
	return code;
}

static int serve(struct tour *t)
{
	const char *const words[] = {
		"serve",       "--store",  t->store,  "--agents", t->agents, "--workspaces",
		t->workspaces, "--tokens", t->tokens, "--listen", t->listen, "--quiet",
	};
	char *argv[TH_COUNT(words) + 1] = { NULL };

	for (size_t i = 0; i < TH_COUNT(words); i++)
		argv[i] = th_arena_cstr(&t->a, th_str_of(words[i]));
	return th_command_serve.run(&th_command_serve, (int)TH_COUNT(words), argv);
}

int th_demo_serve(const struct th_demo_serve_options *o)
{
	struct tour t = { 0 };
	struct th_err err = {};
	struct th_str agent_file;
	enum th_code code;
	int exit_code;

	th_arena_init(&t.a, TH_MIB);
	t.listen = o->listen.len ? th_arena_cstr(&t.a, o->listen) : LISTEN;
	code = make_folder(&t, o->folder, &err);
	if (!code)
		code = set_up(&t, &agent_file, &err);
	if (!code)
		code = begin(&t, agent_file, &err);
	if (!code)
		code = greet(&t, &err);
	exit_code = code ? th_cli_fail(&err) : serve(&t);
	t.model = th_demo_model_stop(t.model);
	th_arena_deinit(&t.a);
	return exit_code;
}
