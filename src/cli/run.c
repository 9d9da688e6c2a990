/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - thole run and thole resume: options into an agent and a job. */
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/moment.h"
#include "base/priority.h"
#include "base/text.h"
#include "cli/run_agent.h"
#include "cli/runner.h"
#include "computers/computers.h"
#include "io/clock.h"
#include "io/files.h"
#include "remote/remote.h"
#include "runtime/secrets.h"
#include "stores/stores.h"

#define AT(member) offsetof(struct run_options, member)
#define RUN_OUTPUT                                                                          \
	{                                                                                   \
		"json",   'j',                                                              \
		NULL,     TH_OPTION_FLAG,                                                   \
		AT(json), "events as JSON lines, as thole log --json",                      \
		NULL                                                                        \
	},                                                                                  \
	    { "quiet", 'q', NULL, TH_OPTION_FLAG, AT(quiet), "only the final text", NULL }, \
	{                                                                                   \
		"view", 0, NULL, TH_OPTION_FLAG, AT(view),                                  \
		    "as on a terminal, colours and streaming text, into a pipe too", NULL   \
	}
#define RUN_SERVER                                                                                 \
	{ "base-url",                                                                              \
	  0,                                                                                       \
	  "URL",                                                                                   \
	  TH_OPTION_TEXT,                                                                          \
	  AT(base_url),                                                                            \
	  "where the model's API is (default: OPENAI_BASE_URL, the configuration, the provider's " \
	  "own)",                                                                                  \
	  NULL },                                                                                  \
	    { "api-key-file",                                                                      \
	      0,                                                                                   \
	      "FILE",                                                                              \
	      TH_OPTION_TEXT,                                                                      \
	      AT(key_file),                                                                        \
	      "file that holds the key (default: the provider's variable, such as "                \
	      "OPENAI_API_KEY; the "                                                               \
	      "configuration)",                                                                    \
	      "FILE" },                                                                            \
	{                                                                                          \
		"sandbox", 0, "off", TH_OPTION_TEXT, AT(sandbox),                                  \
		    "off: commands are not confined; the desktop stays as it is", "off"            \
	}

static const struct th_option run_options[] = {
	{ "agent", 'a', "FILE", TH_OPTION_TEXT, AT(agent),
	  "agent file (see examples/); at a server, the name of an agent there", "FILE" },
	{ "model", 'm', "MODEL[,…]", TH_OPTION_TEXT, AT(model),
	  "model, and those to fall back to, with commas (default: the agent file's, THOLE_MODEL, "
	  "the configuration's)",
	  "MODEL" },
	{ "computer", 'c', "KIND[:WxH]", TH_OPTION_TEXT, AT(computer),
	  "give it a screen: " TH_COMPUTER_HELP "none", TH_COMPUTER_WORDS "none" },
	{ "session", 's', "NAME", TH_OPTION_TEXT, AT(session),
	  "name of the session; one that exists goes on with TASK as its next message", "SESSION" },
	{ "folder", 'C', "DIR", TH_OPTION_TEXT, AT(folder),
	  "workspace of its tools (default: the agent file's, the current folder)", "DIR" },
	{ "tools", 't', "LIST", TH_OPTION_TEXT, AT(tools),
	  "tools it may call, with commas; none (default: bash,edit,search)", NULL },
	{ "approve", 0, "LIST", TH_OPTION_TEXT, AT(approve),
	  "tools whose calls a person must approve, with commas; all; computer", NULL },
	{ "net", 0, "none|host|LIST", TH_OPTION_TEXT, AT(net),
	  "network of its commands and desktop: none (default), host, or hosts with commas",
	  "host none" },
	{ "turns", 0, "N", TH_OPTION_INT, AT(turns), "at most N model turns (default: 100)", NULL },
	{ "at", 0, "TIME", TH_OPTION_TEXT, AT(at),
	  "at a server: begins the task then (2026-11-27T08:30:00Z, or seconds from now on), "
	  "prints "
	  "the session's name and does not wait",
	  NULL },
	{ "priority", 0, "low|normal|high", TH_OPTION_TEXT, AT(priority),
	  "at a server: which of the sessions that wait for room goes on first (default: normal)",
	  "low normal high" },
	{ "plan", 0, NULL, TH_OPTION_FLAG, AT(plan),
	  "plan mode: it looks and changes nothing, until thole resume --act", NULL },
	{ "goal", 0, NULL, TH_OPTION_FLAG, AT(goal),
	  "TASK is a goal: a judge says when it is reached, and what is missing until then", NULL },
	{ "rounds", 0, "N", TH_OPTION_INT, AT(rounds),
	  "with --goal: at most N verdicts (default: 10, at most 100)", NULL },
	RUN_SERVER,
	TH_OPTION_MODELS(struct run_options, models),
	RUN_OUTPUT,
	TH_OPTIONS_SERVER(struct run_options, common),
	TH_OPTIONS_COMMON(struct run_options, common),
	TH_OPTIONS_END,
};

static const struct th_option resume_options[] = {
	{ "more", 0, "NAME=N[,…]", TH_OPTION_TEXT, AT(more),
	  "beyond its limits: turns and seconds of this task, tokens and cost_usd of the session",
	  NULL },
	{ "act", 0, NULL, TH_OPTION_FLAG, AT(act), "ends plan mode: the agent does what it planned",
	  NULL },
	{ "goal", 0, NULL, TH_OPTION_FLAG, AT(goal),
	  "goes on with the goal that was ended before it was reached", NULL },
	{ "message", 'm', "TEXT", TH_OPTION_TEXT, AT(note), "with --act: said to the agent", NULL },
	RUN_SERVER,
	TH_OPTION_MODELS(struct run_options, models),
	RUN_OUTPUT,
	TH_OPTIONS_SERVER(struct run_options, common),
	TH_OPTIONS_COMMON(struct run_options, common),
	TH_OPTIONS_END,
};

/* ---- options into an agent ---- */

/* ---- the task and the session ---- */

static enum th_code read_task(const struct th_operands *rest, struct th_buf *out,
			      struct th_err *err)
{
	enum th_code code;

	if (rest->count == 0)
		return th_fail(err, TH_EUSAGE,
			       "run needs a task, in quotes; or - to read it from standard input");
	if (rest->count > 1)
		return th_fail(err, TH_EUSAGE,
			       "run takes one task; put it in quotes: %s run \"%s %s …\"",
			       th_cli_program(), rest->list[0], rest->list[1]);
	if (strcmp(rest->list[0], "-") != 0) {
		th_buf_add_cstr(out, rest->list[0]);
	} else {
		code = th_file_read_fd(STDIN_FILENO, TH_MESSAGE_MAX, out, err);
		if (code != TH_OK)
			return th_prefix(err, code, "the task from standard input");
	}
	if (!th_str_trim(th_buf_str(out)).len)
		return th_fail(err, TH_EUSAGE, "the task is empty");
	if (th_utf8_valid(th_buf_str(out)) != out->len)
		return th_fail(err, TH_EUSAGE, "the task is not UTF-8 text");
	return th_buf_check(out, "the task", err);
}

/* Is it in the log?  Then what the first run fixed cannot be given again. */
static enum th_code session_exists(const struct run_options *o, const struct th_config *config,
				   bool *ret, struct th_err *err)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_store_options so = { .read_only = true };
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	*ret = false;
	if (!o->session.ptr)
		return TH_OK;
	code = th_cli_check_name(o->session, err);
	if (code != TH_OK)
		return code;
	code = th_store_open(config->store, &so, &store, err);
	if (code == TH_OK)
		code = store->kind->get(store, o->session, &a, &row, err);
	if (code == TH_ENOENT)
		return TH_OK;
	*ret = code == TH_OK;
	if (*ret && (o->agent.ptr || o->model.ptr || o->computer.ptr || o->folder.ptr ||
		     o->tools.ptr || o->approve.ptr || o->net.ptr || o->turns >= 0))
		return th_fail(err, TH_EUSAGE,
			       "session %.*s exists and keeps the agent it began with; leave out "
			       "-a, -m, -c, -C, "
			       "--tools, --approve, --net and --turns, or take another name",
			       TH_FMT(o->session));
	return code;
}

static enum th_code check_output(const struct run_options *o, struct th_err *err)
{
	return o->json + o->quiet + o->view > 1
		   ? th_fail(err, TH_EUSAGE, "--json, --quiet and --view exclude each other")
		   : TH_OK;
}

static enum th_output output_of(const struct run_options *o)
{
	return o->json ? TH_OUTPUT_JSON : o->quiet ? TH_OUTPUT_QUIET : TH_OUTPUT_VIEW;
}

static enum th_code common_setup(const struct run_options *o, struct th_config **ret,
				 struct th_job *job, struct th_err *err)
{
	enum th_code code = th_cli_config(&o->common, ret, err);

	if (code == TH_OK)
		code = th_config_models(*ret, o->models, err);
	if (code != TH_OK)
		return code;
	code = check_output(o, err);
	if (code != TH_OK)
		return code;
	if (o->sandbox.ptr && !th_str_is(o->sandbox, "off"))
		return th_fail(
		    err, TH_EUSAGE,
		    "--sandbox knows only off; without it everything is confined as far as "
		    "the kernel allows");
	if (o->key_file.ptr)
		code = th_config_set_key_file(*ret, o->key_file, err);
	(*ret)->base_url = o->base_url;
	job->config = *ret;
	job->common = &o->common;
	job->output = output_of(o);
	job->as_terminal = o->view;
	job->no_sandbox = o->sandbox.ptr != NULL;
	return code;
}

/* ---- at a server ---- */

/* What an agent is made of is the server's own business, and so are its models and its keys. */
static enum th_code check_remote(const struct run_options *o, struct th_err *err)
{
	const struct {
		const char *name;
		bool given;
	} local[] = {
		{ "model", o->model.ptr },     { "computer", o->computer.ptr },
		{ "folder", o->folder.ptr },   { "tools", o->tools.ptr },
		{ "approve", o->approve.ptr }, { "net", o->net.ptr },
		{ "turns", o->turns >= 0 },    { "base-url", o->base_url.ptr },
		{ "sandbox", o->sandbox.ptr }, { "api-key-file", o->key_file.ptr },
		{ "models", o->models.ptr },   { "config", o->common.config.ptr },
	};

	for (size_t i = 0; i < TH_COUNT(local); i++)
		if (local[i].given)
			return th_fail(
			    err, TH_EUSAGE,
			    "--%s is for runs on this machine: a server has agents, "
			    "models and keys of its own (-a NAME names one of its agents)",
			    local[i].name);
	if (th_str_find_char(o->agent, '/') >= 0 || th_str_ends(o->agent, TH_STR(".yaml")))
		return th_fail(err, TH_EUSAGE,
			       "-a names an agent of the server there, not a file of this machine: "
			       "\"%.*s\" is a path",
			       TH_FMT(th_utf8_cut(o->agent, 200)));
	return check_output(o, err);
}

/* "turns=20,cost_usd=0.5" as an object; its numbers are those of an agent file's limits. */
static enum th_code more_json(struct th_str text, struct th_buf *out, struct th_err *err)
{
	static const char *const names[] = { "turns", "tokens", "seconds", "cost_usd" };
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	while (text.len) {
		struct th_str value = th_str_split(&text, ','), name = th_str_split(&value, '=');
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		size_t i = 0;

		name = th_str_trim(name);
		value = th_str_trim(value);
		while (i < TH_COUNT(names) && !th_str_is(name, names[i]))
			i++;
		if (i == TH_COUNT(names))
			return th_fail(err, TH_EUSAGE,
				       "turns, tokens, seconds and cost_usd can be given, not "
				       "\"%.*s\"",
				       TH_FMT(th_utf8_cut(name, TH_NAME_NEAR_MAX)));
		if (th_json_parse(value, &doc, NULL))
			return th_fail(err, TH_EUSAGE, "%s needs a number, as in turns=20",
				       names[i]);
		th_jw_key(&w, name);
		th_jw_raw(&w, value);
	}
	th_jw_object_end(&w);
	return th_buf_check(out, "--more", err);
}

static enum th_code read_more(struct th_str text, struct th_more *ret, struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_limits limits;
	enum th_code code = more_json(text, &json, err);

	th_arena_init(&a, 64 * TH_KIB);
	if (!code)
		code = th_json_parse(th_buf_str(&json), &doc, err);
	if (!code)
		code = th_table_parse(&th_agent_limits_table, th_json_root(doc), &a, &limits, err);
	if (!code)
		code = th_more_of(&limits, ret, err);
	return code ? th_prefix(err, TH_EUSAGE, "--more") : TH_OK;
}

static enum th_code check_goal(const struct run_options *o, size_t task_len, struct th_err *err)
{
	if (o->goal && o->plan)
		return th_fail(err, TH_EUSAGE, "--goal and --plan exclude each other");
	if (o->goal && o->act)
		return th_fail(err, TH_EUSAGE, "--goal and --act exclude each other");
	if (o->rounds >= 0 && !o->goal)
		return th_fail(err, TH_EUSAGE, "--rounds is for a goal (--goal)");
	if (o->rounds == 0 || o->rounds > TH_GOAL_ROUNDS_MAX)
		return th_fail(err, TH_EUSAGE, "--rounds is 1 to %d", TH_GOAL_ROUNDS_MAX);
	if (o->goal && task_len > TH_GOAL_MAX)
		return th_fail(err, TH_ELIMIT, "a goal has at most %zu bytes", (size_t)TH_GOAL_MAX);
	return TH_OK;
}

/* The server reads it again, by its own clock. */
static enum th_code check_at(struct th_str at, struct th_err *err)
{
	int64_t ms;
	enum th_code code = th_moment_parse(at, (int64_t)th_clock_wall_ms(), &ms, err);

	return th_prefix(err, code, "--at");
}

static enum th_code check_priority(struct th_str name, struct th_err *err)
{
	enum th_priority ignored;

	return th_priority_parse(name, &ignored)
		   ? TH_OK
		   : th_fail(err, TH_EUSAGE, "--priority is " TH_PRIORITY_NAMES ", not \"%.*s\"",
			     TH_FMT(th_utf8_cut(name, TH_NAME_NEAR_MAX)));
}

static int run_there(struct run_options *o, struct th_str task)
{
	struct th_remote_job job = { .common = &o->common,
				     .agent = o->agent,
				     .session_id = o->session,
				     .message = o->act ? o->note : task,
				     .at = o->at,
				     .priority = o->priority,
				     .plan = o->plan,
				     .act = o->act,
				     .goal = o->goal,
				     .rounds = TH_MAX(o->rounds, 0),
				     .output = output_of(o),
				     .as_terminal = o->view };
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_err err = {};
	enum th_code code = check_remote(o, &err);

	if (!code && o->at.ptr)
		code = check_at(o->at, &err);
	if (!code && o->priority.ptr)
		code = check_priority(o->priority, &err);
	if (!code && o->more.ptr)
		code = more_json(o->more, &more, &err);
	job.more = th_buf_str(&more);
	return code ? th_cli_fail(&err) : th_remote_run(&job);
}

/* What only a server can do. */
static enum th_code check_here(const struct run_options *o, struct th_err *err)
{
	if (o->at.ptr)
		return th_fail(err, TH_EUSAGE,
			       "--at is for a server (--server URL): on this machine nobody is "
			       "there to begin it");
	if (o->priority.ptr)
		return th_fail(err, TH_EUSAGE,
			       "--priority is for a server (--server URL): on this machine a task "
			       "begins at once");
	return TH_OK;
}

/* ---- the commands ---- */

static int run_run(const struct th_command *self, int argc, char **argv)
{
	struct run_options o = { .turns = -1, .rounds = -1 };
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct th_buf task TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX + 1);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent agent;
	struct th_job job = {};
	bool exists = false;
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, 8 * TH_MIB);
	if (code == TH_ECANCELED)
		return 0;
	if (code == TH_OK)
		code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK && !remote)
		code = check_here(&o, &err);
	if (code == TH_OK && !remote)
		code = common_setup(&o, &config, &job, &err);
	if (code == TH_OK)
		code = read_task(&rest, &task, &err);
	if (code == TH_OK)
		code = check_goal(&o, task.len, &err);
	if (code == TH_OK && remote)
		return run_there(&o, th_buf_str(&task));
	if (code == TH_OK)
		code = session_exists(&o, config, &exists, &err);
	if (code == TH_OK && !exists)
		code = th_run_agent(&o, config, &a, &agent, &err) ?: th_secrets_here(&agent, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	job.agent = exists ? NULL : &agent;
	job.session_id = o.session;
	job.message = th_buf_str(&task);
	job.plan = o.plan;
	job.goal = o.goal;
	job.rounds = o.rounds > 0 ? o.rounds : TH_GOAL_ROUNDS_DEFAULT;
	job.end_executor = !o.session.ptr;
	return th_job_run(&job, NULL);
}

const struct th_command th_command_run = {
	.name = "run",
	.operands = "TASK",
	.summary = "give an agent a task and watch it work",
	.text = "Each step is shown as it happens: what the model thinks and says, what it does, "
		"what came of it, what it\n"
		"cost. Every action is in the log before it happens. Without -a the agent has the "
		"tools bash, edit and\n"
		"search in the current folder; with -c it has a screen too. TASK may be - to read "
		"it from standard input.\n\n"
		"When a call needs approval, you are asked on a terminal; elsewhere the run ends "
		"with exit code 3 and says\n"
		"how to approve. Ctrl-C pauses the session and says how to go on; a second one "
		"kills at once, and\n"
		"thole resume then settles what was under way without doing anything twice.\n\n"
		"A desktop ends with its task. That of a session which was named with -s, or did "
		"not finish, waits ten\n"
		"minutes (executor_linger_s) for the next run or resume.\n\n"
		"Examples:\n"
		"  thole run -m gpt-5.4 \"how many lines of C are here?\"\n"
		"  thole run -m gpt-5.4 -c desktop \"open a terminal, list /etc\"\n"
		"  thole run -a examples/desktop.yaml -s report \"write report.txt\"\n"
		"  thole run -s report \"now translate it\"\n"
		"  thole run --goal -m gpt-5.4 \"all tests in tests/ pass\"\n"
		"  thole run --approve bash -m gpt-5.4 \"clean up this folder\"\n"
		"  cat task.txt | thole run --json - > events.jsonl\n"
		"  thole --server https://agents.example.org run -a research \"what is new?\"\n",
	.options = run_options,
	.run = run_run,
};

static int run_resume(const struct th_command *self, int argc, char **argv)
{
	struct run_options o = { .turns = -1, .rounds = -1 };
	struct th_operands rest;
	struct th_remote *remote TH_CLEANUP(th_remote_freep) = NULL;
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_session_row row;
	struct th_more more;
	struct th_job job = {};
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	th_arena_init(&a, TH_MIB);
	if (code == TH_ECANCELED)
		return 0;
	if (code == TH_OK && rest.count != 1)
		return th_cli_names_none(self);
	if (code == TH_OK && o.note.ptr && !o.act)
		code = th_fail(&err, TH_EUSAGE,
			       "-m is said with --act; %s run -s NAME TEXT says "
			       "something to a session",
			       th_cli_program());
	if (code == TH_OK)
		code = check_goal(&o, 0, &err);
	if (code == TH_OK && o.more.ptr)
		code = read_more(o.more, &more, &err);
	if (code == TH_OK)
		code = th_remote_find(&o.common, &remote, &err);
	if (code == TH_OK && !remote)
		code = common_setup(&o, &config, &job, &err);
	if (code == TH_OK)
		code = th_cli_session(&o.common, false, th_str_of(rest.list[0]), &a, &store, &row,
				      &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	store = th_store_close(store);
	if (remote) {
		o.session = row.session_id;
		return run_there(&o, TH_STR(""));
	}
	if (!o.act && !o.goal &&
	    (th_str_is(row.state, "finished") || th_str_is(row.state, "idle"))) {
		struct th_buf log TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

		th_cli_same_log(&o.common, &log);
		return th_cli_die(
		    0, "session %.*s is %.*s; %s run -s %.*s%.*s \"TASK\" gives it a task",
		    TH_FMT(row.session_id), TH_FMT(row.state), th_cli_program(),
		    TH_FMT(row.session_id), TH_FMT(th_buf_str(&log)));
	}
	job.session_id = row.session_id;
	job.more = o.more.ptr ? &more : NULL;
	job.act = o.act;
	job.goal = o.goal;
	job.rounds = TH_GOAL_ROUNDS_DEFAULT;
	job.message = o.act ? o.note : TH_STR("");
	return th_job_run(&job, NULL);
}

const struct th_command th_command_resume = {
	.name = "resume",
	.operands = "NAME",
	.summary = "go on with a session that was paused, cut off, or waits",
	.text = "Takes the session up where its log ends and runs it to its next stop. A question "
		"to the model that was\n"
		"answered is not asked again; an effect that was under way is asked for in the "
		"executor's journal: it is\n"
		"done, not done, or said to be unknown, and never repeated by itself.\n\n"
		"Examples:\n"
		"  thole resume report\n"
		"  thole approve report && thole resume report\n"
		"  thole resume report --more turns=50,cost_usd=2\n"
		"  thole run --plan -s move \"tidy up\" && thole resume move --act\n",
	.options = resume_options,
	.words = "SESSION",
	.run = run_resume,
};
