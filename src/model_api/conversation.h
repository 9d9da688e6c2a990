/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversation.h - /v1/conversations: what is said in several responses, under
 * one name.
 *
 * A conversation begins as a session that nobody runs: it has the items that it
 * was begun with and what is said of it (its metadata).  Responses go on in the
 * newest session that has its name in the metadata, or in one of their own with
 * the same past when they are asked for otherwise; that one is the newest then.
 * One response at a time: a second one is refused meanwhile.
 */
#ifndef TH_MODEL_API_CONVERSATION_H
#define TH_MODEL_API_CONVERSATION_H

#include "model_api/response_making.h"
#include "server/listing.h"

#define TH_CONVERSATION_PREFIX "conv_"

/* A conversation of the caller's. */
struct th_conversation {
	char name[TH_RESPONSE_NAME_MAX];
	char first[TH_UUID_TEXT_SIZE + 1]; /* the session that it began as */
	char head[TH_SESSION_ID_MAX + 1];  /* the newest of its sessions */
	int64_t created_ms;
	struct thole_error err; /* why that could not be read; code 0: there is none */
};

/* ---- conversation.c ---- */

void th_conversation_name(const char *session, char ret[static TH_RESPONSE_NAME_MAX]);
enum th_stored_result th_conversation_find(struct th_needs *n, const char *user, struct th_str name,
					   struct th_conversation *p);
/* The one of the first argument.  False: it was answered, or the handler is called again. */
bool th_conversation_mine(struct th_access *a, struct th_conversation *p);
/* A response of it is under way. */
bool th_conversation_talks(const struct th_server *s, const char *name);
/* Its newest session, open here and between two tasks.  NULL: as false. */
struct th_hub *th_conversation_open(struct th_access *a, const struct th_conversation *p);

/* ---- conversation_places.c ---- */

/* What its items are called, and which of them were taken out. */
struct th_conversation_items {
	struct th_json_doc *row; /* of its newest session */
	const struct th_json
	    *names;              /* what that one's first items are called; NULL: their numbers */
	struct th_json_doc *doc; /* the items; NULL: they were not read */
	int64_t removed[TH_SERVE_REMOVED_ITEMS_MAX];
	size_t removed_count;
	bool is_due; /* some of them were taken out since its newest session began */
};
void th_conversation_items_deinit(struct th_conversation_items *p);
/* Lines of a log that say something of the conversation itself. */
enum th_take th_conversation_takes_notes(struct th_str line);
/* All but the items. */
enum th_stored_result th_conversation_removed(struct th_needs *n, const char *user,
					      const struct th_conversation *of,
					      struct th_conversation_items *ret,
					      struct thole_error *err);
/* And the items, as its newest session has them; `to`: up to this event; 0: all. */
enum th_stored_result th_conversation_items_read(struct th_needs *n, const char *session,
						 uint64_t to, struct th_conversation_items *p,
						 struct thole_error *err);
/* Over those that were not taken out. */
struct th_json_iter th_conversation_iter(const struct th_conversation_items *p);
bool th_conversation_next(const struct th_conversation_items *p, struct th_json_iter *it,
			  const struct th_json **ret_item, int64_t *ret_name);
/* The names of what goes with the item of that name, as a JSON list, and how many: a call goes with
 * its result, a result with its call, and reasoning with what followed it. */
size_t th_conversation_take_out(const struct th_conversation_items *p, int64_t name,
				struct th_jw *w);
/* What is left, for a session of its own; and the member of its metadata that says what they are
 * called. */
void th_conversation_put_rest(const struct th_conversation_items *p, struct th_jw *w,
			      struct th_buf *names);

/* ---- conversation_given.c ---- */

/* The body's items as a list, behind a note with its metadata.  False: it was answered. */
bool th_conversation_given(struct th_access *a, const struct th_json *body, struct th_buf *out);

/* ---- conversation_answers.c ---- */

void th_conversation_answer(struct th_access *a, const char *name, int status);
/* Items that were not taken: what is wrong with them is the request's fault. */
void th_conversation_refuse(struct th_access *a, const struct thole_error *err);

/* An answer that waits until something is written. */
struct th_conversation_wait {
	struct th_listener listener;
	struct th_access *access;
	void (*answer)(struct th_access *a, const struct th_conversation_wait *w);
	char name[TH_RESPONSE_NAME_MAX];
	const char *kind; /* of the event */
	size_t count;     /* items that were given */
};
void th_conversation_answer_after(struct th_access *a, struct th_hub *h,
				  const struct th_conversation_wait *how);
void th_conversation_answer_waited(struct th_access *a, const struct th_conversation_wait *w);

#endif
