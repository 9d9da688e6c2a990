/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sh.h - one command line of /bin/sh in the workspace, for the tools that run
 * some.
 *
 * The text is the model's own, so it is one argument of the shell; nothing of
 * ours is ever put into it.  A program with its arguments is started by a text
 * of ours, which has nothing of the model's in it.  Whatever it starts ends with it (io/child.h),
 * unless there is a desktop: then it runs among the desktop's programs, and what
 * it leaves running lives until the desktop closes; only a timeout or a cancel
 * ends that too.
 */
#ifndef TH_TOOLS_SH_H
#define TH_TOOLS_SH_H

#include "io/child.h"
#include "tools/clip.h"
#include "tools/tool.h"

enum th_sh_ending { TH_SH_ITSELF, TH_SH_TIMEOUT, TH_SH_CANCEL };

struct th_sh_end {
	enum th_outcome_status status;
	enum th_sh_ending ending;
	struct th_child_exit exit;
};

struct th_sh_spec {
	const char *command;     /* a shell's text; lives until `ended`, as the next two; or */
	const char *const *argv; /* a program and its arguments, NULL-terminated */
	const char *folder;      /* of argv; NULL: the workspace */
	int64_t timeout_ms;
	struct th_clip *out, *err; /* err NULL: with out; on a desktop there is one stream only */
	void (*ended)(void *ctx, const struct th_sh_end *end); /* once; the th_sh is gone */
	void *ctx;
};

struct th_sh;

/* Whether it can be run here; *ret: it, in the job's arena.  TH_EUNSUPPORTED, TH_ELIMIT, TH_EUSAGE:
 * a sentence for the model. */
TH_NODISCARD enum th_code th_sh_check(struct th_tool_job *job, struct th_str command,
				      const char **ret, struct th_err *err);

/* What it writes goes to job->output too.  An error: nothing was started, `ended` does not come. */
TH_NODISCARD enum th_code th_sh_start(struct th_tool_job *job, const struct th_sh_spec *spec,
				      struct th_sh **ret, struct th_err *err);
void th_sh_cancel(struct th_sh *s); /* `ended` still comes */

#endif
