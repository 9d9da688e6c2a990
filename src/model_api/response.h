/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response.h - one answer that a client of a model API asks of us: a task of a
 * session, told in the client's API.
 *
 * The three APIs (Responses, Chat Completions, Messages) differ in how a
 * request is read (providers/wires.h has the decoders) and in how the answer is
 * told: a face.  Everything between is here, once.
 *
 * A response's id names its session and the event before it, so nothing else is
 * kept: resp_<session's UUID without dashes>_<seq>.
 */
#ifndef TH_MODEL_API_RESPONSE_H
#define TH_MODEL_API_RESPONSE_H

#include "model_api/model_api.h"
#include "server/reply.h"
#include "server/service.h"

#define TH_RESPONSE_NAME_MAX 64

struct th_response;

struct th_face {
	const char *wire; /* the decoder of its requests */
	const char *type; /* of its stream */
	const char *ping; /* a frame that says nothing, for streams that wait for long */
	void (*begin)(struct th_response *p);
	void (*delta)(struct th_response *p, const char *kind, struct th_str text);
	void (*item)(struct th_response *p, const struct th_reply_item *item);
	void (*end)(struct th_response *p);                       /* of its stream */
	void (*print)(struct th_response *p, struct th_buf *out); /* the whole, not streamed */
	void (*again)(struct th_response *p); /* the model begins its answer anew; may be NULL */
	/* Of one whose input is only put there, for what else is done with it; all three or none.
	 * `items`: what its session gets, a JSON list.  `put`: it has them; false: the response is
	 * over, and has its status.  `event`: one that came after that. */
	void (*said)(struct th_response *p, struct th_str items);
	bool (*put)(struct th_response *p);
	void (*event)(struct th_response *p, const char *kind, struct th_str json);
	bool tells_failure; /* `print` can say that the run failed */
	bool tells_whole;   /* `item` has the text that was told in pieces once more */
	bool tells_waiting; /* it has items that ask for a person's decision */
};

/* An item of a stream that was begun before it is whole. */
struct th_response_part {
	bool open;
	size_t index;
	int part; /* of the item */
	char id[80];
};

/* What was told in pieces of an answer that is not whole yet. */
struct th_response_shown {
	struct th_buf text;
	size_t matched;     /* of it, in an attempt after one that failed */
	bool again;         /* there was one */
	bool reasoning;     /* and reasoning was told */
	bool holds;         /* no text is told until the answer is whole */
	bool holds_thought; /* nor reasoning */
};

struct th_response {
	struct th_listener listener;
	struct th_deferred left; /* its client did, perhaps while it was told something */
	struct th_server *server;
	struct th_access *access; /* NULL: nobody waits for it any more */
	struct th_response *next; /* of a socket: asked for later */
	const struct th_face *face;
	struct th_hub *hub;
	struct th_reply reply;
	char name[TH_RESPONSE_NAME_MAX]; /* its id */
	char previous[TH_RESPONSE_NAME_MAX];
	char *items;                            /* that its session is still to get; or NULL */
	char *stays, *summary;                  /* of a compaction; or NULL */
	void (*on_over)(struct th_response *p); /* it ends; may be NULL */
	/* What was said to it while it was under way is written; of a socket alone. */
	void (*on_steered)(struct th_response *p);
	/* Its client does not read: the socket is to be closed, but not by this call. */
	void (*on_unread)(struct th_response *p);
	void *over_ctx;
	const void *keeper;    /* of a socket: what its session is kept for when it is not stored */
	const char *stream_id; /* of a socket: its events name it; as long as that; may be empty */
	size_t steers;         /* said to it and not written yet */
	char *echo;            /* the members of its request that its object repeats */
	struct th_function_name *functions; /* the client's */
	size_t function_count;
	uint64_t after; /* its events come behind this one */
	bool stream, background, store, began, over, socket;
	bool warm;      /* its input is only put there, and nothing is asked */
	bool put;       /* that is done, and its face does something else with it */
	bool empty;     /* warm, and there is nothing to put */
	bool caught_up; /* the log had a part of it already when it was made */
	char conversation[TH_RESPONSE_NAME_MAX]; /* that it is of; may be empty */
	struct th_response *next_talk;           /* of those of conversations */
	bool usage_wanted;                       /* Chat: the stream ends with its usage */
	int64_t created_ms;
	/* Of its stream. */
	int64_t sequence, skip; /* of the next frame; those up to `skip` are not sent */
	size_t index;           /* of the next item */
	struct th_response_part message, reasoning;
	struct th_response_shown shown;
	size_t told; /* items of the reply */
};

extern const struct th_face th_face_responses, th_face_chat, th_face_messages, th_face_compaction;

/* Its requests have the members of the Responses API. */
static inline bool th_face_is_responses(const struct th_face *f)
{
	return f == &th_face_responses || f == &th_face_compaction;
}

/* A frame of its stream: `event` NULL: none is named. */
void th_response_send(struct th_response *p, const char *event, struct th_str json);
/* The Responses API's object; `output`: with its items. */
void th_response_print(const struct th_response *p, struct th_jw *w, bool output);

th_access_fn th_v1_responses_create, th_v1_responses_get, th_v1_responses_delete,
    th_v1_responses_cancel, th_v1_responses_items, th_v1_responses_tokens, th_v1_models,
    th_v1_conversations_create, th_v1_conversation_get, th_v1_conversation_update,
    th_v1_conversation_delete, th_v1_conversation_items, th_v1_conversation_items_add,
    th_v1_conversation_item, th_v1_conversation_item_delete, th_v1_model, th_v1_chat,
    th_v1_responses_steer, th_v1_messages_tokens, th_v1_messages, th_v1_responses_socket,
    th_v1_responses_compact;

extern const char th_models_doc[]; /* docs.c */

#endif
