/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h - the agents of one agent file, as far as the fold must know them:
 * who may hand over to whom, which checks there are, and what ends a run.
 *
 * Resolved once from the definition that session_created stores; a session of
 * one plain agent shares th_team_plain and keeps nothing.  Everything that is
 * an index into a list here stays the same for the life of the log.
 */
#ifndef TH_AGENTS_TEAM_H
#define TH_AGENTS_TEAM_H

#include "agents/agent.h"
#include "agents/hook.h"

/* The lines around the records of a nested history (transcript/nest.h). */
struct th_nest_markers {
	struct th_str start, end;
};
#define TH_NEST_START "<CONVERSATION HISTORY>"
#define TH_NEST_END "</CONVERSATION HISTORY>"

struct th_handoff {
	size_t to;          /* index of the agent */
	struct th_str tool; /* name of the function that the model calls */
	struct th_str description;
	struct th_str filter; /* code that narrows the history; empty: none */
	bool nest;            /* the history becomes one text: transcript/nest.h */
	struct th_str mapper; /* code that does so in its own form; empty: none */
	struct th_str schema; /* of the call's arguments: by default an object without members */
	bool told;            /* it was given: arguments are held to it, and are in the event */
	bool strict;          /* it is in the strict subset */
};

/* A tool that is an agent, or several. */
struct th_delegate {
	struct th_str tool;
	size_t *to;           /* indexes of the agents */
	struct th_strs names; /* as a call names them, as many as `to` has */
	bool background;      /* it may work in the background */
};
/* Index of the agent that a call names; empty: the first; -1: there is none. */
int th_delegate_to(const struct th_delegate *d, struct th_str name);

struct th_guardrail {
	struct th_str name;
	enum th_guard_stage stage;
	bool blocking;
	struct th_strs tools; /* empty: all */
	/* A hook: asked of this program, and not of the agent's code.  Those of the first agent are
	 * asked about every agent of the team. */
	const struct th_hook_program *program;
	bool once;  /* before the session's first request alone */
	bool alike; /* what it says of a tool is for what does the same, or reads its results */
};

enum th_tool_use { TH_USE_AGAIN, TH_USE_FIRST, TH_USE_NAMES, TH_USE_CODE };

/* What is said instead of a failure. */
enum th_instead { TH_INSTEAD_MAX_TURNS, TH_INSTEAD_REFUSAL, TH_INSTEAD_INVALID, TH_INSTEAD_COUNT };
const char *th_instead_name(enum th_instead i);
struct th_instead_output {
	struct th_str text; /* .ptr NULL: nothing is said */
	bool in_history;
};

struct th_member {
	struct th_str name;
	struct th_strs fallback; /* models asked, in order, when its own gives no answer */
	struct th_handoff *handoffs;
	size_t handoff_count;
	struct th_delegate *delegates;
	size_t delegate_count;
	struct th_guardrail *guards;
	size_t guard_count;
	const struct th_hook_program *programs; /* of its own hooks, if it is not the first */
	size_t program_count;
	uint32_t guard_masks[TH_GUARD_STAGE_COUNT]; /* bit i: guards[i] is of that stage */
	uint32_t guard_blocking;
	enum th_tool_use tool_use;
	struct th_strs stop_at;      /* USE_NAMES */
	struct th_str tool_use_fn;   /* USE_CODE */
	struct th_str output_schema; /* JSON; empty: plain text */
	int64_t output_retries;
	bool reset_tool_choice, unknown_tool_fails;
	struct th_instead_output instead[TH_INSTEAD_COUNT];
};

struct th_team {
	struct th_member *members; /* [0]: who begins */
	size_t count;
	struct th_nest_markers markers;
	const struct th_hook_program *programs; /* of the first agent's hooks, all of them */
	size_t program_count;
};

/* One agent that does nothing of all this.  Its name is empty: the session knows it. */
extern const struct th_team th_team_plain;

/*
 * Resolves a definition (an agent file's object, or what session_created
 * stores).  Names, types and numbers are checked; whether code of a name
 * exists is not.  Everything in `a`; th_team_plain where nothing asks for
 * more.  TH_EUSAGE: one sentence; TH_ELIMIT: too many, or the arena is full.
 */
TH_NODISCARD enum th_code th_team_resolve(const struct th_json *definition, struct th_arena *a,
					  const struct th_team **ret, struct th_err *err);

/* The definition of one agent of the team, as it was given: [0] is the file's own. */
const struct th_json *th_team_definition(const struct th_json *definition, size_t index);
/*
 * The same as th_agent.
 * Strings are borrowed from the document and `a`.
 */
TH_NODISCARD enum th_code th_team_agent(const struct th_json *definition, size_t index,
					struct th_arena *a, struct th_agent *ret,
					struct th_err *err);

/* Index of the handoff that a function of this name means, or -1. */
int th_member_handoff(const struct th_member *m, struct th_str tool);
/* The result of this tool is the final output: stop_at has its name. */
bool th_member_stops_at(const struct th_member *m, struct th_str tool);
/* The same of a tool that is an agent. */
const struct th_delegate *th_member_delegate(const struct th_member *m, struct th_str tool);
/* Those of one stage that look at this tool; at results of TH_BACKGROUND_TOOL also those, `alike`,
 * that look at results of a tool which may work in the background. */
uint32_t th_member_tool_guards(const struct th_member *m, enum th_guard_stage stage,
			       struct th_str tool);
int th_team_find(const struct th_team *t, struct th_str name); /* or -1 */

#endif
