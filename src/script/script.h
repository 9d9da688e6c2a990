/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script.h - the parts of an agent that are code, in Lua 5.4: one state, in a
 * box.
 *
 * A script computes; it has no file, network, process, clock or chance, no
 * bytecode and no debug library, and what it is given and gives back crosses as
 * JSON.  It is held by three caps: memory (our allocator), instructions (which
 * count what Lua executes, bytes that are allocated or compared, and steps of a
 * pattern), and, behind these, time.  A cap that is passed stops the script for
 * good: pcall, coroutines and to-be-closed values cannot go on after it, and
 * every later call is refused with the same sentence.
 *
 * States share nothing.  A state is cheap (docs/SCRIPTS.md has the figure), so
 * run/ makes one for each call: a script has no memory of its own that a crash
 * could lose or one session could show to another.
 *
 * One thread at a time; any thread.
 */
#ifndef TH_SCRIPT_SCRIPT_H
#define TH_SCRIPT_SCRIPT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct th_script;

/* 0: the maximum of base/limits.h, which is also the most that may be asked for. */
struct th_script_limits {
	size_t memory;        /* bytes */
	int64_t instructions; /* of the source's own run, and of each call */
	int64_t wall_ms;      /* the same, in real time */
};

/*
 * Compiles the source and runs it once: it defines functions.  `name` stands in
 * errors ("agent.yaml:script").  TH_EUSAGE: it cannot be compiled, or fails;
 * TH_ELIMIT, TH_ETIMEOUT: a cap; the sentence names the line where there is one.
 */
TH_NODISCARD enum th_code th_script_new(struct th_str name, struct th_str source,
					const struct th_script_limits *limits, /* may be NULL */
					struct th_script **ret, struct th_err *err);
struct th_script *th_script_free(struct th_script *s); /* takes NULL, returns NULL */

/* Is there a global function of that name? */
bool th_script_has(struct th_script *s, const char *function);

/*
 * Calls a global function.  `arguments`: a JSON array, one value per argument.
 * Its first result is appended to `out` as JSON; nil is null.  TH_ENOENT: no
 * such function; TH_EPROTO: it raised an error, or its result is no JSON value;
 * TH_ELIMIT, TH_ETIMEOUT: a cap.  On failure `out` is as it was.
 */
TH_NODISCARD enum th_code th_script_call(struct th_script *s, const char *function,
					 struct th_str arguments, struct th_buf *out,
					 struct th_err *err);

/* What it printed, for people; cut at TH_SCRIPT_SAID_MAX. */
struct th_str th_script_said(const struct th_script *s);

#endif
