/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - what the driver's files share: driver.c keeps sessions,
 * log.c their events until they are durable, effects.c what waits
 * for that; inputs.c takes what people say, model.c asks models,
 * calls.c runs calls.
 */
#ifndef TH_DRIVER_INTERNAL_H
#define TH_DRIVER_INTERNAL_H

#include "core/policy.h"
#include "driver/driver.h"
#include "driver/history.h"

/* An effect that waits for its event to be durable. */
struct th_held {
	struct th_effect effect; /* its index of a call does not hold; `call_seq` does */
	uint64_t seq;            /* the event; 0: nothing was waited for */
	uint64_t call_seq;       /* of the call it is about; 0: none.  MODEL_CALL, REQUEST: of
				    the request that is sent late, or made once more */
};

/* Events of one session on their way into the next transaction. */
struct th_pending {
	struct th_event *events; /* all of it in the filling batch's arena */
	struct th_digest *digests;
	size_t count, cap;
	uint64_t seq_before;
	struct th_digest head_before;
	bool create;
};

/* A model request under way. */
struct th_flight {
	uint64_t seq;            /* of MODEL_REQUESTED */
	struct th_ticket ticket; /* another for each time that the answer is fetched */
	int64_t started_ms;
	struct th_decoder *decoder;
	struct th_buf frame; /* what stands before and after the history */
	struct th_buf path, headers;
	struct th_str *body;
	size_t body_count;
	struct th_digest *blobs; /* pinned texts */
	size_t blob_count;
	bool in_world; /* the world has it */
	/* In the background: */
	bool fetches;    /* an answer that was asked for before; */
	bool resumes;    /* its stream is taken up */
	bool polls;      /* that was tried, or is of no use */
	bool waits;      /* it was not done, and is looked at again */
	bool over;       /* it is done, and is none */
	int64_t poll_ms; /* the last wait */
};
struct th_ground; /* a call whose elements are looked for */
struct th_ground_cache;
struct th_side_request;     /* side_request.h */
struct th_delegation;       /* a call, and the session that works on it */
struct th_pending_callback; /* a question to the agent's code */
struct th_logged_call;      /* what the log has of a call; hooks.c */

/* An UNKNOWN result that waits for the look which is told with it. */
struct th_unknown {
	struct th_unknown *next;
	uint64_t call_seq;
	struct th_arena memory;
	struct th_str said, evidence;
	struct th_observation look;
	int64_t elapsed_ms;
};

struct th_live {
	struct th_driver *driver;
	uint32_t index, generation; /* generation 0: the slot is free */
	char *id;                   /* session id, NUL-terminated */
	struct th_session fold;
	struct th_session_config team_config;           /* of the agent that began */
	const struct th_session_config *session_config; /* of the one that speaks: */
	size_t speaks;                                  /* index in the team */
	const struct th_agent *speaking;                /* its definition: the outfit's, or */
	struct th_agent *rewritten; /* that with the instructions that its code gave; NULL: none */
	struct th_buf instructions; /* those; */
	bool instructed;            /* it did; */
	bool instructions_new;      /* and no event says so yet */
	int64_t instructed_turn;
	size_t model_at; /* that `choice` is for: it follows the fold's, see */
	const struct th_resolved_model
	    *resolved;             /* th_live_choose; of the open calls' answer, too */
	struct th_buf filtered;    /* marks of the next request; */
	int64_t filtered_turn;     /* which one that is, */
	uint64_t filtered_message; /* and what was said last when the filter was asked */
	struct th_arena format;    /* output_schema as it is sent */
	struct th_request_options options;
	uint64_t ending; /* the request whose answer in the background is being ended; 0: none */
	struct th_buf previous;     /* of `options`, of the request under way; */
	struct th_history *history; /* NULL until it is needed */
	/* The next agent reads the log otherwise than the one before: the history is made anew when
	 * all of it is durable. */
	bool history_due;
	bool not_compacted; /* its code does not want to replace what the next request sends */
	bool tail;          /* the request holds what is new since the last answer, and no more */
	struct th_pending_callback *pending_callbacks; /* what its code is being asked */
	uint64_t asked;
	struct th_observer observer;
	struct th_digest head;
	int64_t epoch, created_ms;
	uint64_t durable_seq;
	const struct th_append *fresh; /* what has just become durable, while that is told */
	struct th_pending pending;
	struct th_live *dirty_next;
	bool dirty, pumping, lost;
	bool untold;    /* lost, and the observer is told by the next flush */
	uint8_t hooked; /* hooks.c: what its hooks were told of, */
	struct th_logged_call
	    *results;   /* and results that they will be when the guardrails are done */
	size_t commits; /* batches under way with events of this session */
	struct th_held *held;
	size_t held_count, held_cap;
	struct th_effect *queue; /* effects not yet looked at */
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
	struct th_side_request *sides; /* under way, or about to be tried again */
	uint64_t side_count;
	struct th_delegation *children;    /* those that work for it; delegate.h */
	struct th_delegation *parent_call; /* it works for another: on which call; NULL: for none */
	char *user, *title, *parent, *metadata; /* of the sessions row; may be NULL */
	uint64_t parent_seq;
};

/* A transaction being filled, or under way. */
struct th_commit {
	struct th_driver *driver;
	struct th_arena arena;
	struct th_batch batch;
	struct th_blob *blobs;
	size_t blob_count, blob_cap;
	struct th_handle *handles; /* of the appends */
	struct th_commit *next;    /* in the list of spare ones */
};

/* base64 of a blob, shared by requests. */
struct th_blob_text {
	struct th_digest hash;
	char *text;
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

/* log.c */
/* Sets *ret; nothing for an empty text.  False: out of memory. */
bool th_copy_text(struct th_str s, char **ret);
/* Room for `more` elements in a list that doubles.  False: out of memory. */
bool th_list_room(void *list, size_t count, size_t *cap, size_t more, size_t size);
/* As if the process had died: what is in the log says what is open.  Called anywhere, so its owner
 * is told later. */
void th_live_no_memory(struct th_live *l);
/* Whether a limit of tokens or cost cannot count this answer of the model `p`. */
bool th_live_unmetered(const struct th_live *l, const struct th_profile *p,
		       const struct th_usage *u, int64_t cost_nano);
void th_live_dirty(struct th_live *l); /* the next flush looks at it */

/* effects.c */
void th_live_hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq);
void th_live_queue(struct th_live *l, const struct th_effects *fx);
/* What waited for events up to durable_seq may happen now.  The session may be gone afterwards. */
void th_live_release(struct th_driver *d, struct th_handle h);
TH_NODISCARD enum th_code th_live_state(struct th_live *l, enum th_state to, struct th_str reason,
					struct th_err *err);

/*
 * Steps the fold with a new event and, when it fits, puts it into the filling
 * transaction; its effects are queued.  `data` is copied.  On failure nothing
 * happened.
 */
TH_NODISCARD enum th_code th_live_append(struct th_live *l, enum th_event_kind kind,
					 enum th_source source, uint64_t cause, struct th_str call,
					 struct th_str data, struct th_err *err);
/* The same with the struct that the kind's table describes: `in` of TH_EV_CALL is a struct
 * th_ev_call. */
TH_NODISCARD enum th_code th_live_append_event(struct th_live *l, enum th_event_kind kind,
					       enum th_source source, uint64_t cause,
					       struct th_str call, const void *in,
					       struct th_err *err);
/* A message of the role user that is plain text. */
TH_NODISCARD enum th_code th_live_append_message(struct th_live *l, enum th_source source,
						 uint64_t cause, struct th_str text,
						 struct th_err *err);
/* For events that the driver must write: when one cannot be written, the session is lost. */
void th_live_write_event(struct th_live *l, enum th_event_kind kind, enum th_source source,
			 uint64_t cause, struct th_str call, const void *in);
/* The rendered history, up to the last event: read from the store when it is not there yet. */
TH_NODISCARD enum th_code th_live_history(struct th_live *l, struct th_err *err);
/* Turns to the model that the fold asks, whose history is then made anew from the log.  False: not
 * yet, because not all of the log is durable; the request is made when it is. */
bool th_live_choose(struct th_live *l);
/* Works off the queued effects. */
void th_live_pump(struct th_live *l);
void th_live_lose(struct th_live *l, const struct th_err *err);
/* Events that are durable, in order: as the store's read, which what is fresh need not be asked of.
 */
TH_NODISCARD enum th_code th_live_read(const struct th_live *l, uint64_t from, uint64_t to,
				       th_event_fn *fn, void *ctx, struct th_err *err);
/* Copied into the next transaction. */
TH_NODISCARD enum th_code th_driver_add_blob(struct th_driver *d, const struct th_blob *blob,
					     struct th_err *err);

/* model.c */
void th_live_request(struct th_live *l);    /* REQUEST: writes MODEL_REQUESTED */
void th_live_model_call(struct th_live *l); /* MODEL_CALL: sends it */
void th_live_model_cancel(struct th_live *l, bool log);
void th_driver_texts_free(struct th_driver *d);
/* base64 of a blob, which stays until it was dropped as often as it was needed. */
TH_NODISCARD enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
					      struct th_str *ret, struct th_err *err);
void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash);

/* driver.c: a switch to the agent that the fold says speaks. */
TH_NODISCARD enum th_code th_live_switch_agent(struct th_live *l, struct th_err *err);
/* What the agent's code gave as instructions; `fresh`: an event is to say so. */
void th_live_instruct(struct th_live *l, struct th_str text, bool fresh);

/* callbacks.c */
void th_live_guard(struct th_live *l, const struct th_held *held);
void th_live_tool_use(struct th_live *l);
bool th_live_instructions(struct th_live *l); /* true: the request is made when they are there */
/* Asks and has the answer at once; false: there is none. */
bool th_live_ask_now(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     struct th_str input, struct th_buf *answer);
/* What the model will be told in `text`, in the words of the agent's code, if it has any: asked
 * with `input`.  `otherwise`: what is told when those are no text. */
void th_live_reword(struct th_live *l, struct th_str input, struct th_buf *text,
		    const char *otherwise);
bool th_live_asks(const struct th_live *l, enum th_ask_kind kind);
void th_live_callbacks_free(struct th_live *l);
void th_live_callbacks_cancel(struct th_live *l); /* the session rests: all but hooks are over */
void th_live_decision(struct th_live *l, struct th_call *c); /* before a person is asked */
/* Who may have decided about its tool for good since. */
void th_live_ask_person(struct th_live *l, struct th_call *c);
void th_live_fail(struct th_live *l, const char *class, struct th_str message);

/* A hook of agent `of` is told; `run`: one of run_hooks, which are the first agent's. */
struct th_hooking {
	enum th_hook hook;
	size_t of;
	bool run;
	uint64_t seq;                 /* of the event */
	struct th_str agent, call_id; /* as `input` names them */
	struct th_str input;
};
void th_live_ask_hook(struct th_live *l, const struct th_hooking *h);

/* hooks.c */
void th_live_hooks(struct th_live *l, const struct th_event *ev); /* it is durable */
void th_live_hook_end(struct th_live *l); /* the final output is there; told once */
void th_live_results_free(struct th_live *l);

/* team.c */
void th_live_hand_over(struct th_live *l, struct th_call *c);
void th_live_correct(struct th_live *l);
/* It is not simply the log from its beginning. */
bool th_live_history_rewritten(const struct th_live *l);
bool th_live_filter(struct th_live *l); /* true: the request is made when its code has answered */
/* `message_seq`: of the last message when it was asked; where more was said it is asked anew. */
void th_live_filtered(struct th_live *l, uint64_t message_seq, struct th_str items);
void th_live_handed(struct th_live *l, uint64_t call_seq, uint64_t message_seq,
		    struct th_str items);
/* What the agent that speaks sees of the log up to `upto`, all of it durable, and of `next`, an
 * event that will be there (NULL: none); `marks_seq`: of the request whose filter counts, 0: none.
 */
struct th_transcript;
TH_NODISCARD enum th_code th_live_transcript(struct th_live *l, uint64_t upto, uint64_t marks_seq,
					     const struct th_event *next,
					     struct th_transcript *transcript, struct th_err *err);
/* callbacks.c: a filter is asked with what was said so far, as items. */
void th_live_ask_filter(struct th_live *l, struct th_str function,
			const struct th_transcript *transcript);
/* A handoff's filter, the same in three parts; or, `past` being NULL, its mapper, with
 * `transcript`, a list of items. */
void th_live_ask_handoff(struct th_live *l, const struct th_handoff *h,
			 const struct th_transcript *transcript, struct th_str items,
			 uint64_t call_seq);
/* The same for SESSION_INPUT and COMPACT. */
void th_live_ask_transcript(struct th_live *l, enum th_ask_kind kind, struct th_str function,
			    const struct th_transcript *transcript);
/* transcript.c; true: the request is made when the code has answered. */
bool th_live_join(struct th_live *l);
bool th_live_compact(struct th_live *l);
void th_live_transcript_answered(struct th_live *l, enum th_ask_kind kind, uint64_t message_seq,
				 bool failed, struct th_str answer);
/* When all is durable: the request, or the handoff. */
bool th_live_defer_request(struct th_live *l); /* true */
void th_live_hold_hand_over(struct th_live *l, const struct th_call *c);
/* The history of a session whose events are all durable. */
TH_NODISCARD enum th_code th_live_history_make(struct th_live *l, struct th_err *err);
/* What the model has seen, also where the history waits to be made; *ret_own is the caller's. */
TH_NODISCARD enum th_code th_live_seen(struct th_live *l, const struct th_history **ret,
				       struct th_history **ret_own, struct th_err *err);

/* calls.c */
void th_live_record(struct th_live *l, struct th_call *c);
/* With the item in place of the call's own, and what finding its elements gave; both JSON. */
void th_live_record_item(struct th_live *l, struct th_call *c, struct th_str item,
			 struct th_str grounding);
void th_live_ask(struct th_live *l, struct th_call *c);
void th_live_refuse(struct th_live *l, struct th_call *c);
void th_live_intend(struct th_live *l, struct th_call *c);
void th_live_outcome(struct th_live *l, const struct th_call *c, const struct th_ev_outcome *d,
		     uint64_t cause);

/* mcp.c: a tool that the provider runs for the model, when it is told that it may. */
/* NULL: the agent has no such server. */
const struct th_tool_spec *th_live_mcp_spec(const struct th_live *l, const struct th_call *c);
void th_live_mcp_admit(struct th_live *l, const struct th_call *c);
/* The evidence of a refusal: why, in the words of whoever said it, or nothing. */
void th_live_mcp_reason(const struct th_call *c, struct th_buf *out);
/* Are the open calls still what this build makes of the answer?  TH_EDIVERGED says both. */
TH_NODISCARD enum th_code th_live_check_calls(struct th_live *l, struct th_err *err);

/* unknown.c */
void th_live_on_unknown(struct th_live *l, const struct th_call *c, const struct th_tool_result *r);
void th_live_on_observed(struct th_live *l, const struct th_call *c,
			 const struct th_tool_result *r);
void th_live_conclude(struct th_live *l, struct th_call *c);
void th_live_unknowns_free(struct th_live *l);

/* A class R call of the runtime's own, with that ticket. */
void th_live_observe(struct th_live *l, const struct th_observation *look, struct th_ticket t);

/* observation.c */
bool th_live_first_observation(struct th_live *l); /* true: the request is made when it was taken */
void th_first_observation_done(struct th_driver *d, struct th_ticket t,
			       const struct th_tool_result *r);

/* marks.c */
bool th_live_marks(const struct th_live *l);             /* the planner is shown marks */
bool th_live_mark(struct th_live *l, struct th_call *c); /* true: it named marks, and is recorded */

void th_live_poll(struct th_live *l); /* the timer rang */

/* background.c */
bool th_live_background(const struct th_live *l);
/* Writes MODEL_STARTED, once. */
void th_live_started(struct th_live *l, struct th_str id, int64_t next_event);
/* The provider has not done with it yet. */
bool th_live_unfinished(const struct th_live *l, const struct th_answer *a);
TH_NODISCARD enum th_code th_live_fetch(struct th_live *l, th_delta_fn *fn, struct th_err *err);
void th_live_observe_again(struct th_live *l);
bool th_live_poll_is_late(const struct th_live *l);
void th_live_background_end(struct th_live *l);
bool th_live_end_done(struct th_driver *d, struct th_ticket t); /* true: it was that */
void th_live_ending_free(struct th_live *l);

/* provider_state.c: what the provider has kept. */
/* What the request about to be made goes on from: options.previous, and whether it holds `tail`. */
/* False: what the request goes on from is told by the log, which is read when all is durable. */
bool th_live_background_ready(struct th_live *l);
void th_live_background_begin(struct th_live *l);
/* It goes on from an answer, which may be gone: the log has all of that. */
bool th_live_background_is_answer(const struct th_live *l);
/* After such a failure of the request under way nobody knows whether its conversation has it; */
bool th_live_background_unsure(const struct th_live *l, enum th_failure failure, int http_status);
void th_live_background_say(const struct th_live *l, struct th_str message, struct th_buf *out);
bool th_live_background_lost(const struct th_live *l); /* nor of another process' request */
/* Of the outfit; TH_EUSAGE: one of its models has no words for it. */
TH_NODISCARD enum th_code th_live_background_fit(struct th_live *l, struct th_err *err);
/* TH_EUSAGE in a conversation, and `what` says why. */
TH_NODISCARD enum th_code th_live_background_only(const struct th_live *l, const char *what,
						  struct th_err *err);

/* expiry.c: refuses what nobody decided in time, and waits for the next; true: it did. */
bool th_live_expire(struct th_live *l);
int64_t th_live_expires_ms(
    const struct th_live *l); /* when one that is asked for at this moment ends; 0: never */

/* ground.c */
bool th_live_ground(struct th_live *l, struct th_call *c); /* true: it is recorded later */
void th_live_grounds_free(struct th_live *l);

void th_live_tool_run(struct th_live *l, struct th_call *c, bool settle);
void th_live_tool_cancel(struct th_live *l, const struct th_call *c);

#endif
