/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - the API of OpenHands' agent-server as its own files see it.
 *
 * A conversation is a session whose name is a UUID.  What its client said of it, which is not the
 * run's, stands in the session's metadata (TH_OPENHANDS_MEMBER).  Its events are told by thole.h
 * (thole_conversation_read); its state is made of the session's row each time.
 */
#ifndef TH_OPENHANDS_API_INTERNAL_H
#define TH_OPENHANDS_API_INTERNAL_H

#include "openhands_api/openhands_api.h"
#include "server/after.h"

#define TH_OH_ONE "/api/conversations/{id}"

extern const char th_oh_doc[]; /* docs.c */

struct th_oh_act;
struct th_oh_command;
struct th_oh_held;
struct th_oh_question;
struct th_oh_socket;

struct th_oh {
	struct th_server *server;
	struct th_door door;
	struct th_oh_held *held; /* the one that was used last is first */
	struct th_oh_socket *sockets;
	struct th_oh_act *acts; /* commands under way */
	struct th_oh_question *questions;
	struct th_oh_command *commands; /* those of /api/bash, also the ended ones */
};

/* ---- info.c: what a conversation is ---- */

/* The session of the access's first argument, which becomes a UUID in its usual form.  *ret: its
 * row, to be freed.  ret_doc NULL: nobody wants it.  False: it was answered, or the handler is
 * called again (server/needs.h). */
bool th_oh_mine(struct th_access *a, struct th_json_doc **ret_doc);
/* "idle", "running", …; `row` of the store, which `h` knows better while it has the session. */
const char *th_oh_status(const struct th_hub *h, const struct th_json *row);
/* The whole state, as GET /api/conversations/{id} gives it. */
void th_oh_print_info(const struct th_server *s, const struct th_json *row, struct th_jw *w);
/* In UTC; events have no zone in their times. */
void th_oh_put_time(int64_t ms, bool zone, struct th_jw *w);
/* The same as an answer. */
th_after_fn th_oh_answer_info;
/* The conversation of the access's first argument, its session open; then `fn`. */
void th_oh_with_open(struct th_access *a, th_after_fn *fn);

/* ---- begin.c: what a client says of a conversation ---- */

/* A confirmation policy as `confirm` of an agent file; false: it is none. */
bool th_oh_confirm_of(const struct th_json *policy, struct th_buf *out);
/* What is wrong with the tags of a conversation; NULL: nothing, or there are none. */
const char *th_oh_tags_fault(const struct th_json *tags);
/* The session's metadata with another value of a member of ours. */
void th_oh_print_own(const struct th_json *old, const char *name, const struct th_json *value,
		     struct th_buf *out);

/* ---- tools.c: tools of a client ---- */

/* What is wrong with client_tools; NULL: nothing, or there are none. */
const char *th_oh_tools_fault(const struct th_json *tools);
TH_NODISCARD int th_oh_tools_add(struct th_server *s, struct thole_agent *agent,
				 const struct th_json *tools, struct thole_error *err);
/* th_service.tools */
TH_NODISCARD int th_oh_tools_again(struct th_server *s, const struct th_json *metadata,
				   struct thole_agent *agent, bool *ret_any,
				   struct thole_error *err);

/* ---- held.c: conversations that were read, for the next reading ---- */

/* Reads one as thole_conversation_read does; `done` is called in any case, unless the result is
 * not 0 or *ret is freed.  It may be called from inside nothing. */
struct th_oh_reading;
TH_NODISCARD int th_oh_read(struct th_oh *o, const char *id, const char *const *options,
			    thole_line_fn *fn, thole_done_fn *done, void *ctx,
			    struct th_oh_reading **ret, struct thole_error *err);
void th_oh_read_free(struct th_oh_reading *r);       /* takes NULL */
size_t th_oh_count(struct th_oh *o, const char *id); /* of events, as of the last reading */
void th_oh_forget(struct th_oh *o, const char *id);  /* it is deleted */
void th_oh_held_sweep(struct th_oh *o);
void th_oh_held_free(struct th_oh *o);

/* ---- said.c: a message ---- */

struct th_oh_said {
	struct th_buf text;  /* of all its parts */
	struct th_buf items; /* where it has pictures: the item that it is, in a list */
	bool run;
};
/* From {role, content, run}.  TH_EUSAGE. */
TH_NODISCARD enum th_code th_oh_said_read(const struct th_json *v, struct th_oh_said *ret,
					  struct th_err *err);
void th_oh_said_deinit(struct th_oh_said *m);
/* Says it to the hub's session, which is open; one that rests is held, unless it is to run. */
TH_NODISCARD int th_oh_say(struct th_hub *h, const struct th_oh_said *m, struct thole_error *err);
/* What POST …/run does.  `approves`: its caller may decide.  EBUSY: it runs. */
TH_NODISCARD int th_oh_run(struct th_hub *h, bool approves, const char *by,
			   struct thole_error *err);

/* ---- events.c ---- */

/* A time of the query without its zone, which is UTC; empty: it is not there.  False: it was
 * answered. */
bool th_oh_query_time(struct th_access *a, const char *name, struct th_buf *out);

/* ---- act.c: what a client does itself in a conversation's folder ---- */

/* Whose folder that is: the route's conversation, or the one that the path lies in, which becomes
 * the access's first argument.  It is the caller's; *below is the path in its folder.  `what`: its
 * name, for messages.  False: it was answered. */
bool th_oh_place(struct th_access *a, const char *what, struct th_str path, struct th_buf *below);

struct th_oh_ended {
	bool ran; /* else `why` it is not known how, or that it was not begun */
	bool timed_out, stopped;
	int64_t exit_code; /* 128 and the number of a signal; -1: ended by us, or it did not run */
	uint64_t size;     /* of all that it wrote to its standard output */
	struct th_str out, err, why;
};
typedef void th_oh_ended_fn(void *ctx, const struct th_oh_ended *end);
/* thole_session_command, once those of the session that were begun before are over.  `fn` is called
 * once, also when the session is lost. */
TH_NODISCARD int th_oh_act(struct th_hub *h, const char *by, const char *command,
			   const char *const *options, th_oh_ended_fn *fn, void *ctx,
			   struct thole_error *err);
/* Ends that of this context, where there is one; `fn` still comes. */
TH_NODISCARD int th_oh_act_stop(struct th_oh *o, const void *ctx, struct thole_error *err);
void th_oh_acts_free(struct th_oh *o);

/* ---- ask.c ---- */

void th_oh_questions_free(struct th_oh *o);

/* ---- commands.c ---- */

void th_oh_commands_free(struct th_oh *o);

/* ---- goal.c ---- */

/* Where it has a goal: what is said now is something else. */
TH_NODISCARD int th_oh_goal_end(struct th_hub *h, const char *by, struct thole_error *err);

/* ---- secrets.c ---- */

/* Of a request: {NAME: TEXT, StaticSecret or LookupSecret}; the session is open. */
TH_NODISCARD int th_oh_give(struct th_hub *h, const struct th_json *secrets, const char *by,
			    struct thole_error *err);
void th_oh_not_given(struct th_access *a, const struct thole_error *err); /* answers */

/* ---- socket.c ---- */

th_access_fn th_oh_socket;
/* Tells those who listen how a conversation stands that rests. */
void th_oh_sockets_poll(struct th_oh *o, const char *id);
void th_oh_sockets_finish(struct th_oh *o);
void th_oh_sockets_free(struct th_oh *o);

/* ---- handlers ---- */

th_access_fn th_oh_ask;                                                  /* ask.c */
th_access_fn th_oh_begin;                                                /* begin.c */
th_access_fn th_oh_search, th_oh_batch, th_oh_runtime;                   /* info.c */
th_access_fn th_oh_events, th_oh_events_count, th_oh_event, th_oh_final; /* events.c */
th_access_fn th_oh_get, th_oh_message, th_oh_post_run, th_oh_pause, th_oh_interrupt, th_oh_respond,
    th_oh_policy, th_oh_analyzer, th_oh_condense, th_oh_change, th_oh_delete; /* lead.c */
th_access_fn th_oh_goal, th_oh_goal_stop, th_oh_goal_resume;                  /* goal.c */
th_access_fn th_oh_fork;                                                      /* fork.c */
th_access_fn th_oh_settings, th_oh_profiles, th_oh_profile, th_oh_no_secrets,
    th_oh_no_secret; /* settings.c */
th_access_fn th_oh_bash_start, th_oh_bash_execute, th_oh_bash_search, th_oh_bash_event,
    th_oh_bash_stop;                            /* commands.c */
th_access_fn th_oh_secrets;                     /* secrets.c */
th_access_fn th_oh_upload, th_oh_download;      /* upload.c */
th_access_fn th_oh_git_changes, th_oh_git_diff; /* git.c */

#endif
