/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - thole exec: the executors of this machine for the nodes of a fleet.  The executor of a
 * session and its roles are this command, too: started by thole itself (exec_client/start.c),
 * they take their orders over an inherited socket.
 */
#include "cli/cli.h"
#include "executor/executor.h"
#include "executor/gate.h"
#include "io/files.h"

struct exec_options {
	struct th_str listen, cert, key, ca;
	bool quiet;
};

#define AT(member) offsetof(struct exec_options, member)
static const struct th_option exec_options[] = {
	{ "listen", 0, "ADDRESS", TH_OPTION_TEXT, AT(listen),
	  "where the other nodes reach executors of this one: 10.0.0.1:7712; port 0: any", NULL },
	{ "cert", 0, "FILE", TH_OPTION_TEXT, AT(cert),
	  "this node's certificate with those between it and its authority, PEM", "FILE" },
	{ "key", 0, "FILE", TH_OPTION_TEXT, AT(key), "its key, PEM", "FILE" },
	{ "ca", 0, "FILE", TH_OPTION_TEXT, AT(ca),
	  "the authority of the fleet's nodes, PEM: who has no certificate of it is refused",
	  "FILE" },
	{ "quiet", 'q', NULL, TH_OPTION_FLAG, AT(quiet), "no line for each connection", NULL },
	TH_OPTIONS_END,
};
#undef AT

/* The other uses of this command are thole's own, and have none of these words. */
static bool is_for_people(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--fd") == 0 || strcmp(argv[i], "--role") == 0)
			return false;
	return true;
}

static int run_exec(const struct th_command *self, int argc, char **argv)
{
	struct exec_options o = { 0 };
	struct th_exec_gate_options gate;
	struct th_operands rest;
	struct th_err err = {};
	enum th_code code;

	if (!is_for_people(argc, argv))
		return th_exec_role(argc, argv);
	code = th_options_parse(self, argc, argv, &o, &rest, &err);
	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	if (rest.count > 0 || !o.listen.len || !o.cert.len || !o.key.len || !o.ca.len)
		return th_cli_die(2,
				  "exec needs --listen, --cert, --key and --ca, and nothing else");
	gate = (struct th_exec_gate_options){ .listen = o.listen,
					      .cert = o.cert.ptr,
					      .key = o.key.ptr,
					      .ca = o.ca.ptr,
					      .quiet = o.quiet };
	th_fds_raise(); /* two for each connection */
	code = th_exec_gate(&gate, &err);
	return code ? th_cli_fail(&err) : 0;
}

const struct th_command th_command_exec = {
	.name = "exec",
	.operands = "",
	.summary = "executors of this machine, for the other nodes of a fleet",
	.text =
	    "A session whose node ends or dies goes on at another one. What its executor runs, a\n"
	    "command or a desktop, stays on this machine, and that node reaches it here: over "
	    "TLS,\n"
	    "of which both ends have a certificate of the same authority. See docs/FLEET.md.\n"
	    "\n"
	    "Examples:\n"
	    "  thole exec --listen 10.0.0.1:7712 --cert node.pem --key node.key --ca ca.pem\n",
	.options = exec_options,
	.run = run_exec,
};
