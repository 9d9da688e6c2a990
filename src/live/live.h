/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - an open session and the driver that has it, for the driver's
 * own files.  Each of them has a header with what the others may call.
 */
#ifndef TH_LIVE_LIVE_H
#define TH_LIVE_LIVE_H

#include "core/policy.h"
#include "history/history.h"
#include "live/body.h"
#include "live/session_config.h"

/* An effect that waits for its event to be durable. */
struct th_held {
	struct th_effect effect; /* effect.call may be out of date; use call_seq */
	uint64_t seq;            /* the event that must be durable; 0: none */
	uint64_t call_seq;       /* CALL event of its call; 0: none.  MODEL_CALL and REQUEST: the
				    event of the request that is sent late or again */
};

/* Events of one session on their way into the next transaction. */
struct th_pending {
	struct th_event *events; /* in the arena of the batch that is being filled */
	struct th_digest *digests;
	size_t count, cap;
	uint64_t seq_before;
	struct th_digest head_before;
	struct th_str task; /* what a first message says, in that arena */
	bool create;
};

/* A model request under way. */
struct th_flight {
	uint64_t seq;            /* of MODEL_REQUESTED */
	struct th_ticket ticket; /* a new one each time the answer is fetched */
	int64_t started_ms;
	struct th_decoder *decoder;
	struct th_buf frame; /* what stands before and after the history */
	struct th_buf path, headers;
	struct th_body body;
	bool in_world; /* the world has it */
	/* In the background: */
	bool fetches;    /* this request fetches the answer of an earlier request */
	bool resumes;    /* by reading on in its stream */
	bool polls;      /* by asking for its state, because a stream cannot be had */
	bool waits;      /* the answer was not finished; a timer runs until the next try */
	bool over;       /* the provider finished without an answer */
	int64_t poll_ms; /* how long the last wait was */
};
struct th_live;
/* Records a call with another item, and with what the grounder found; both JSON. */
typedef void th_record_item_fn(struct th_live *l, struct th_call *c, struct th_str item,
			       struct th_str grounding);

struct th_ground; /* a call while the grounder finds its elements */
struct th_ground_cache;
struct th_side_request;     /* side_request.h */
struct th_summarizing;      /* condense.h */
struct th_view;             /* view.h */
struct th_log_ahead;        /* log_ahead.h */
struct th_judging;          /* judge.h */
struct th_side_question;    /* ask.h */
struct th_quarantined;      /* quarantine.h */
struct th_sampling;         /* mcp_sample.h */
struct th_delegation;       /* a call and the child session that works on it */
struct th_pending_callback; /* a question to the agent's code */
struct th_mcp_list;         /* mcp_tools.c */
struct th_takeover;         /* person.c */
struct th_analysis;         /* a call while analysers look at it; analyse.c */
struct th_program;          /* a hook that is a program; program.c */
struct th_logged_call;      /* what the log says of a call; hooks.c */

/* An UNKNOWN result.  It waits for an observation, and the model reads both together. */
struct th_unknown {
	struct th_unknown *next;
	uint64_t call_seq;
	struct th_arena memory;
	struct th_str said, evidence;
	struct th_str hidden; /* what it said, which is in quarantine; empty: nothing */
	struct th_observation look;
	int64_t elapsed_ms;
};

struct th_live {
	struct th_driver *driver;
	uint32_t index, generation; /* generation 0: the slot is free */
	char *id;                   /* session id, NUL-terminated */
	struct th_session fold;
	struct th_session_config team_config;           /* of the team's first agent */
	const struct th_session_config *session_config; /* of the current agent */
	size_t speaks;                                  /* the current agent's index in the team */
	const struct th_agent *speaking; /* its definition: session_config's, or `rewritten` */
	struct th_agent *rewritten;      /* a copy with other instructions; NULL: none */
	struct th_buf instructions;      /* those from its code */
	struct th_buf told;      /* those of `rewritten`: its own or its code's, and its servers' */
	bool instructed;         /* its code has given instructions */
	bool instructions_new;   /* no event records them yet */
	int64_t instructed_turn; /* the turn they were made for */
	size_t model_at;         /* the model in use; th_live_choose sets it from the fold */
	const struct th_resolved_model *resolved; /* that model; the open calls are its answer */
	struct th_buf filtered;    /* result of the input filter for the next request */
	int64_t filtered_turn;     /* the turn of this request */
	uint64_t filtered_message; /* the last message when the filter was called */
	struct th_arena format;    /* holds output_schema in the form that is sent */
	struct th_request_options options;
	struct th_tool_spec *own_tools; /* options.tools; NULL: those of the configuration */
	uint64_t ending; /* the request whose answer in the background is being ended; 0: none */
	struct th_buf previous;     /* text behind options.previous of the current request */
	struct th_history *history; /* NULL until it is needed */
	/* The history must be built again from the log, because another agent or model reads it
	 * differently.  This happens when the whole log is durable. */
	bool history_due;
	bool pictures_due;                  /* the request waits for pictures of its history, */
	uint64_t pictures_seq;              /* which were asked for; 0: none ever were */
	struct th_view *view;               /* view.h; NULL: the log is read */
	struct th_log_ahead *ahead;         /* log_ahead.h; NULL: nothing is read beside the loop */
	struct th_summarizing *summarizing; /* condense.h; NULL: no summary is awaited */
	struct th_judging *judging;         /* judge.h; NULL: no verdict is awaited */
	struct th_side_question *asking;    /* ask.h; NULL: nobody asks anything */
	struct th_quarantined *quarantined; /* quarantine.h; NULL: nothing is being read */
	struct th_sampling *samplings;      /* mcp_sample.h: what servers ask the model */
	bool provider_compacted; /* the last answer has a compaction: what it stands for may go */
	bool not_compacted;      /* the compaction callback left the next request as it is */
	bool tail;               /* the request holds only what is new since the last answer */
	struct th_pending_callback *pending_callbacks; /* questions to the agent's code */
	uint64_t asked;                                /* how many were asked; their ids */
	struct th_observer observer;
	struct th_digest head;
	int64_t epoch, created_ms;
	uint64_t durable_seq;
	struct th_used used_said; /* that appends have told the store */
	const struct th_append
	    *fresh; /* what has just become durable, while observers are called */
	struct th_pending pending;
	struct th_live *dirty_next;
	bool dirty, pumping, lost;
	bool untold;                    /* lost; the next flush calls the observer */
	uint8_t hooked;                 /* hooks.c: the hooks that were called */
	struct th_logged_call *results; /* hooks.c: results whose guardrails are still running */
	struct th_analysis *analyses;   /* calls that analysers are asked about; analyse.c */
	struct th_program *programs;    /* hooks under way; program.c */
	bool worked;                    /* since it was opened, or since the hooks of its end */
	bool rest_waits;                /* for these, before its observer is told that it rests */
	size_t commits;                 /* batches under way with events of this session */
	struct th_held *held;
	size_t held_count, held_cap;
	struct th_effect *queue; /* effects of the fold that were not performed yet */
	size_t queue_count, queue_cap, queue_at;
	struct th_flight *flight;
	struct th_unknown *unknowns;
	enum {
		TH_FIRST_OBSERVATION_NONE,
		TH_FIRST_OBSERVATION_UNDER_WAY,
		TH_FIRST_OBSERVATION_OVER
	} first_observation;
	struct th_ground *grounds;
	struct th_ground_cache *ground_cache;
	struct th_side_request *sides; /* under way, or waiting for another try */
	uint64_t side_count;
	struct th_delegation *children;         /* calls that child sessions work on; delegate.h */
	struct th_mcp_list *mcp_lists;          /* what it has of servers; mcp_tools.c */
	uint64_t mcp_asked;                     /* how many lists were asked for; their ids */
	struct th_takeover *person;             /* who took over; person.c; NULL: nobody yet */
	struct th_delegation *parent_call;      /* the parent's call that it works on; NULL: none */
	char *user, *title, *parent, *metadata; /* of the sessions row; may be NULL */
	uint64_t parent_seq;
};

/* A transaction that is being filled or written. */
struct th_commit {
	struct th_driver *driver;
	struct th_arena arena;
	struct th_batch batch;
	struct th_blob *blobs;
	size_t blob_count, blob_cap;
	struct th_handle *handles; /* of the appends */
	struct th_commit *next;    /* in the list of unused ones */
};

/* A blob as base64, shared by requests. */
struct th_blob_text {
	struct th_digest hash;
	char *text;         /* NULL: it is not here */
	bool asked;         /* it comes */
	struct th_err *why; /* it came to nothing: told to all who wait for it */
	size_t len, users;
	uint64_t used;
};

struct th_driver {
	struct th_world world;
	char *build;
	struct th_live **lives;
	uint32_t live_cap, live_free; /* no slot before live_free is free */
	size_t live_count;
	uint32_t generations;
	struct th_commit *filling, *spare;
	struct th_buf event_data; /* log.c: the event that is being written */
	struct th_live *dirty, *dirty_last;
	const struct th_log_ops *log_ops;    /* log.h */
	const struct th_effect_row *effects; /* by kind; queue.h */
	uint64_t log_short;  /* events; a longer part of a log is read beside the loop */
	uint64_t logs_asked; /* how many were; their tickets */
	bool flush_asked, untold;
	size_t commits; /* transactions under way */
	struct th_blob_text *texts;
	size_t text_count, text_cap, text_bytes;
	uint64_t text_clock;
};

struct th_live *th_live_find(const struct th_driver *d, uint32_t index, uint32_t generation);
struct th_live *th_driver_find(const struct th_driver *d, struct th_handle h);
struct th_handle th_live_handle(const struct th_live *l);
struct th_ticket th_live_ticket(const struct th_live *l, uint64_t seq); /* TH_TICKET_EVENT */
struct th_ticket th_live_ticket_of(const struct th_live *l, enum th_ticket_kind kind, uint64_t seq);
/* The call of a CALL event; NULL: there is none, or call_seq is 0. */
struct th_call *th_live_call(struct th_live *l, uint64_t call_seq);
struct th_call *th_live_intended(struct th_live *l, uint64_t intent_seq); /* NULL: not, or over */
/* How long an effect may take, as the agent's definition says. */
int64_t th_live_timeout_ms(const struct th_live *l);
/* 32 hexadecimal digits and a NUL. */
void th_driver_random_id(struct th_driver *d, char out[static 33]);
/* Whether a limit of tokens or cost cannot count this answer of the model `p`. */
bool th_live_unmetered(const struct th_live *l, const struct th_profile *p,
		       const struct th_usage *u, int64_t cost_nano);

#endif
