/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversation.h - a session as events of OpenHands: what a conversation holds, and how a reading
 * (reading.c) goes through it.
 *
 * Its log and its translator are the reader thread's.  Readings of one conversation share them:
 * there is one such thread, and it has one job at a time.
 */
#ifndef TH_API_CONVERSATION_H
#define TH_API_CONVERSATION_H

#include "api/api.h"
#include "forms/openhands_write.h"
#include "stores/reader.h"

struct thole_conversation {
	struct thole_runtime *rt;
	size_t users;       /* the caller, and each reading */
	size_t count, size; /* as of the last piece of a reading */
	char *id;
	/* The thread's while a reading is under way. */
	struct th_openhands_log log;
	struct th_openhands_writer writer;
	struct th_trajectory_out out;
	struct th_log_read read;
	struct th_store *store; /* while a piece is read */
	struct th_err broken;   /* why no more of it can be told; code 0: it can */
	int64_t created_ms;     /* of the session that is told; 0: not known yet */
};

/* Where a reading is. */
struct th_conversation_place {
	size_t next;
	bool backwards, placed;
	bool places;  /* not the events: where in the log they come from */
	bool current; /* all of the log is told */
	bool from_last;
	size_t count, size;                /* of the conversation, after the last piece */
	char event[TH_SESSION_ID_MAX + 1]; /* empty: no id was given */
};

typedef enum th_code th_give_fn(void *ctx, struct th_str event, bool *ret_full, struct th_err *err);

/* The options of a reading.  EUSAGE. */
int th_api_conversation_place(struct thole_conversation *c, const char *const *options,
			      struct th_conversation_place *ret, struct thole_error *err);
/* On the thread: tells more of the log; or once all is told, gives events to `take` until it is
 * full.  *ret_more: there is another piece. */
TH_NODISCARD enum th_code th_api_conversation_piece(struct thole_conversation *c,
						    struct th_conversation_place *place,
						    struct th_store *store, th_give_fn *take,
						    void *ctx, bool *ret_more, struct th_err *err);
void th_api_conversation_unref(struct thole_conversation *c); /* takes NULL */

#endif
