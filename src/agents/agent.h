/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - what an agent is: the typed form of an agent file, of the
 * definition that session_created stores, and of what the core asks about
 * tools.  Pure data; config/config.c reads files, runtime/registry.c resolves tools.
 */
#ifndef TH_AGENTS_AGENT_H
#define TH_AGENTS_AGENT_H

#include "agents/agent_command.h"
#include "agents/agent_mcp.h"
#include "agents/skill.h"
#include "base/field.h"
#include "base/geom.h"
#include "events/effect.h"
#include "events/event.h"
#include "events/native.h"
#include "rules/net_rule.h"
#include "rules/risk.h"
#include "rules/rule.h"

#define TH_FIELDS_agent_limits(F)                                                                 \
	F(agent_limits, int, turns, "turns", TH_POSITIVE, "model turns of one task; default 100") \
	F(agent_limits, int, tokens, "tokens", TH_POSITIVE,                                       \
	  "input and output tokens of the session; the run also stops when a server does not "    \
	  "report tokens")                                                                        \
	F(agent_limits, num, cost_usd, "cost_usd", TH_POSITIVE,                                   \
	  "price of the session in US dollars; the price of every model must be known")           \
	F(agent_limits, int, seconds, "seconds", TH_POSITIVE,                                     \
	  "running time of one task; checked before each request")                                \
	F(agent_limits, int, model_attempts, "model_attempts", TH_POSITIVE,                       \
	  "attempts per turn; default 5")                                                         \
	F(agent_limits, int, parallel_calls, "parallel_calls", TH_POSITIVE,                       \
	  "calls that run at the same time; default: all calls of an answer")                     \
	F(agent_limits, int, parallel_agents, "parallel_agents", TH_POSITIVE,                     \
	  "agents that are tools and work at the same time, the others wait; default 10, at "     \
	  "most 100")                                                                             \
	F(agent_limits, int, command_seconds, "command_seconds", TH_POSITIVE,                     \
	  "maximum duration of a command, seconds; default 120")

#define TH_FIELDS_agent_computer(F)                                                                \
	F(agent_computer, str, kind, "kind", TH_REQ,                                               \
	  "kind of computer, such as desktop; run --help lists them")                              \
	F(agent_computer, int, width, "width", TH_POSITIVE, "pixels; desktop: default 1280")       \
	F(agent_computer, int, height, "height", TH_POSITIVE, "pixels; desktop: default 800")      \
	F(agent_computer, str, display, "display", 0, "x11: the display, such as :0")              \
	F(agent_computer, str, bus, "bus", TH_NONEMPTY,                                            \
	  "x11, omni+MODEL: accessibility bus of the display's programs: an address "              \
	  "(unix:path=…), or display for the one that the display names (AT_SPI_BUS); default: " \
	  "AT_SPI_BUS_ADDRESS, else none")                                                         \
	F(agent_computer, str, parser, "parser", TH_NONEMPTY,                                      \
	  "omni+MODEL: URL of an OmniParser server; default: OMNIPARSER_BASE_URL, else none")      \
	F(agent_computer, str, ocr, "ocr", TH_NONEMPTY,                                            \
	  "omni+MODEL: path of an OCR program that is called like tesseract; default: tesseract")  \
	F(agent_computer, raw, options, "options", 0,                                              \
	  "an object: options that only this kind of computer has")                                \
	F(agent_computer, raw, start, "start", 0,                                                  \
	  "desktop: a list of commands to start, each run by sh in the workspace; the first "      \
	  "screenshot waits until each program has shown a window; a program without a window is " \
	  "{run: COMMAND, window: false}")                                                         \
	F(agent_computer, int, start_wait_s, "start_wait_s", TH_POSITIVE,                          \
	  "desktop: maximum time to wait for these windows, seconds; default 10, at most 60")

struct th_agent_model_settings {
	double temperature, top_p; /* -1: not set; see TH_SETTINGS_UNSET */
	int64_t max_output_tokens; /* 0: the provider's */
	struct th_str effort, summary;
	struct th_str
	    tool_choice;       /* auto, required, none or a tool's name; empty: nothing is said */
	int64_t images;        /* pictures kept in a request; 0: the default */
	bool stream;           /* default true */
	int64_t idle_seconds;  /* silence that ends a request: no byte, or no whole event; 0: the
				  default */
	int64_t total_seconds; /* longest request; 0: the default */
	int64_t history;       /* enum th_history_provider_state */
	bool background;       /* the provider works on an answer without a connection */
	struct th_str store;   /* "true", "false"; empty: as the others need it */
	/* Of the agent that begins, for its whole team; see agents/provider_state.h. */
	struct th_str previous_response_id, conversation;
	struct th_str parallel_tool_calls; /* "true", "false"; empty: nothing is said */
	/* Raw objects, of `model` alone: a fallback's server may know neither.  See
	 * model_wire/frame.h.
	 */
	struct th_str extra_body, extra_headers;
};

/* What a request holds: all of the history, or what is new since the answer that the provider has
 * kept, which it names. */
enum th_history_provider_state { TH_HISTORY_FULL, TH_HISTORY_PREVIOUS };

/* For settings that are made in C: nothing set. */
#define TH_SETTINGS_UNSET .temperature = -1, .top_p = -1

TH_STRUCT(agent_limits)
TH_STRUCT(agent_computer)

/* id, name in files, events and questions: what code may watch (guards/hooks.c). */
#define TH_HOOKS(X)                 \
	X(AGENT_START, agent_start) \
	X(AGENT_END, agent_end)     \
	X(LLM_START, llm_start)     \
	X(LLM_END, llm_end)         \
	X(HANDOFF, handoff)         \
	X(TOOL_START, tool_start)   \
	X(TOOL_END, tool_end)
#define X(id, name) TH_HOOK_##id,
enum th_hook { TH_HOOKS(X) TH_HOOK_COUNT };
#undef X
const char *th_hook_name(enum th_hook h);

/* Functions of the agent's code, by their names there. */
#define TH_FIELDS_agent_hooks(F)                                                                   \
	F(agent_hooks, str, agent_start, "agent_start", TH_NONEMPTY,                               \
	  "an agent begins or continues: before its first request of a task, after a handoff and " \
	  "after a pause")                                                                         \
	F(agent_hooks, str, agent_end, "agent_end", TH_NONEMPTY,                                   \
	  "there is a final output; called before the output guardrails")                          \
	F(agent_hooks, str, llm_start, "llm_start", TH_NONEMPTY, "before a model request")         \
	F(agent_hooks, str, llm_end, "llm_end", TH_NONEMPTY, "after a model's answer")             \
	F(agent_hooks, str, handoff, "handoff", TH_NONEMPTY,                                       \
	  "another agent takes over; the hook of the agent that hands over is called")             \
	F(agent_hooks, str, tool_start, "tool_start", TH_NONEMPTY,                                 \
	  "a call is about to run; called after its guardrails and its approval")                  \
	F(agent_hooks, str, tool_end, "tool_end", TH_NONEMPTY,                                     \
	  "a call that ran has its result; called after the guardrails of the result")             \
	F(agent_hooks, bool, fail, "fail", 0,                                                      \
	  "a hook that fails ends the run, or refuses the call that it was asked about; default: " \
	  "the failure is only logged")                                                            \
	F(agent_hooks, raw, pre_tool_use, "pre_tool_use", 0,                                       \
	  "programs, before a call runs: a list of {matcher, hooks: [{command, timeout, async}]}") \
	F(agent_hooks, raw, post_tool_use, "post_tool_use", 0, "programs, after a call has run")   \
	F(agent_hooks, raw, user_prompt_submit, "user_prompt_submit", 0,                           \
	  "programs, before the model reads what a user said")                                     \
	F(agent_hooks, raw, session_start, "session_start", 0,                                     \
	  "programs, before the first request of a session")                                       \
	F(agent_hooks, raw, session_end, "session_end", 0, "programs, when a task is over")        \
	F(agent_hooks, raw, stop, "stop", 0,                                                       \
	  "programs, before an output is final; they may send the agent back")                     \
	F(agent_hooks, bool, repository, "repository", 0,                                          \
	  "read .openhands/hooks.json of the workspace when the session begins")                   \
	F(agent_hooks, bool, user, "user", 0, "read ~/.openhands/hooks.json")                      \
	F(agent_hooks, strs, files, "files", 0, "read these files of the same form")
TH_STRUCT(agent_hooks)
/* The function that watches this; empty: none, also where `h` is NULL. */
struct th_str th_agent_hook(const struct th_agent_hooks *h, enum th_hook hook);

/* An effect of unknown outcome: is the model told, or does it wait for a person's word? */
enum th_on_unknown { TH_UNKNOWN_TELL, TH_UNKNOWN_PARK };
/* The model wants it again without having looked: is it refused, or is a person asked? */
enum th_on_repeat { TH_REPEAT_REFUSE, TH_REPEAT_ASK };

/* A call of a tool that the agent does not have: is the model told, or does the run fail? */
enum th_unknown_tool { TH_UNKNOWN_TOOL_TELL, TH_UNKNOWN_TOOL_FAIL };

/* id, name in files and events, one line */
#define TH_GUARD_STAGES(X)                                                 \
	X(INPUT, "input", "what began the task, on its first turn")        \
	X(OUTPUT, "output", "the final output, before it is one")          \
	X(TOOL_INPUT, "tool_input", "a call that may run, before it does") \
	X(TOOL_OUTPUT, "tool_output", "a call's result, before the model is told")
#define X(id, name, doc) TH_GUARD_##id,
enum th_guard_stage { TH_GUARD_STAGES(X) TH_GUARD_STAGE_COUNT };
#undef X
const char *th_guard_stage_name(enum th_guard_stage s);
int th_guard_stage_find(struct th_str name); /* or -1 */

/* A check that code makes (live/callbacks.h): by its name there. */
struct th_agent_guardrail {
	struct th_str name;
	int64_t stage;        /* enum th_guard_stage */
	bool blocking;        /* input: settled before the model is asked */
	struct th_strs tools; /* tool_input, tool_output: of these; empty: of all */
};

/* What the agent says where the run would end without an answer.  Raw: a string, any other JSON
 * value, or { "output": …, "in_history": false }. */
#define TH_FIELDS_agent_instead(F)                                                             \
	F(agent_instead, raw, max_turns, "max_turns", 0, "the run reached its limit of turns") \
	F(agent_instead, raw, refusal, "refusal", 0, "the model refused to answer")            \
	F(agent_instead, raw, invalid_output, "invalid_output", 0,                             \
	  "the answer does not match output_schema")
TH_STRUCT(agent_instead)

/*
 * One condenser and its numbers: which of them it has, and what they are where nothing is said, is
 * in its row (context/condenser.h).  0 (keep_first: -1): not given.
 */
struct th_agent_condenser {
	struct th_str condenser; /* its name */
	int64_t keep;
	int64_t keep_first, max_size, max_events, attention_window, max_event_length;
};

/* Where none of the limits is given, items has TH_COMPACT_ITEMS_DEFAULT, or the condenser's own
 * numbers say when. */
struct th_agent_compact {
	struct th_agent_condenser own;
	struct th_objects condensers; /* pipeline: struct th_agent_condenser */
	struct th_str from;
	int64_t items, bytes, tokens;
	int64_t pins;
};
#define TH_COMPACT_ITEMS_DEFAULT 200
#define TH_COMPACT_KEEP_DEFAULT 100
#define TH_COMPACT_PINS_DEFAULT 32768
#define TH_COMPACT_FRESH 4 /* so great a part must be new before it is condensed again */
#define TH_COMPACT_PROVIDER "provider"    /* the condenser that its API has */
#define TH_COMPACT_PROVIDER_TOKENS 100000 /* where neither it nor the model says how many */
#define TH_COMPACT_PROGRESS 10 /* no model is asked where less than this part of all would go */

/* The agent repeats itself: the run stops, the model is told, or a person is asked. */
enum th_on_stuck { TH_ON_STUCK_STOP, TH_ON_STUCK_TELL, TH_ON_STUCK_ASK };

struct th_agent_stuck {
	int64_t rules; /* enum th_stuck_rules_id */
	int64_t then;  /* enum th_on_stuck */
};

/* Before a final output counts, the model is asked whether the task is done.  When no round is
 * left, the run stops at a limit, or finishes all the same. */
enum th_judge_then { TH_JUDGE_STOP, TH_JUDGE_FINISH };

/* A server that classifies what was said and done, as OpenHands' critics do. */
struct th_agent_critic {
	struct th_str url; /* "/classify" follows */
	struct th_str model;
	struct th_str token_env; /* the variable with its token; empty: none */
	int64_t timeout_s;       /* 0: TH_CRITIC_SECONDS_DEFAULT */
};
#define TH_CRITIC_MODEL_DEFAULT "critic-qwen3-4b"

struct th_agent_judge {
	struct th_str goal;             /* empty: what the user asked for */
	struct th_str model;            /* that judges; empty: the agent's own */
	struct th_agent_critic *critic; /* that judges instead of a model; NULL: none */
	double threshold;               /* 0: TH_JUDGE_THRESHOLD_DEFAULT */
	int64_t rounds;                 /* 0: TH_JUDGE_ROUNDS_DEFAULT */
	int64_t then;                   /* enum th_judge_then */
};
#define TH_JUDGE_THRESHOLD_DEFAULT 0.6

#define TH_OUTPUT_RETRIES_DEFAULT 2

struct th_agent {
	struct th_str name;         /* default "default" */
	struct th_str instructions; /* the system prompt */
	struct th_str model;        /* empty: -m, THOLE_MODEL or the config names it */
	struct th_strs fallback; /* models asked, in order, when the one before gives no answer */
	struct th_str base_url;  /* of `model`; empty: the environment's or the wire's own */
	struct th_agent_model_settings *settings; /* NULL: none given; like the next two */
	struct th_agent_computer *computer;
	struct th_agent_limits *limits;
	struct th_strs tools; /* names; absent: the four of DESIGN.md section 8; ["none"]: none */
	struct th_objects commands;     /* struct th_agent_command; `tools` names those it has */
	struct th_objects mcp_servers;  /* struct th_agent_mcp */
	struct th_strs approve;         /* tools whose calls a person must approve; "all" */
	struct th_strs quarantine;      /* patterns of tools whose results another request reads */
	struct th_str quarantine_model; /* who answers that; empty: the session's own */
	int64_t approve_seconds;        /* how long that is waited for; 0: for ever */
	struct th_strs environment;     /* NAME=value for commands, beside a small clean default */
	struct th_str workspace;        /* empty: the current folder */
	struct th_str secrets;          /* raw: agents/agent_secret.h */
	struct th_str net; /* raw: the network of commands and of a private desktop, th_net_parse */
	struct th_str untrusted; /* raw: agents/origin.h */
	bool net_ask;    /* a person is asked about a host that net, a list, does not have */
	int64_t unknown; /* enum th_on_unknown */
	int64_t repeat;  /* enum th_on_repeat */
	/* Next steps and teams: agents/team.h reads these. */
	struct th_str agents;              /* raw object: name -> definition of another agent */
	struct th_str handoffs;            /* raw list */
	struct th_str handoff_description; /* how other agents see it */
	struct th_str tool_use_behavior;   /* raw */
	struct th_str output_schema;       /* raw: JSON Schema of the final output */
	int64_t output_retries;            /* answers that are sent back before it fails */
	bool reset_tool_choice;
	bool nest_history; /* a handoff's new agent gets the history as one text: transcript/nest.h
			    */
	struct th_str history_mapper;   /* the code that does so in its own form; empty: none */
	struct th_strs history_markers; /* of the first agent: the lines around that text */
	struct th_objects guardrails;   /* struct th_agent_guardrail */
	bool guards_alike; /* of the first agent, set when a session begins: th_guardrail.alike */
	struct th_agent_instead *instead;
	struct th_str output_withheld; /* what stands for results that an output guardrail
					  refused; empty: TH_OUTPUT_WITHHELD */
	int64_t unknown_tool;          /* enum th_unknown_tool */
	struct th_objects rules;       /* struct th_agent_rule, the first that matches decides */
	struct th_str approve_from; /* the code that says whether a person is asked; empty: none */
	struct th_str script;       /* Lua: the code of the agent and its team */
	struct th_str script_file;  /* where it is from; config.c reads it into script */
	struct th_str instructions_from; /* the code that gives the instructions; empty: none */
	struct th_str hosted_tools;      /* raw list: tools that the provider runs itself */
	struct th_strs native_tools;     /* of ours, offered as a provider's own */
	struct th_str input_filter;      /* the code that narrows each request; empty: none */
	int64_t history_items;           /* of before the task that are sent; 0: all */
	int64_t result_bytes; /* of a result that the model is shown; 0: TH_RESULT_SHOWN_DEFAULT */
	struct th_str decide_from; /* the code that decides before a person is asked; empty: none */
	struct th_agent_hooks *hooks;     /* who watches this agent; NULL: nobody */
	struct th_agent_hooks *run_hooks; /* of the first agent: who watches all of the team */
	struct th_str session_input;      /* the code that says what a task begins with */
	struct th_agent_compact
	    *compact;                 /* what replaces a history that is too long; NULL: nothing */
	struct th_agent_stuck *stuck; /* of the first agent; NULL: nobody looks */
	struct th_agent_judge *judge; /* of the first agent; NULL: nobody judges */
	struct th_agent_confirm *confirm;     /* NULL: the risk of a call makes nobody ask */
	struct th_agent_skills *skills;       /* of the first agent; NULL: none */
	struct th_agent_subagents *subagents; /* of the first agent; NULL: none are read */
	struct th_strs labels; /* of the first agent: what its machine must have (base/label.h) */
};

extern const struct th_table th_agent_table, th_agent_limits_table, th_agent_computer_table,
    th_agent_model_settings_table, th_agent_guardrail_table, th_agent_compact_table,
    th_agent_condenser_table, th_agent_instead_table, th_agent_hooks_table, th_agent_stuck_table,
    th_agent_judge_table;
/* What is wrong with numbers that have a most, and with which: "limits.parallel_agents"; NULL:
 * nothing. */
const char *th_agent_numbers_fault(const struct th_agent *a, const char **ret_member);

/* What is wrong with the fallback list, for a sentence that begins with its element `*ret_at`;
 * NULL: nothing. */
const char *th_agent_fallback_fault(const struct th_agent *a, size_t *ret_at);

/* What is wrong with native_tools, for a sentence that begins with its element `*ret_at`; NULL:
 * nothing. */
const char *th_agent_native_fault(const struct th_agent *a, size_t *ret_at);
/* The form that such a name means. */
/* The programs of computer.start. */
struct th_agent_starts {
	struct th_strs commands;
	size_t windows; /* how many of them show one */
};

/* Of the raw value; in the arena.  TH_EUSAGE: `path` says where ("start[2].run") and err what. */
TH_NODISCARD enum th_code th_agent_starts_read(struct th_str raw, struct th_arena *a,
					       struct th_agent_starts *ret, struct th_buf *path,
					       struct th_err *err);

enum th_native th_agent_native_of(struct th_str name);
/* The name of the tool of ours that has this form; NULL: none. */
const char *th_agent_native_tool(enum th_native kind);

/* What of the settings contradicts itself, for a sentence that begins with the member *ret_member;
 * NULL: nothing. */
const char *th_agent_settings_fault(const struct th_agent_model_settings *s,
				    const char **ret_member);

/*
 * Whether the agent's output_schema is a JSON Schema of a known type, and all
 * that is said instead of an answer (`instead`) fits it: who reads its final
 * output may rely on that.  Asked before a session begins, and not of a log that
 * is there.  TH_EUSAGE: it is none, or one does not fit.
 */
TH_NODISCARD enum th_code th_agent_check_output(const struct th_agent *a, struct th_err *err);

/* The kind of a computer that the embedding program makes; never in an agent file. */
#define TH_COMPUTER_CUSTOM "custom"

#define TH_TURNS_DEFAULT 100
#define TH_ATTEMPTS_DEFAULT 5
#define TH_COMMAND_SECONDS_DEFAULT 120

/* What the core must know of a tool: how it may be run, not how. */
struct th_tool_spec {
	struct th_str name;
	struct th_str description;
	struct th_str schema; /* JSON Schema of its arguments, an object */
	enum th_class class;
	bool strict;   /* schema is in the strict subset */
	bool ask;      /* every call needs approval */
	bool question; /* a person's answer is the result of a call */
	bool last;     /* where it ends the task, no call behind it in its answer runs */
	bool hidden;   /* it can be called, but no model is told of it */
	struct th_effect_scope scope;
	const struct th_effect_looks *looks; /* its calls that only look; NULL: none of them */
	/* Its form for models that have one of their own; NULL: it is a function for all. */
	const struct th_tool_native *native;
};

#endif
