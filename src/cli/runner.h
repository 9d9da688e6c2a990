/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner.h - one session run in the foreground: shown as it goes, asked about
 * on a terminal, paused by Ctrl-C, ended with a status and an exit code.
 */
#ifndef TH_CLI_RUNNER_H
#define TH_CLI_RUNNER_H

#include "config/config.h"
#include "console/show.h"
#include "core/session.h"

struct th_job {
	const struct th_config *config;
	const struct th_common *common; /* options that the next command needs too; NULL: none */
	const struct th_agent *agent;   /* of a new session; NULL: the session exists */
	struct th_str session_id;       /* empty: one is made */
	struct th_str metadata;         /* JSON object or empty */
	struct th_str message;          /* empty: none, the session goes on; act: said with it */
	const struct th_more *more;     /* that it is given before; NULL: nothing */
	bool plan;                      /* the message begins a task in plan mode */
	bool act;                       /* a person ends plan mode */
	bool goal;      /* the message is a goal; without one: what was ended goes on */
	int64_t rounds; /* of the goal */
	enum th_output output;
	bool as_terminal; /* --view: colours and streaming text into a pipe too */
	bool no_sandbox;
	bool end_executor; /* when it has finished: nobody will come back for its desktop */
	bool no_status;    /* the caller says how it went */
};

struct th_job_result {
	char session_id[TH_SESSION_ID_MAX + 1];
	enum th_state state; /* LOADING: it did not begin */
	struct th_totals totals;
};

/* Returns the exit code; errors were printed.  `ret` may be NULL. */
int th_job_run(const struct th_job *job, struct th_job_result *ret);

#endif
