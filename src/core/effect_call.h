/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effect_call.h - an effect on its way from the driver to the executor, and
 * what comes back.
 *
 * The driver makes the call from a durable INTENT.  The executor's client sends
 * it as a frame (wire/exec.h); in the executor it becomes a job for the tool
 * (tools/tool.h), because the tool may know neither the epoch nor the journal.
 */
#ifndef TH_CORE_EFFECT_CALL_H
#define TH_CORE_EFFECT_CALL_H

#include "core/batch.h"
#include "events/event.h"

/* All strings are borrowed; a function that needs them longer copies them. */
struct th_effect_call {
	struct th_str effect_id; /* random, of the INTENT; class R: any id unique in this run */
	enum th_class class;     /* never L */
	struct th_str tool;      /* "shell", ..., "computer" */
	struct th_str arguments; /* JSON object; computer: th_exec_computer of wire/exec.h */
	struct th_str digest;    /* SHA-256 of tool and arguments, hex */
	int64_t timeout_ms;      /* 0: the tool's own */
	int64_t epoch; /* of its INTENT: ours, or an earlier owner's; 0: the connection's */
	/* The journal that the INTENT names: no other executor accepts the call, or proves by
	 * absence that it was not started.  Empty (a caller without an INTENT): any. */
	struct th_str journal;
	/* What people said of hosts that net does not list: th_session_hosts_print; empty: as
	 * before. */
	struct th_str hosts;
	bool strict; /* net: hosts that are listed are asked about, too, unless `hosts` has them */
	bool begin;  /* settle: if the executor certainly never began it, it begins now */
};

/* A question to an analyser that is a server, or to a critic: the runtime asks it, and no executor.
 */
#define TH_ANALYSER_TOOL "analyser"

struct th_effect_result {
	enum th_outcome_status status;
	struct th_str output;        /* JSON for the model: a string, or a list of parts */
	struct th_str evidence;      /* JSON object or empty */
	const struct th_blob *blobs; /* pictures and long texts that the output names */
	size_t blob_count;
	int64_t elapsed_ms; /* in the executor, from ACCEPTED on; 0: not known */
	bool reattached;    /* the answer came from the journal, or after a reconnect */
	enum th_code code;  /* NOT_STARTED: why (TH_EFENCED, TH_ECONN, TH_ELIMIT ...), else TH_OK */
	struct th_str why;  /* with a code: its sentence */
	unsigned origins;   /* bits (agents/origin.h) beside those of its tool */
	struct th_str fails; /* why the run ends with it; empty: it goes on */
};

#endif
