/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api.h - what the files of the C API share.  The contract is include/thole/thole.h.
 *
 * The driver calls back from deep inside itself, where nothing may be closed or cancelled.  So what
 * the caller is to hear is put into one queue per runtime (th_api_tell), and delivered by a
 * deferred call of the loop, from where every public function may be called (th_api_deliver).
 * Answers of calls come through the inbox, which is the only thing here that threads share.
 */
#ifndef TH_API_API_H
#define TH_API_API_H

#include <pthread.h>
#include <stdatomic.h>
#include <thole/thole.h>

#include "api/tried.h"
#include "base/limits.h"
#include "config/config.h"
#include "io/loop.h"
#include "runtime/runtime.h"

struct th_api_removed;
struct th_api_reserving;
struct th_png;

/* What threads share; outlives the runtime until the last call was answered. */
struct th_inbox {
	pthread_mutex_t lock;
	pthread_t thread; /* the runtime's */
	struct thole_call *answered, **answered_end;
	struct th_wake *wake;
	struct thole_runtime *rt; /* for its thread, while it is not closed */
	size_t users;             /* the runtime, and each call */
	bool closed;              /* the runtime is gone */
	atomic_bool stop;         /* thole_runtime_stop */
};

struct thole_runtime {
	struct th_runtime *rt;
	struct th_config *config;
	struct th_driver *driver;
	struct th_loop *loop;
	struct th_inbox *inbox;
	struct th_arena memory; /* options */
	struct th_deferred deliver;
	struct thole_note *notes, **notes_end;
	struct thole_screen *screens;
	struct thole_computer *computers;
	struct th_read *takeover; /* a look that is under way; NULL: none */
	size_t
	    page; /* of sessions that wait, where none of the first is for this one; 0: the next */
	/* Of a store of this machine alone: when a session that is there is to begin, the next one;
	 * 0: none is known. */
	int64_t start_ms;
	thole_left_fn *left; /* NULL: nobody is told */
	void *left_ctx;
	struct th_tried tried;              /* sessions that were taken over, and left again */
	struct thole_reading *readings;     /* beside the loop, that are not over */
	struct th_api_reserving *reserving; /* asked for, and not answered */
	struct th_api_removed *removed; /* the names of those that are being deleted beside it */
	struct thole_watcher *released; /* that get the notes they missed while held */
	struct thole_session *sessions; /* all, in a list */
	struct thole_session **named;   /* those that have a name, by it: a table of chains */
	size_t named_size, named_count;
	size_t session_count;        /* of these, not given back by the caller */
	struct thole_session *ended; /* that are, in a list */
	struct thole_session *busy;  /* did not rest when it was asked last; or NULL */
	bool touched;                /* something is to be done at once */
	bool ending;                 /* nothing is delivered any more */
	bool in_loop;                /* one of the functions that run the loop is at work */
	bool spinning;               /* of these, one that waits for `done` */
	bool (*done)(void *ctx);
	void *done_ctx;
};

/* ---- named.c: sessions by name; a name may be there more than once, of one that is over ---- */

void th_api_named_add(struct thole_session *s); /* once it has its name */
void th_api_named_remove(struct thole_session *s);
/* One that is being deleted or, while it is not open here, changed. */
struct th_api_removed {
	struct th_api_removed *prev, *next;
	const char *id, *what; /* "deleted", "changed" */
};
/* In the list of those, while a work on its name is under way; `id` lives as long. */
void th_api_named_take(struct thole_runtime *rt, struct th_api_removed *name, const char *id,
		       const char *what);
void th_api_named_give(struct thole_runtime *rt, struct th_api_removed *name);
/* EBUSY: a session of that name is in it.  It is not opened, and none is begun. */
TH_NODISCARD enum th_code th_api_named_removed(const struct thole_runtime *rt, const char *id,
					       struct th_err *err);
int th_api_check_removed(const struct thole_runtime *rt, const char *id, struct thole_error *err);
/* The first of that name, and the next one behind `s`; NULL: there is none. */
struct thole_session *th_api_named_first(const struct thole_runtime *rt, const char *id);
struct thole_session *th_api_named_next(const struct thole_session *s);

/* ---- reserve.c ---- */

void th_api_reserving_end(struct thole_runtime *rt); /* nobody is told any more */

/* ---- schedule.c: sessions whose first task begins later ---- */

/* The option start_at.  *ret_ms 0: at once. */
int th_api_schedule_read(const char *text, int64_t *ret_ms, struct thole_error *err);
/* The metadata (may be NULL) with members of their own for both; start_ms 0: there is none. */
int th_api_schedule_metadata(const char *metadata, int64_t start_ms, enum th_priority priority,
			     struct th_buf *out, struct thole_error *err);
TH_NODISCARD enum th_code th_api_schedule(struct thole_session *s, struct th_err *err);
/* Of a store of this machine alone: one in it begins then; is one due; and what a look found, with
 * the next time. */
void th_api_schedule_note(struct thole_runtime *rt, int64_t start_ms);
bool th_api_schedule_due(const struct thole_runtime *rt);
void th_api_schedule_looked(struct thole_runtime *rt, int64_t next_ms);
/* A session came into the store whose time may have come: it is looked for soon. */
void th_api_schedule_came(struct thole_runtime *rt);
/* One that is open here and whose time has come.  False: it cannot begin just now. */
bool th_api_schedule_begin(struct thole_runtime *rt, const char *id);

enum th_api_note {
	TH_NOTE_CALL = 1 << 16,    /* the program is to run it */
	TH_NOTE_CANCEL = 1 << 17,  /* nobody wants it any more */
	TH_NOTE_COMPUTE = 1 << 18, /* the session's computer was called */
	TH_NOTE_INPUT = 1 << 19,   /* what a person did is over */
	TH_NOTE_ASKED = 1 << 20    /* what he asked is answered */
};

struct thole_note {
	struct thole_note *next;
	size_t users; /* the queue, and each watcher that is held */
	size_t size;  /* in bytes */
	struct thole_session *session;
	struct thole_call *call;            /* TH_NOTE_CALL, TH_NOTE_CANCEL */
	const struct th_api_function *hook; /* THOLE_NOTE_HOOK: whom it is for; the agent's */
	int kind;                           /* enum thole_note_kind or enum th_api_note */
	const char *name, *text, *json, *id;
	uint64_t seq;
	const struct th_event
	    *event; /* THOLE_NOTE_EVENT: what `json` is made of when it is asked for */
	char *made; /* that */
	char bytes[];
};

/* A watcher of a session (watchers.c). */
struct thole_watcher {
	struct thole_watcher *next, *next_released;
	struct thole_session *session;
	unsigned kinds;
	thole_note_fn *fn; /* NULL: it left */
	void *ctx;
	bool only;                 /* the one of thole_session_watch */
	bool held, released;       /* released: it is in the runtime's list of that name */
	struct thole_note **queue; /* not told yet; a ring */
	size_t first, count, cap, size;
	bool lost;          /* more came than a queue holds */
	uint64_t lost_from; /* the first event of that; 0: none */
};

struct thole_tool {
	struct thole_agent *agent;
	struct th_tool_spec spec;
	thole_tool_fn *fn, *on_cancel;
	void *ctx;
	int64_t timeout_ms;
};

/* By which an agent decides something: not a tool. */
struct th_api_function {
	struct th_str name;
	thole_tool_fn *fn;
	thole_note_fn *hook; /* it only watches, and answers nothing; else NULL */
	void *ctx;
};

struct thole_agent {
	atomic_uint users;
	atomic_bool in_use;   /* a session was begun: no more changes */
	pthread_mutex_t lock; /* of the moment when that becomes so */
	struct th_arena memory;
	struct th_agent def;
	struct th_str text; /* that, for th_start.definition, once it is in use; empty: none */
	struct thole_tool **tools;
	size_t tool_count;
	bool bare; /* made in C: no tools but those that are named or added */
	thole_tool_fn *see, *act;
	void *computer_ctx;
	struct thole_agent **members; /* each with a use */
	size_t member_count;
	struct th_api_function *functions;
	size_t function_count;
};

struct thole_session {
	struct thole_session *prev, *next;
	struct thole_session *next_ended,
	    **at_ended;              /* in the runtime's list; NULL: it is not there */
	struct thole_session *chain; /* of those whose names have the same hash */
	struct thole_runtime *rt;
	struct thole_agent *agent; /* whose code it runs; NULL: there is none */
	size_t users;              /* the caller, the driver, each note */
	struct th_handle handle;   /* {0, 0}: not ready, or over */
	char *id;
	bool removing; /* it is being deleted, and takes nothing */
	bool opening, freed, stored, resumed, after_turn, lost, announced;
	bool resume_later; /* said while it was opening */
	bool hurried;      /* a function of it is opening it at once */
	char *message_later;
	char *take_later;          /* who took over then */
	int64_t start_ms;          /* of one that was made here: when it begins; 0: at once */
	bool start_later;          /* that is not said to it yet */
	enum th_state state_later; /* paused or stopped then, after the others; 0: neither */
	char *reason_later;
	int resting_state; /* once lost */
	struct th_err why;
	unsigned kinds; /* that some watcher wants */
	struct thole_watcher *watchers, *last_watcher;
	bool telling; /* the list is being walked: nothing is taken out of it */
	bool left;    /* some watcher did */
	void *data;
	struct thole_call *calls;        /* that are not answered */
	struct th_computing *computings; /* that are under way */
	struct th_png *png;              /* of the pictures that are made here */
	thole_input_fn *input_fn;        /* who waits for a person's input; NULL: nobody */
	void *input_ctx;
	thole_answer_fn *answer_fn; /* who waits for the answer to a question; NULL: nobody */
	void *answer_ctx;
	char *handoff; /* call_id of one whose result is still to come */
	char *text;    /* what a getter returned last */
};

struct th_api_picture {
	uint8_t *bytes;
	size_t size;
	struct th_size dim;
	bool raw; /* pixels, blue green red and one more, without gaps; else a PNG file */
};

struct th_computing;

struct thole_call {
	/* Of the loop's thread. */
	struct thole_call *prev, *next; /* in session->calls */
	struct thole_session *session;  /* NULL: nobody waits for the answer */
	struct th_ticket ticket;
	struct th_computing *computing; /* it is one step of this; NULL: a tool's */
	thole_tool_fn *fn, *on_cancel;
	void *ctx;
	enum th_class class;
	int64_t timeout_ms;
	uint64_t started_ms;
	struct th_timer timer;
	size_t notes; /* that are about it */
	bool is_ask;  /* not a tool's, but a question of this kind (live/callbacks.h) */
	enum th_ask_kind ask;
	bool given; /* the program has it, or had it */
	bool over;  /* was answered, and that is done with */
	/* Of whoever has it. */
	struct th_inbox *inbox;
	struct thole_call *answer_next;                             /* in inbox->answered */
	const char *name, *id, *session_id, *effect_id, *arguments; /* in `bytes` */
	struct th_json_doc *doc;
	atomic_bool cancelled;
	enum th_outcome_status status;
	bool is_json;         /* the answer is a value, not a text */
	struct th_buf output; /* JSON, once it is answered */
	struct th_api_picture pictures[TH_CALL_PICTURES_MAX];
	size_t picture_count;
	char bytes[];
};

/* ---- error.c ---- */

/* Fills the caller's struct and returns the code; `code` 0: nothing to say. */
int th_api_out(enum th_code code, const struct th_err *from, struct thole_error *err);
TH_PRINTF(3, 4)
int th_api_fail(struct thole_error *err, enum th_code code, const char *fmt, ...);
/* A text that is given: not NULL, UTF-8, min to max bytes. */
int th_api_text(const char *text, const char *what, size_t min, size_t max,
		struct thole_error *err);
/* The runtime is there, and this is its thread. */
int th_api_enter(struct thole_runtime *rt, struct thole_error *err);
/* The same, to read out a session that is named. */
int th_api_enter_reading(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
			 struct thole_error *err);
int th_api_enter_session(struct thole_session *s, struct thole_error *err);
char *th_api_copy(struct th_str s); /* free() it */
/* Into memory that is there, with a zero, and *at behind that. */
const char *th_api_put(char **at, struct th_str s);

/* ---- runtime.c ---- */

void th_api_note_unref(struct thole_note *n);
/* Queues a note.  Strings are copied; {NULL, 0} becomes NULL.  Takes a use of the session.  What is
 * returned is the queue's. */
struct thole_note *th_api_tell(struct thole_session *s, int kind, struct th_str name,
			       struct th_str text, struct th_str json, struct th_str id,
			       uint64_t seq, struct thole_call *call);
/* The same for an event, whose JSON is made when the program wants it. */
void th_api_tell_event(struct thole_session *s, const struct th_event *ev);
/* Drops the pieces of an abandoned answer that were not delivered yet. */
void th_api_deltas_drop(struct thole_session *s);
void th_api_deliver_soon(struct thole_runtime *rt);
/* Runs the loop until done(ctx) or a stop; timeout_ms -1: none.  TH_ETIMEOUT. */
int th_api_spin(struct thole_runtime *rt, bool (*done)(void *ctx), void *ctx, int64_t timeout_ms,
		struct thole_error *err);

/* ---- agent.c ---- */

struct thole_agent *th_api_agent_ref(struct thole_agent *a); /* takes NULL */
void th_api_agent_unref(struct thole_agent *a);
int th_api_check_agent(struct thole_agent *a, struct thole_error *err); /* it may be changed */
int th_api_agent_too_large(struct thole_error *err);                    /* for its memory */

/* ---- agent_tool.c ---- */

bool th_api_good_name(const char *name); /* of a tool */

/* ---- agent_use.c ---- */

/* Its definition is complete from here on, and does not change any more; `config` says what an
 * agent file without tools has. */
int th_api_agent_use(struct thole_agent *a, const struct th_config *config,
		     struct thole_error *err);
/* Of one that is complete: its policies and those of its team name tools that are there. */
int th_api_agent_policies(const struct thole_agent *a, struct thole_error *err);

/* ---- team.c ---- */

const struct thole_tool *th_api_tool_find(const struct thole_agent *a, struct th_str name);
extern const struct th_callbacks_ops th_api_callbacks_ops; /* ctx: the session */
void th_api_ask_conclude(struct thole_call *c);            /* it was answered */
/* One of `fn` and `hook` is NULL. */
int th_api_function_add(struct thole_agent *agent, const char *name, thole_tool_fn *fn,
			thole_note_fn *hook, void *ctx, struct thole_error *err);
/* A yes or no that may say why. */
struct th_api_verdict {
	enum th_ask_kind ask;  /* the question that it answers */
	const char *key;       /* of the answer's object, beside "message" */
	const char *elsewhere; /* what is said when another question was asked */
};
/* The call is gone, unless this failed; `message` may be NULL. */
int th_api_answer_verdict(struct thole_call *c, const struct th_api_verdict *v, bool verdict,
			  const char *message, struct thole_error *err);

/* ---- hooks.c ---- */

/* A question of the driver that only tells: the program hears it as a note. */
void th_api_hook_tell(struct thole_session *s, const struct th_api_function *f,
		      const struct th_code_ask *ask);
void th_api_hook_note(const struct thole_note *n);

/* ---- session.c: how one ends ---- */

void th_api_session_unref(struct thole_session *s);
/* This runtime has it no more. */
void th_api_session_lose(struct thole_session *s, const struct th_err *err);
/* Its user has it no more, and hears nothing. */
void th_api_session_end(struct thole_session *s);
/* Gives back those that ended, where nothing waits to be written. */
void th_api_sessions_reap(struct thole_runtime *rt);
/* Frees all of them: the driver has none any more. */
void th_api_sessions_close(struct thole_runtime *rt);

/* ---- session_begin.c ---- */

/* A stored one whose lease is taken already; `leased` is its row.  `from_dead`: all of it beside
 * the loop, and where it cannot be opened it is handed on. */
int th_api_session_open_leased(struct thole_runtime *rt, struct thole_agent *agent,
			       const struct th_session_row *leased, bool from_dead,
			       struct thole_session **ret, struct thole_error *err);

/* ---- session_look.c: what it is ---- */

/* NULL: it is not ready, or over. */
const struct th_session *th_api_fold(const struct thole_session *s);
bool th_api_session_rests(const struct thole_session *s);
/* This runtime still has it; it may not be open yet. */
int th_api_check_open(struct thole_session *s, struct thole_error *err);
/* It is open, and so is its computer. */
int th_api_check_ready(struct thole_session *s, struct thole_error *err);

/* ---- session_say.c ---- */

/* One that was taken up knows only its log: what is open there comes first. */
enum th_code th_api_take_over(struct thole_session *s, struct th_err *err);
/* The session is open. */
TH_NODISCARD enum th_code th_api_go_on(struct thole_session *s, struct th_err *err);
TH_NODISCARD enum th_code th_api_say(struct thole_session *s, struct th_str text,
				     struct th_err *err);

/* ---- stored.c ---- */

/* The session of that name that the caller has open here; NULL: none. */
struct thole_session *th_api_open_find(struct thole_runtime *rt, const char *id);

/* ---- list.c ---- */

/* A session as an object of a page. */
void th_api_row_print(const struct th_session_row *row, struct th_jw *w);
/* The same of one by its name; `user`: only this one's; NULL: whosever it is.  On any thread. */
TH_NODISCARD enum th_code th_api_session_print(struct th_store *store, const char *id,
					       const char *user, struct th_buf *out,
					       struct th_err *err);
/* A page as it is asked for, with its own copy of the options; read on any thread. */
struct th_api_page;
int th_api_page_new(const char *const *options, struct th_api_page **ret, struct thole_error *err);
struct th_api_page *th_api_page_free(struct th_api_page *p); /* takes NULL, returns NULL */
TH_NODISCARD enum th_code th_api_page_print(struct th_api_page *p, struct th_store *store,
					    struct th_buf *out, struct th_err *err);

/* ---- watchers.c ---- */

void th_api_session_note(struct thole_note *n);
/* Watchers that are not held any more get what waited for them. */
void th_api_watchers_release(struct thole_runtime *rt);
/* What is queued of an answer that is given up. */
void th_api_watchers_deltas_drop(struct thole_session *s);
void th_api_watchers_end(struct thole_session *s);

/* ---- control.c ---- */

TH_NODISCARD enum th_code th_api_take(struct thole_session *s, const char *by, struct th_err *err);
void th_api_input_note(const struct thole_note *n); /* TH_NOTE_INPUT */
void th_api_asked_note(const struct thole_note *n); /* TH_NOTE_ASKED */
/* It can be led, and that is somebody; nobody else waits for an input of his. */
TH_NODISCARD int th_api_check_person(struct thole_session *s, const char *by,
				     struct thole_error *err);
TH_NODISCARD int th_api_check_input(const struct thole_session *s, thole_input_fn *fn,
				    struct thole_error *err);
/* Checked: it is let go; `over` tells the session (TH_NOTE_INPUT) when it is done. */
TH_NODISCARD int th_api_input(struct thole_session *s, const struct th_person_input *in,
			      th_person_fn *over, thole_input_fn *fn, void *ctx,
			      struct thole_error *err);
void th_api_input_over(void *ctx, const struct th_effect_result *r);

/* ---- screen.c ---- */

void th_api_screens_end(struct thole_runtime *rt);

/* ---- reading.c ---- */

void th_api_readings_end(struct thole_runtime *rt);
/* Opens it (th_api_session_open_leased), and goes on with it if that is asked; `recovered` is told.
 */
void th_api_recover_one(struct thole_runtime *rt, struct thole_agent *agent, const char *id,
			const struct th_session_row *leased, bool goes_on, bool from_dead,
			thole_recovered_fn *recovered, void *ctx);

/* ---- computer.c ---- */

void th_api_computers_end(struct thole_runtime *rt);

/* ---- watch.c ---- */

void th_api_on_event(void *ctx, struct th_handle h, const struct th_event *ev);
/* A session was taken up in which calls wait: who watches is asked again. */
void th_api_ask_again(struct thole_session *s);
void th_api_on_delta(void *ctx, struct th_handle h, enum th_delta_kind kind, struct th_str text);

/* ---- call.c ---- */

/* A call that the program is to run: fn, on_cancel and timeout_ms are filled in by the caller, who
 * then gives it (a note is queued). */
struct thole_call *th_api_call_new(struct thole_session *s, const struct th_local_call *from);
void th_api_call_give(struct thole_call *c);
/* Nobody waits for its answer any more; if the program never had it, it is freed. */
void th_api_call_forget(struct thole_call *c);
void th_api_calls_forget(struct thole_session *s); /* of the session, its computer's too */
void th_api_call_note(struct thole_note *n);
/* The answer is in `output` and goes to its waiter.  The call is freed. */
int th_api_call_hand_in(struct thole_call *c, enum th_outcome_status status);
void th_api_call_unnote(struct thole_call *c); /* a note about it was not delivered */
/* What was answered meanwhile goes to the driver. */
void th_api_calls_take(struct thole_runtime *rt);
/* In the driver's rows; ctx: the session. */
void th_api_on_call(void *ctx, struct th_driver *d, const struct th_local_call *call);
void th_api_on_cancel(void *ctx, struct th_ticket t);
bool th_api_is_alive(void *ctx, struct th_ticket t);
void th_api_inbox_unref(struct th_inbox *b); /* with its lock held, which is given up */

/* The PNG file of what was given, cut to `region` (NULL: all of it) and scaled to `size`;
 * malloc'ed. */
TH_NODISCARD enum th_code th_api_picture_png(struct thole_session *s,
					     const struct th_api_picture *p,
					     const struct th_rect *region, struct th_size size,
					     struct th_api_picture *ret, struct th_err *err);
/* A picture part for the model; the blob is to be kept with it. */
void th_api_picture_part(const struct th_api_picture *png, struct th_jw *w, struct th_blob *ret);

/* ---- computing.c: one call of the computer, action by action ---- */

void th_api_on_computer(void *ctx, struct th_driver *d, const struct th_local_call *call);
void th_api_compute(struct thole_session *s); /* TH_NOTE_COMPUTE */
void th_api_on_step(struct thole_call *c);    /* one of its steps was answered */
bool th_api_computing_cancel(struct thole_session *s, struct th_ticket t); /* false: not this */
bool th_api_computing_is(const struct thole_session *s, struct th_ticket t);
void th_api_computings_forget(struct thole_session *s);

#endif
