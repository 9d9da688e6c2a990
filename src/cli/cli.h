/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - the table of the subcommands, each a row here and a file.
 */
#ifndef TH_CLI_CLI_H
#define TH_CLI_CLI_H

#include "console/console.h"

extern const struct th_command *const th_commands[]; /* NULL-terminated */
const struct th_command *th_command_find(struct th_str name);

/* Says that there is no such command, and which is meant; the exit code. */
int th_command_unknown(struct th_str name);

extern const struct th_command th_command_run, th_command_resume, th_command_approve,
    th_command_answer, th_command_reject, th_command_settle, th_command_cancel, th_command_sessions,
    th_command_log, th_command_fork, th_command_delete, th_command_usage, th_command_computer,
    th_command_models, th_command_doctor, th_command_demo, th_command_plumb, th_command_exec,
    th_command_completion, th_command_help, th_command_version, th_command_export,
    th_command_import, th_command_serve, th_command_fleet, th_command_token, th_command_mcp,
    th_command_store;

/* plumb.c: route, decode, encode, patch; argv[0] is the part's name */
int th_cli_plumb(int argc, char **argv);
/* docs.c: the reference pages */
int th_cli_docs(int argc, char **argv);

/* The overview of help, to standard output (help.c). */
TH_NODISCARD enum th_code th_cli_overview(struct th_err *err);

/* The store, or one session of it, checked; what is found is printed (log.c). */
int th_cli_verify(struct th_store *store, struct th_str session_id, bool json);

#endif
