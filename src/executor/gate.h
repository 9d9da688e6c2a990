/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - the executors of this machine for runtimes on others: one process that listens for
 * TLS, of which both ends have a certificate of the fleet's authority.
 *
 * A connection is for one session.  Its first message is the hello of wire/exec.h; the gate finds
 * the executor by the session and its store, puts that executor's token in, and passes all else
 * on unread.  So there is one protocol, and the executor checks every epoch itself.  It starts
 * none: where none runs the answer is the error "not_found".  A guest (epoch 0) may only look on.
 *
 * Executors outlive it.  SIGHUP reads the certificates again, for connections that come then.
 */
#ifndef TH_EXECUTOR_GATE_H
#define TH_EXECUTOR_GATE_H

#include "base/err.h"
#include "base/str.h"

struct th_exec_gate_options {
	struct th_str listen;        /* HOST:PORT */
	const char *cert, *key, *ca; /* PEM files */
	bool quiet;                  /* no line for each connection */
	size_t connections;          /* 0: TH_EXEC_GATE_MAX */
};

/* Runs until SIGTERM or SIGINT.  TH_EUSAGE: an option or a file is wrong. */
TH_NODISCARD enum th_code th_exec_gate(const struct th_exec_gate_options *o, struct th_err *err);

#endif
