/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acp.h - thole acp: an agent of the Agent Client Protocol, version 1, for
 * editors that start it as a program.
 *
 * Messages of JSON-RPC, one a line, on standard input and output.  Each session
 * of the protocol is a session of the log (include/thole/thole.h): what the
 * editor is shown is its notes, and its history is shown again from the log
 * (session/load), also after this process was killed.  A call that waits for a
 * person is asked about in the editor; nothing is approved by itself.
 */
#ifndef TH_ACP_ACP_H
#define TH_ACP_ACP_H

#include <thole/thole.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "wire/jsonrpc.h"

struct acp_session {
	struct acp_session *next;
	struct acp *acp;
	struct thole_session *session;
	char *prompt;  /* id of the request that waits for the turn's end, raw; NULL: none */
	char *later;   /* what is said once the session does not wait any more; or NULL */
	char *closing; /* id of the request to close it, once what runs has stopped; or NULL */
	char *loading; /* id of the request that waits until its history was shown; or NULL */
	struct thole_reading *reading; /* of that history */
	char *cwd;
	bool said, thought; /* the answer under way was shown as it came */
	bool replay;        /* what is shown is of the log */
	char id[TH_SESSION_ID_MAX + 1];
};

enum acp_ask_kind {
	ACP_ASK_APPROVAL, /* whether a call may run */
	ACP_ASK_SETTLE,   /* what became of it */
	ACP_ASK_CHOICE,   /* a question of the agent, with its options as choices */
	ACP_ASK_FORM      /* the same as a form, for editors that show one */
};

/* What the person is asked and has not answered yet. */
struct acp_ask {
	struct acp_ask *next;
	struct acp_session *session;
	int64_t id; /* of the request to the editor */
	char *call_id;
	struct th_json_doc *question; /* arguments of the tool ask; NULL: it is none */
	enum acp_ask_kind kind;
};

struct acp_options {
	struct th_str agent, model, approve, net;
};

struct acp {
	struct thole_runtime *rt;
	const struct acp_options *options;
	struct acp_session *sessions;
	size_t session_count;
	struct acp_ask *asks;
	int64_t last_id;
	bool forms; /* the editor shows them (elicitation) */
	bool mute;  /* nobody reads what is written */
};

/* ---- send.c: messages ---- */

void th_acp_send(struct acp *a, const struct th_buf *line); /* a whole message */
void th_acp_result(struct acp *a, struct th_str id, struct th_str result);
void th_acp_error(struct acp *a, struct th_str id, int code, const char *text);

/* ---- session.c: requests about sessions; each answers ---- */

typedef void th_acp_fn(struct acp *a, const struct th_rpc *m, const struct th_json *params);
th_acp_fn th_acp_new, th_acp_load, th_acp_resume, th_acp_list, th_acp_close, th_acp_prompt,
    th_acp_cancel;
void th_acp_session_free(struct acp_session *s); /* end.c */
/* An agent as the options say; of NULL `cwd`: only to see that it can be made. */
TH_NODISCARD int th_acp_agent(const struct acp *a, const char *cwd, struct thole_agent **ret,
			      struct thole_error *err);

/* ---- servers.c ---- */

/* The editor's servers, of an agent that has none of its own; NULL `agent`: their tokens alone. */
TH_NODISCARD int th_acp_servers(const struct acp *a, const struct th_json *list,
				struct thole_agent *agent, struct thole_error *err);

/* ---- call.c ---- */

/* The members of a call but its id, into an object.  `why` a person is asked about it; NULL: nobody
 * is. */
void th_acp_put_call(const struct acp_session *s, struct th_str tool, struct th_str arguments,
		     const char *why, struct th_jw *w);

/* ---- update.c: what the editor is shown ---- */

void th_acp_note(void *ctx, struct thole_session *session, const struct thole_note *note);
/* An event of its log, shown. */
void th_acp_event(struct acp_session *s, struct th_str event);

/* ---- ask.c: what the person is asked ---- */

void th_acp_ask(struct acp_session *s, const char *call_id, const char *tool, const char *why,
		const char *arguments, bool settle);
/* The editor's answer; of an error `value` is no outcome. */
void th_acp_answer(struct acp *a, const struct th_rpc *m);
void th_acp_forget(struct acp_session *s); /* its questions */

extern const struct th_command th_command_acp; /* console/option.h */

#endif
