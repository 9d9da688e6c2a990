/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - thole exec: the executor of a session and its display role.  Both
 * are started by thole itself (exec_client/start.c) and take their orders
 * over an inherited socket; nothing here is meant for people.
 */
#include "cli/cli.h"
#include "executor/executor.h"

int th_cli_exec(int argc, char **argv)
{
	return th_exec_role(argc, argv);
}
