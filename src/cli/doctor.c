/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - thole doctor: each layer tried on this machine, what is enforced,
 * what is missing and what to install.  Every line says what was done, not what
 * a version number promises.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "cli/cli.h"
#include "computers/computers.h"
#include "config/read.h"
#include "core/session.h"
#include "exec_client/client.h"
#include "io/clock.h"
#include "io/fetch.h"
#include "io/files.h"
#include "io/net_space.h"
#include "io/sandbox.h"
#include "profiles/compose.h"
#include "server/settings.h"
#include "stores/stores.h"

struct doctor_options {
	struct th_common common;
	bool json;
};

static const struct th_option doctor_options[] = {
	{ "json", 'j', NULL, TH_OPTION_FLAG, offsetof(struct doctor_options, json),
	  "one JSON line per check", NULL },
	TH_OPTIONS_COMMON(struct doctor_options, common),
	TH_OPTIONS_END,
};

enum verdict { GOOD, NOTE, MISSING, BROKEN }; /* NOTE: works, but; MISSING: optional */

struct report {
	bool json, colour;
	struct th_buf out;
	int broken;
	int errnum; /* of what could not be written */
};

TH_PRINTF(4, 5)
static void say(struct report *r, enum verdict v, const char *what, const char *fmt, ...)
{
	static const char *const words[] = { "ok", "note", "absent", "BROKEN" };
	static const char *const colours[] = { "\033[32m", "\033[33m", "\033[2m", "\033[31m" };
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&r->out);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	r->broken += v == BROKEN;
	if (r->json) {
		th_jw_object(&w);
		th_jw_kstr(&w, "check", th_str_of(what));
		th_jw_kstr(&w, "result", th_str_of(words[v]));
		th_jw_kstr(&w, "text", th_buf_str(&text));
		th_jw_object_end(&w);
	} else {
		th_buf_printf(&r->out, "%s%-7s%s %-14s ", r->colour ? colours[v] : "", words[v],
			      r->colour ? "\033[0m" : "", what);
		th_text_line(&r->out, th_buf_str(&text), 1000);
	}
	th_buf_add_char(&r->out, '\n');
	if (!th_cli_write(STDOUT_FILENO, th_buf_str(&r->out)))
		r->errnum = errno;
	th_buf_clear(&r->out);
}

/* ---- programs ---- */

struct program {
	const char *name, *package, *what;
	bool needed;
};

static const struct program programs[] = {
	{ "Xvfb", "xvfb", "private desktops", true },
	{ "openbox", "openbox", "window manager of private desktops", true },
	{ "xkbcomp", "x11-xkb-utils", "Xvfb needs it", true },
	{ "bwrap", "bubblewrap", "namespaces for desktops and commands", false },
	{ "xterm", "xterm", "a terminal on the desktop; the demo uses it", false },
	{ "chromium", "chromium", "the computer browser, and a browser on the desktop", false },
	{ "tesseract", "tesseract-ocr", "omni+MODEL reads the screen with it", false },
	{ "dbus-daemon", "dbus", "omni+MODEL asks programs for their elements over it", false },
	{ "at-spi2-registryd", "at-spi2-core", "the same", false },
};

static bool installed(const char *name)
{
	static const char *const folders[] = { "/usr/bin",       "/bin",
					       "/usr/local/bin", "/usr/lib/xorg",
					       "/usr/libexec",   "/run/current-system/sw/bin" };

	for (size_t i = 0; i < TH_COUNT(folders); i++) {
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);

		th_buf_printf(&path, "%s/%s", folders[i], name);
		if (access(path.ptr, X_OK) == 0)
			return true;
	}
	return false;
}

static void check_programs(struct report *r)
{
	for (size_t i = 0; i < TH_COUNT(programs); i++) {
		const struct program *p = &programs[i];

		if (installed(p->name))
			say(r, GOOD, p->name, "installed (%s)", p->what);
		else
			say(r, p->needed ? BROKEN : MISSING, p->name,
			    "not installed: %s; Debian package %s", p->what, p->package);
	}
}

/* Any font at all below `folder`, two levels down. */
static bool has_font(const char *folder, int depth)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		struct th_str name = th_str_of(e->d_name);
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);

		if (name.ptr[0] == '.')
			continue;
		found = th_str_ends(name, TH_STR(".ttf")) || th_str_ends(name, TH_STR(".otf")) ||
			th_str_ends(name, TH_STR(".ttc")) || th_str_ends(name, TH_STR(".pcf.gz"));
		th_buf_printf(&path, "%s/%s", folder, e->d_name);
		if (!found && depth > 0)
			found = has_font(path.ptr, depth - 1);
	}
	if (dir)
		closedir(dir);
	return found;
}

static void check_fonts(struct report *r)
{
	if (has_font("/usr/share/fonts", 3) || has_font("/usr/local/share/fonts", 3))
		say(r, GOOD, "fonts", "there are fonts for programs to draw with");
	else
		say(r, NOTE, "fonts",
		    "no fonts: programs will draw boxes; Debian package fonts-dejavu-core");
}

/* ---- confinement ---- */

static void check_egress(struct report *r)
{
	struct th_net_space space = TH_NET_SPACE_NONE;
	struct th_err err;

	if (th_net_space_new(&space, &err) == TH_OK)
		say(r, GOOD, "egress", "an agent's net may be a list of hosts");
	else
		say(r, NOTE, "egress", "an agent's net can be none or host, and no list: %s",
		    err.msg);
	th_net_space_close(&space);
}

static void check_sandbox(struct report *r)
{
	struct th_sandbox_report s;

	th_sandbox_probe(&s);
	say(r, s.level == TH_SANDBOX_FULL ? GOOD : NOTE, "sandbox", "commands are confined: %s%s%s",
	    th_sandbox_level_name(s.level), *s.why ? "; not better because " : "", s.why);
	say(r, s.pid_namespace && s.net_namespace ? GOOD : NOTE, "namespaces",
	    "bwrap %s, user %s, pid %s, net %s", s.bwrap ? "yes" : "no",
	    s.user_namespace ? "yes" : "no", s.pid_namespace ? "yes" : "no",
	    s.net_namespace ? "yes" : "no");
	if (s.landlock_abi)
		say(r, s.landlock_files ? GOOD : NOTE, "landlock", "version %d, files %s, TCP %s",
		    s.landlock_abi, s.landlock_files ? "yes" : "no", s.landlock_tcp ? "yes" : "no");
	else
		say(r, NOTE, "landlock", "this kernel does not have it");
	say(r, s.seccomp ? GOOD : NOTE, "seccomp", "%s",
	    s.seccomp ? "works" : "is not allowed here");
	say(r, s.cgroup_kill ? GOOD : NOTE, "cgroup", "%s",
	    s.cgroup_kill
		? "version 2, and one can be made for each command"
		: "none can be made here (it needs version 2 and the right to): what has no "
		  "namespace is ended process by process");
	say(r, s.cgroup_kill || s.pid_namespace ? GOOD : NOTE, "cleaning up", "%s",
	    s.pid_namespace ? "a command's children end with its namespace"
	    : s.cgroup_kill ? "a command's children end with its cgroup"
			    : "children that hide from us are hunted down one by one");
	if (s.root)
		say(r, s.idmap ? GOOD : NOTE, "root", "commands run as an unprivileged user%s",
		    s.idmap ? "" : "; a workspace of root's must be given to it (chown)");
}

/* ---- computers, tried ---- */

static enum th_code try_computer(struct th_executor_options *o, const char *name, struct report *r,
				 struct th_err *err)
{
	static const struct th_str arguments = TH_STR_INIT("{\"actions\":[],\"screenshot\":true}");
	char digest[TH_SHA256_HEX_SIZE + 1];
	struct th_effect_call call = {
		.effect_id = TH_STR("doctor"),
		.class = TH_CLASS_R,
		.tool = TH_STR("computer"),
		.arguments = arguments,
	};
	struct th_executor_answer answer;
	uint64_t start = th_clock_ms(), ready;
	struct th_executor_info info;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = th_executor_client_info_once(o, true, &info, &a, err);
	ready = th_clock_ms();
	if (code != TH_OK)
		return code;
	th_call_digest(call.tool, call.arguments, digest);
	call.digest = th_str_of(digest);
	code = th_executor_client_once(o, &call, NULL, &answer, err);
	if (code != TH_OK)
		return code;
	if (answer.result.status == TH_OUTCOME_DONE && answer.result.blob_count == 1)
		say(r, GOOD, name, "started in %llu ms, %dx%d, a picture of %zu bytes in %llu ms",
		    (unsigned long long)(ready - start), info.screen.width, info.screen.height,
		    answer.result.blobs[0].bytes.len, (unsigned long long)(th_clock_ms() - ready));
	else
		code = th_fail(err, TH_EIO, "it gave no picture: %.*s",
			       TH_FMT(th_utf8_cut(answer.result.output, 300)));
	th_executor_answer_deinit(&answer);
	return code;
}

static void check_computer(struct report *r, const struct th_computer_kind *kind)
{
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX);
	struct th_executor_options o = { .computer = th_str_of(kind->name),
					 .linger_ms = 5000,
					 .program = th_cli_self() };
	struct th_err err = {}, ignored = {};

	th_buf_printf(&name, "doctor-%ld", (long)getpid());
	o.session = th_buf_str(&name);
	if (try_computer(&o, kind->name, r, &err) != TH_OK)
		/* Without the first no screen is possible; the others are for who wants them. */
		say(r,
		    err.code == TH_EUNSUPPORTED && kind != th_computer_kinds[0] ? MISSING : BROKEN,
		    kind->name, "%s", err.msg);
	o.only_running = true;
	if (th_executor_client_end_once(&o, &ignored) != TH_OK && ignored.code != TH_ENOENT)
		say(r, NOTE, kind->name, "could not be ended: %s", ignored.msg);
}

/* ---- HTTP, log and model ---- */

static void check_http(struct report *r)
{
	const char *missing = th_fetcher_missing();

	say(r, missing ? BROKEN : GOOD, "http", "%s", missing ?: "libcurl can be used");
}

static void check_store(struct report *r, const struct th_config *config)
{
	struct th_store_options o = { .create = true };
	struct th_store *s = NULL;
	struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_STORE_PATH_MAX);
	struct th_err err = {};

	th_store_show(config->store, &shown);
	if (th_store_open(config->store, &o, &s, &err) != TH_OK) {
		say(r, BROKEN, "log", "%s: %s", shown.ptr, err.msg);
		return;
	}
	s = th_store_close(s);
	say(r, GOOD, "log", "%s can be written", shown.ptr);
}

static void check_one_model(struct report *r, const struct th_config *config, const char *what,
			    const struct th_profile *p, struct th_str name)
{
	struct th_buf hint TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str url = th_config_base_url(config, p);
	bool set = th_config_key(config, p, url) != NULL,
	     key = set || !th_config_key_needed(p, url);

	th_config_key_hint(config, p, &hint);
	say(r, key && url.len ? GOOD : NOTE, what, "%.*s at %.*s%s, %s%s", TH_FMT(name),
	    TH_FMT(url.len ? url : TH_STR("no address: set ")),
	    url.len ? "" : (p->base_url_env ?: "OPENAI_BASE_URL"),
	    set   ? "the key is set"
	    : key ? "which needs no key unless it asks for one"
		  : "no key: ",
	    key ? "" : hint.ptr);
}

static void check_model(struct report *r, const struct th_config *config)
{
	struct th_composed composed;
	struct th_match match;
	struct th_err err = {};

	if (!config->model.len) {
		say(r, NOTE, "model",
		    "none is configured; give -m MODEL or set THOLE_MODEL (%s models lists "
		    "them)",
		    th_cli_program());
		return;
	}
	if (th_model_compose(&config->profiles, config->model, &composed, &match, &err) != TH_OK) {
		say(r, NOTE, "model", "%s", err.msg);
		return;
	}
	check_one_model(r, config, "model", match.profile, match.name);
	if (composed.grounder)
		check_one_model(r, config, "grounder", composed.grounder, composed.grounder_name);
}

/* What thole serve would not start with. */
static void check_serve(struct report *r, const struct th_config *config)
{
	struct th_settings settings;
	struct th_err err = {};
	enum th_code code;

	if (!config->serve.len)
		return;
	code = th_settings_parse(config->serve, &settings, &err);
	if (!code) {
		th_settings_deinit(&settings);
		say(r, GOOD, "serve", "its part of the configuration can be read");
		return;
	}
	code = th_config_part_err(config->file, "serve", code, &err);
	say(r, BROKEN, "serve", "%s", err.msg);
}

static int run_doctor(const struct th_command *self, int argc, char **argv)
{
	struct doctor_options o = {};
	struct th_operands rest;
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct report r = { .colour = th_cli_colour(STDOUT_FILENO) };
	struct th_err err = {};
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count)
		return th_cli_die(2, "doctor takes no operand");
	r.json = o.json;
	th_buf_init(&r.out, 64 * TH_KIB);
	code = th_cli_config(&o.common, &config, &err);
	if (code == TH_OK)
		say(&r, GOOD, "config", "%.*s",
		    TH_FMT(config->file.len ? config->file
					    : TH_STR("no file; the defaults and the environment")));
	else
		say(&r, BROKEN, "config", "%s", err.msg);
	if (config && th_config_models(config, TH_STR(""), &err) != TH_OK)
		say(&r, BROKEN, "models", "%s", err.msg);
	else if (config && config->models_file.len)
		say(&r, GOOD, "models", "%zu profiles in %.*s", config->profiles.count,
		    TH_FMT(config->models_file));
	if (config)
		check_serve(&r, config);
	check_programs(&r);
	check_fonts(&r);
	check_sandbox(&r);
	check_egress(&r);
	for (size_t i = 0; th_computer_kinds[i]; i++)
		if (!th_computer_kinds[i]->outlives && !th_computer_kinds[i]->network)
			check_computer(&r, th_computer_kinds[i]);
	check_http(&r);
	if (config) {
		check_store(&r, config);
		check_model(&r, config);
	}
	th_buf_deinit(&r.out);
	if (r.errnum)
		return th_cli_die(1, "cannot write to standard output: %s", strerror(r.errnum));
	if (r.broken)
		return th_cli_die(1,
				  "%d %s broken; the main job cannot run on this machine as it is",
				  r.broken, r.broken == 1 ? "check is" : "checks are");
	return 0;
}

const struct th_command th_command_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "check what works on this machine, and what is missing",
	.text = "Starts a desktop and takes a picture, runs a command in the sandbox, opens the "
		"log, and prints what\n"
		"is enforced on this machine. ok: works. note: works with restrictions. absent: an "
		"optional program\n"
		"is missing. BROKEN: agents cannot run; the exit code is 1.\n"
		"\n"
		"Examples:\n"
		"  thole doctor\n"
		"  thole doctor --json | jq -r 'select(.result != \"ok\") | .text'\n",
	.options = doctor_options,
	.run = run_doctor,
};
