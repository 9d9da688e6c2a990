/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demo.c - thole demo: the main job on this machine, without a key: a private
 * desktop, the real loop, log, wire and tools; only the model is a script.
 * Checks its own result.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/verify.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/demo_crash.h"
#include "cli/demo_model.h"
#include "cli/demo_serve.h"
#include "cli/log.h"
#include "cli/runner.h"
#include "io/clock.h"
#include "io/files.h"
#include "runtime/runtime.h"
#include "stores/stores.h"

#define NOBODY 65534

struct demo_options {
	struct th_str folder, listen;
	int64_t seed, seconds;
	bool json, quiet, no_trace;
};

#define SECONDS_DEFAULT 10 /* of demo crash */
#define SECONDS_MAX 600

static const struct th_option demo_options[] = {
	{ "folder", 'C', "DIR", TH_OPTION_TEXT, offsetof(struct demo_options, folder),
	  "folder for log, screenshots and workspace (default: a new one in /tmp)", "DIR" },
	{ "listen", 0, "ADDRESS", TH_OPTION_TEXT, offsetof(struct demo_options, listen),
	  "serve: where the page is (default: 127.0.0.1:7711)", NULL },
	{ "json", 'j', NULL, TH_OPTION_FLAG, offsetof(struct demo_options, json),
	  "events as JSON lines; crash: the numbers as an object", NULL },
	{ "seed", 0, "N", TH_OPTION_INT, offsetof(struct demo_options, seed),
	  "crash: seed of the random kills (default: random)", NULL },
	{ "seconds", 0, "N", TH_OPTION_INT, offsetof(struct demo_options, seconds),
	  "crash: for how long it is killed (default: 10)", NULL },
	{ "no-trace", 0, NULL, TH_OPTION_FLAG, offsetof(struct demo_options, no_trace),
	  "crash: kill at random moments, not at system calls", NULL },
	{ "quiet", 'q', NULL, TH_OPTION_FLAG, offsetof(struct demo_options, quiet), "only the end",
	  NULL },
	TH_OPTIONS_END,
};

struct demo {
	char folder[TH_PATH_LEN_MAX]; /* absolute */
	char session[32];             /* one of its own: two demos share nothing */
	struct th_arena a;
	struct th_config *config;
	struct th_demo_model *model;
	enum th_output output;
};

static const char *path_in(struct demo *d, const char *name)
{
	struct th_str path = th_arena_printf(&d->a, "%s/%s", d->folder, name);

	assert(path.ptr);
	return path.ptr;
}

static enum th_code make_folder(struct demo *d, struct th_str wanted, struct th_err *err)
{
	char made[] = "/tmp/thole-demo-XXXXXX";
	char *name = wanted.len ? th_arena_cstr(&d->a, wanted) : mkdtemp(made);
	enum th_code code = TH_OK;

	if (!name)
		return th_fail_errno(err, errno, "cannot make a folder in /tmp");
	if (wanted.len)
		code = th_dir_make(name, 0755, err);
	if (code == TH_OK && !realpath(name, d->folder))
		code = th_fail_errno(err, errno, "%s", name);
	if (code == TH_OK)
		code = th_dir_make(path_in(d, "work"), 0755, err);
	/* Root's commands run as nobody, to whom not every kernel can show a folder of root's, nor
	 * what lies below one that mkdtemp made for root alone. */
	if (code == TH_OK && geteuid() == 0 && !wanted.len && chmod(d->folder, 0755) != 0)
		code = th_fail_errno(err, errno, "%s", d->folder);
	if (code == TH_OK && geteuid() == 0 && chown(path_in(d, "work"), NOBODY, NOBODY) != 0)
		code = th_fail_errno(err, errno, "%s", path_in(d, "work"));
	if (code == TH_OK && unlink(path_in(d, "work/" TH_DEMO_FILE)) != 0 && errno != ENOENT)
		code = th_fail_errno(err, errno, "cannot remove the file of an earlier demo");
	return code;
}

/* The embedded defaults: no file or variable of the user's has a part in it. */
static enum th_code set_up(struct demo *d, struct th_err *err)
{
	struct th_str url, store;
	enum th_code code;

	setenv("XDG_CONFIG_HOME", d->folder, 1);
	unsetenv("OPENAI_BASE_URL");
	unsetenv("THOLE_MODEL");
	unsetenv("THOLE_STORE");
	setenv("no_proxy", "127.0.0.1", 1);
	setenv("NO_PROXY", "127.0.0.1", 1);
	code = th_demo_model_start(NULL, NULL, &d->model, err);
	if (code == TH_OK)
		code = th_config_load(TH_STR(""), &d->config, err);
	if (code != TH_OK)
		return code;
	url = th_arena_printf(&d->a, "http://127.0.0.1:%d/v1", th_demo_model_port(d->model));
	store = th_arena_printf(&d->a, "sqlite:%s/log.db", d->folder);
	d->config->base_url = url;
	d->config->store = store;
	th_config_set_key(d->config, TH_STR("scripted"));
	return TH_OK;
}

static int run_task(struct demo *d)
{
	static struct th_agent_computer computer = { .kind = TH_STR_INIT("desktop"),
						     .width = 1024,
						     .height = 640 };
	static struct th_agent_limits limits = { .turns = 12, .seconds = 120 };
	const struct th_common common = { .store = d->config->store };
	struct th_agent agent;
	struct th_job job = {
		.config = d->config,
		.common = &common,
		.agent = &agent,
		.session_id = th_str_of(d->session),
		.metadata = TH_STR("{\"model\":\"a script inside thole, not a model\"}"),
		.message = TH_STR("Open a terminal on your desktop, write the line \"" TH_DEMO_LINE
				  "\" into " TH_DEMO_FILE ", and check that it is there."),
		.output = d->output,
		.end_executor = true,
		.no_status = d->output != TH_OUTPUT_VIEW,
	};
	struct th_job_result result;
	int exit_code;

	th_agent_default(&agent);
	agent.name = TH_STR("demo");
	agent.model = TH_STR(TH_DEMO_MODEL);
	agent.base_url = d->config->base_url;
	agent.computer = &computer;
	agent.limits = &limits;
	agent.workspace = th_str_of(path_in(d, "work"));
	exit_code = th_job_run(&job, &result);
	if (exit_code == 0 && result.state != TH_STATE_FINISHED)
		return th_cli_die(1, "the demo ended as %s, not as finished",
				  th_state_name(result.state));
	return exit_code;
}

/* ---- was it done? ---- */

static enum th_code check_file(struct demo *d, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	enum th_code code = th_file_read(path_in(d, "work/" TH_DEMO_FILE), text.max, &text, err);

	if (code == TH_OK && !th_str_is(th_buf_str(&text), TH_DEMO_LINE "\n"))
		code = th_fail(err, TH_EIO, "%s does not hold the line that was typed",
			       path_in(d, "work/" TH_DEMO_FILE));
	return code;
}

static enum th_code check_log(struct demo *d, int64_t *ret_pictures, struct th_err *err)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_store_options so = { .read_only = true };
	struct th_verify_report r = {};
	enum th_code code = th_store_open(d->config->store, &so, &store, err);

	if (code == TH_OK)
		code = th_store_check(store, TH_STR(""), &r, err);
	if (code == TH_OK && r.bad)
		code = th_fail(err, TH_ECORRUPT, "the log is not whole: %s: %s", r.key, r.what);
	if (code == TH_OK)
		code = th_cli_extract(store, th_str_of(d->session), path_in(d, "screenshots"),
				      ret_pictures, err);
	if (code == TH_OK && *ret_pictures < 3)
		code = th_fail(err, TH_EIO, "there are %lld screenshots in the log, not at least 3",
			       (long long)*ret_pictures);
	return code;
}

static int report(struct demo *d, int64_t pictures)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	const char *me = th_cli_program();

	th_buf_printf(
	    &out,
	    "\nThe demo worked: the agent's desktop had a terminal, and %s/work/" TH_DEMO_FILE
	    " holds what was typed there.\n\n",
	    d->folder);
	if (d->output == TH_OUTPUT_QUIET) /* else the run's last line says it */
		th_buf_printf(&out, "log:          %s log %s --store sqlite:%s/log.db\n", me,
			      d->session, d->folder);
	th_buf_printf(&out, "is it whole:  %s log --verify --store sqlite:%s/log.db\n", me,
		      d->folder);
	th_buf_printf(&out, "screenshots:  %s/screenshots (%lld pictures)\n", d->folder,
		      (long long)pictures);
	th_buf_printf(&out,
		      "in the page:  %s export %s --format html -o demo.html --store "
		      "sqlite:%s/log.db\n"
		      "              (open demo.html in a browser; live: %s demo serve)\n",
		      me, d->session, d->folder, me);
	th_buf_printf(&out, "throw away:   rm -r %s\n\n", d->folder);
	th_buf_printf(&out,
		      "The same with a real model instead of the built-in script:\n"
		      "  OPENAI_API_KEY=... %s run -m gpt-5.4 -c desktop \"Open a terminal on your "
		      "desktop, write a line "
		      "into " TH_DEMO_FILE " there, and check that it is there.\"\n",
		      me);
	return th_cli_print(&out, 0);
}

static int demo(struct demo *d, struct th_str folder)
{
	struct th_err err = {};
	int64_t pictures = 0;
	enum th_code code = make_folder(d, folder, &err);
	uint32_t random;
	int exit_code;

	th_random(&random, sizeof(random));
	(void)snprintf(d->session, sizeof(d->session), "demo-%08x", random);

	if (code == TH_OK)
		code = set_up(d, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	if (d->output == TH_OUTPUT_VIEW) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_buf_add_cstr(
		    &text,
		    "A whole run on a private desktop. The model is played by a built-in script "
		    "(\"" TH_DEMO_MODEL "\"); all else is real.\n\n");
		(void)th_cli_print(&text, 0);
	}
	exit_code = run_task(d);
	if (exit_code)
		return th_cli_die(
		    exit_code,
		    "the demo did not finish; %s doctor says what is missing, and what it left is "
		    "in %s",
		    th_cli_program(), d->folder);
	code = check_file(d, &err);
	if (code == TH_OK)
		code = check_log(d, &pictures, &err);
	if (code != TH_OK)
		return th_cli_die(1, "the demo's result is wrong: %s", err.msg);
	return d->output == TH_OUTPUT_JSON ? 0 : report(d, pictures);
}

static int run_crash(const struct demo_options *o)
{
	struct th_crash_options crash = {
		.seed = o->seed,
		.seconds = o->seconds < 0 ? SECONDS_DEFAULT : o->seconds,
		.folder = o->folder,
		.json = o->json,
		.no_trace = o->no_trace,
	};
	uint32_t random;

	if (crash.seconds < 1 || crash.seconds > SECONDS_MAX)
		return th_cli_die(2, "--seconds must be 1 to %d", SECONDS_MAX);
	if (crash.seed < 0) {
		th_random(&random, sizeof(random));
		crash.seed = random % 1000000;
	}
	return th_cli_demo_crash(&crash);
}

static int run_demo(const struct th_command *self, int argc, char **argv)
{
	struct demo_options o = { .seed = -1, .seconds = -1 };
	struct th_operands rest;
	struct demo d = {};
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	int exit_code;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count == 1 && th_str_is(th_str_of(rest.list[0]), "crash"))
		return run_crash(&o);
	if (rest.count == 1 && th_str_is(th_str_of(rest.list[0]), "serve")) {
		const struct th_demo_serve_options serve = { .folder = o.folder,
							     .listen = o.listen };

		return th_demo_serve(&serve);
	}
	if (rest.count > 0)
		return th_cli_die(2,
				  "demo takes no operand but crash and serve; see %s demo --help",
				  th_cli_program());
	if (o.seed >= 0 || o.seconds >= 0 || o.no_trace)
		return th_cli_die(2, "--seed, --seconds and --no-trace belong to %s demo crash",
				  th_cli_program());
	d.output = o.json ? TH_OUTPUT_JSON : o.quiet ? TH_OUTPUT_QUIET : TH_OUTPUT_VIEW;
	th_arena_init(&d.a, TH_MIB);
	exit_code = demo(&d, o.folder);
	d.model = th_demo_model_stop(d.model);
	d.config = th_config_free(d.config);
	th_arena_deinit(&d.a);
	return exit_code;
}

const struct th_command th_command_demo = {
	.name = "demo",
	.operands = "[crash | serve]",
	.summary = "a run without a key; crash: killed often; serve: in the page",
	.text = "An agent gets a desktop of its own, opens a terminal on it, writes a file by "
		"keyboard, looks at the\n"
		"screen, and reads the file back. Loop, log, HTTP, tools and desktop are real; the "
		"model is a built-in script, which the output says.\n"
		"The demo checks the file and the log, and prints where they are.\n"
		"\n"
		"thole demo crash kills a run of commands, files and clicks many times (SIGKILL, "
		"at random system\n"
		"calls where tracing is allowed), resumes it each time, and compares the log with "
		"a ledger of what\n"
		"really happened: duplicated, lost, diverged, unknown. It takes about ten seconds "
		"and leaves nothing\n"
		"behind. The exit code is 0 if the first three are 0.\n"
		"\n"
		"thole demo serve begins such a session, up to its first question, and serves the "
		"page with it: open the\n"
		"link that it prints, and click through.\n"
		"\n"
		"Examples:\n"
		"  thole demo\n"
		"  thole demo serve\n"
		"  thole demo --json | jq -r .kind\n"
		"  thole demo crash --seed 1\n",
	.options = demo_options,
	.words = "crash serve",
	.run = run_demo,
};
