/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paper.h - a world of paper for the driver (live/world.h), which tests and
 * benchmarks of src/run play in.
 *
 * Nothing moves by itself.  What the driver commits is durable when
 * paper_commit or paper_settle says so; a request to the model is kept until
 * it is replied to; an effect of the executor is noted, and ends when the test
 * calls th_driver_tool_done; time passes by 10 ms whenever it is asked for.
 * The first session is "a1"; others are those that work on its calls, opened
 * and closed as the driver wants.
 *
 * One thread.  All that is in a struct paper is its own; `log`, `request` and
 * `effect` are never NULL.  A rule of the world that is broken (sequence
 * numbers with a hole, two requests of a session at once, an end for what was
 * never begun, a store that failed) ends the program with an assertion, since
 * it needs no test to be wrong.
 */
#ifndef TH_TESTS_PAPER_H
#define TH_TESTS_PAPER_H

#include "driver/driver.h"

#define PAPER_LOGS_MAX 300
#define PAPER_REQUESTS_MAX 4096 /* of one life */
#define PAPER_EFFECTS_MAX 64

/* What is durable. */
struct paper_event {
	struct th_event ev; /* its strings are these: */
	char *call, *data;
};

struct paper_log {
	char id[TH_SESSION_ID_MAX + 1];
	char *metadata, *title; /* the row that is read again has no title, as of an older build */
	struct paper_event *list; /* list[n].ev.seq is n + 1 */
	size_t count, room;
};

/* What was asked of a model. */
struct paper_request {
	struct th_ticket ticket;
	char session[TH_SESSION_ID_MAX + 1];
	bool open; /* neither replied to nor cancelled */
	bool grounder, get, stream;
	size_t model_at;
	char path[128];
	char *body;
};

/* What was asked of the executor. */
struct paper_effect {
	struct th_ticket ticket;
	bool settle;
	int64_t epoch;
	char tool[32], arguments[1024], journal[64];
};

struct paper {
	struct th_driver *driver;
	struct th_handle h; /* of a1 */

	/* The store.  A commit is answered with `result`, for other sessions than a1 with
	 * `child_result`. */
	struct paper_log *log; /* of a1 */
	struct paper_log *logs[PAPER_LOGS_MAX];
	size_t log_count;       /* 1 at least */
	struct th_batch *batch; /* handed over, not durable yet; NULL: none */
	th_commit_fn *done;
	void *done_ctx;
	enum th_code result, child_result;
	size_t commits, commits_max; /* the runtime dies before it hears of that one; 0: of none */
	bool flush;                  /* is wanted */
	bool dead;                   /* until paper_die */
	bool forgetful; /* events are counted and bodies dropped: set before the session begins */
	int64_t epoch;
	/* What is read beside the loop: by paper_settle, or (log_later) by paper_read_logs. */
	bool log_beside, log_later; /* false: it cannot be */
	struct th_ticket log_asked[PAPER_LOGS_MAX];
	size_t log_ask_count; /* under way */
	size_t logs_beside, log_cancels;
	size_t read_most;                      /* events of one read on the loop */
	size_t leases;                         /* of other sessions */
	const char *held;                      /* one that another runtime has; NULL: none */
	struct th_ticket over[PAPER_LOGS_MAX]; /* those that are to be closed */
	size_t over_count;
	size_t reads;       /* of more of a log than one event, */
	size_t read_events; /* and events of all reads */
	uint8_t blob_at;    /* blobs whose hash begins so are: */
	const char *blob;
	size_t blob_reads;           /* how often one was read */
	bool beside;                 /* they are asked for, and come when the test says so: */
	struct th_digest blob_asked; /* the last one */
	size_t blob_asks;

	/* Time and chance. */
	int64_t clock, timer_ms;
	struct th_ticket timer, wait; /* wait: of calls that wait, */
	int64_t wait_ms;              /* so long */
	bool timed;                   /* a timer was set */
	uint32_t drawn;

	/* Models: the newest request, and all of this life. */
	struct paper_request *request;
	struct paper_request *requests[PAPER_REQUESTS_MAX];
	size_t request_count;
	bool cancelled;  /* one of them was */
	char ended[128]; /* path of the request that ends an answer under way */

	/* The executor: the newest effect, and all.  A tool of the process is paper_weather. */
	struct paper_effect *effect;
	struct paper_effect effects[PAPER_EFFECTS_MAX];
	size_t effect_count, runs, settles, looks, cancels; /* looks: the runs of class R */
	bool starting, no_executor; /* it is not there yet, or cannot be had */
	size_t ready_asked;
	struct th_ticket ready;
	size_t local_runs;
	bool local_later; /* it answers when the test says so: */
	struct th_ticket local;
	bool early; /* something began before what led to it was durable */

	/* How often a1 came to rest, and with what error. */
	size_t rests;
	bool rest_failed;
	bool close_lost; /* one that is lost is closed at once */
	char rest_error[TH_ERR_MSG_MAX];

	struct paper_request no_request;
	struct paper_effect no_effect;

	/* Who watches; may be NULL. */
	void (*on_event)(void *own, const struct th_event *ev); /* it is durable */
	void (*on_request)(void *own);                          /* one is handed over */
	void (*on_effect)(void *own, const struct th_effect_call *call);
	void *own;
};

/* A driver without sessions.  The world's clock stands at 1,000,000. */
struct paper *paper_new(void);
struct paper *paper_free(struct paper *w); /* takes NULL */

/* Creates a1; nothing is flushed yet. */
TH_NODISCARD enum th_code paper_create(struct paper *w,
				       const struct th_session_config *session_config,
				       const struct th_ev_session_created *created,
				       struct th_err *err);
/* The runtime dies, and what was not durable is lost with it.  There is a new one, which has no
 * session open: what the old one borrowed may go. */
void paper_die(struct paper *w);
/* Opens a session of the log, which must succeed; nothing is resumed. */
struct th_handle paper_open(struct paper *w, const char *id,
			    const struct th_session_config *session_config);
/* Resumes a1, which must succeed, and settles. */
void paper_resume(struct paper *w);

/* What was handed over is durable. */
void paper_commit(struct paper *w);
/* What is read beside the loop is read, to its end. */
void paper_read_logs(struct paper *w);
/* Iterations of the loop until nothing moves by itself. */
void paper_settle(struct paper *w);
/* The timer rings; settles. */
void paper_ring(struct paper *w);

/* ---- the log ---- */

struct paper_log *paper_log_of(const struct paper *w, struct th_str id); /* NULL: there is none */
void paper_log_cut(struct paper_log *log, size_t count); /* no more than so many events are left */
void paper_log_forget(struct paper *w);                  /* the newest session was never stored */
/* The newest event of that kind: its data, or NULL. */
const char *paper_last(const struct paper_log *log, enum th_event_kind kind);
size_t paper_count(const struct paper_log *log, enum th_event_kind kind);
/* Names of a1's events from that index on, with blanks between; until the next call. */
const char *paper_kinds(const struct paper *w, size_t from);
const struct th_session *paper_fold(const struct paper *w);    /* a1's */
bool paper_durable(const struct paper *w, struct th_ticket t); /* the event that it names */

/* ---- the model ---- */

/* The newest request, of a session that is named, which is open; NULL: there is none. */
struct paper_request *paper_request_of(const struct paper *w, const char *session);
/* These bytes, and how the transport ended.  False: the driver wanted no more bytes. */
bool paper_reply(struct paper *w, struct paper_request *r, struct th_str bytes,
		 const struct th_model_end *end);
/* An answer of the Responses API, called resp_1, of these items: 10 tokens in, 5 out.  The second
 * settles. */
void paper_answer_unwritten(struct paper *w, struct paper_request *r, const char *items);
void paper_answer(struct paper *w, struct paper_request *r, const char *items);
/* A whole body, of any wire; settles. */
void paper_say(struct paper *w, struct paper_request *r, const char *body);
/* The provider refuses; settles. */
void paper_refuse(struct paper *w, struct paper_request *r, int status, const char *body);
/* The request ends without an answer; settles. */
void paper_lose(struct paper *w, struct paper_request *r, enum th_failure failure);

#define TEXT(s)                                                                                   \
	"{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"output_text\",\"text\":\"" s "\",\"annotations\":[]}]}"
#define REFUSAL(s)                                                                                \
	"{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
	"\"content\":[{\"type\":\"refusal\",\"refusal\":\"" s "\"}]}"
#define CALL(id, name, args)                                                                       \
	"{\"type\":\"function_call\",\"id\":\"fc_" id "\",\"call_id\":\"" id "\",\"name\":\"" name \
	"\",\"arguments\":\"" args "\",\"status\":\"completed\"}"

/* ---- tools of this process ---- */

/* A th_local_fn whose ctx is the world: it is sunny. */
void paper_weather(void *ctx, struct th_driver *d, const struct th_local_call *call);

#endif
