/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - /api as its own files see it.
 */
#ifndef TH_SESSIONS_API_INTERNAL_H
#define TH_SESSIONS_API_INTERNAL_H

#include "server/service.h"
#include "sessions_api/sessions_api.h"

extern const char th_sessions_doc[]; /* docs.c */

/* ---- handlers, and the bodies that they take ---- */

extern const struct th_table th_session_create_table, th_session_message_table,
    th_session_pause_table, th_session_cancel_table, th_session_fork_table, th_session_change_table,
    th_session_decision_table, th_session_answer_table, th_session_resume_table,
    th_session_act_table;
th_access_fn th_page_index, th_page_get;
th_access_fn th_api_sessions_list, th_api_sessions_create, th_api_session_get,
    th_api_session_message, th_api_session_pause, th_api_session_resume, th_api_session_cancel,
    th_api_session_fork, th_api_session_approve, th_api_session_answer, th_api_session_reject,
    th_api_session_settle, th_api_session_export, th_api_session_items, th_api_import,
    th_api_waiting, th_api_session_blob, th_api_session_events, th_api_session_delete,
    th_api_session_change, th_api_usage, th_api_session_files, th_api_session_files_diff,
    th_api_session_files_get, th_api_session_screen, th_api_session_terminal;
th_access_fn th_api_session_condense, th_api_session_act, th_api_session_goal_end,
    th_api_session_goal_resume;

/* ---- answer.c: what a request says ---- */

struct th_api_body {
	struct th_json_doc *doc;
	struct th_arena memory;
};

/* The request's body by its table; no body is an empty object.  False: it was answered. */
bool th_api_body_read(struct th_access *a, const struct th_table *t, struct th_api_body *b,
		      void *out);
void th_api_body_deinit(struct th_api_body *b);
/* A new session can have that name, or it is empty: none was chosen.  False: it was answered. */
bool th_api_is_name(struct th_access *a, struct th_str id);
/* As a C string of the body's life; NULL: it is empty. */
const char *th_api_body_text(struct th_api_body *b, struct th_str s);

/* The words of a query as options of a list. */
struct th_api_options {
	struct th_buf user, values[10];
	const char *list[2 * 11 + 1];
	size_t count; /* of the values that were looked for */
};

/* Those of `names` (NULL ends them, at most 10), and whose: the caller's, or, with the scope admin,
 * those of `user`, where * is all.  False: it was answered.  To be freed in both cases. */
bool th_api_options_read(struct th_access *a, const char *const *names, const char *what,
			 struct th_api_options *o);
void th_api_options_deinit(struct th_api_options *o);

/* ---- the caller's sessions ---- */

/* The session of the access's first argument is its user's.  *ret_row, if not NULL: its object.
 * False: it was answered, or the handler is called again (needs.h). */
bool th_session_mine(struct th_access *a, struct th_str *ret_row);
/* And it is open here; `ready`: and not LOADING.  NULL: as false. */
struct th_hub *th_session_mine_open(struct th_access *a, bool ready);

/* ---- what begins a task: lead.c ---- */

struct th_session_task {
	const char *text; /* NULL: none */
	bool plan, goal;
	int64_t rounds; /* of the goal; 0: the default */
};

/* False: it was answered. */
bool th_session_task_checked(struct th_access *a, const struct th_session_task *t);
/* As thole_session_message and its kin. */
TH_NODISCARD int th_session_say(struct thole_session *s, const struct th_session_task *t,
				const char *user, struct thole_error *err);

/* ---- answers ---- */

/* Answers with the session's object (th_access_session) once an event of one of these kinds is
 * durable; `kinds`: names with spaces between; "": the next one. */
void th_session_answer_after(struct th_access *a, struct th_hub *h, int status, const char *kinds);

/* ---- screen.c, hold.c ---- */

void th_viewers_finish(struct th_server *s); /* ends all their sockets */
void th_viewers_free(struct th_server *s);
void th_holds_sweep(struct th_server *s); /* whose lease ended gives back */
void th_holds_free(struct th_server *s);

/* ---- reads.c ---- */

void th_api_page_give(struct th_access *a, uint64_t from); /* of events */

#endif
