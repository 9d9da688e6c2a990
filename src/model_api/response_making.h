/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_making.h - a request of a model API while its response is being made:
 * read, looked through, and said to a session.
 *
 * Each step answers false when the request is refused; then `fault` says why, and
 * nothing was begun.  So it is where something of the store has to be known first
 * (fault->pending): the whole is done again when that is there.
 */
#ifndef TH_MODEL_API_RESPONSE_MAKING_H
#define TH_MODEL_API_RESPONSE_MAKING_H

#include "model_api/response_internal.h"

struct th_conversation_items;

struct th_making {
	struct th_access *access;
	struct th_server *server;
	const struct th_face *face;
	struct th_arena memory;
	struct th_json_doc *body, *unified; /* as it came, and as all wires have it */
	const struct th_json *b, *u;
	struct th_json_doc *given; /* its items: references looked up, packed ones unpacked */
	const struct th_json *items;
	struct th_json_doc *gathered; /* its tools with those that its input brings; or NULL */
	const struct th_json *tools;
	size_t brought;     /* of the tools, the last ones: not of the request's own list */
	struct th_buf echo; /* what the response's object repeats, as JSON */
	struct th_buf said; /* what is said to the session, a JSON list of items */
	char digest[TH_SHA256_HEX_SIZE + 1];
	char conversation[TH_RESPONSE_NAME_MAX]; /* that it is of; may be empty */
	struct th_conversation_items *places;    /* of that; NULL: it is of none */
	struct th_buf names;                     /* its items' in a session of its own; or empty */
	struct th_stored *before;                /* of the order, as `lost` */
	const struct thole_error *lost;
	struct th_response_fault *fault;
	struct th_response *p;
	bool in_turn;                 /* of an item that is read: behind the user's last message */
	size_t lookups;               /* of reasoning */
	bool store, background, warm; /* warm: it is only put there, nothing is asked */
	bool shared;                  /* its agent is not its own */
};

/* ---- response_fault.c ---- */

bool th_making_fault_api(struct th_making *m, const struct thole_error *err);
bool th_making_pending(struct th_making *m); /* fault->pending */

/* ---- response_tools.c ---- */

/* Fills in tools. */
bool th_making_read_tools(struct th_making *m);
/* An item that is about tools, as the model has it; false: it is none. */
bool th_making_put_tool_item(const struct th_json *item, struct th_jw *w);

/* ---- response_input.c ---- */

/* Fills in given and items. */
bool th_making_read_items(struct th_making *m);
/* Each result is of a call, and each call that waits has its result; `before` may be NULL. */
bool th_making_check_results(struct th_making *m, const struct th_reply *before);
bool th_making_is_result(const struct th_json *item);
/* A result or content as text: its string, or its parts' texts. */
struct th_str th_making_text(const struct th_json *output, struct th_buf *out);
/* The items but what only decides about calls; without brackets. */
void th_making_put_items(struct th_making *m, struct th_jw *w);
/* The request's instructions for an agent of ours, which has its own. */
void th_making_put_instructions(struct th_making *m, struct th_jw *w);

/* An item that only says something of the conversation, and nothing to a model. */
bool th_conversation_note(const struct th_json *item);

/* ---- response_agent.c ---- */

/* What the request says beside its input: fills in echo and digest. */
bool th_making_put_echo(struct th_making *m);
/* The echo without instructions, and of the tools their names alone: those are in the log of the
 * session, with its agent, and only the names are needed to take it up. */
void th_making_put_brief_echo(struct th_making *m, struct th_jw *w);
bool th_making_agent(struct th_making *m, const char *workspace, struct thole_agent **ret);
/* The tokens of context_management, from which a provider compacts; below 1: it says none. */
int64_t th_making_compacts_from(const struct th_making *m);

/* ---- response_session.c ---- */

bool th_making_fresh(struct th_making *m);
bool th_making_go_on(struct th_making *m, struct th_stored *before);

#endif
