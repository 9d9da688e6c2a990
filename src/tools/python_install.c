/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_install.c - packages for the tool `python`, by pip, into a folder of
 * the workspace that its kernel looks in.
 *
 * A call needs a person's approval, who sees the names.  A package is a
 * name with versions; no address, no path and no option of pip.  Without a
 * network for the session there is nothing to install from, and pip says so.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "tools/sh.h"

#define TH_FIELDS_python_install(F)                                                    \
	F(python_install, strs, packages, "packages", TH_REQ | TH_NONEMPTY,            \
	  "Names of the package index, each with versions if need be: 'numpy>=1.24'.") \
	F(python_install, int, timeout_s, "timeout_s", TH_NONEG,                       \
	  "End it after so many seconds; 0: the longest that a command may run.")

TH_STRUCT(python_install)
extern const struct th_table th_python_install_table;
TH_TABLE(python_install, "arguments of python_install", false)

/* -I: neither the workspace nor the environment changes what pip is. */
static const char *const pip[] = { "python3",
				   "-I",
				   "-m",
				   "pip",
				   "install",
				   "--target",
				   ".thole-python",
				   "--upgrade",
				   "--no-input",
				   "--no-cache-dir",
				   "--disable-pip-version-check",
				   "--progress-bar",
				   "off",
				   "--" };

struct install {
	struct th_tool_job *job;
	struct th_sh *sh;
	struct th_clip clip;
};

static void install_free(struct install *i)
{
	th_clip_deinit(&i->clip);
	free(i);
}

static void on_ended(void *ctx, const struct th_sh_end *end)
{
	struct install *i = (struct install *)ctx;
	struct th_tool_job *job = i->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	enum th_outcome_status status = end->status;

	if (status == TH_OUTCOME_DONE && (end->exit.signalled || end->exit.code != 0))
		status = TH_OUTCOME_FAILED;
	if (status != TH_OUTCOME_DONE)
		th_buf_add_cstr(&text, TH_ERROR_MARK);
	th_clip_text(&i->clip, &text);
	if (text.len > 0 && text.ptr[text.len - 1] != '\n')
		th_buf_add_char(&text, '\n');
	if (end->ending != TH_SH_ITSELF)
		th_buf_add_cstr(&text, "[the installation was ended before it was done]");
	else if (status == TH_OUTCOME_DONE)
		th_buf_add_cstr(&text, "[installed; `python` finds it, a package that was loaded "
				       "already after a restart]");
	else
		th_buf_printf(&text, "[pip failed with exit code %d]", end->exit.code);
	install_free(i);
	th_tool_text(job, status, th_buf_str(&text), TH_STR(""));
}

static bool is_package(struct th_str p)
{
	static const char word[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "._-[],<>=!~ ";
	const size_t alphanumeric = 62;

	if (p.len == 0 || p.len > TH_PYTHON_PACKAGE_MAX || !memchr(word, p.ptr[0], alphanumeric))
		return false;
	for (size_t i = 0; i < p.len; i++)
		if (!memchr(word, p.ptr[i], sizeof(word) - 1))
			return false;
	return true;
}

static enum th_code make_argv(struct th_tool_job *job, const struct th_strs *packages,
			      const char ***ret, struct th_err *err)
{
	const char **argv;

	if (job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there is no Python");
	if (packages->count > TH_PYTHON_PACKAGES_MAX)
		return th_fail(err, TH_ELIMIT, "at most %d packages at once",
			       TH_PYTHON_PACKAGES_MAX);
	argv = (const char **)th_arena_array(job->arena, TH_COUNT(pip) + packages->count + 1,
					     sizeof(*argv));
	if (!argv)
		return th_fail(err, TH_ELIMIT, "the names are too long");
	memcpy(argv, pip, sizeof(pip));
	for (size_t i = 0; i < packages->count; i++) {
		if (!is_package(packages->list[i]))
			return th_fail(err, TH_EUSAGE,
				       "'%.*s' is no name of a package: letters, digits, . _ - and "
				       "versions; no address, path or option",
				       TH_FMT(th_str_sub(packages->list[i], 0, 80)));
		argv[TH_COUNT(pip) + i] = th_arena_cstr(job->arena, packages->list[i]);
	}
	*ret = argv;
	return TH_OK;
}

static void start(struct th_tool_job *job)
{
	const struct th_python_install *a = (const struct th_python_install *)job->args;
	struct th_err err = {};
	const char **argv = NULL;

	if (make_argv(job, &a->packages, &argv, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	struct install *i = (struct install *)th_alloc(sizeof(*i));
	i->job = job;
	th_clip_init(&i->clip, TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_sh_spec spec = { .argv = argv,
				   .timeout_ms = th_tool_timeout_ms(job, a->timeout_s),
				   .out = &i->clip,
				   .ended = on_ended,
				   .ctx = i };
	if (th_sh_start(job, &spec, &i->sh, &err)) {
		install_free(i);
		th_tool_fail(job, TH_OUTCOME_NOT_STARTED, &err);
		return;
	}
	job->state = i;
}

static void cancel(struct th_tool_job *job)
{
	th_sh_cancel(((struct install *)job->state)->sh);
}

const struct th_tool th_tool_python_install = {
	.name = "python_install",
	.description = "Install packages of the Python package index for the tool python. Each "
		       "call is approved "
		       "by a person.",
	.class = TH_CLASS_W,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ANY },
	.ask = true,
	.arguments = &th_python_install_table,
	.start = start,
	.cancel = cancel,
};
