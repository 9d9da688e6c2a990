/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thole: a native runtime for agents that use computers.
 *
 * The public C API.  docs/EMBEDDING.md is the guide, examples/c/ has programs.
 *
 *	runtime   a store of sessions, an event loop, the models' servers and keys
 *	agent     what a session is run with: instructions, model, tools, computer
 *	tool      a function of this program that the model may call
 *	call      one use of a tool (or of a computer), until it is answered
 *	session   one conversation, written down event by event, which outlives the process
 *	note      what a session tells its watchers
 *
 * Binary compatibility.  All types but struct thole_error are opaque, and they are filled in by
 * functions: nothing here has a layout that could grow.  struct thole_error never changes.  Enums
 * only get new members at their end, functions never change their meaning; what breaks either
 * raises the number in the library's file name.
 *
 * Errors.  A function that can fail returns 0, or a negative enum thole_code and one sentence in
 * *err, which the caller provides; err may be NULL.  A failed function has changed nothing, and
 * leaves what its `ret` points to alone.  NULL, too long a text, text that is no UTF-8, and calls
 * in the wrong order or from the wrong thread are such errors, never crashes.  Getters have no err:
 * they answer with 0, false or NULL when there is nothing to say, also when given NULL.
 *
 * Strings are NUL-terminated UTF-8, and copied when they are given.  A string that a getter returns
 * belongs to the object asked, and lives until the next call on that object or its end, unless its
 * comment says otherwise.  What is returned through `char **` is the caller's, who gives it back by
 * thole_free.
 *
 * Threads.  A runtime, and all that is its, belongs to the thread that made it: another thread gets
 * THOLE_EUSAGE.  The functions marked "any thread" are the exceptions.  Several runtimes may live
 * in one process, each with a thread of its own, or several on one thread.  An agent belongs to no
 * thread, but may be changed by only one at a time, and not any more once a session was begun with
 * it.
 *
 * Callbacks come on the runtime's thread, from inside thole_runtime_dispatch or one of the
 * functions that wait (thole_runtime_run, thole_session_wait, thole_session_run), never from inside
 * another function.  All functions but those four and thole_runtime_free may be called in a
 * callback.
 *
 * The library handles no signals and prints nothing.  A program that writes to pipes and sockets
 * does well to ignore SIGPIPE.  It does not survive fork(): a child must not use what its parent
 * made.
 */
#ifndef THOLE_THOLE_H
#define THOLE_THOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TH_API __attribute__((visibility("default")))
#else
#define TH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct thole_runtime;
struct thole_agent;
struct thole_tool;
struct thole_call;
struct thole_session;
struct thole_note;
struct thole_watcher;
struct thole_screen;
struct thole_computer;
struct thole_reading;
struct thole_conversation;

/* Is told something (see "watching" below). */
typedef void thole_note_fn(void *ctx, struct thole_session *s, const struct thole_note *note);

/* ---- errors and the library itself ----------------------------------------------------------- */

enum thole_code {
	THOLE_OK = 0,
	THOLE_EUSAGE = -1, /* the caller asked for nonsense */
	THOLE_EPROTO = -2, /* bytes or order that do not fit: the state does not take it */
	THOLE_ELIMIT = -3, /* a maximum was passed; the sentence names it */
	THOLE_ENOMEM = -4,
	THOLE_EIO = -5,    /* the system refused */
	THOLE_ENOENT = -6, /* there is no such thing */
	THOLE_EEXIST = -7,
	THOLE_EBUSY = -8, /* another runtime has the session; the sentence names it */
	THOLE_EPERM = -9,
	THOLE_ETIMEOUT = -10,
	THOLE_ECANCELED = -11,
	THOLE_ECONN = -12,        /* could not connect, or was cut */
	THOLE_ECORRUPT = -13,     /* stored data is not what was written */
	THOLE_EUNSUPPORTED = -14, /* this build or machine cannot */
	THOLE_EFENCED = -15,      /* another runtime took the session meanwhile */
	THOLE_EDIVERGED = -16,    /* the log goes another way than this version would */
	THOLE_EPLACE = -17,       /* this machine lacks labels (thole_runtime_labels) */
	THOLE_ESETUP = -18        /* no key or address of a model's server; who runs this sets it */
};

struct thole_error {
	int code;       /* enum thole_code */
	char text[512]; /* one sentence, UTF-8, without a newline; a key is never in it */
};

/* "usage", "protocol", …; "unknown" for a number that is no code.  Static; any thread. */
TH_API const char *thole_code_name(int code);

/* The version of the library that is running, "MAJOR.MINOR.PATCH".  Static; any thread. */
TH_API const char *thole_version(void);

/* Gives back what was returned through a `char **`.  NULL is fine; any thread. */
TH_API void thole_free(char *text);

/* ---- runtimes -------------------------------------------------------------------------------- */

/*
 * Opens a store and makes a loop.  `options`: names and values in turn, ended by NULL; NULL: none.
 *
 *     store        where sessions are kept: "sqlite:PATH" (the file is made when it is not there,
 *                  its folder is not), "postgres://USER@HOST:5432/DATABASE" (the database is
 *                  there, what is in it is made) or "memory:".  Default: $THOLE_STORE, the
 *                  configuration file's, sqlite:$XDG_STATE_HOME/thole/log.db
 *     model        the model of agents that name none.  Default: $THOLE_MODEL, the configuration
 *                  file's
 *     base_url     where the model's API is, for all models.  Default: OPENAI_BASE_URL and its like
 *     api_key      the key, for all models; kept where it is never printed.  Default:
 *                  OPENAI_API_KEY and its like
 *     api_key_file or a file whose first line it is
 *     config       the configuration file.  Default: $XDG_CONFIG_HOME/thole/config.yaml
 *     models       a file of model profiles.  Default: models.yaml beside it
 *     sandbox      "auto" (the default: commands are confined as far as the machine can) or "none"
 *     program      the thole program, which runs commands and desktops.  Default: $THOLE_PROGRAM,
 *                  else "thole" in $PATH.  Any other program is ended, and its calls fail
 *
 * EUSAGE names an unknown option, and the one that may be meant.  EIO, ECORRUPT, EBUSY: the store.
 */
TH_API int thole_runtime_new(const char *const *options, struct thole_runtime **ret,
			     struct thole_error *err);

/*
 * Ends it: waits until all events are written (milliseconds), stops working on its sessions, which
 * stay in the store, and frees them all.  Commands under way go on in their executor and are found
 * again by the next runtime.  Calls that are not answered yet stay valid and their answers go
 * nowhere.  NULL is fine.  EUSAGE in a callback or on another thread: nothing is freed.
 */
TH_API int thole_runtime_free(struct thole_runtime *rt);

/*
 * Inside the caller's event loop: poll the descriptor for reading, at most the timeout (in
 * milliseconds; -1: for ever), then dispatch, which never sleeps.  The timeout is 0 when something
 * is to be done at once, such as after any other function of this header, so ask for it right
 * before polling.  The descriptor stays the same; it must not be read or closed.  -1 for NULL.
 *
 * EIO: the store failed, and what happened since the last event it has is not written.  The runtime
 * does nothing any more but to be freed.
 */
TH_API int thole_runtime_fd(const struct thole_runtime *rt);
TH_API int thole_runtime_timeout_ms(const struct thole_runtime *rt);
TH_API int thole_runtime_dispatch(struct thole_runtime *rt, struct thole_error *err);

/* Or blocking: runs until every session rests (see thole_session_wait), what was freed or handed
 * over is given back to the store, and nothing is being read beside the loop; or until somebody
 * says stop, which a stop just before counts for. */
TH_API int thole_runtime_run(struct thole_runtime *rt, struct thole_error *err);
TH_API void thole_runtime_stop(struct thole_runtime *rt); /* any thread */

/* How many sessions are open in it. */
TH_API size_t thole_runtime_sessions(const struct thole_runtime *rt);

/*
 * The sessions in the store, newest first, as a JSON list of objects: session_id, agent, model,
 * state, title, turns, calls, tokens_in, tokens_out, cost_usd, created_ms, updated_ms, parent.
 * `state`: only those, such as "waiting"; NULL: all.  `limit`: at most so many; 0: 1000.
 */
TH_API int thole_runtime_list(struct thole_runtime *rt, const char *state, size_t limit, char **ret,
			      struct thole_error *err);

/*
 * A page of the sessions in the store, newest first, as a JSON object {"sessions": [...], "next":
 * CURSOR}.  Each session has the members of thole_runtime_list, and user, metadata (an object),
 * head_seq and head (the number and the digest of its last event), parent_seq (the last event that
 * it shares with its parent), tokens_cached (of tokens_in) and cost_nano (the cost in 1e-9 US
 * dollars, exactly).  Without `next` the list ends here.  `options`: names and values in turn,
 * ended by NULL; NULL: the first page of all.
 *
 *     state     only sessions in this state, such as "waiting"
 *     user      only of this user; "local" has those that were begun without one
 *     agent     only where the agent that speaks has this name
 *     metadata  KEY=VALUE: only where the metadata's member KEY is this text, or this JSON value
 *     title     only where the title has this text; ASCII letters in either case
 *     text      the same, or where the first 4 KiB of its first task have it
 *     prefix    only those whose name begins so
 *     order     "updated" (the default: by the last event) or "created" (by the first)
 *     limit     1 to 1000 sessions in the page; default 100
 *     after     a page's `next`: the page behind it.  Give the other options as before
 *
 * In the order "created" a walk through the pages meets each session once that was there when it
 * began, whatever happens meanwhile.  In the order "updated" a session that goes on meanwhile moves
 * to the front, where the next walk meets it.  EUSAGE: no such option, value or cursor.
 */
TH_API int thole_runtime_page(struct thole_runtime *rt, const char *const *options, char **ret,
			      struct thole_error *err);

/*
 * One session of the store, as an object of a page.  `user`: only if it is this one's, and else
 * ENOENT as if it was not there; NULL: whosever it is.  A session that was begun without a user
 * belongs to "local".
 */
TH_API int thole_runtime_session(struct thole_runtime *rt, const char *session_id, const char *user,
				 char **ret, struct thole_error *err);

/*
 * The log of a session, one JSON object per event, as `thole log --json` prints them
 * (docs/EVENTS.md), from event number `from` (1: the first).  `line` is borrowed and not
 * NUL-terminated; a result other than 0 ends the reading and is returned.  The callback comes from
 * inside this function and may call nothing of this runtime.
 */
typedef int thole_line_fn(void *ctx, const char *line, size_t len);
TH_API int thole_runtime_log(struct thole_runtime *rt, const char *session_id, uint64_t from,
			     thole_line_fn *fn, void *ctx, struct thole_error *err);

/*
 * A session with its log, digests and pictures as lines, for thole_runtime_import or `thole
 * import`, in another store or on another machine.  With it come those that work for it, and of
 * what it was forked from the part that it shares, which is a stopped session there.  `line` and
 * the callback: as of thole_runtime_log; the line has no end of line.  ENOENT; ELIMIT: a picture
 * of more than 40 MiB, or in all more than 4096 sessions, 57344 events, 16384 pictures or 1 GiB;
 * ECORRUPT: a session that works for it is missing.
 */
TH_API int thole_runtime_export(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
				void *ctx, struct thole_error *err);

/*
 * Takes in those lines, each ended by a newline: every event is checked against the chain of
 * digests, every picture against its hash.  All sessions of the file are written in one
 * transaction, or none.  The session keeps its name, which *ret (it may be NULL) gets, and can be
 * opened then; what was under way is settled as after a crash.  The other copy is not told: only
 * one of them should go on.  EEXIST: the store has it.  EPROTO, ECORRUPT, ELIMIT: the sentence
 * names the line.
 */
TH_API int thole_runtime_import(struct thole_runtime *rt, const void *bytes, size_t size,
				char **ret, struct thole_error *err);

/*
 * Gives a session another title (one line, at most 80 characters) or other metadata (all of it, a
 * JSON object of at most 64 KiB), by an event of its log, in any state and whether it is open here
 * or not.  NULL: that stays as it is.  `user`: only if it is this one's, and else ENOENT; `by`: who
 * says so, for the log; both may be NULL.  EUSAGE; EBUSY: another runtime has it.  One that is not
 * open here is changed when this returns, else soon.
 */
TH_API int thole_runtime_describe(struct thole_runtime *rt, const char *session_id,
				  const char *user, const char *title, const char *metadata,
				  const char *by, struct thole_error *err);

/*
 * Deletes a session for good, and those that work for it: their events, and the pictures that no
 * other event names.  What they used stays in thole_runtime_usage.  Their executors end.  `user`:
 * only if it is this one's, and else ENOENT; NULL: whosever it is.
 *
 * EBUSY, and nothing was deleted: it is open here and does not rest; another runtime has it; a
 * session that was forked from it is there; it works for another one.  One that is open here and
 * rests is closed: its watchers are told that it is LOST, and thole_session_free is still to be
 * called.  Durable when it returns; a crash leaves the session whole or gone.  Waits while an
 * executor ends.
 */
TH_API int thole_runtime_delete(struct thole_runtime *rt, const char *session_id, const char *user,
				struct thole_error *err);

/*
 * What sessions used, as a JSON object {"by": BY, "usage": [...], "next": CURSOR}.  Each line has
 * its day, user, agent or model, and sessions (that began), turns, calls, tokens_in, tokens_cached
 * (of these), tokens_out and cost_usd.  `options`: names and values in turn, ended by NULL; NULL:
 * all by day.
 *
 *     by     "day" (the default), "user", "agent", "model" or "session"
 *     user   only of this user; "local" has those that were begun without one
 *     from   the first day, such as "2026-01-31" (UTC)
 *     to     the last day
 *     limit  by session: at most so many, 1 to 1000; default 100
 *     after  by session: the `next` of the list before
 *
 * Sums are of the day on which a session went on, and stay when it is deleted.  What a session has
 * when it comes in (a fork's past, an import) was used elsewhere; one that works for another counts
 * with that one.  By session each line has the totals of one that is there, and was last used in
 * these days: session_id, user, agent, model, title, created_ms, updated_ms and the counts. EUSAGE;
 * ELIMIT: more than 65536 lines.
 */
TH_API int thole_runtime_usage(struct thole_runtime *rt, const char *const *options, char **ret,
			       struct thole_error *err);

/* ---- agents ---------------------------------------------------------------------------------- */

/*
 * An agent without any tool and with the runtime's model.  Its name has 1 to 128 bytes.  What can
 * be set is what an agent file can hold (docs/AGENT-FILES.md); the string form is for members that
 * are text or a choice, the JSON form for every member.
 *
 *	thole_agent_set(agent, "instructions", "You are brief.", &err);
 *	thole_agent_set_json(agent, "limits", "{\"turns\": 20, \"tokens\": 500000}", &err);
 *	thole_agent_set_json(agent, "tools", "[\"shell\", \"read_file\"]", &err);
 *
 * EUSAGE: no such member, or not such a value.  EPROTO: a session was begun with the agent.
 */
TH_API int thole_agent_new(const char *name, struct thole_agent **ret, struct thole_error *err);
TH_API int thole_agent_set(struct thole_agent *agent, const char *member, const char *text,
			   struct thole_error *err);
TH_API int thole_agent_set_json(struct thole_agent *agent, const char *member, const char *json,
				struct thole_error *err);
/* Lowers its limits to those of a JSON object as of the member "limits"; one that is lower already,
 * or not named, stays.  For who may begin a session, and not say what it may cost at most. */
TH_API int thole_agent_lower(struct thole_agent *agent, const char *limits,
			     struct thole_error *err);

/* An agent file: YAML, or JSON.  One without a list of tools has those of the
 * runtime's configuration (`tools`), else those of `thole run`.  Errors
 * name the line.  For thole_agent_parse `name` stands in errors, and says which folder a relative
 * workspace is taken from. */
TH_API int thole_agent_load(const char *path, struct thole_agent **ret, struct thole_error *err);
TH_API int thole_agent_parse(const char *yaml, const char *name, struct thole_agent **ret,
			     struct thole_error *err);

/* Sessions that are run with it keep what they need: an agent may be freed any time.  NULL is fine.
 */
TH_API void thole_agent_free(struct thole_agent *agent);

/* ---- tools ----------------------------------------------------------------------------------- */

/*
 * What running a call does to the world decides what is done after a crash (docs/DURABILITY.md),
 * and which calls may start before guardrails and approvals of their answer are settled (READ).
 */
enum thole_class {
	THOLE_CLASS_READ = 1, /* looks only: may run again */
	THOLE_CLASS_KEYED,    /* runs again under the same thole_call_effect_id */
	THOLE_CLASS_WRITE, /* the default: at most once; after a crash its outcome is unknown, and
			      the model is told so */
	THOLE_CLASS_IRREVERSIBLE /* cannot be undone: WRITE, and a person must approve each */
};

/*
 * Runs one call: answers it, at once or later, from any thread, by thole_call_done, _fail or
 * _unknown, exactly once.  Calls of one answer come one after the other, and need not wait for each
 * other; results are told to the model in the order of the calls.
 */
typedef void thole_tool_fn(void *ctx, struct thole_call *call);

/*
 * Adds a tool that is a function of this program.  `name`: 1 to 64 letters, digits, "_" or "-", not
 * used by another one; a built-in tool of that name is hidden.  *ret, which may be NULL, is the
 * agent's, for the setters.  ELIMIT: an agent has at most 128 tools.  `fn` and `ctx` must stay good
 * while a session runs with the agent.
 */
TH_API int thole_agent_tool(struct thole_agent *agent, const char *name, thole_tool_fn *fn,
			    void *ctx, struct thole_tool **ret, struct thole_error *err);
/* Its description for the model. */
TH_API int thole_tool_describe(struct thole_tool *tool, const char *text, struct thole_error *err);
/* JSON Schema of its arguments, an object; default: an object without members.  `strict`: the
 * schema keeps to the providers' strict subset, and they hold the model to it. */
TH_API int thole_tool_schema(struct thole_tool *tool, const char *json, bool strict,
			     struct thole_error *err);
/* In place of a schema: the model writes a text, which comes as {"input": the text}. `format`,
 * JSON:
 * {"type":"grammar","syntax":"lark" or "regex","definition":"…"}, which models of OpenAI's
 * Responses API keep to; NULL: any text. */
TH_API int thole_tool_text(struct thole_tool *tool, const char *format, struct thole_error *err);
TH_API int thole_tool_class(struct thole_tool *tool, enum thole_class class_,
			    struct thole_error *err);
/* Every call waits for thole_session_approve or _reject. */
TH_API int thole_tool_ask(struct thole_tool *tool, bool ask, struct thole_error *err);
/* A call that is not answered in time ends (READ: failed; others: unknown), and its answer goes
 * nowhere.  0, the default: it has all the time.  At most 86,400,000 (a day). */
TH_API int thole_tool_timeout(struct thole_tool *tool, int64_t timeout_ms, struct thole_error *err);
/* Called when the run no longer wants a call.  It is to be answered all the same, and soon: when it
 * was cancelled, the answer is what became of it; when its time is over, the answer goes nowhere.
 * NULL: nobody wants to know, and a call that is cancelled ends at once (READ: failed; others:
 * unknown). */
TH_API int thole_tool_on_cancel(struct thole_tool *tool, thole_tool_fn *fn,
				struct thole_error *err);

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * A call is valid until it was answered.  All of these: any thread, one at a time.  Strings live as
 * long as the call.
 */
TH_API const char *thole_call_tool(const struct thole_call *call); /* name */
TH_API const char *thole_call_id(const struct thole_call *call);   /* the model's */
TH_API const char *thole_call_session_id(const struct thole_call *call);
/* Random, and the same whenever this very effect is run again: an idempotency key.  NULL for a look
 * at a computer. */
TH_API const char *thole_call_effect_id(const struct thole_call *call);
/* A JSON object, as it is in the log. */
TH_API const char *thole_call_arguments(const struct thole_call *call);
/* One member of it, or "a.b", the member b of its member a, such as "arguments.city" of what a
 * guardrail is asked; NULL or `otherwise` when it is not there, or of another type. */
TH_API const char *thole_call_string(struct thole_call *call, const char *member);
TH_API int64_t thole_call_integer(struct thole_call *call, const char *member, int64_t otherwise);
TH_API double thole_call_number(struct thole_call *call, const char *member, double otherwise);
TH_API bool thole_call_boolean(struct thole_call *call, const char *member, bool otherwise);
/* The answer is not waited for any more: better stop. */
TH_API bool thole_call_cancelled(const struct thole_call *call);

/*
 * Adds a picture to the answer, which comes behind its text: a PNG file, or pixels of four bytes
 * (red, green, blue, and one that is not looked at), `stride` bytes from row to row.  At most 4 in
 * one answer, each of at most 64 MiB and 8192 pixels a side.  Copied.
 */
TH_API int thole_call_png(struct thole_call *call, const void *bytes, size_t size,
			  struct thole_error *err);
TH_API int thole_call_pixels(struct thole_call *call, const void *pixels, int width, int height,
			     size_t stride, struct thole_error *err);

/*
 * The answer; the call is gone afterwards.  done: it was done, and `text` (NULL: empty) is the
 * result. fail: it was not, and `text` says why.  unknown: it may have been done, and nobody can
 * say; the model is told so, and that it was not repeated.  ELIMIT (the text has more than 8 MiB)
 * and EUSAGE (it is no UTF-8): it still waits for its answer.
 */
TH_API int thole_call_done(struct thole_call *call, const char *text, struct thole_error *err);
TH_API int thole_call_fail(struct thole_call *call, const char *text, struct thole_error *err);
TH_API int thole_call_unknown(struct thole_call *call, const char *text, struct thole_error *err);

/* ---- a computer of one's own ----------------------------------------------------------------- */

/*
 * Gives the agent a screen that this program makes.  `width`, `height`: its size in pixels, 1 to
 * 8192.
 *
 * `see` answers with one picture of that size (thole_call_png or _pixels, then thole_call_done).
 * `act` is called once per action, with the action as the arguments (docs/EMBEDDING.md lists them),
 * such as {"type":"click","x":10,"y":20,"button":"left","count":1}; points are inside the screen.
 * It answers when the screen shows what came of it.  The action that failed ends the list of the
 * model. Waiting, and cutting and scaling of pictures, are done by the library.
 */
TH_API int thole_agent_computer(struct thole_agent *agent, int width, int height,
				thole_tool_fn *see, thole_tool_fn *act, void *ctx,
				struct thole_error *err);

/* ---- teams, and functions by which an agent decides ---- */

/*
 * Makes `member` an agent of the team that begins with `agent`; it may be given to several teams,
 * and has none itself.  What it does not set (model, workspace) is as with `agent`.  EEXIST: the
 * name. ELIMIT: a team has at most 64 agents.
 */
TH_API int thole_agent_member(struct thole_agent *agent, struct thole_agent *member,
			      struct thole_error *err);
/* `agent` may hand over to the agent of that name in its team, the one that begins included.
 * `description`: what the model is told of it; NULL: made of the name.  `filter`: a function of the
 * agent's (thole_agent_function) that says which items the next agent sees; NULL: all. */
TH_API int thole_agent_handoff(struct thole_agent *agent, const char *to, const char *description,
			       const char *filter, struct thole_error *err);

/*
 * Makes a tool of a member of the team: each call is a session of its own that begins with that
 * agent and sees only the call's input; what it ends with is the result.  It is durable as its
 * parent is, counts in its budget, and waits for a person through it (thole_session_approve on the
 * parent reaches its calls).  `schema`: of the arguments; NULL: {"input": a string}.  `turns`:
 * model turns of a call; 0: 10.  An agent with a computer cannot be one.
 */
TH_API int thole_agent_delegate(struct thole_agent *agent, const char *name, const char *member,
				const char *description, const char *schema, int64_t turns,
				struct thole_error *err);

enum thole_stage {
	THOLE_STAGE_INPUT,      /* what began the task, on its first turn */
	THOLE_STAGE_OUTPUT,     /* the final output, before it is one */
	THOLE_STAGE_TOOL_INPUT, /* a call, before it runs */
	THOLE_STAGE_TOOL_OUTPUT /* a call's result, before the model reads it */
};

/*
 * A check.  `fn` is given a call whose arguments are {stage, input | output | tool, call_id,
 * arguments, output} beside {agent, session}; it answers like a tool, at once or later, from any
 * thread: thole_call_done lets it pass, thole_call_trip stops the run, thole_call_fail ends it as
 * failed. Nothing of an answer acts before its checks are settled, but calls of class READ.
 * `blocking`, for INPUT: the model is not asked before.  INPUT is what began the task and, whenever
 * the model is asked next, what was said since.  The verdict is an event: a resumed session does
 * not ask again.
 */
TH_API int thole_agent_guardrail(struct thole_agent *agent, const char *name,
				 enum thole_stage stage, bool blocking, thole_tool_fn *fn,
				 void *ctx, struct thole_error *err);
/* The instructions of each turn: `fn` is asked with {turn} and answers with them. */
TH_API int thole_agent_instructions(struct thole_agent *agent, thole_tool_fn *fn, void *ctx,
				    struct thole_error *err);
/* A function that the definition names (a handoff's filter, the code of tool_use_behavior, a
 * guardrail of a file); it answers by thole_call_answer.  docs/EMBEDDING.md says what each is
 * asked. */
TH_API int thole_agent_function(struct thole_agent *agent, const char *name, thole_tool_fn *fn,
				void *ctx, struct thole_error *err);

enum thole_hook {
	THOLE_HOOK_AGENT_START, /* before its first request of a task, after a handoff, after a rest
				 */
	THOLE_HOOK_AGENT_END,   /* the final output is there, before its guardrails look at it */
	THOLE_HOOK_LLM_START,  /* the model is asked; the next try of a turn is the same question */
	THOLE_HOOK_LLM_END,    /* it answered */
	THOLE_HOOK_HANDOFF,    /* of the agent that hands over */
	THOLE_HOOK_TOOL_START, /* a call is about to run, after its guardrails and its approval */
	THOLE_HOOK_TOOL_END    /* it has its result, after the guardrails of that */
};
/*
 * A function that watches; it is told by a note of kind THOLE_NOTE_HOOK, whose json says what
 * happened (docs/EMBEDDING.md lists the members).  It is told of what is durable, once, in the
 * order of the log, by the runtime that did it: a session that is opened again tells nothing of
 * what was before.  Nobody waits for it, and it decides nothing.  `team`: of all agents of the team
 * that begins with `agent`; they are told before the agent's own.  EEXIST: it has one for this.
 */
TH_API int thole_agent_hook(struct thole_agent *agent, enum thole_hook hook, bool team,
			    thole_note_fn *fn, void *ctx, struct thole_error *err);

/*
 * A function that is asked before a person is, with {tool, call_id, arguments, class, reason}: it
 * answers by thole_call_approve or _reject; thole_call_done leaves the call to a person, and so
 * does thole_call_fail.  The session does not rest for that; it does once another call of the same
 * answer waits for a person.  What cannot be undone, or what the model's provider wants checked,
 * it may reject, but not approve.
 */
TH_API int thole_agent_approvals(struct thole_agent *agent, thole_tool_fn *fn, void *ctx,
				 struct thole_error *err);
/* Of such a function.  `message`: told to the model; may be NULL.  The call is gone, unless this
 * failed. */
TH_API int thole_call_approve(struct thole_call *call, struct thole_error *err);
TH_API int thole_call_reject(struct thole_call *call, const char *message, struct thole_error *err);

/* Of a guardrail: it trips.  `message`: why; may be NULL.  The call is gone, unless this failed. */
TH_API int thole_call_trip(struct thole_call *call, const char *message, struct thole_error *err);
/* Of any function but a tool: the answer as a JSON value, at most 8 MiB. */
TH_API int thole_call_answer(struct thole_call *call, const char *json, struct thole_error *err);

/* ---- sessions -------------------------------------------------------------------------------- */

enum thole_state {
	THOLE_LOADING,   /* its computer is being opened, or its log read; or it is none (NULL) */
	THOLE_IDLE,      /* nothing was asked yet */
	THOLE_RUNNING,   /* the model is asked, or calls run */
	THOLE_WAITING,   /* a person must approve, or say what became of a call */
	THOLE_PAUSED,    /* held; goes on with thole_session_resume */
	THOLE_SCHEDULED, /* its first task begins later, or with thole_session_resume */
	THOLE_STOPPED,   /* cancelled */
	THOLE_FINISHED,  /* the answer is there */
	THOLE_FAILED, /* thole_session_reason says why; like the next two, it takes a message or a
			 resume */
	THOLE_STUCK,  /* the agent repeats itself */
	THOLE_LIMIT,  /* turns, tokens, money or time are used up */
	THOLE_LOST    /* this runtime has it no more: another took it, or it could not begin;
			 thole_session_reason says why */
};

/* "idle", "running", …; "unknown" for a number that is no state.  Static; any thread. */
TH_API const char *thole_state_name(int state);

/*
 * Begins a session.  `id`: its name, 1 to 128 bytes; NULL: a new UUID.  EEXIST: the store has it.
 * EUSAGE (model, tool, …) and ESETUP (key) at once.  One with a computer of thole's own is LOADING
 * first: what is said to it meanwhile (one message, or a resume) waits.
 */
TH_API int thole_session_new(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			     struct thole_session **ret, struct thole_error *err);

/*
 * The same with more to say: names and values in turn, ended by NULL.
 *
 *     id        its name; without: a new UUID
 *     user      whose it is, 1 to 256 bytes: thole_runtime_page and _waiting can ask for it
 *     metadata  a JSON object of the program's own, at most 64 KiB; a page's sessions have it
 *     fresh     "yes": nobody has used the name, as of a UUID made just now or one that was looked
 *               up.  The store is not asked, and does not take one that it has: the session is LOST
 *               then
 *     start_at  when its first task begins: "2026-11-27T08:30:00Z" (RFC 3339), or seconds from now
 *               on; at most ten years.  Until then it is SCHEDULED, what is said to it is
 *               written down, and it costs nothing when it is freed: a runtime that calls
 *               thole_runtime_take_over every second or so begins it.  The page of sessions has
 *               "start_ms".  What is over already is at once.
 *     priority  "low", "normal" (without) or "high": which of the sessions that wait for a runtime
 *               goes on first; thole_runtime_take_over.  The page of sessions has it, if it is not
 *               normal
 */
TH_API int thole_session_new_with(struct thole_runtime *rt, struct thole_agent *agent,
				  const char *const *options, struct thole_session **ret,
				  struct thole_error *err);

/*
 * Takes up a session that is in the store, whoever wrote it; it is then this runtime's.  What it
 * was begun with (instructions, model, limits …) is in its log; `agent` gives the functions for its
 * tools and its computer, by their names, and may be NULL when it has none.  Nothing happens before
 * thole_session_resume or a message.  ENOENT; EBUSY: another live runtime has it.
 */
TH_API int thole_session_open(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			      struct thole_session **ret, struct thole_error *err);

/*
 * The same without waiting for the store: the session is LOADING first, while it is leased and its
 * log read beside the loop and other sessions go on.  A message or a resume, a pause and a cancel
 * wait until it is open; other functions of the session do the rest of that at once.  When it is
 * open, THOLE_NOTE_OPEN says so, and THOLE_NOTE_REST if it rests.  That it cannot be had (ENOENT,
 * EBUSY), or what is wrong with its agent, makes it LOST then: thole_session_lost.
 */
TH_API int thole_session_open_start(struct thole_runtime *rt, struct thole_agent *agent,
				    const char *id, struct thole_session **ret,
				    struct thole_error *err);

/*
 * Begins a session that shares the events of another, up to number `seq` (0: all that are written);
 * otherwise as thole_session_open.  Calls that were under way there are not here.  `new_id` NULL: a
 * new UUID.
 */
TH_API int thole_session_fork(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			      uint64_t seq, const char *new_id, struct thole_session **ret,
			      struct thole_error *err);

/* Stops working on it: it stays in the store as it is, to be opened again.  No callback of it comes
 * afterwards.  A model request under way is given up, calls under way are as after a crash.  NULL
 * is fine.  It is given back to the store beside the loop: for a moment another runtime still finds
 * it taken (EBUSY). */
TH_API void thole_session_free(struct thole_session *s);

/*
 * The same for one that runs, and of which another runtime of the store (PostgreSQL) is to go on:
 * it finds it by thole_runtime_take_over.  From the first call on no request and no call of it
 * begins. EBUSY: something is under way, or not durable yet; to be called again soon.  `now`: what
 * is under way is given up instead, as by thole_session_free.  EUNSUPPORTED: the store is of this
 * machine alone.  Both leave `s` as it is; after any other result it is gone.
 */
TH_API int thole_session_hand_over(struct thole_session *s, bool now, struct thole_error *err);

/*
 * Says something to it, 1 byte to 4 MiB: begins a task, or is read by the agent after its next
 * turn.  A message never approves anything.  EPROTO: its state takes none (it waits for a
 * decision).
 */
TH_API int thole_session_message(struct thole_session *s, const char *text,
				 struct thole_error *err);

/* Lets a session go on that was opened, is paused, or rests after a failure, a limit or a stop.
 * What was under way when its last runtime ended is settled by its class. */
TH_API int thole_session_resume(struct thole_session *s, struct thole_error *err);

/*
 * A goal.  goal: begins a task with it (`goal`, at most 64 KiB, is its message), and a final output
 * counts only when the session's model judges that it is reached, as with `judge` of an agent file
 * and in the place of that, or after `rounds` verdicts (1 to 100; 0: 10); in between the model is
 * told what is missing.  It lasts over pauses, failures and restarts, until it is reached, no round
 * is left, a final output comes that nobody judges (a refusal), the user says something else (a
 * message, plan, items that begin a task), or goal_end: what is under way then goes on, and is not
 * judged by it.  `goal` NULL: the one that was ended goes on, with the rounds that it has left.
 * `by` may be NULL.  EPROTO: a task is under way; there is no goal to end. ENOENT: there is none to
 * go on with.
 */
enum thole_goal {
	THOLE_GOAL_NONE,  /* there was none, or the session is not open */
	THOLE_GOAL_ON,    /* final outputs are judged by it */
	THOLE_GOAL_ENDED, /* before it was reached: it can go on */
	THOLE_GOAL_OVER   /* reached, or no round was left */
};
TH_API int thole_session_goal(struct thole_session *s, const char *goal, int64_t rounds,
			      const char *by, struct thole_error *err);
TH_API int thole_session_goal_end(struct thole_session *s, const char *by, struct thole_error *err);
TH_API int thole_session_goal_state(const struct thole_session *s); /* enum thole_goal */

/*
 * A person gives it more than its limits, in any state; then thole_session_resume lets it go on.
 * `more`: a JSON object with some of {"turns", "tokens", "cost_usd", "seconds"}, as in `limits` of
 * an agent file, each above 0.  Turns and seconds are for the task under way; tokens and cost_usd
 * are added to the limit of the session.  `by` may be NULL.  EUSAGE: it has no such limit.
 */
TH_API int thole_session_more(struct thole_session *s, const char *more, const char *by,
			      struct thole_error *err);

/*
 * Plan mode: a task in which every call that does more than look (class R or L) is refused, and
 * that ends with a plan.  plan: begins such a task with `text`; messages that follow are of plan
 * mode, too, and none of them ends it.  act: a person ends plan mode and lets the agent do what it
 * planned; `note` may be NULL.  `by` may be NULL.  EPROTO: a task is under way; this is not plan
 * mode.
 */
TH_API int thole_session_plan(struct thole_session *s, const char *text, const char *by,
			      struct thole_error *err);
TH_API int thole_session_act(struct thole_session *s, const char *note, const char *by,
			     struct thole_error *err);

/*
 * Who leads it wants to be asked about more of its calls than the agent file asks about, from the
 * next call on, also in those that work for it: `confirm` is a JSON object as the member "confirm"
 * of an agent file, with `when`, `threshold` and `unknown`; {"when": "never"} takes back what was
 * said so before, and never what the agent file says.  `by` may be NULL.  EUSAGE.
 */
TH_API int thole_session_confirm(struct thole_session *s, const char *confirm, const char *by,
				 struct thole_error *err);

/*
 * Another title, and other metadata in the place of all that it had (a JSON object); NULL: as
 * before.  In any state.  EUSAGE, ELIMIT: as of thole_runtime_describe.
 * metadata: as they are now, also where that is not durable yet; empty: none; NULL: it is not open.
 * As long as they are not changed.
 */
TH_API int thole_session_describe(struct thole_session *s, const char *title, const char *metadata,
				  const char *by, struct thole_error *err);
TH_API const char *thole_session_metadata(const struct thole_session *s);
/* The number of its last event, where that is not durable yet; 0: all are. */
TH_API uint64_t thole_session_unwritten(const struct thole_session *s);

/*
 * Gives secrets to those of its commands that name them, as the agent file does with `give`:
 * `secrets` is a JSON object of names and values (texts of 8 to 4,096 bytes); null takes one away.
 * {"url": URL, "headers": {NAME: TEXT}} in the place of a value: it is fetched from there by a GET
 * when a call begins, and again when it is a minute old; without it no call begins.
 * The values are in the memory of this process and of the session's executor alone, so they are
 * given again when this process began anew; the log has their names.  They are masked in all that
 * tools give out, the former ones of a name, too.  EUSAGE: a name or a value is not good, or the
 * name is the agent file's; ELIMIT: with the agent file's more than 64, or more than 256 values.
 */
TH_API int thole_session_give_secrets(struct thole_session *s, const char *secrets, const char *by,
				      struct thole_error *err);

/*
 * Asks the session's model a question beside its task, on its history as it is: the answer is in an
 * event of its own, and neither is in the history.  Only while the agent rests, one at a time
 * (EBUSY).  `fn` is told the answer, or NULL and why there is none.  EUSAGE: the provider has the
 * history.  ELIMIT: the session's limits have no room for it, or it has more than 64 KiB.
 */
typedef void thole_answer_fn(void *ctx, struct thole_session *s, const char *answer,
			     const char *why);
TH_API int thole_session_ask(struct thole_session *s, const char *by, const char *question,
			     thole_answer_fn *fn, void *ctx, struct thole_error *err);

/* Holds it: it rests when what is under way is over. */
TH_API int thole_session_pause(struct thole_session *s, const char *reason,
			       struct thole_error *err);

/* Asks that the history is condensed before the model's next turn (docs/CONTEXT.md); in any state.
 * `by` may be NULL. */
TH_API int thole_session_condense(struct thole_session *s, const char *by, struct thole_error *err);

enum thole_when {
	THOLE_NOW,       /* the request or the calls under way are given up; no more deltas come */
	THOLE_AFTER_TURN /* when all calls of the turn under way have their result */
};
/* Stops the task.  Fine when nothing runs (it is stopped then); EPROTO when it is over. */
TH_API int thole_session_cancel(struct thole_session *s, enum thole_when when,
				struct thole_error *err);

/*
 * A person's word on the call that waits for it: approve lets this very action run, once; reject
 * does not, and tells `message` to the model (may be NULL).  `call_id` NULL: the first that waits.
 * A call of a session that works for this one is told of as "SESSION/CALL_ID"; without the session
 * is enough where no other that waits has that id (EUSAGE: another has).  Where a person was asked
 * about another call of that id before, "CALL_ID#SEQ" names it, SEQ being the event of its call:
 * watchers are told so, and the id alone is EUSAGE, since a word that comes late is about the call
 * before.  `by`: who says so, for the log; may be NULL.  ENOENT: no such call waits.
 */
TH_API int thole_session_approve(struct thole_session *s, const char *call_id, const char *by,
				 struct thole_error *err);
TH_API int thole_session_reject(struct thole_session *s, const char *call_id, const char *by,
				const char *message, struct thole_error *err);
/* Approves a call that is a question to the person (tool `ask`); `answer` is what the model reads.
 * EUSAGE: the call is no question. */
TH_API int thole_session_answer(struct thole_session *s, const char *call_id, const char *by,
				const char *answer, struct thole_error *err);
/* The same, and so with every other call of this tool in this session, now or later; what a rule
 * asks about that names arguments, path or domain, what cannot be undone, or what the model's
 * provider wants checked, is asked about all the same. */
TH_API int thole_session_approve_always(struct thole_session *s, const char *call_id,
					const char *by, struct thole_error *err);
TH_API int thole_session_reject_always(struct thole_session *s, const char *call_id, const char *by,
				       const char *message, struct thole_error *err);

enum thole_outcome { THOLE_DONE, THOLE_NOT_STARTED, THOLE_UNKNOWN };
/* A person's word on a call of unknown outcome that was parked (agent member "unknown": "park"). */
TH_API int thole_session_settle(struct thole_session *s, const char *call_id,
				enum thole_outcome outcome, const char *by, const char *message,
				struct thole_error *err);

/*
 * Its history as items, in the Responses API's form: messages, calls, results.
 *
 * items: those that are written, oldest first, as a JSON list.  `first`: from which on, 0 being the
 * oldest; negative: counted from the end, -1 being the newest.  `count`: at most; 0: all.
 *
 * add: a JSON list of them; `begin`: a task begins with them, as with a message.  pop: takes the
 * newest `count`, at least 1, out of what the model sees; *ret, which may be NULL, gets them as a
 * list (EBUSY: the last ones are not written yet; wait).  clear: takes all out.  The log keeps what
 * was taken out.  EPROTO: only between tasks; without `begin` messages also while it waits or is
 * paused.  A message may be said at any time.
 */
TH_API int thole_session_items(struct thole_session *s, int64_t first, size_t count, char **ret,
			       struct thole_error *err);
TH_API int thole_session_items_add(struct thole_session *s, const char *json, bool begin,
				   struct thole_error *err);
TH_API int thole_session_items_pop(struct thole_session *s, size_t count, char **ret,
				   struct thole_error *err);
TH_API int thole_session_items_clear(struct thole_session *s, struct thole_error *err);

/*
 * Runs until the session rests: its state is any but LOADING and RUNNING, all of it is written, and
 * all callbacks about it have come.  timeout_ms -1: for ever.  ETIMEOUT: it goes on.  EUSAGE in a
 * callback.
 */
TH_API int thole_session_wait(struct thole_session *s, int64_t timeout_ms, struct thole_error *err);
/* thole_session_message (thole_session_resume when `text` is NULL) and thole_session_wait in one.
 */
TH_API int thole_session_run(struct thole_session *s, const char *text, struct thole_error *err);

TH_API const char *thole_session_id(const struct thole_session *s); /* as long as it is open */
TH_API int thole_session_state(const struct thole_session *s);      /* enum thole_state */
/* The agent's last answer, once it is FINISHED; else NULL. */
TH_API const char *thole_session_output(struct thole_session *s);
/* Why it failed, reached a limit, or was lost; else NULL. */
TH_API const char *thole_session_reason(struct thole_session *s);
/* 0, or the error that made it LOST. */
TH_API int thole_session_lost(struct thole_session *s, struct thole_error *err);
/* The call_id of the first call that waits for a decision, as THOLE_NOTE_ASK has it, or NULL. */
TH_API const char *thole_session_waits_for(struct thole_session *s);
/* The whole state as a JSON object: what `thole plumb fold --state` prints. */
TH_API int thole_session_json(struct thole_session *s, char **ret, struct thole_error *err);
/* What the caller keeps with it. */
TH_API void thole_session_set_data(struct thole_session *s, void *data);
TH_API void *thole_session_data(const struct thole_session *s);

/* ---- a person in the agent's place -----------------------------------------------------------
 */

/*
 * A person takes over the session's computer: the agent is parked.  A request to the model is given
 * up, calls under way end first (THOLE_CONTROL_WAITS), and the session is PAUSED if it was at work.
 * `by`: who, 1 to 256 bytes.  EBUSY: somebody has taken over in this runtime; one of before a crash
 * can be followed.  It stays so until it is given back, resumed or cancelled, also in the store.
 * In a session that is LOADING it waits for the computer.
 *
 * give: the agent goes on where it was parked.  It is told that somebody was there, with the note
 * (at most 4096 bytes; may be NULL) and a fresh picture.  `reason`: for the log, where it was not
 * the person's own wish; may be NULL.  EBUSY: an input is under way.
 */
TH_API int thole_session_take(struct thole_session *s, const char *by, struct thole_error *err);
TH_API int thole_session_give(struct thole_session *s, const char *by, const char *note,
			      const char *reason, struct thole_error *err);

enum thole_control {
	THOLE_CONTROL_AGENT, /* nobody has taken over */
	THOLE_CONTROL_WAITS, /* somebody has; calls of the agent are still under way */
	THOLE_CONTROL_PERSON /* inputs are taken */
};
TH_API int thole_session_control(const struct thole_session *s);        /* enum thole_control */
TH_API const char *thole_session_holder(const struct thole_session *s); /* NULL: nobody */

/*
 * Does what a person does, in a session that was taken or rests: `actions` is a JSON list of
 * computer actions as docs/EMBEDDING.md has them.  It is an event first, durable before it is done,
 * and done at most once.  `fn` is told how it ended: "done", "failed", "not_started", "unknown" or
 * "refused", and what it said (the text of a clipboard, or why not).  EBUSY: one before it is under
 * way, or the agent is at work.
 */
typedef void thole_input_fn(void *ctx, struct thole_session *s, const char *status,
			    const char *text);
TH_API int thole_session_input(struct thole_session *s, const char *by, const char *actions,
			       thole_input_fn *fn, void *ctx, struct thole_error *err);
/* The same at the terminal of the agent's shell (tool `bash`): a line, or a key such as "C-c" or
 * "UP", for what runs there; when nothing does, a command, which nobody waits for.  EUNSUPPORTED:
 * the agent has no shell. */
TH_API int thole_session_type(struct thole_session *s, const char *by, const char *text,
			      thole_input_fn *fn, void *ctx, struct thole_error *err);

/*
 * Runs a command for a person where the agent's are run, in the same sandbox: a line for bash, or
 * for sh where there is none.  It is an event and done at most once, as an input is.  `options`:
 * names and values in turn, ended by NULL; NULL: all defaults.
 *
 *     folder   where it begins, below the workspace; default: the workspace
 *     seconds  after which it is ended with all that it started; default 120
 *     input    a text for its standard input, at most 480 KiB; default: nothing
 *     bytes    of each of its streams that are given, at most 393216; default 32768
 *              (fewer, where both are longer than 512 KiB as JSON)
 *     looks    "yes": it changes nothing, so it is no event, and the agent may be at work
 *
 * Where the command began, `fn` is told a JSON object: "out", "err", "exit_code" or "signal",
 * "timed_out", "cancelled", "output_size".  EUNSUPPORTED: the agent has no tool that runs commands.
 * stop: ends it; `fn` still comes.
 */
TH_API int thole_session_command(struct thole_session *s, const char *by, const char *command,
				 const char *const *options, thole_input_fn *fn, void *ctx,
				 struct thole_error *err);
TH_API int thole_session_command_stop(struct thole_session *s, struct thole_error *err);

/* ---- sessions by name ------------------------------------------------------------------------ */

/*
 * A person's word on a session of the store, whether this runtime has it open or not.  As
 * thole_session_approve, _answer, _reject (with `always`: _always) and _settle; of one that is not
 * open the word is written, and whoever opens it next goes on from there.  It may also be of a
 * session that works for this one.  EBUSY: another runtime has it; ENOENT: no such session, or no
 * such call.
 */
TH_API int thole_runtime_approve(struct thole_runtime *rt, const char *session_id,
				 const char *call_id, const char *by, bool always,
				 struct thole_error *err);
TH_API int thole_runtime_answer(struct thole_runtime *rt, const char *session_id,
				const char *call_id, const char *by, const char *answer,
				struct thole_error *err);
TH_API int thole_runtime_reject(struct thole_runtime *rt, const char *session_id,
				const char *call_id, const char *by, const char *message,
				bool always, struct thole_error *err);
TH_API int thole_runtime_settle(struct thole_runtime *rt, const char *session_id,
				const char *call_id, enum thole_outcome outcome, const char *by,
				const char *message, struct thole_error *err);

/*
 * What waits for a person, in all sessions of the store, open or not: {"waiting": [...], "next":
 * CURSOR}.  Each has session_id, user, title, call_id (for the functions above), word ("approve" or
 * "settle"), tool, arguments, and for an approval reason, asked_ms and, where it ends, expires_ms.
 * `user`: only of this one's sessions; NULL: all.  `limit`: of how many sessions, at most 1000; 0:
 * 100.  `after`: the `next` of the list before; NULL: from the first.  Only the end of each log is
 * read.  A session that works for another stands here by its own name.
 */
TH_API int thole_runtime_waiting(struct thole_runtime *rt, const char *user, const char *after,
				 size_t limit, char **ret, struct thole_error *err);

/*
 * A part of a blob, such as a picture that an event names: at most `len` bytes (0: all) from
 * `offset` on, in one call of `fn`, which is not called where there are none, and may call nothing
 * of this runtime.  A result other than 0 is returned.  *ret_size, which may be NULL: the size of
 * the whole.  `hash`: 64 lower-case hexadecimal digits.  The whole blob is checked against it:
 * ECORRUPT.  ENOENT.
 */
typedef int thole_bytes_fn(void *ctx, const void *bytes, size_t size);
TH_API int thole_runtime_blob(struct thole_runtime *rt, const char *hash, size_t offset, size_t len,
			      thole_bytes_fn *fn, void *ctx, size_t *ret_size,
			      struct thole_error *err);

/*
 * The same reads beside the loop, for who has many sessions in it and long logs: a thread reads the
 * store in bounded pieces, and no pass of the loop takes longer because of a log's length.  These
 * functions return at once.  Then, from the loop, `fn` gets each line (or the blob) in order, and
 * `done` is called once at the end: THOLE_OK; what `fn` returned to end the reading; or an error,
 * with its sentence in `err`, which else is NULL.  Both may call anything of this runtime but what
 * runs its loop or frees it.  What was durable when the reading began is seen; of what becomes so
 * meanwhile, a prefix.  EBUSY: 4096 of them wait already.
 *
 * *ret (which may be NULL) ends it early: neither function is called any more.  It may be freed
 * in `fn`; with `done` it is gone.
 */
typedef void thole_done_fn(void *ctx, int code, const struct thole_error *err);
TH_API int thole_runtime_log_start(struct thole_runtime *rt, const char *session_id, uint64_t from,
				   thole_line_fn *fn, thole_done_fn *done, void *ctx,
				   struct thole_reading **ret, struct thole_error *err);
TH_API int thole_runtime_export_start(struct thole_runtime *rt, const char *session_id,
				      thole_line_fn *fn, thole_done_fn *done, void *ctx,
				      struct thole_reading **ret, struct thole_error *err);
/* The page of thole_runtime_page, as one line. */
TH_API int thole_runtime_page_start(struct thole_runtime *rt, const char *const *options,
				    thole_line_fn *fn, thole_done_fn *done, void *ctx,
				    struct thole_reading **ret, struct thole_error *err);
TH_API int thole_runtime_blob_start(struct thole_runtime *rt, const char *hash, size_t offset,
				    size_t len, thole_bytes_fn *fn, thole_done_fn *done, void *ctx,
				    struct thole_reading **ret, struct thole_error *err);
/* One session, what waits and what was used, each as one line: as thole_runtime_session, _waiting
 * and _usage give them. */
TH_API int thole_runtime_session_start(struct thole_runtime *rt, const char *session_id,
				       const char *user, thole_line_fn *fn, thole_done_fn *done,
				       void *ctx, struct thole_reading **ret,
				       struct thole_error *err);
TH_API int thole_runtime_waiting_start(struct thole_runtime *rt, const char *user,
				       const char *after, size_t limit, thole_line_fn *fn,
				       thole_done_fn *done, void *ctx, struct thole_reading **ret,
				       struct thole_error *err);
TH_API int thole_runtime_usage_start(struct thole_runtime *rt, const char *const *options,
				     thole_line_fn *fn, thole_done_fn *done, void *ctx,
				     struct thole_reading **ret, struct thole_error *err);
/*
 * The items of a session of the store as one line, a JSON list as of thole_session_items; it need
 * not be open.  `to`: only what its events up to this one say; 0: all.  One whose first event is
 * not written yet has none: ENOENT.
 */
TH_API int thole_runtime_items_start(struct thole_runtime *rt, const char *session_id,
				     int64_t first, size_t count, uint64_t to, thole_line_fn *fn,
				     thole_done_fn *done, void *ctx, struct thole_reading **ret,
				     struct thole_error *err);
/* The same of all of them, as {"next", "items": [{"number", "item"}, …]}.  No other item of the
 * session ever has that number, whatever is taken out of its history or stands for a part of it;
 * `next` is above all of them. */
TH_API int thole_runtime_numbered_items_start(struct thole_runtime *rt, const char *session_id,
					      uint64_t to, thole_line_fn *fn, thole_done_fn *done,
					      void *ctx, struct thole_reading **ret,
					      struct thole_error *err);
TH_API void thole_reading_free(struct thole_reading *reading); /* NULL is fine */

/*
 * What changes the store beside the loop in the same way: it may have a long log to read first, or
 * a database to wait for.  What *ret gives up is done all the same, unless the runtime ends before
 * its turn comes; only nobody is told.
 *
 * fork: makes a session that shares the events of another, as thole_session_fork does, but does not
 * open it (thole_session_open_start).  `fn` gets it as an object of a page.  `user`: only if the
 * other is this one's, and else ENOENT; NULL: whosever it is.  `new_id` NULL: a new UUID.
 *
 * delete: as thole_runtime_delete.  While the store does it, the session is not opened and its name
 * not given again, and one that is open here takes nothing: EBUSY.
 *
 * describe: as thole_runtime_describe.  While it is written, one that is not open here is not
 * opened: EBUSY.
 *
 * import: as thole_runtime_import, whose bytes are copied; `fn` gets the session's name.
 */
TH_API int thole_runtime_fork_start(struct thole_runtime *rt, const char *session_id, uint64_t seq,
				    const char *user, const char *new_id, thole_line_fn *fn,
				    thole_done_fn *done, void *ctx, struct thole_reading **ret,
				    struct thole_error *err);
TH_API int thole_runtime_delete_start(struct thole_runtime *rt, const char *session_id,
				      const char *user, thole_done_fn *done, void *ctx,
				      struct thole_reading **ret, struct thole_error *err);
TH_API int thole_runtime_describe_start(struct thole_runtime *rt, const char *session_id,
					const char *user, const char *title, const char *metadata,
					const char *by, thole_done_fn *done, void *ctx,
					struct thole_reading **ret, struct thole_error *err);
TH_API int thole_runtime_import_start(struct thole_runtime *rt, const void *bytes, size_t size,
				      thole_line_fn *fn, thole_done_fn *done, void *ctx,
				      struct thole_reading **ret, struct thole_error *err);

/*
 * A session of the store as a conversation of OpenHands: the events that a server of OpenHands'
 * would have of it (docs/OPENHANDS.md), told from the log.  Each is a JSON object with an id of
 * its own, which it always has; in the order of the log, where new ones come behind the others.
 * The conversation holds what was read of it, so that a second reading costs what is new.  The
 * session is not opened, and need not be there yet.
 */
TH_API int thole_conversation_new(struct thole_runtime *rt, const char *session_id,
				  struct thole_conversation **ret, struct thole_error *err);
TH_API void thole_conversation_free(struct thole_conversation *c); /* NULL is fine */
/* How many events it has, and the bytes that it holds, as of the last reading. */
TH_API size_t thole_conversation_count(const struct thole_conversation *c);
TH_API size_t thole_conversation_size(const struct thole_conversation *c);
/*
 * Its events, read beside the loop as by thole_runtime_log_start.  `options`: names and values in
 * turn, ended by NULL; NULL: all, from the first.
 *
 *     from   the number of the event that comes first, the first of all being 0
 *     event  or its id.  ENOENT: there is none of that id
 *     order  "asc" (the default), or "desc": that event and those before it, backwards; without
 *            one from the last
 *     give   "events" (the default), or "places": of each {"seq": the number of the event of the
 *            session's log that it is told from, "last": no further one is told from that}
 *
 * ENOENT: no such session.  ELIMIT: it has more than 524288 events, or takes more than 256 MiB.
 */
TH_API int thole_conversation_read(struct thole_conversation *c, const char *const *options,
				   thole_line_fn *fn, thole_done_fn *done, void *ctx,
				   struct thole_reading **ret, struct thole_error *err);

/*
 * A host that starts again: opens the sessions of the store that are not over (loading, idle,
 * running, waiting, paused), but those that work for another, which come with that one.  `wants` is
 * asked about each with its object as of a page, and may give the agent whose functions it needs;
 * it may call nothing of this runtime.  `recovered` is then told of each that was wanted, from
 * inside this function: the session, or NULL and why it cannot be had (another runtime has it, no
 * key for its model, ...), which does not keep the others.  `resume`: those that run or wait go on
 * at once (where that fails, `recovered` has both the session and why).  ELIMIT: more than 16384.
 */
typedef bool thole_recover_fn(void *ctx, const char *session, struct thole_agent **ret_agent);
typedef void thole_recovered_fn(void *ctx, const char *session_id, struct thole_session *s,
				const struct thole_error *why);
TH_API int thole_runtime_recover(struct thole_runtime *rt, thole_recover_fn *wants,
				 thole_recovered_fn *recovered, void *ctx, bool resume,
				 struct thole_error *err);

/*
 * Looks beside the loop, some at a time, for sessions whose time has come (start_at), and of a
 * store that several machines use (PostgreSQL) for those that run and whose runtime is dead.  Those
 * that `wants` wants are then opened and gone on with, as by thole_runtime_recover; `recovered` is
 * told of each of them from the loop, also when another runtime was first.  They are asked about in
 * this order: by priority, which five minutes of waiting raise by one; then whose user has the
 * fewest, counting those that run and those before it; then who has waited longest.  One that is
 * open here begins without a question.  To be called every second or so; while a look is under way
 * it does nothing.  Times are by the database's clock, or by this machine's where the store is its
 * own; what another process put into such a store is found by thole_runtime_recover.
 */
TH_API int thole_runtime_take_over(struct thole_runtime *rt, thole_recover_fn *wants,
				   thole_recovered_fn *recovered, void *ctx,
				   struct thole_error *err);

/*
 * A runtime that was announced with an address is told, from the loop, when another one hands
 * sessions over or ends: `fn` may call thole_runtime_take_over at once.  `why` is NULL then; else
 * it says why nothing is told any more, once, until it is again.  A word may be lost, and of a
 * runtime that was killed there is none: thole_runtime_take_over is to be called every second all
 * the same. fn NULL: nobody is told.
 */
typedef void thole_left_fn(void *ctx, const struct thole_error *why);
TH_API int thole_runtime_when_left(struct thole_runtime *rt, thole_left_fn *fn, void *ctx,
				   struct thole_error *err);

/*
 * What this machine has that agents may ask for (`labels` of an agent file), such as "eu gpu": up
 * to 8 words of 1 to 24 of a-z, 0-9, "-", "_" and ".", a blank between them; "": nothing.  Kinds of
 * computer that it can run, such as desktop, are added by themselves.  From now on a session whose
 * agent needs others is neither begun nor opened here: EPLACE, whose sentence ends with ": " and
 * all that it needs, ", " between.  Before this call nobody is asked.
 */
TH_API int thole_runtime_labels(struct thole_runtime *rt, const char *labels,
				struct thole_error *err);

/*
 * What this runtime is to others of a store that several machines use, from now on, beside its
 * labels.  Options:
 *     name      what people call it
 *     address   the URL at which the others reach it
 *     capacity  how many sessions it runs at once, a number
 *     draining  "yes": it gives up what it has, and takes nothing
 *     notify    a URL of the same database without a pooler between, for what the others tell
 * this one (thole_runtime_when_left); default: the store's
 *     executors, cert, key, ca   HOST:PORT of this machine's `thole exec --listen`, and files
 * (PEM): the certificate of this node, its key, and the authority of all nodes.  Executors of other
 * machines are reached with them.  All four, or none. EUNSUPPORTED: the store is of this machine
 * alone.
 */
TH_API int thole_runtime_announce(struct thole_runtime *rt, const char *const *options,
				  struct thole_error *err);

/*
 * The runtimes of such a store, a JSON object a line, as thole_runtime_log_start gives lines:
 * "name", "address", "host", "process", "since" (UTC), "seen_ms" (its last word, so long ago),
 * "lease_ms" (0: it is dead, and others may take what it has), "capacity", "draining", "labels" (a
 * list), "sessions": {"running", "waiting", "paused", "others"}, "queue" (of a user's sessions
 * that run, those that nobody works on), "queue_ms" (the first of them has waited so long) and
 * "slow" (statements of it that took longer than a second).  One without a host is nobody: sessions
 * that were handed over, or whose time has come, and that nobody has taken yet.  `session_id`: only
 * the one that lives and has it, if there is one; it may be NULL.  Of another store there is no
 * line.
 */
TH_API int thole_runtime_nodes_start(struct thole_runtime *rt, const char *session_id,
				     thole_line_fn *fn, thole_done_fn *done, void *ctx,
				     struct thole_reading **ret, struct thole_error *err);

/*
 * Statements that the server of such a store has had under way for more than a second, the oldest
 * first, 8 at most: a line each, as above: "ms", "process" (the server's), "host" (who asked;
 * empty: the same machine), "waits" (for what, as the server says it) and "statement" (its
 * beginning).
 */
TH_API int thole_runtime_slow_start(struct thole_runtime *rt, thole_line_fn *fn,
				    thole_done_fn *done, void *ctx, struct thole_reading **ret,
				    struct thole_error *err);

/*
 * What this runtime has promised to the world outside, as lines by name in such a store: when it
 * is dead, or was freed, another one takes them.  `lines`: names (1 to 64 bytes) and texts in
 * turn, ended by NULL; a text of before is replaced, and "" takes it away.  All are written, or
 * none, and durable when `done` hears of no error.  `merged`: what was taken is in these lines
 * now, or is not wanted.  ELIMIT: more than 2048 lines, or one of more than 1 MiB.  EUNSUPPORTED:
 * the store is of this machine alone.
 */
TH_API int thole_runtime_outbox_put_start(struct thole_runtime *rt, const char *const *lines,
					  bool merged, thole_done_fn *done, void *ctx,
					  struct thole_reading **ret, struct thole_error *err);

/*
 * Takes what dead runtimes left, 24 MiB of texts at a time (a line more) beside what is not merged
 * yet: from now on it is this one's, and no other one gets it.  `fn` gets one line, a JSON list of
 * {"name", "text", "taken"}.  With "taken" false it is not taken, but what another runtime that
 * lives has under a name that is in the list.  What was taken comes again until a put says
 * `merged`, also to who takes it from this one.
 */
TH_API int thole_runtime_outbox_take_start(struct thole_runtime *rt, thole_line_fn *fn,
					   thole_done_fn *done, void *ctx,
					   struct thole_reading **ret, struct thole_error *err);

/*
 * Room for one session more of a user's that is to run, of whom `most` may over all runtimes of
 * such a store: counted are those that run, whoever has them, and what is reserved for him.
 * `name` (1 to 64 bytes) is new.  `resting`, ended by NULL, or NULL: sessions of his that this
 * runtime has and that do not run, such as those that wait for a client's results.  `done` is
 * called once, from thole_runtime_run; ELIMIT: `most` run already; EBUSY: others counted for ten
 * seconds.  Until a session takes its place it is there, at most as long as this runtime lives.
 * EUNSUPPORTED: the store is of this machine alone.
 */
TH_API int thole_runtime_reserve_start(struct thole_runtime *rt, const char *name, const char *user,
				       int64_t most, const char *const *resting,
				       thole_done_fn *done, void *ctx, struct thole_error *err);
/* It is for this session, which has not been told to run yet, or in this pass of the loop: the
 * transaction that writes down that it runs ends it.  What is not there is passed over. */
TH_API int thole_runtime_reservation_use(struct thole_runtime *rt, const char *name,
					 const char *session_id, struct thole_error *err);
/* Given back, beside the loop; one that was asked for and not answered yet, too: its `done` is not
 * called.  What is not there is passed over. */
TH_API int thole_runtime_unreserve(struct thole_runtime *rt, const char *name,
				   struct thole_error *err);

/* ---- watching -------------------------------------------------------------------------------- */

enum thole_note_kind {
	THOLE_NOTE_DELTA = 1 << 0, /* a piece of an answer while it streams; never written down.
				      name: text, reasoning, arguments, refusal; text: the piece.
				      sealed: the reasoning before it is whole; text: what only
				      its provider can read of it */
	THOLE_NOTE_ITEM = 1 << 1,  /* a whole step of the run.  name: message_output_created,
				      reasoning_item_created, tool_called, tool_approval_requested,
				      tool_output, handoff_requested, handoff_occurred, and of an MCP
				      server that the provider calls mcp_list_tools,
				      mcp_approval_requested; json: the item;  text: of a message,
				      or the name of the tool */
	THOLE_NOTE_AGENT = 1 << 2, /* name: the agent that goes on from here; once when it begins,
				      and after each handoff */
	THOLE_NOTE_EVENT = 1 << 3, /* an event that is now durable.  name: its kind; json: the whole
				      event (docs/EVENTS.md) */
	THOLE_NOTE_ASK = 1 << 4, /* a call waits for thole_session_approve or _reject.  name: of the
				    tool; id: of the call, "SESSION/CALL_ID" if it is of one that
				    works for this one; text: why; json: its arguments */
	THOLE_NOTE_REST =
	    1 << 5, /* the session rests.  name: its state; text: the answer, or the reason */
	THOLE_NOTE_HOOK = 1 << 6, /* for functions of thole_agent_hook only.  name: the hook's;
				     text: the agent; json: what happened; id: of the call */
	THOLE_NOTE_OPEN = 1 << 8, /* a session that was LOADING is open now, whether it rests or
				     not.  name: its state */
	THOLE_NOTE_LOST = 1 << 7  /* for a watcher that was held too long: notes were dropped here.
				     seq: the first event that it was not told of, from which
				     thole_runtime_log reads; 0: no event, only pieces of an
				     answer.  Comes unasked; not a kind to ask for */
};

/*
 * The program's own watcher of a session.  `kinds`: the sum of what is wanted.  A second call puts
 * the new function in the place of the first; fn NULL: none.  Further ones:
 * thole_session_watch_add.
 *
 * Within a turn: deltas, then the items of the answer in its order, then what calls led to.  An
 * item comes after the event it stands in is durable.
 */
TH_API int thole_session_watch(struct thole_session *s, unsigned kinds, thole_note_fn *fn,
			       void *ctx, struct thole_error *err);

/*
 * One more watcher, beside the program's own and any others: each is told in the order in which
 * they were added.  *ret is the session's, and ends with it (thole_session_free).  It is told of
 * what happens from now on; what it may have missed is in the log: add the watcher, read the log
 * (thole_runtime_log), and leave out what it is told of events that were read.  ELIMIT: a session
 * has at most 256 watchers.
 */
TH_API int thole_session_watch_add(struct thole_session *s, unsigned kinds, thole_note_fn *fn,
				   void *ctx, struct thole_watcher **ret, struct thole_error *err);
/*
 * For a watcher that is slow, such as one that writes to a connection: while it is held it is told
 * nothing, and its notes wait, at most 4096 of them and 8 MiB.  What comes when there is no room is
 * dropped, and one THOLE_NOTE_LOST stands for it behind those that waited.  Nobody else waits for
 * it.  `hold` false: it is told what waited, in its order, and then what comes.  In its own
 * callback, too.
 */
TH_API int thole_watcher_hold(struct thole_watcher *w, bool hold, struct thole_error *err);
/* Ends it: no more calls of its functions.  Allowed in any callback, also its own.  NULL is fine.
 */
TH_API void thole_watcher_free(struct thole_watcher *w);

/* ---- screens --------------------------------------------------------------------------------- */

/*
 * A live view of the computer of a session, whoever runs that: what is drawn on its screen, as
 * pictures of the tiles that changed.  `options`: names and values in turn, ended by NULL; NULL:
 * all defaults.
 *
 *     format    of the pictures: "jpeg" (the default), "webp" or "png"; "terminal": not the
 *               screen, but the terminal of the agent's shell, its size in characters, each of its
 *               rows a tile of UTF-8 text, the cursor its pointer
 *     quality   of JPEG and WebP, 1 to 100; default 80
 *     rate      frames in a second at most, 1 to 30; default 15
 *
 * It opens no session, starts no computer and keeps none going.  While there is none it waits for
 * one.  All who watch in the same way share what is taken and encoded.  `fn` is told once that
 * something is new (a frame, a screen of another size, none any more), and again after
 * thole_screen_take: whoever is slow skips frames.  *ret is the runtime's, and ends with it.  It is
 * not asked whether the store has the session, or whose it is.  EUSAGE: an option.  ELIMIT: 4096 in
 * one runtime.
 */
typedef void thole_screen_fn(void *ctx, struct thole_screen *screen);
TH_API int thole_screen_watch(struct thole_runtime *rt, const char *session_id,
			      const char *const *options, thole_screen_fn *fn, void *ctx,
			      struct thole_screen **ret, struct thole_error *err);
/* Allowed in any callback, also its own.  NULL is fine. */
TH_API void thole_screen_free(struct thole_screen *screen);

/*
 * What is new to it: each tile that changed since it was taken last, as one whole file of the
 * format, with the place and size of the tile in pixels.  After a change of the screen's size all
 * tiles come.  The callback comes from inside this function and may call nothing of this runtime.
 */
typedef void thole_tile_fn(void *ctx, int x, int y, int width, int height, const void *bytes,
			   size_t size);
TH_API int thole_screen_take(struct thole_screen *screen, thole_tile_fn *fn, void *ctx,
			     struct thole_error *err);
/* In pixels; 0: there is no screen now, and thole_screen_reason says why. */
TH_API int thole_screen_width(const struct thole_screen *screen);
TH_API int thole_screen_height(const struct thole_screen *screen);
TH_API const char *thole_screen_reason(const struct thole_screen *screen);
/* Where the pointer is; false: that is not known. */
TH_API bool thole_screen_pointer(const struct thole_screen *screen, int *ret_x, int *ret_y);

/* ---- a computer without an agent --------------------------------------------------------------
 */

/*
 * A private desktop, or a browser, for the program itself: no model, no session and no log. `name`,
 * 1 to 128 bytes: whoever opens that name again in this store finds it as it was left.  `options`:
 * names and values in turn, ended by NULL.
 *
 *     folder    absolute path; its commands begin there and may write there; must be given
 *     size      "1280x800"
 *     tool      "browser": a Chromium without a window, on which that tool works
 *     net       "none" (the default) or "host"
 *
 * It starts with the first call.  *ret is the runtime's, and ends with it.
 */
TH_API int thole_computer_new(struct thole_runtime *rt, const char *name,
			      const char *const *options, struct thole_computer **ret,
			      struct thole_error *err);
/* The computer itself goes on for a while, as after thole_runtime_free; calls under way are not
 * told.  Allowed in any callback.  NULL is fine. */
TH_API void thole_computer_free(struct thole_computer *c);

/*
 * One call of it: "computer" with {"actions": [...], "screenshot": true, "format", "quality",
 * "tree", "whole"}, the actions as docs/EMBEDDING.md has them; "shell" with {"command"}, run by
 * /bin/sh beside it; or of a browser "browser", with what docs/BROWSER.md says of the tool.
 * timeout_ms: of a command; 0: an hour.  Several may be under way.
 *
 * `fn` comes once: `status` is "done", "failed", "not_started", "unknown" or "refused"; `output`
 * and `evidence` are JSON (evidence may be NULL); `bytes`: the picture, or all that the command
 * wrote. More than a MiB may lack a part: then it has failed, and says so.  ELIMIT: 192 at once.
 */
typedef void thole_computer_fn(void *ctx, const char *status, const char *output,
			       const char *evidence, const void *bytes, size_t size);
TH_API int thole_computer_call(struct thole_computer *c, const char *tool, const char *arguments,
			       int64_t timeout_ms, thole_computer_fn *fn, void *ctx,
			       struct thole_error *err);
/* In pixels; 0: it has not been started yet. */
TH_API int thole_computer_width(const struct thole_computer *c);
TH_API int thole_computer_height(const struct thole_computer *c);

/*
 * A program on a terminal of the computer, for a person: what it writes comes as it is, escape
 * sequences and all.  `options`: names and values in turn, ended by NULL; NULL: all defaults.
 *
 *     command      line for /bin/sh; default "bash"
 *     folder       where it begins; default: the computer's
 *     columns      1 to 1000; default 80
 *     rows         the same; default 24
 *     environment  "NAME=value"; may be there several times
 *
 * `fn` gets its output, `offset` being where that stands in all that it wrote (a gap: more came
 * than was taken), and once, at the end, `bytes` NULL.  It runs an hour at most.  EUSAGE: an
 * option.  ELIMIT: 64 terminals of one computer.
 */
struct thole_terminal;
typedef void thole_terminal_fn(void *ctx, struct thole_terminal *t, uint64_t offset,
			       const void *bytes, size_t size);
TH_API int thole_terminal_new(struct thole_computer *c, const char *const *options,
			      thole_terminal_fn *fn, void *ctx, struct thole_terminal **ret,
			      struct thole_error *err);
/* As if it was typed.  ELIMIT: more than 64 KiB at once, or before its program is there.  EPROTO:
 * the program has ended. */
TH_API int thole_terminal_write(struct thole_terminal *t, const void *bytes, size_t size,
				struct thole_error *err);
TH_API int thole_terminal_resize(struct thole_terminal *t, int columns, int rows,
				 struct thole_error *err);
TH_API bool thole_terminal_ended(const struct thole_terminal *t);
/* Once it has: the exit status, 128 and the number of a signal, or -1: it could not be run, or it
 * is not known what became of it, and thole_terminal_reason says why. */
TH_API int thole_terminal_status(const struct thole_terminal *t);
TH_API const char *thole_terminal_reason(const struct thole_terminal *t);
/* Ends its program, with all that it started.  Allowed in any callback, also its own.  NULL is
 * fine.  thole_computer_free frees them, too. */
TH_API void thole_terminal_free(struct thole_terminal *t);

/* A note is valid in its callback. */
TH_API int thole_note_kind(const struct thole_note *note); /* enum thole_note_kind */
TH_API const char *thole_note_name(const struct thole_note *note);
TH_API const char *thole_note_text(const struct thole_note *note);
TH_API const char *thole_note_json(const struct thole_note *note);
TH_API const char *thole_note_id(const struct thole_note *note); /* call_id */
TH_API uint64_t thole_note_seq(const struct thole_note *note);   /* of the event; 0: none */
/* Of an event, what is in its JSON as "data" and "ts_ms", without that being made; NULL, 0: none.
 */
TH_API const char *thole_note_data(const struct thole_note *note);
TH_API int64_t thole_note_ts_ms(const struct thole_note *note);

#ifdef __cplusplus
}
#endif

#endif
