/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_internal.h - what the files of a response share.
 */
#ifndef TH_MODEL_API_RESPONSE_INTERNAL_H
#define TH_MODEL_API_RESPONSE_INTERNAL_H

#include "model_api/response.h"
#include "server/listing.h"

/* Of the metadata of sessions that are a conversation's. */
#define TH_CONVERSATION_MEMBER "thole_conversation"
#define TH_CONVERSATION_ITEMS_MEMBER "thole_conversation_items"

/* Of its response's member: how many of the echo's tools came with an input. */
#define TH_BROUGHT_MEMBER "brought"

struct th_making;

/* ---- response.c ---- */

void th_response_free(struct th_response *p);
void th_response_gone(struct th_response *p); /* its client left; p is freed by the loop */
void th_response_listen(struct th_response *p, struct th_hub *h);
void th_response_started(struct th_response *p);
bool th_response_caught_up(struct th_response *p);
/* One of this user's that is under way here, by its name; NULL: there is none. */
struct th_response *th_response_find(struct th_server *s, const char *user, struct th_str name);

/* ---- response_wire.c ---- */

/* The server ends: sockets that have nothing to do are closed, the others after that. */
void th_v1_sockets_finish(struct th_server *server);

/* ---- response_steer.c ---- */

struct th_response_fault;

/* Says the input of a response.steer to it; on_steered is called when that is written, and on_over
 * before that where it is over first.  False: `fault` says why not. */
bool th_response_steer(struct th_response *p, struct th_str body, struct th_response_fault *fault);
void th_response_steered(struct th_response *p);              /* a message was written */
bool th_response_steer_late(struct th_response_fault *fault); /* false: it was over before */

/* ---- response_make.c ---- */

struct th_response_fault {
	int status;
	const char *code, *param; /* may be NULL */
	char message[512];
	struct thole_error lacks; /* THOLE_EPLACE: another node can begin it; else 0 */
	bool pending; /* something is being read (a->needs): it is to be made again then */
};

struct th_stored;

/* A request for a response. */
struct th_order {
	const struct th_face *face;
	struct th_str body;
	bool socket;              /* over a WebSocket, where the body is a message */
	struct th_stored *before; /* what previous_response_id names; NULL: nothing that is there */
	const struct thole_error *lost; /* why that could not be read; NULL: it could */
	/* As in the response. */
	void (*on_over)(struct th_response *p);
	void (*on_steered)(struct th_response *p);
	void (*on_unread)(struct th_response *p);
	void *over_ctx;
	const void *keeper;
	const char *stream_id;
};

/* As it says, of `access`, whose answer it will be.  False: `fault` says why, and nothing was
 * begun. */
bool th_response_make(struct th_access *a, const struct th_order *order, struct th_response **ret,
		      struct th_response_fault *fault);
/* service_tier of a request's text, into a->priority: flex is low; priority is high, or as high as
 * the user may; else as without. */
void th_response_tier(struct th_access *a, struct th_str body);
const char *th_response_tier_name(enum th_priority p); /* as the answer has it */
/* The name in previous_response_id of a request's text; empty: there is none of a usable length. */
void th_response_before(struct th_str body, struct th_buf *out);
int th_response_status(
    int code); /* enum thole_code: 500, 503, also where
		* another process has the session, or the request is no good: 400 */
TH_PRINTF(4, 5)
bool th_response_fault(struct th_response_fault *f, int status, const char *code, const char *fmt,
		       ...);

/* ---- response_stored.c ---- */

/* A response of the store, by its name. */
struct th_stored {
	char session[TH_SESSION_ID_MAX + 1];
	uint64_t after;
	struct th_json_doc *doc;      /* the session's row */
	const struct th_json *member; /* of its metadata */
	struct th_function_name *functions;
	size_t function_count;
	struct th_reply reply;
	bool is_head;      /* nothing was asked after it */
	uint64_t head_seq; /* of the session's last event */
};
void th_stored_deinit(struct th_stored *d);

/* One of this user's, its log read piece by piece: *ret is there when `done` is called, from the
 * loop; `err`: why it is not whole, or NULL.  THOLE_ENOENT: there is none of that name that is this
 * user's.  A result other than 0: nothing is called. */
struct th_stored_load;
typedef void th_stored_fn(void *ctx, const struct thole_error *err);
TH_NODISCARD int th_stored_load_start(struct th_server *s, const char *user, struct th_str name,
				      struct th_stored *ret, th_stored_fn *done, void *ctx,
				      struct th_stored_load **ret_load, struct thole_error *err);
void th_stored_load_cancel(struct th_stored_load *l); /* *ret is as far as it came */

/* One that a request names beside another thing. */
enum th_stored_result {
	TH_STORED_FOUND,
	TH_STORED_FAILED, /* `err` says why */
	TH_STORED_PENDING /* it is being read (server/needs.h) */
};
enum th_stored_result th_stored_get(struct th_needs *n, const char *user, struct th_str name,
				    struct th_stored *ret, struct thole_error *err);
/* The last response of a session; what was only put there since does not count. */
enum th_stored_result th_stored_get_last(struct th_needs *n, const char *user, const char *session,
					 struct th_stored *ret, struct thole_error *err);

/* ---- response_asked.c ---- */

#define TH_ASKED_PREFIX "in_" /* of an item's name: in_<its response's>_<its place> */

/* What it was asked with is added to `list`.  FAILED: `err` says why. */
enum th_stored_result th_asked_list(struct th_needs *needs, const char *user,
				    const struct th_stored *d, struct th_listing *list,
				    struct thole_error *err);
/* One of them as JSON, appended to `out`.  FAILED: `err` says why, unless there is none at that
 * place. */
enum th_stored_result th_asked_item(struct th_needs *needs, const char *user,
				    const struct th_stored *d, size_t index, struct th_buf *out,
				    struct thole_error *err);

/* ---- response_name.c: resp_<its session's id>_<the event that it begins behind> ---- */

void th_response_name(const char *session, uint64_t after, char ret[static TH_RESPONSE_NAME_MAX]);
void th_response_name_reply(struct th_reply *r, const char *name);
/* False: it is no response's name. */
bool th_response_name_parse(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1],
			    uint64_t *after);
/* The session alone. */
bool th_response_session_of(struct th_str name, char session[static TH_UUID_TEXT_SIZE + 1]);
/* An item's name: PREFIX_<name of its response>_<its place in the output>. */
struct th_item_name {
	char response[TH_RESPONSE_NAME_MAX]; /* with the prefix of a response */
	size_t index;
};
bool th_item_name_parse(struct th_str name, struct th_item_name *ret);

/* ---- response_delete.c ---- */

bool th_stored_is_deleted(const struct th_stored *d);
/* And answers, or calls `discarded` once its session is gone, or is not. */
void th_response_delete(struct th_access *a, const struct th_stored *d, th_discarded_fn *discarded);
void th_response_deleted(struct th_access *a); /* answers so */
/* Notes that it is deleted, though its session stays; and answers. */
void th_response_hide(struct th_access *a, const struct th_stored *d);
/* Folds the log from an event on into `r`, to the end of the response. */
enum th_stored_result th_stored_fold(struct th_needs *n, const char *user, const char *session,
				     uint64_t from, struct th_reply *r, struct thole_error *err);

/* An item of a response of this user's, as JSON. */
enum th_stored_result th_stored_item(struct th_needs *n, const char *user, struct th_str name,
				     struct th_buf *out, struct thole_error *err);

/* ---- response_place.c ---- */

/* The newest session of what a request's text goes on from: a response, or a conversation.
 * FAILED: of nothing that is there. */
enum th_stored_result th_response_place(struct th_needs *n, const char *user, struct th_str body,
					char session[static TH_SESSION_ID_MAX + 1]);

/* ---- conversation.c ---- */

/* A response of that conversation. */
bool th_conversation_begin(struct th_making *m, struct th_str name);

#endif
