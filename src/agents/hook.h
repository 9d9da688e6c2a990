/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - hooks that are programs, or questions to a model, in the form of OpenHands' hooks.json.
 *
 *	{"pre_tool_use": [{"matcher": "terminal", "hooks": [{"command": "./check.sh"}]}]}
 *
 * A program gets an object on its standard input.  Exit status 0: all is well; 2: it refuses;
 * anything else: it has failed.  What it writes may be an object {decision, reason,
 * additionalContext, continue, updatedInput}.  A model is asked by a policy in words, and its
 * answer is as such an object.
 *
 * Here is what is pure: reading them, which tools one looks at, what one is given, and what its
 * end means.  The fold waits for them as for guardrails (agents/team.h); guards/program.c runs
 *them.
 */
#ifndef TH_AGENTS_HOOK_H
#define TH_AGENTS_HOOK_H

#include "base/field.h"
#include "base/json.h"
#include "base/regex.h"

/* id, name in files and events, name on the standard input */
#define TH_HOOK_EVENTS(X)                                               \
	X(PRE_TOOL_USE, "pre_tool_use", "PreToolUse")                   \
	X(POST_TOOL_USE, "post_tool_use", "PostToolUse")                \
	X(USER_PROMPT_SUBMIT, "user_prompt_submit", "UserPromptSubmit") \
	X(SESSION_START, "session_start", "SessionStart")               \
	X(SESSION_END, "session_end", "SessionEnd")                     \
	X(STOP, "stop", "Stop")
#define X(id, name, pascal) TH_HOOK_ON_##id,
enum th_hook_event { TH_HOOK_EVENTS(X) TH_HOOK_EVENT_COUNT };
#undef X
const char *th_hook_event_name(enum th_hook_event e);

struct th_hook_program {
	enum th_hook_event event;
	struct th_str name;             /* "pre_tool_use 1": unique in an agent */
	struct th_str matcher;          /* of tools; empty: all */
	const struct th_regex *pattern; /* NULL: the matcher is a name, or there is none */
	bool asks;                      /* a model, by a policy; else it is a program */
	bool looks;                     /* that model has tools, to look before it decides */
	bool any_tool;                  /* all that the agent has and that only look; else: */
	struct th_strs tools;
	int64_t turns;         /* how many answers it has for that */
	struct th_str command; /* for sh, or the policy */
	int64_t timeout_s;
	bool async; /* nobody waits for it */
	bool fails; /* where it fails, that stands for a no */
};

/*
 * Reads the value of one event: a list of {matcher, hooks: [{type: command, command, timeout,
 * async}, {type: prompt, prompt, timeout}, {type: agent, prompt, system_prompt, tools,
 * max_iterations, timeout}]}.  Appends to `list`, which has room for `max`.
 * TH_EUSAGE says where and what; TH_ELIMIT: there are too many, or the arena is full.
 */
TH_NODISCARD enum th_code th_hooks_read(enum th_hook_event event, const struct th_json *v,
					struct th_arena *a, struct th_hook_program *list,
					size_t *count, size_t max, struct th_err *err);
/*
 * A hooks.json: members with either of their names, in an object "hooks" or not.  Writes a list per
 * event, where it has one.  TH_EUSAGE: another member.
 */
TH_NODISCARD enum th_code th_hooks_file_read(const struct th_json *file,
					     const struct th_json *ret[static TH_HOOK_EVENT_COUNT],
					     struct th_err *err);

/* By any of the names that a tool goes by, here and in OpenHands; `alike`: or by those of tools
 * that do the same (rules/tool_names.h). */
bool th_hook_matches(const struct th_hook_program *h, struct th_str tool, bool alike);

/* What a program is told; raw members are JSON, empty: null. */
struct th_hook_input {
	enum th_hook_event event;
	struct th_str session, folder;
	struct th_str tool, message;              /* texts */
	struct th_str arguments, response, extra; /* raw */
};
void th_hook_input_print(const struct th_hook_input *in, struct th_jw *w);

/* How a program ended. */
struct th_hook_end {
	bool exited; /* by itself, with `status` */
	int64_t status;
	struct th_str why; /* not exited: a sentence */
	struct th_str out, err;
};

struct th_hook_verdict {
	bool refused;            /* it says no */
	bool failed;             /* it said nothing that can be used; `reason` says why */
	struct th_str reason;    /* never empty where it is refused or failed */
	struct th_str context;   /* for the model; empty: nothing */
	struct th_str arguments; /* of pre_tool_use, raw: to run with these; empty: as they are */
};
/* Strings in the arena or borrowed. */
struct th_hook_verdict th_hook_judge(const struct th_hook_program *h, const struct th_hook_end *end,
				     struct th_arena *a);

#endif
