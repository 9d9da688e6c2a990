/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - what thole offers over MCP: tools that begin and lead sessions,
 * sessions as resources, long runs as tasks.
 *
 * No tool decides about a call that waits for a person: a model must not approve
 * what another model asks for.  Where the client can show its user a form, and its
 * token may decide, the user is asked in that form; what he says is recorded as
 * his word.
 */
#ifndef TH_MCP_SERVER_KIT_H
#define TH_MCP_SERVER_KIT_H

#include "mcp_protocol/mcp.h"
#include "mcp_server/mcp_server.h"

/* ---- tools.c ---- */

th_access_fn th_mcp_request;

/* ---- result.c ---- */

/* The session's row and what it says last, as a JSON object. */
void th_mcp_session_print(struct th_server *s, const char *id, struct th_str row,
			  struct th_buf *out);
void th_mcp_session_answer(struct th_mcp *m, const char *id);

/* ---- wait.c ---- */

/* Answers when the session rests, or after so many seconds; tells how far it is, and asks when a
 * person must decide.  As a task: as soon as it is written.  `is_new`: it was begun just now. */
void th_mcp_wait(struct th_mcp *m, struct th_hub *h, int64_t seconds, bool is_new);

/* Asks about what waits in the session; answers with the session where nothing does. */
void th_mcp_ask_decisions(struct th_mcp *m, const char *id);

/* ---- decide.c ---- */

/* Whether the client's user can be asked about a call that waits. */
bool th_mcp_can_decide(const struct th_mcp *m);
/* Forms for what waits in the session: {KEY: {method, params}}.  False: nothing does, or m waits.
 */
bool th_mcp_put_decisions(struct th_mcp *m, const char *id, struct th_jw *w);
/* The words in the inputs: each is recorded in the session, which is open.  False: `err`. */
bool th_mcp_decide(struct th_mcp *m, struct th_hub *h, struct thole_error *err);

/* ---- tasks.c, resources.c ---- */

bool th_mcp_kit_task(struct th_mcp *m, struct th_str id, struct th_mcp_task *ret);
void th_mcp_kit_task_cancel(struct th_mcp *m, struct th_str id);
void th_mcp_kit_task_input(struct th_mcp *m, struct th_str id);
void th_mcp_kit_resources(struct th_mcp *m, struct th_jw *w);
bool th_mcp_kit_read(struct th_mcp *m, struct th_str uri);
bool th_mcp_kit_watch(struct th_mcp *m, struct th_mcp_watch *w);
bool th_mcp_kit_known(struct th_mcp *m, struct th_str uri);
extern const char th_mcp_kit_templates[];
/* The session that a URI names, and what of it. */
bool th_mcp_kit_named(struct th_str uri, char id[static TH_SESSION_ID_MAX + 1],
		      struct th_str *ret_rest);

/* ---- reads.c: the answer comes when the log was read ---- */

void th_mcp_contents(struct th_mcp *m, struct th_str uri, const char *type, struct th_str content,
		     bool blob); /* `text`, or with `blob` those bytes in base64; at once */
void th_mcp_read_events(struct th_mcp *m, struct th_str uri, const char *id);
/* `hash` empty: the newest. */
void th_mcp_read_picture(struct th_mcp *m, struct th_str uri, const char *id, struct th_str hash);
/* As a tool's result; `from` and `limit` 0: from the first, and so many as is usual. */
void th_mcp_answer_events(struct th_mcp *m, const char *id, uint64_t from, size_t limit);

/* ---- computers.c: a desktop of each user ---- */

bool th_mcp_computers_offered(const struct th_server *s);
extern const struct th_table th_mcp_see_table, th_mcp_act_table;
void th_mcp_call_see(struct th_mcp *m, const void *arguments);
void th_mcp_call_act(struct th_mcp *m, const void *arguments);
void th_mcp_computers_sweep(struct th_server *s);
void th_mcp_computers_free(struct th_server *s);

#endif
