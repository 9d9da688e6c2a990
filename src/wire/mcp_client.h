/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_client.h - the client's side of MCP, as messages: which era of the protocol
 * the server speaks, requests and their answers, and what the server asks.
 *
 * Pure: messages go out through `send`, and come in by th_mcp_client_take.  The
 * caller has the channel, the clock, and the process or connection.
 *
 * The eras: revisions up to 2025-11-25 begin with `initialize` (legacy); in
 * 2026-07-28 (modern) each request says all.  Where the era is not known, it is
 * asked for: `server/discover`, then `initialize` when that is not understood or
 * not answered.  Once known it is not asked for again, also for a server that was
 * started anew (th_mcp_client_reset).
 *
 * Hostile servers: what answers nothing, and is no progress of what is waited for, is passed
 * over, but for TH_MCP_NOISE_MAX messages in a row; then the conversation is over.  Who has a
 * clock says when a while is over, since a server may ping for days.
 */
#ifndef TH_WIRE_MCP_CLIENT_H
#define TH_WIRE_MCP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"

#define TH_MCP_REVISION_MODERN "2026-07-28"
#define TH_MCP_REVISION_LEGACY "2025-11-25" /* the newest of them */

enum th_mcp_era { TH_MCP_ERA_UNKNOWN, TH_MCP_ERA_LEGACY, TH_MCP_ERA_MODERN };

/* What a server asks the person (elicitation/create), or the model (sampling/createMessage), before
 * it answers a request; borrowed. */
struct th_mcp_question {
	struct th_str params; /* JSON (mcp_form.h, mcp_sample.h) */
	bool sample;          /* it asks the model, not the person */
	/* Of the older era: it waits for th_mcp_client_reply with that id, and answers then. */
	struct th_str id;
	/* Of 2026-07-28: that was its answer; the request is made again with these members, and the
	 * result under `key` in inputResponses. */
	struct th_str key, state, inputs; /* JSON; state may be empty, inputs is an object */
};

struct th_mcp_client_ops {
	/* One message, without a line feed.  It must not call the client back. */
	void (*send)(void *ctx, struct th_str message);
	void (*opened)(void *ctx); /* requests may be made from now on */
	/* The end of a request: its result, raw JSON (an object); or an error. */
	void (*answered)(void *ctx, void *user, struct th_str result);
	void (*failed)(void *ctx, void *user, const struct th_err *err);
	void (*progress)(void *ctx, void *user, struct th_str text); /* a line, cleaned */
	void (*tools_changed)(void *ctx);
	/* NULL: nobody can be asked, which the server is told at the beginning. */
	void (*asked)(void *ctx, void *user, const struct th_mcp_question *q);
};

/* A request under way. */
struct th_mcp_request {
	uint64_t id; /* 0: none */
	void *user;
	const char *method; /* static */
	char *params;       /* to ask again with the answers to the server's questions */
	size_t params_len;
	int rounds;
	double progress; /* the last that was told of it */
};

struct th_mcp_client {
	const struct th_mcp_client_ops *ops;
	void *ctx;
	enum th_mcp_era era;
	bool samples; /* it may ask the model: to be set before the first word */
	bool open;
	bool refused;                                        /* it has refused our revision once */
	uint64_t ids, discover_id, initialize_id, listen_id; /* 0: not asked, or over */
	struct th_mcp_request requests[TH_MCP_PENDING_MAX];
	size_t request_count, noise;
	uint64_t heard_for; /* the request on whose answer a message comes, if that is known */
	char revision[16];  /* what is spoken */
	char software[160]; /* what the server calls itself: "name version"; may be empty */
	bool tells_changes; /* of its list of tools */
	unsigned abilities; /* beside tools (mcp_offer.h) */
	struct th_buf instructions; /* what the server says of its use, as it came, cut */
	struct th_buf root_uri; /* file:///…: what the server may work in; empty: none is told */
};

/* `root`: absolute path of the workspace, or empty. */
void th_mcp_client_init(struct th_mcp_client *c, const struct th_mcp_client_ops *ops, void *ctx,
			enum th_mcp_era era, struct th_str root);
void th_mcp_client_deinit(struct th_mcp_client *c);
/* The server has ended: all that it was asked is forgotten, without a word; its era is known. */
void th_mcp_client_reset(struct th_mcp_client *c);

/* Says the first word, where one is needed; `opened` may come at once. */
void th_mcp_client_begin(struct th_mcp_client *c);
/* The first word was not answered in time: another is tried.  False: there is no other. */
bool th_mcp_client_silent(struct th_mcp_client *c);

/* `params`: a JSON object without _meta, written by us.  TH_ELIMIT: TH_MCP_PENDING_MAX requests
 * are under way.  Only when it is open. */
TH_NODISCARD enum th_code th_mcp_client_request(struct th_mcp_client *c, const char *method,
						struct th_str params, void *user,
						struct th_err *err);
/* Nobody waits for it any more: the server is told, and neither `answered` nor `failed` comes.
 * Returns its id; 0: there is none. */
uint64_t th_mcp_client_cancel(struct th_mcp_client *c, const void *user, const char *reason);
/* That request will have no answer.  Whose it is, and that it is forgotten; NULL: it is none. */
void *th_mcp_client_forget(struct th_mcp_client *c, uint64_t id);

/* Does not answer it. */
void th_mcp_client_refuse(struct th_mcp_client *c, struct th_str id, struct th_str why);
/* Answers a question of the older era.  `id`: as it was asked; `result`: JSON. */
void th_mcp_client_reply(struct th_mcp_client *c, struct th_str id, struct th_str result);

/* One message of the server, or anything else.  TH_EPROTO: the server cannot be spoken to, with a
 * sentence. */
TH_NODISCARD enum th_code th_mcp_client_take(struct th_mcp_client *c, struct th_str message,
					     struct th_err *err);
/* A while is over: what was said until now counts for nothing. */
void th_mcp_client_calm(struct th_mcp_client *c);

#endif
