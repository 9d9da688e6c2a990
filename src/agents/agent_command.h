/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_command.h - tools that an agent file declares: programs, functions of
 * its script, and agents of its team.
 *
 * In the file they stand under `tools` as mappings, beside the names of built-in
 * tools; in a definition (the log's, an API's) under `commands`.  The program
 * gets the call's arguments as JSON on its standard input (tools/command.c), a
 * function as a table (script/callbacks.h); a function only computes, so its class
 * is R.  An agent works on the call in a session of its own (driver/delegate.h),
 * which the call's effect id names: class K.  Of several (`agents`) the call
 * names the one, and it may go on with what an earlier call began.
 */
#ifndef TH_AGENTS_AGENT_COMMAND_H
#define TH_AGENTS_AGENT_COMMAND_H

#include "base/field.h"
#include "events/event.h"
#include "events/native.h"

/* The tool that looks at tasks in the background; an agent has it whose tools may do some there. */
#define TH_BACKGROUND_TOOL "background"

struct th_agent_command {
	struct th_str name, description;
	struct th_str parameters; /* raw: JSON Schema of its arguments; empty: any object */
	struct th_str format;     /* raw: its argument is a text, see below */
	struct th_strs command;   /* argv; or */
	struct th_str script;     /* a function of the agent's script; or */
	struct th_str agent;      /* one of the team; or */
	struct th_strs agents;    /* those of the team that a call may name */
	int64_t turns;            /* of that; 0: TH_DELEGATE_TURNS_DEFAULT */
	int64_t tokens;           /* of one call; 0: what its budget leaves */
	double cost_usd;          /* the same */
	struct th_objects limits; /* struct th_agent_task_limit: of some of `agents` */
	int64_t budget;           /* enum th_delegate_budget */
	bool background;          /* of `agents`: a call may ask not to be waited for */
	int64_t timeout_s;        /* 0: limits.command_seconds */
	int64_t class;            /* index of th_command_class */
	bool approve;             /* a person must approve each call */
};

/* What is left to the caller is divided by its calls of an answer that are agents; or they draw on
 * it together. */
enum th_delegate_budget { TH_BUDGET_DIVIDED, TH_BUDGET_SHARED };

extern const struct th_table th_agent_command_table;

/* What a task of one of several agents may take, within what the tool gives. */
#define TH_FIELDS_agent_task_limit(F)                                                        \
	F(agent_task_limit, str, agent, "agent", TH_REQ | TH_NONEMPTY, "one of agents")      \
	F(agent_task_limit, int, turns, "turns", TH_POSITIVE, "maximum number of its turns") \
	F(agent_task_limit, num, cost_usd, "cost_usd", TH_POSITIVE, "price of a task in US dollars")
TH_STRUCT(agent_task_limit)
extern const struct th_table th_agent_task_limit_table;
/* That of one agent, or NULL. */
const struct th_agent_task_limit *th_agent_task_limit_of(const struct th_agent_command *c,
							 struct th_str agent);

/* An agent, or one of several, does the work. */
static inline bool th_agent_command_delegates(const struct th_agent_command *c)
{
	return c->agent.len > 0 || c->agents.count > 0;
}

/* Arguments of a tool that is several agents. */
#define TH_FIELDS_agent_task(F)                                                                \
	F(agent_task, str, prompt, "prompt", TH_REQ | TH_NONEMPTY,                             \
	  "what is to be done; the "                                                           \
	  "agent sees nothing else")                                                           \
	F(agent_task, str, subagent_type, "subagent_type", TH_NONEMPTY,                        \
	  "which agent does it; "                                                              \
	  "default: the first")                                                                \
	F(agent_task, str, resume, "resume", TH_NONEMPTY,                                      \
	  "id of an earlier task (task_…) to go on with: its agent has seen what it did then") \
	F(agent_task, bool, background, "background", 0,                                       \
	  "true: do not wait; you go on at once, and are told when it is over")                \
	F(agent_task, str, description, "description", 0, "a few words, for people")
TH_STRUCT(agent_task)
extern const struct th_table th_agent_task_table;

/* What the file calls read, keyed, write or irreversible. */
enum th_class th_agent_command_class(const struct th_agent_command *c);
/* Its schema: the one given, or that of any object; of a text {"input": the text}; of several
 * agents th_agent_task_table with their names, in `a`. */
struct th_str th_agent_command_schema(const struct th_agent_command *c, struct th_arena *a);

/*
 * A tool whose argument is a text as the model writes it.  Its format is JSON:
 * "text", or a grammar that the text must follow, {"type":"grammar",
 * "syntax":"lark"|"regex","definition"}.  A model without such tools calls a
 * function with the one argument "input".
 */
/* TH_EUSAGE ("must be …"), or why it is no JSON. */
TH_NODISCARD enum th_code th_text_format_check(struct th_str format, struct th_err *err);
struct th_tool_native th_text_native(struct th_str format); /* borrows */
struct th_str th_text_schema(void);

/*
 * What the table cannot say: names that models can call and that are not taken,
 * a program, a schema that is an object.  TH_EUSAGE: `path` says where
 * ("commands[1].name") and err what ("must be …").
 */
TH_NODISCARD enum th_code th_agent_commands_check(const struct th_objects *commands,
						  const char *const *taken, struct th_buf *path,
						  struct th_err *err);
/* The one of that name, or NULL. */
const struct th_agent_command *th_agent_command_find(const struct th_objects *commands,
						     struct th_str name);

#endif
