/* SPDX-License-Identifier: Apache-2.0 */
/*
 * computer.c - thole computer: a screen from the shell, through the executor
 * that keeps it alive between commands.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/computer_result.h"
#include "cli/computer_verbs.h"
#include "computers/computers.h"
#include "config/computer.h"
#include "events/event.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "wire/exec.h"

#define DEFAULT_SESSION "computer" /* of this user, so that the next command finds it */

#define AT(member) offsetof(struct th_computer_flags, member)

static const struct th_option computer_options[] = {
	{ "session", 's', "NAME", TH_OPTION_TEXT, AT(session),
	  "the computer of this session (default: one of your own, started when it is needed)",
	  "SESSION" },
	{ "computer", 'c', "KIND[:WxH]", TH_OPTION_TEXT, AT(computer),
	  "which kind to start: " TH_COMPUTER_HELP "by default the first", TH_COMPUTER_WORDS },
	{ "folder", 'C', "DIR", TH_OPTION_TEXT, AT(folder),
	  "when it is started: folder its programs may write (default: the current one)", "DIR" },
	{ "net", 0, "host|none", TH_OPTION_TEXT, AT(net),
	  "when it is started: its network (default: none)", "host none" },
	{ "json", 'j', NULL, TH_OPTION_FLAG, AT(json), "the result as JSON", NULL },
	{ "output", 'o', "FILE", TH_OPTION_TEXT, AT(output),
	  "see, zoom: where the picture goes; .png, .jpg or .webp", "FILE" },
	{ "format", 0, "F", TH_OPTION_TEXT, AT(format),
	  "see, zoom: png, jpeg or webp (default: by the file's name)", "png jpeg webp" },
	{ "quality", 0, "N", TH_OPTION_INT, AT(quality), "see, zoom: of jpeg and webp, 1 to 100",
	  NULL },
	{ "fit", 0, "WxH", TH_OPTION_TEXT, AT(fit), "see: scaled down to fit", NULL },
	{ "pointer", 0, NULL, TH_OPTION_FLAG, AT(cursor), "see: with the pointer", NULL },
	{ "settle", 0, NULL, TH_OPTION_FLAG, AT(settle),
	  "see, tree: wait until the screen is quiet", NULL },
	{ "at", 0, "X,Y", TH_OPTION_TEXT, AT(at), "type, scroll: at this point", NULL },
	{ "button", 'b', "B", TH_OPTION_TEXT, AT(button),
	  "click, press, release, drag: which button", "left right middle back forward" },
	{ "count", 'n', "N", TH_OPTION_INT, AT(count), "click, key: how often", NULL },
	{ "keys", 'k', "CHORD", TH_OPTION_TEXT, AT(keys),
	  "click, move, drag, scroll: keys held down", NULL },
	{ "duration", 'd', "MS", TH_OPTION_INT, AT(duration), "drag, hold: how long", NULL },
	{ "pixels", 0, NULL, TH_OPTION_FLAG, AT(pixels), "scroll: by pixels, not notches", NULL },
	{ "enter", 0, NULL, TH_OPTION_FLAG, AT(enter), "type: press Return afterwards", NULL },
	{ "clear", 0, NULL, TH_OPTION_FLAG, AT(clear), "type: delete what is in the field first",
	  NULL },
	{ "timeout", 0, "SECONDS", TH_OPTION_INT, AT(timeout), "shell: when the command is ended",
	  NULL },
	TH_OPTIONS_COMMON(struct th_computer_flags, common),
	TH_OPTIONS_END,
};

static const char *const general = "session computer folder net json store config";

static bool has_word(const char *words, const char *word)
{
	struct th_str rest = th_str_of(words);

	while (rest.len)
		if (th_str_is(th_str_split(&rest, ' '), word))
			return true;
	return false;
}

static enum th_code check_verb(const struct th_computer_verb *v, const struct th_operands *operands,
			       uint64_t given, struct th_err *err)
{
	for (size_t i = 0; computer_options[i].name; i++) {
		const char *name = computer_options[i].name;

		if (given & (UINT64_C(1) << i) && !has_word(general, name) &&
		    !has_word(v->options, name))
			return th_fail(err, TH_EUSAGE, "--%s does not go with computer %s", name,
				       v->name);
	}
	if (operands->count < v->min || (v->max >= 0 && operands->count > v->max))
		return th_fail(err, TH_EUSAGE, "usage: %s computer %s%s%s", th_cli_program(),
			       v->name, *v->operands ? " " : "", v->operands);
	return TH_OK;
}

/* ---- which computer ---- */

static enum th_code parse_size(struct th_str text, const char *what, struct th_size *ret,
			       struct th_err *err)
{
	struct th_str height = text, width = th_str_split(&height, 'x');
	int64_t w, h;

	if (!th_str_i64(width, &w) || !th_str_i64(height, &h) || w < 1 || h < 1 ||
	    w > TH_SCREEN_SIDE_MAX || h > TH_SCREEN_SIDE_MAX)
		return th_fail(err, TH_EUSAGE, "%s is WIDTHxHEIGHT, such as 1280x800, not \"%.*s\"",
			       what, TH_FMT(th_utf8_cut(text, TH_NAME_NEAR_MAX)));
	*ret = (struct th_size){ (int32_t)w, (int32_t)h };
	return TH_OK;
}

static enum th_code workspace_of(const struct th_computer_flags *o, struct th_arena *a,
				 struct th_str *ret, struct th_err *err)
{
	struct th_str folder = o->folder.ptr ? o->folder : TH_STR(".");
	const char *name = th_arena_cstr(a, folder);
	char *path = name ? realpath(name, NULL) : NULL;

	if (!path)
		return th_fail(err, TH_ENOENT, "there is no folder %.*s",
			       TH_FMT(th_utf8_cut(folder, 300)));
	*ret = th_arena_str(a, th_str_of(path));
	free(path);
	return TH_OK;
}

/* -c KIND[:WIDTHxHEIGHT], or what there is without it. */
static enum th_code read_computer(const struct th_computer_flags *o, struct th_agent_computer *ret,
				  struct th_err *err)
{
	struct th_str size = o->computer, kind = th_str_split(&size, ':');

	return th_config_computer_read(kind.len ? kind : th_str_of(th_computer_kinds[0]->name),
				       size, NULL, ret, err);
}

/* What it is started with, should it not run yet. */
static enum th_code start_options(const struct th_computer_flags *o, struct th_arena *a,
				  struct th_executor_options *x, struct th_err *err)
{
	struct th_agent_computer c;
	enum th_code code = read_computer(o, &c, err);

	if (code == TH_OK)
		code = th_config_computer_complete(&c, err);
	if (code == TH_OK && o->net.ptr && !th_str_is(o->net, "host") && !th_str_is(o->net, "none"))
		return th_fail(err, TH_EUSAGE, "--net must be host or none");
	x->net_host = th_str_is(o->net, "host");
	if (code != TH_OK)
		return code;
	x->computer = c.kind;
	x->size = (struct th_size){ (int32_t)c.width, (int32_t)c.height };
	x->parser = c.parser;
	x->display = c.display;
	x->xauthority = th_str_of(getenv("XAUTHORITY"));
	x->bus = c.bus;
	return workspace_of(o, a, &x->workspace, err);
}

/* The session of the user's own computer of this kind: "computer", or "computer-KIND" of another
 * kind than the default one. */
static struct th_str session_of(const struct th_computer_flags *o, struct th_arena *a)
{
	struct th_str rest = o->computer, kind = th_str_split(&rest, ':');

	if (o->session.len)
		return o->session;
	return !th_computer_find(kind) || th_computer_find(kind) == th_computer_kinds[0]
		   ? TH_STR(DEFAULT_SESSION)
		   : th_arena_printf(a, DEFAULT_SESSION "-%.*s", TH_FMT(kind));
}

/* Options that find one which runs, or else start one; *ret_screen: it has a screen. */
static enum th_code which(const struct th_computer_flags *o, struct th_arena *a,
			  struct th_executor_options *x, bool *ret_screen, struct th_err *err)
{
	bool start = !o->session.ptr || o->computer.ptr;
	struct th_executor_info info;
	enum th_code code;
	struct th_executor_options first;

	*x = (struct th_executor_options){ .only_running = true };
	code = th_cli_scope(&o->common, a, &x->scope, err);
	if (code != TH_OK)
		return code;
	x->session = session_of(o, a);
	if (x->session.len > TH_SESSION_ID_MAX)
		return th_fail(err, TH_EUSAGE, "a session's name has at most %d bytes",
			       TH_SESSION_ID_MAX);
	code = th_executor_client_info_once(x, false, &info, a, err);
	*ret_screen = code == TH_OK ? info.computer.len > 0 : start;
	if (code != TH_ENOENT || !start)
		return code == TH_ENOENT
			   ? th_fail(err, code,
				     "no computer runs for session %.*s; -c %s starts one",
				     TH_FMT(x->session), th_computer_kinds[0]->name)
			   : code;
	first = *x;
	first.only_running = false;
	first.program = th_cli_self();
	code = start_options(o, a, &first, err);
	if (code == TH_OK)
		*x = first;
	return code;
}

/* ---- one call ---- */

/* What this command itself started and could not use is not left behind to wait for somebody. */
static void end_started(const struct th_executor_options *x)
{
	struct th_executor_options running = *x;
	struct th_err err;
	enum th_code code;

	if (x->only_running)
		return;
	running.only_running = true;
	/* The command has a better reason to fail. */
	code = th_executor_client_end_once(&running, &err);
	(void)code;
}

static enum th_code open_screen(const struct th_executor_options *x, struct th_executor_info *ret,
				struct th_arena *a, struct th_err *err)
{
	enum th_code code = th_executor_client_info_once(x, true, ret, a, err);

	if (code != TH_OK)
		end_started(x);
	return code;
}

static enum th_code do_call(const struct th_executor_options *x, struct th_str tool,
			    enum th_class class, struct th_str arguments, int64_t timeout_ms,
			    const struct th_executor_handlers *h, struct th_executor_answer *ret,
			    struct th_err *err)
{
	struct th_uuid id = th_uuid_now();
	char text[TH_UUID_TEXT_SIZE + 1], digest[TH_SHA256_HEX_SIZE + 1];
	struct th_effect_call call = {
		.class = class, .tool = tool, .arguments = arguments, .timeout_ms = timeout_ms
	};
	enum th_code code;

	th_uuid_text(&id, text);
	th_call_digest(tool, arguments, digest);
	call.effect_id = th_str_of(text);
	call.digest = th_str_of(digest);
	code = th_executor_client_once(x, &call, h, ret, err);
	if (code == TH_OK && ret->result.status == TH_OUTCOME_NOT_STARTED)
		end_started(x);
	return code;
}

static enum th_code print_arguments(struct th_computer_call *c, struct th_buf *out)
{
	struct th_buf list TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMPUTER_ACTIONS_SIZE_MAX);
	struct th_exec_computer e = {
		.screenshot = c->screenshot,
		.tree = c->tree,
		.quality = TH_MAX(c->o->quality, 0),
		.cursor = c->o->cursor,
		.whole = true,
		.settle = c->o->settle,
	};
	struct th_jw w = th_jw(&list);
	struct th_size fit = {};
	enum th_code code = TH_OK;

	if (c->o->fit.ptr)
		code = parse_size(c->o->fit, "--fit", &fit, c->err);
	if (code != TH_OK)
		return code;
	if (!th_computer_format_of(c->o) && c->o->format.ptr)
		return th_fail(c->err, TH_EUSAGE, "--format must be png, jpeg or webp");
	if (!th_computer_format_of(c->o))
		return th_fail(c->err, TH_EUSAGE,
			       "which picture shall %.*s be? name it .png, .jpg or .webp, or give "
			       "--format",
			       TH_FMT(th_utf8_cut(c->o->output, 200)));
	th_jw_array(&w);
	for (size_t i = 0; i < c->count; i++)
		th_action_print(&c->actions[i], &w);
	th_jw_array_end(&w);
	e.actions = th_buf_str(&list);
	e.format = th_str_of(th_computer_format_of(c->o));
	e.fit_width = fit.width;
	e.fit_height = fit.height;
	w = th_jw(out);
	th_table_print(&th_exec_computer_table, &e, &w);
	return th_buf_check(out, "the actions", c->err);
}

static bool wants_picture(const struct th_computer_call *c)
{
	bool any = c->screenshot || c->o->output.ptr;

	for (size_t i = 0; i < c->count; i++)
		any |= c->actions[i].kind == TH_ACTION_ZOOM ||
		       c->actions[i].kind == TH_ACTION_SCREENSHOT;
	return any;
}

/* What the executor would refuse is said before a desktop is started for it. */
static enum th_code check_actions(struct th_computer_call *c)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_COMPUTER_ACTIONS_SIZE_MAX);

	for (size_t i = 0; i < c->count; i++) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		struct th_jw w = th_jw(&text);
		struct th_action ignored;
		enum th_code code;

		th_buf_clear(&text);
		th_action_print(&c->actions[i], &w);
		code = th_buf_check(&text, "the action as JSON", c->err);
		if (code == TH_OK)
			code = th_json_parse(th_buf_str(&text), &doc, c->err);
		if (code == TH_OK)
			code = th_action_parse(th_json_root(doc), c->a, &ignored, c->err);
		if (code != TH_OK)
			return th_fail(c->err, TH_EUSAGE, "%s", c->err->msg);
	}
	return TH_OK;
}

static int run_actions(struct th_computer_call *c)
{
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) =
	    TH_BUF_INIT(TH_COMPUTER_ACTIONS_SIZE_MAX);
	struct th_executor_options x;
	struct th_executor_answer answer;
	enum th_class class = TH_CLASS_R;
	bool screen, picture = wants_picture(c);
	enum th_code code = check_actions(c);
	int exit_code;

	for (size_t i = 0; i < c->count; i++)
		if (th_action_class(c->actions[i].kind) != 'R')
			class = TH_CLASS_W;
	if (code == TH_OK && picture && !c->o->output.ptr && th_cli_terminal(STDOUT_FILENO))
		return th_cli_die(2, "where shall the picture go? -o FILE.png names a file");
	if (code == TH_OK && picture && !c->o->output.ptr && c->o->json)
		return th_cli_die(2, "with --json the picture needs a file: -o FILE.png");
	if (code == TH_OK)
		code = print_arguments(c, &arguments);
	if (code == TH_OK)
		code = which(c->o, c->a, &x, &screen, c->err);
	if (code == TH_OK)
		code = do_call(&x, TH_STR("computer"), class, th_buf_str(&arguments), 0, NULL,
			       &answer, c->err);
	if (code != TH_OK)
		return th_cli_fail(c->err);
	exit_code = th_computer_result_show(c, picture, &answer.result);
	th_executor_answer_deinit(&answer);
	return exit_code;
}

/* ---- shell, size, end ---- */

static void on_output(void *ctx TH_UNUSED, uint64_t offset TH_UNUSED, struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MAX);

	th_computer_add_text(&out, bytes);
	(void)th_cli_write(STDOUT_FILENO, th_buf_str(&out));
}

/* Like ssh: the command's output and its exit code. */
static int shell_exit(const struct th_effect_result *r)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *output TH_CLEANUP(th_json_freep) = NULL;
	int64_t exit_code;

	if (th_json_parse(r->evidence, &doc, NULL) == TH_OK && r->status == TH_OUTCOME_DONE) {
		exit_code = th_json_get_int(th_json_root(doc), "exit_code", -1);
		return exit_code >= 0 && exit_code < 256 ? (int)exit_code : 1;
	}
	if (th_json_parse(r->output, &output, NULL) != TH_OK)
		return th_cli_die(1, "%s", th_outcome_name(r->status));
	return th_computer_failed(r->status, th_json_str(th_json_root(output)));
}

static int run_shell(struct th_computer_call *c)
{
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) =
	    TH_BUF_INIT(TH_COMPUTER_ACTIONS_SIZE_MAX);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MAX);
	struct th_executor_handlers h = { .on_output = on_output };
	struct th_jw w = th_jw(&arguments);
	struct th_executor_options x;
	struct th_executor_answer answer;
	struct th_executor_info info;
	bool screen;
	enum th_code code = which(c->o, c->a, &x, &screen, c->err);
	int exit_code;

	if (code == TH_OK && screen) /* so that the command finds it */
		code = open_screen(&x, &info, c->a, c->err);
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_str_of(c->operands.list[0]));
	if (c->o->timeout > 0)
		th_jw_kint(&w, "timeout_s", c->o->timeout);
	th_jw_object_end(&w);
	if (code == TH_OK)
		code = do_call(&x, TH_STR("shell"), TH_CLASS_W, th_buf_str(&arguments), 0,
			       c->o->json ? NULL : &h, &answer, c->err);
	if (code != TH_OK)
		return th_cli_fail(c->err);
	if (c->o->json) {
		th_computer_result_json(&answer.result, &out);
		exit_code = th_cli_print(&out, answer.result.status == TH_OUTCOME_DONE ? 0 : 1);
	} else {
		exit_code = shell_exit(&answer.result);
	}
	th_executor_answer_deinit(&answer);
	return exit_code;
}

static int run_size(struct th_computer_call *c)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&out);
	struct th_executor_options x;
	struct th_executor_info info;
	bool screen;
	enum th_code code = which(c->o, c->a, &x, &screen, c->err);

	if (code == TH_OK)
		code = open_screen(&x, &info, c->a, c->err);
	if (code != TH_OK)
		return th_cli_fail(c->err);
	if (c->o->json) {
		th_jw_object(&w);
		th_jw_kstr(&w, "computer", info.computer);
		th_jw_kint(&w, "width", info.screen.width);
		th_jw_kint(&w, "height", info.screen.height);
		th_jw_kint(&w, "pid", info.pid);
		if (info.sandbox.len)
			th_jw_kraw(&w, "sandbox", info.sandbox);
		th_jw_object_end(&w);
		th_buf_add_char(&out, '\n');
	} else {
		th_buf_printf(&out, "%dx%d\n", info.screen.width, info.screen.height);
	}
	return th_cli_print(&out, 0);
}

/* That none runs is no failure. */
static enum th_code end_one(struct th_computer_call *c, const struct th_computer_flags *o,
			    struct th_executor_options *x)
{
	enum th_code code;

	x->session = session_of(o, c->a);
	code = th_executor_client_end_once(x, c->err);
	return code == TH_ENOENT ? TH_OK : code;
}

/* Where nobody says which, all that the user has of his own. */
static int run_end(struct th_computer_call *c)
{
	struct th_executor_options x = { .only_running = true };
	struct th_computer_flags o = *c->o;
	bool all = !c->o->session.ptr && !c->o->computer.ptr;
	enum th_code code = th_cli_scope(&c->o->common, c->a, &x.scope, c->err);

	if (code == TH_OK && !all)
		code = end_one(c, &o, &x);
	for (size_t i = 0; all && th_computer_kinds[i] && code == TH_OK; i++) {
		o.computer = th_str_of(th_computer_kinds[i]->name);
		code = end_one(c, &o, &x);
	}
	return code == TH_OK ? 0 : th_cli_fail(c->err);
}

/* ---- the command ---- */

/* Those that are no actions. */
static const struct {
	const char *verb;
	int (*run)(struct th_computer_call *c);
} others[] = {
	{ "shell", run_shell },
	{ "size", run_size },
	{ "end", run_end },
};

static int run_verb(struct th_computer_call *c, const struct th_computer_verb *v)
{
	enum th_code code;

	for (size_t i = 0; i < TH_COUNT(others) && !v->build; i++)
		if (strcmp(others[i].verb, v->name) == 0)
			return others[i].run(c);
	c->verb = v;
	c->actions = th_arena_array(c->a, TH_ACTIONS_MAX, sizeof(*c->actions));
	assert(c->actions);
	code = v->build(c);
	return code == TH_OK ? run_actions(c) : th_cli_die(2, "%s", c->err->msg);
}

static int unknown_verb(struct th_str name)
{
	const char *names[TH_COMPUTER_VERBS_MAX], *near;

	th_computer_verb_names(names);
	near = th_names_nearest(names, name);
	return th_cli_die(2, "computer cannot \"%.*s\"%s%s; see %s computer --help",
			  TH_FMT(th_utf8_cut(name, TH_NAME_NEAR_MAX)),
			  near ? "; did you mean " : "", near ?: "", th_cli_program());
}

static int run_computer(const struct th_command *self, int argc, char **argv)
{
	struct th_computer_flags o = { .quality = -1, .count = -1, .duration = -1, .timeout = -1 };
	struct th_operands rest;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_err err = {};
	struct th_computer_call c = { .o = &o, .a = &a, .err = &err };
	const struct th_computer_verb *v;
	struct th_agent_computer computer;
	uint64_t given;
	enum th_code code = th_options_parse_given(self, argc, argv, &o, &rest, &given, &err);

	th_arena_init(&a, 4 * TH_COMPUTER_ACTIONS_SIZE_MAX);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count == 0)
		return th_cli_die(
		    2, "computer needs a verb, such as see or click; see %s computer --help",
		    th_cli_program());
	v = th_computer_verb_find(th_str_of(rest.list[0]));
	if (!v)
		return unknown_verb(th_str_of(rest.list[0]));
	c.operands = (struct th_operands){ rest.list + 1, rest.count - 1 };
	code = check_verb(v, &c.operands, given, &err);
	if (code == TH_OK) /* also where one runs, which needs neither kind nor size */
		code = read_computer(&o, &computer, &err);
	return code == TH_OK ? run_verb(&c, v) : th_cli_fail(&err);
}

const struct th_command th_command_computer = {
	.name = "computer",
	.operands = "VERB …",
	.summary = "look at and act on a computer from the shell",
	.text =
	    "  see -o FILE                   a picture of the screen (without -o: to a pipe)\n"
	    "  tree                          its elements that have names; --json: and where\n"
	    "  zoom X Y WIDTH HEIGHT         a part of it at full detail\n"
	    "  click [X Y]                   also double-click, triple-click, right-click,\n"
	    "                                middle-click\n"
	    "  move X Y                      also press [X Y], release [X Y], drag X Y X Y …\n"
	    "  scroll up|down|left|right [N] N notches (3), or --pixels\n"
	    "  type TEXT                     any Unicode text; - reads standard input\n"
	    "  key CHORD …                   ctrl+s, Return, alt+F4 … as any vendor spells it\n"
	    "  key-down KEY, key-up KEY\n"
	    "  hold CHORD --duration MS\n"
	    "  wait [MS]                     1000\n"
	    "  cursor                        where the pointer is\n"
	    "  clipboard [TEXT]              reads it, or puts TEXT there\n"
	    "  do JSON                       a list of actions as they stand in the log\n"
	    "  shell COMMAND                 on its machine and screen; exits as it does\n"
	    "  size                          of the screen\n"
	    "  end                           closes the computer and all that runs on it;\n"
	    "                                without -c and -s: each kind that was begun\n\n"
	    "The first command starts a private desktop, and the next ones find it; thole computer "
	    "end closes it, and ten minutes without a command do so too. With -s it is the "
	    "computer of "
	    "that session, also while an agent works on it. Points are pixels; those outside the "
	    "screen "
	    "are refused.\n\n"
	    "Examples:\n"
	    "  thole computer shell 'xterm & sleep 1'\n"
	    "  thole computer click 400 300 && thole computer type 'echo hello' --enter\n"
	    "  thole computer see -o screen.png --settle\n"
	    "  thole computer -s report see | display -\n"
	    "  thole computer end\n",
	.options = computer_options,
	.words =
	    "see tree zoom click double-click triple-click right-click middle-click move press "
	    "release drag scroll type "
	    "key key-down key-up hold wait cursor clipboard do shell size end",
	.run = run_computer,
};
