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
	struct th_str *body;
	size_t body_count;
	struct th_digest *blobs; /* pinned texts */
	size_t blob_count;
	bool in_world; /* the world has it */
	/* In the background: */
	bool fetches;    /* this request fetches the answer of an earlier request */
	bool resumes;    /* by reading on in its stream */
	bool polls;      /* by asking for its state, because a stream cannot be had */
	bool waits;      /* the answer was not finished; a timer runs until the next try */
	bool over;       /* the provider finished without an answer */
	int64_t poll_ms; /* how long the last wait was */
};
struct th_ground; /* a call while the grounder finds its elements */
struct th_ground_cache;
struct th_side_request;     /* side_request.h */
struct th_delegation;       /* a call and the child session that works on it */
struct th_pending_callback; /* a question to the agent's code */
struct th_logged_call;      /* what the log says of a call; hooks.c */

/* An UNKNOWN result.  It waits for an observation, and the model reads both together. */
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
	struct th_session_config team_config;           /* of the team's first agent */
	const struct th_session_config *session_config; /* of the current agent */
	size_t speaks;                                  /* the current agent's index in the team */
	const struct th_agent *speaking; /* its definition: session_config's, or `rewritten` */
	struct th_agent *rewritten; /* a copy with the instructions from its code; NULL: none */
	struct th_buf instructions; /* the text of these instructions */
	bool instructed;            /* its code has given instructions */
	bool instructions_new;      /* no event records them yet */
	int64_t instructed_turn;    /* the turn they were made for */
	size_t model_at;            /* the model in use; th_live_choose sets it from the fold */
	const struct th_resolved_model *resolved; /* that model; the open calls are its answer */
	struct th_buf filtered;    /* result of the input filter for the next request */
	int64_t filtered_turn;     /* the turn of this request */
	uint64_t filtered_message; /* the last message when the filter was called */
	struct th_arena format;    /* holds output_schema in the form that is sent */
	struct th_request_options options;
	uint64_t ending; /* the request whose answer in the background is being ended; 0: none */
	struct th_buf previous;     /* text behind options.previous of the current request */
	struct th_history *history; /* NULL until it is needed */
	/* The history must be built again from the log, because another agent or model reads it
	 * differently.  This happens when the whole log is durable. */
	bool history_due;
	bool not_compacted; /* the compaction callback left the next request as it is */
	bool tail;          /* the request holds only what is new since the last answer */
	struct th_pending_callback *pending_callbacks; /* questions to the agent's code */
	uint64_t asked;                                /* how many were asked; their ids */
	struct th_observer observer;
	struct th_digest head;
	int64_t epoch, created_ms;
	uint64_t durable_seq;
	const struct th_append
	    *fresh; /* what has just become durable, while observers are called */
	struct th_pending pending;
	struct th_live *dirty_next;
	bool dirty, pumping, lost;
	bool untold;                    /* lost; the next flush calls the observer */
	uint8_t hooked;                 /* hooks.c: the hooks that were called */
	struct th_logged_call *results; /* hooks.c: results whose guardrails are still running */
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
/* Gives the session up as if the process had died; the log says what is open.  It may be called
 * from anywhere, so the observer hears of it later. */
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
 * Steps the fold with a new event.  If the fold accepts it, the event goes into
 * the transaction that is being filled and its effects are queued.  `data` is
 * copied.  A failure changes nothing.
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
/* Makes the rendered history up to the last event, by reading the store if there is none yet. */
TH_NODISCARD enum th_code th_live_history(struct th_live *l, struct th_err *err);
/* Switches to the model that the fold names and builds its history from the log.  False: the log is
 * not all durable yet; the request is made later. */
bool th_live_choose(struct th_live *l);
/* Performs the queued effects. */
void th_live_pump(struct th_live *l);
void th_live_lose(struct th_live *l, const struct th_err *err);
/* Durable events, in order, as the store's read gives them; the newest come from memory. */
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
/* A blob as base64.  Each need is ended by one th_driver_text_drop. */
TH_NODISCARD enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
					      struct th_str *ret, struct th_err *err);
void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash);

/* driver.c: switches to the current agent of the fold. */
TH_NODISCARD enum th_code th_live_switch_agent(struct th_live *l, struct th_err *err);
/* Sets the instructions that the agent's code gave; `fresh`: an event must record them. */
void th_live_instruct(struct th_live *l, struct th_str text, bool fresh);

/* callbacks.c */
void th_live_guard(struct th_live *l, const struct th_held *held);
void th_live_tool_use(struct th_live *l);
bool th_live_instructions(struct th_live *l); /* true: the request waits for them */
/* Calls a function that answers at once; false: no answer. */
bool th_live_ask_now(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     struct th_str input, struct th_buf *answer);
/* Lets the agent's code, if it has such a function, replace `text`, which the model will read.  The
 * function gets `input`.  `otherwise` is used when its answer is no text. */
void th_live_reword(struct th_live *l, struct th_str input, struct th_buf *text,
		    const char *otherwise);
bool th_live_asks(const struct th_live *l, enum th_ask_kind kind);
void th_live_callbacks_free(struct th_live *l);
void th_live_callbacks_cancel(struct th_live *l); /* the session rests: all end but hooks */
void th_live_decision(struct th_live *l, struct th_call *c); /* before a person is asked */
/* A person may meanwhile have decided about its tool for good. */
void th_live_ask_person(struct th_live *l, struct th_call *c);
void th_live_fail(struct th_live *l, const char *class, struct th_str message);

/* A call of a hook of agent `of`; `run`: one of the first agent's run_hooks. */
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
void th_live_hooks(struct th_live *l, const struct th_event *ev); /* `ev` is durable */
void th_live_hook_end(struct th_live *l); /* the final output is there; called once */
void th_live_results_free(struct th_live *l);

/* team.c */
void th_live_hand_over(struct th_live *l, struct th_call *c);
void th_live_correct(struct th_live *l);
/* The history is something other than the log from its beginning. */
bool th_live_history_rewritten(const struct th_live *l);
bool th_live_filter(struct th_live *l); /* true: the request waits for the code's answer */
/* `message_seq`: the last message when the filter was called; after a newer one it is called again.
 */
void th_live_filtered(struct th_live *l, uint64_t message_seq, struct th_str items);
void th_live_handed(struct th_live *l, uint64_t call_seq, uint64_t message_seq,
		    struct th_str items);
/* What the current agent sees of the log up to `upto`, all durable, and of `next`, an event that
 * follows (NULL: none).  `marks_seq`: the request whose filter applies; 0: none. */
struct th_transcript;
TH_NODISCARD enum th_code th_live_transcript(struct th_live *l, uint64_t upto, uint64_t marks_seq,
					     const struct th_event *next,
					     struct th_transcript *transcript, struct th_err *err);
/* callbacks.c: calls a filter with the transcript as items. */
void th_live_ask_filter(struct th_live *l, struct th_str function,
			const struct th_transcript *transcript);
/* Calls a handoff's filter with the transcript in three parts; or, if `transcript` is NULL, its
 * mapper with the list `items`. */
void th_live_ask_handoff(struct th_live *l, const struct th_handoff *h,
			 const struct th_transcript *transcript, struct th_str items,
			 uint64_t call_seq);
/* The same for the callbacks SESSION_INPUT and COMPACT. */
void th_live_ask_transcript(struct th_live *l, enum th_ask_kind kind, struct th_str function,
			    const struct th_transcript *transcript);
/* transcript.c; true: the request waits for the code's answer. */
bool th_live_join(struct th_live *l);
bool th_live_compact(struct th_live *l);
void th_live_transcript_answered(struct th_live *l, enum th_ask_kind kind, uint64_t message_seq,
				 bool failed, struct th_str answer);
/* These make the request, or the handoff, when the whole log is durable. */
bool th_live_defer_request(struct th_live *l); /* true */
void th_live_hold_hand_over(struct th_live *l, const struct th_call *c);
/* The history of a session whose events are all durable. */
TH_NODISCARD enum th_code th_live_history_make(struct th_live *l, struct th_err *err);
/* What the model has seen, also while history_due.  The caller frees *ret_own. */
TH_NODISCARD enum th_code th_live_seen(struct th_live *l, const struct th_history **ret,
				       struct th_history **ret_own, struct th_err *err);

/* calls.c */
void th_live_record(struct th_live *l, struct th_call *c);
/* Records the call with another item, and with what the grounder found; both JSON. */
void th_live_record_item(struct th_live *l, struct th_call *c, struct th_str item,
			 struct th_str grounding);
void th_live_ask(struct th_live *l, struct th_call *c);
void th_live_refuse(struct th_live *l, struct th_call *c);
void th_live_intend(struct th_live *l, struct th_call *c);
void th_live_outcome(struct th_live *l, const struct th_call *c, const struct th_ev_outcome *d,
		     uint64_t cause);

/* mcp.c: a tool that the provider itself runs after an approval.  NULL: the agent has no such
 * server. */
const struct th_tool_spec *th_live_mcp_spec(const struct th_live *l, const struct th_call *c);
void th_live_mcp_admit(struct th_live *l, const struct th_call *c);
/* The evidence of a refusal: its reason, if somebody gave one. */
void th_live_mcp_reason(const struct th_call *c, struct th_buf *out);
/* Checks that this build reads the same calls from the answer as the log has.  TH_EDIVERGED shows
 * both. */
TH_NODISCARD enum th_code th_live_check_calls(struct th_live *l, struct th_err *err);

/* unknown.c */
void th_live_on_unknown(struct th_live *l, const struct th_call *c, const struct th_tool_result *r);
void th_live_on_observed(struct th_live *l, const struct th_call *c,
			 const struct th_tool_result *r);
void th_live_conclude(struct th_live *l, struct th_call *c);
void th_live_unknowns_free(struct th_live *l);

/* A class R call that the runtime makes itself. */
void th_live_observe(struct th_live *l, const struct th_observation *look, struct th_ticket t);

/* observation.c */
bool th_live_first_observation(struct th_live *l); /* true: the request waits for it */
void th_first_observation_done(struct th_driver *d, struct th_ticket t,
			       const struct th_tool_result *r);

/* marks.c */
bool th_live_marks(const struct th_live *l);             /* pictures carry marks for the planner */
bool th_live_mark(struct th_live *l, struct th_call *c); /* true: it named marks and was recorded */

void th_live_poll(struct th_live *l); /* the timer expired */

/* background.c */
bool th_live_background(const struct th_live *l);
/* Writes MODEL_STARTED, once. */
void th_live_started(struct th_live *l, struct th_str id, int64_t next_event);
/* The provider is still working on it. */
bool th_live_unfinished(const struct th_live *l, const struct th_answer *a);
TH_NODISCARD enum th_code th_live_fetch(struct th_live *l, th_delta_fn *fn, struct th_err *err);
void th_live_observe_again(struct th_live *l);
bool th_live_poll_is_late(const struct th_live *l);
void th_live_background_end(struct th_live *l);
bool th_live_end_done(struct th_driver *d,
		      struct th_ticket t); /* true: the ticket was of this kind */
void th_live_ending_free(struct th_live *l);

/* provider_state.c: state at the provider.  Finds what the next request continues from: sets
 * options.previous and `tail`.  False: the log says it, and is read when all of it is durable. */
bool th_live_background_ready(struct th_live *l);
void th_live_background_begin(struct th_live *l);
/* The request continues from an answer.  If the provider has lost it, the log still has it all. */
bool th_live_background_is_answer(const struct th_live *l);
/* After this failure it is unknown whether the conversation at the provider has the request. */
bool th_live_background_unsure(const struct th_live *l, enum th_failure failure, int http_status);
void th_live_background_say(const struct th_live *l, struct th_str message, struct th_buf *out);
bool th_live_background_lost(
    const struct th_live *l); /* the same of a request of an earlier process */
/* Checks the session's settings; TH_EUSAGE: one of its models cannot do it. */
TH_NODISCARD enum th_code th_live_background_fit(struct th_live *l, struct th_err *err);
/* TH_EUSAGE if the session uses a conversation at the provider; `what` completes the sentence. */
TH_NODISCARD enum th_code th_live_background_only(const struct th_live *l, const char *what,
						  struct th_err *err);

/* expiry.c: refuses approvals that expired and sets the timer for the next; true: it refused one.
 */
bool th_live_expire(struct th_live *l);
int64_t
th_live_expires_ms(const struct th_live *l); /* when an approval asked for now expires; 0: never */

/* ground.c */
bool th_live_ground(struct th_live *l,
		    struct th_call *c); /* true: it is recorded after the grounder's answer */
void th_live_grounds_free(struct th_live *l);

void th_live_tool_run(struct th_live *l, struct th_call *c, bool settle);
void th_live_tool_cancel(struct th_live *l, const struct th_call *c);

#endif
