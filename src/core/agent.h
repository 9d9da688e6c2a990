/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.h - what an agent is: the typed form of an agent file, of the
 * definition that session_created stores, and of what the core asks about
 * tools.  Pure data; run/config.c reads files, run/registry.c resolves tools.
 */
#ifndef TH_CORE_AGENT_H
#define TH_CORE_AGENT_H

#include "base/field.h"
#include "base/geom.h"
#include "core/event.h"

#define TH_FIELDS_agent_limits(F)                                                                 \
	F(agent_limits, int, turns, "turns", TH_POSITIVE, "model turns of one task; default 100") \
	F(agent_limits, int, tokens, "tokens", TH_POSITIVE,                                       \
	  "input and output tokens of the session")                                               \
	F(agent_limits, num, cost_usd, "cost_usd", TH_POSITIVE,                                   \
	  "price of the session in US dollars")                                                   \
	F(agent_limits, int, seconds, "seconds", TH_POSITIVE, "running time of one task")         \
	F(agent_limits, int, model_attempts, "model_attempts", TH_POSITIVE,                       \
	  "tries per turn; default 5")                                                            \
	F(agent_limits, int, command_seconds, "command_seconds", TH_POSITIVE,                     \
	  "longest command; default 120")

#define TH_FIELDS_agent_computer(F)                                                           \
	F(agent_computer, str, kind, "kind", TH_REQ, "desktop or x11")                        \
	F(agent_computer, int, width, "width", TH_POSITIVE, "pixels; desktop: default 1280")  \
	F(agent_computer, int, height, "height", TH_POSITIVE, "pixels; desktop: default 800") \
	F(agent_computer, str, display, "display", 0, "x11: the display, such as :0")         \
	F(agent_computer, strs, start, "start", 0,                                            \
	  "desktop: commands to start on it, each run by sh in the workspace")

struct th_agent_model_settings {
	double temperature, top_p; /* -1: not set; see TH_SETTINGS_UNSET */
	int64_t max_output_tokens; /* 0: the provider's */
	struct th_str effort, summary;
	int64_t images;        /* pictures kept in a request; 0: the default */
	bool stream;           /* default true */
	int64_t idle_seconds;  /* silence that ends a request: no byte, or no whole event; 0: the
				  default */
	int64_t total_seconds; /* longest request; 0: the default */
};

/* For settings that are made in C: nothing set. */
#define TH_SETTINGS_UNSET .temperature = -1, .top_p = -1

TH_STRUCT(agent_limits)
TH_STRUCT(agent_computer)

/* The network of commands and of a private desktop. */
enum th_net { TH_NET_NONE, TH_NET_HOST };

/* An effect of unknown outcome: is the model told, or does it wait for a person's word? */
enum th_on_unknown { TH_UNKNOWN_TELL, TH_UNKNOWN_PARK };
/* The model wants it again without having looked: is it refused, or is a person asked? */
enum th_on_repeat { TH_REPEAT_REFUSE, TH_REPEAT_ASK };

struct th_agent {
	struct th_str name;         /* default "default" */
	struct th_str instructions; /* the system prompt */
	struct th_str model;        /* empty: -m, THOLE_MODEL or the config names it */
	struct th_str base_url;     /* empty: the environment's or the wire's own */
	struct th_agent_model_settings *settings; /* NULL: none given; like the next two */
	struct th_agent_computer *computer;
	struct th_agent_limits *limits;
	struct th_strs tools;   /* names; absent: the four of DESIGN.md section 8; ["none"]: none */
	struct th_strs approve; /* tools whose calls a person must approve; "all" */
	struct th_strs environment; /* NAME=value for commands, beside a small clean default */
	struct th_str workspace;    /* empty: the current folder */
	int64_t net;                /* enum th_net */
	int64_t unknown;            /* enum th_on_unknown */
	int64_t repeat;             /* enum th_on_repeat */
};

extern const struct th_table th_agent_table, th_agent_limits_table, th_agent_computer_table,
    th_agent_model_settings_table;

/* Effective values, defaults filled in. */
int64_t th_agent_turns_max(const struct th_agent *a);
int64_t th_agent_attempts_max(const struct th_agent *a);

#define TH_TURNS_DEFAULT 100
#define TH_ATTEMPTS_DEFAULT 5
#define TH_COMMAND_SECONDS_DEFAULT 120

/* What the core must know of a tool: how it may be run, not how. */
struct th_tool_spec {
	struct th_str name;
	struct th_str description;
	struct th_str schema; /* JSON Schema of its arguments, an object */
	enum th_class class;
	bool strict; /* schema is in the strict subset */
	bool ask;    /* every call needs approval */
};

#endif
