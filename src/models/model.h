/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - how models are spoken to: profiles (data), wires (an HTTP API:
 * encoder and decoder), retry classes, usage and cost.  Pure: bytes in, bytes
 * out; run/ sends them.
 *
 * A request is  head | item, item, …  | tail.  The head and each item are
 * rendered once and kept as immutable segments, so that a request of turn 800
 * costs the items that are new since turn 799.
 *
 * History entries are events' contents: a person's message, the output items
 * of an answer (verbatim), the result of a call.  What the provider must get
 * back untouched (opaque reasoning, ids, signatures) is in those items.
 */
#ifndef TH_MODELS_MODEL_H
#define TH_MODELS_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include "base/geom.h"
#include "base/json.h"
#include "core/action.h"
#include "core/agent.h"

enum th_computer_tool {
	TH_COMPUTER_NONE,
	TH_COMPUTER_PREVIEW,
	TH_COMPUTER_GA,
	TH_COMPUTER_FUNCTION
};

/* Prices in 1e-9 US dollars per token. */
struct th_price {
	int64_t input, cached, output;
};

struct th_wire;

struct th_profile {
	const char *name;    /* "openai-computer-use-preview" */
	const char *pattern; /* names it serves: * and |, case-folded, provider prefix removed */
	const struct th_wire *wire;
	const char *dialect; /* "native" */
	enum th_computer_tool computer;
	const char *base_url; /* without the endpoint's path */
	const char *base_url_env, *key_env;
	bool vision, reasoning; /* takes images; gives reasoning items, encrypted when asked */
	bool strict;            /* the provider's own server, which refuses ids of others */
	int64_t context_tokens, output_tokens; /* limits; 0: unknown */
	struct th_price price;                 /* all 0: unknown */
	const char *note;                      /* one line for `thole models` */
};

/* What the answer is asked with. */
struct th_request_options {
	const struct th_profile *profile;
	struct th_str model;          /* name sent on the wire */
	const struct th_agent *agent; /* instructions, settings */
	const struct th_tool_spec *tools;
	size_t tool_count;
	bool has_computer;
	struct th_size screen; /* with has_computer */
	bool stream;
};

/* One entry of the history, borrowed. */
enum th_entry_kind { TH_ENTRY_MESSAGE, TH_ENTRY_ITEM, TH_ENTRY_RESULT };
struct th_entry {
	enum th_entry_kind kind;
	/* MESSAGE: content is JSON, a string or a list of parts. */
	struct th_str role, content;
	/* ITEM: one output item of an answer, verbatim, and the list it is a slice of, so that
	 * reasoning goes back only with what it led to; no list: the item is taken as it is. */
	struct th_str item, items;
	/* RESULT: the item that asked, and what it is told: a JSON string, or a list of parts
	 * {type:"text",text} and {type:"image",media_type,blob}; safety checks that a person
	 * accepted, a JSON list or empty. */
	struct th_str call_item, call_id, tool, output, acknowledged;
};

/* A rendered entry: bytes with holes for blobs, so that base64 is made once per blob and shared. */
struct th_hole {
	size_t offset;         /* in the bytes */
	struct th_digest blob; /* its base64 text goes there */
};

/* A decoded answer.  Strings live in the decoder's memory until it is freed. */
struct th_usage {
	int64_t input, output, cached, reasoning, total; /* -1: not said */
};

enum th_answer_status { TH_ANSWER_COMPLETED, TH_ANSWER_INCOMPLETE, TH_ANSWER_FAILED };

struct th_answer {
	enum th_answer_status status;
	struct th_str response_id, model;
	struct th_str reason; /* incomplete: max_output_tokens, content_filter … */
	struct th_str items;  /* JSON list of output items in the unified (Responses) form */
	struct th_str raw;    /* the provider's own form when it is not the same; else empty */
	struct th_usage usage;
	struct th_str error_class; /* FAILED: a class of th_retry_classes */
	struct th_str error_message;
	struct th_str error_code;
	struct th_str error_raw; /* the provider's error object, JSON, may be empty */
};

/* What an observer sees while an answer streams; never logged. */
enum th_delta_kind {
	TH_DELTA_TEXT,
	TH_DELTA_REASONING,
	TH_DELTA_ARGUMENTS,
	TH_DELTA_ITEM,
	TH_DELTA_REFUSAL
};
typedef void th_delta_fn(void *ctx, enum th_delta_kind kind, size_t output_index,
			 struct th_str text);

struct th_decoder;

struct th_wire {
	const char *name;       /* "responses" */
	const char *path;       /* appended to the base URL: "/responses" */
	const char *key_header; /* "Authorization" (Bearer) or a header of its own */

	/* Everything before the first item, and after the last. */
	void (*head)(const struct th_request_options *o, struct th_buf *out);
	void (*tail)(const struct th_request_options *o, struct th_buf *out);
	/* One entry, with its leading comma if `first` is false.  Up to `hole_max` holes.  May add
	 * nothing (items that must not be sent back): the next entry is then the first as before.
	 * TH_EPROTO: not an entry; TH_ELIMIT: too many holes. */
	enum th_code (*entry)(const struct th_request_options *o, const struct th_entry *e,
			      bool first, struct th_buf *out, struct th_hole *holes,
			      size_t hole_max, size_t *ret_hole_count, struct th_err *err);

	/* Takes the body as it comes, in any pieces; JSON or an event stream is found out by
	 * looking. Total: any bytes give an answer.  `fn` may be NULL. */
	struct th_decoder *(*decoder_new)(const struct th_profile *profile, th_delta_fn *fn,
					  void *ctx);
	/* Returns how many whole events were seen, for the event-idle deadline (of a JSON body: 0);
	 * TH_ELIMIT when over a maximum, and for good (the answer then says so). */
	int (*feed)(struct th_decoder *d, struct th_str bytes);
	/* True once the terminal event came: the connection need not be waited for.  An error event
	 * is none: what failed may follow. */
	bool (*finished)(const struct th_decoder *d);
	/* The body ended (cut: before it should have).  Fills ret; its strings live as long as d.
	 * Without the terminal event `items` is what there was, and the answer FAILED. */
	void (*end)(struct th_decoder *d, bool cut, struct th_answer *ret);
	/* Instead of end, for an HTTP status other than 2xx: class, message, code. */
	void (*error)(struct th_decoder *d, int http_status, struct th_answer *ret);
	struct th_decoder *(*decoder_free)(struct th_decoder *d);
};

extern const struct th_profile th_profiles[];  /* ends with name == NULL */
extern const struct th_wire *const th_wires[]; /* NULL-terminated */

/*
 * Finds the profile of a model name.  An unknown version of a known family
 * gets the family's newest; a name that no family knows is TH_EUSAGE with a
 * sentence that says what to do.  *ret_name is the name to send.
 */
TH_NODISCARD enum th_code th_model_resolve(struct th_str name, const struct th_profile **ret,
					   struct th_str *ret_name, struct th_err *err);

int64_t th_model_cost_nano(const struct th_profile *p,
			   const struct th_usage *u); /* -1: price unknown */

/*
 * Computer actions as a call item asks for them (`computer_call` with action
 * or actions[]), in our form.  TH_EPROTO: a sentence for the model.
 */
TH_NODISCARD enum th_code th_model_actions(const struct th_profile *p, const struct th_json *item,
					   struct th_arena *a, struct th_action **ret,
					   size_t *ret_count, struct th_err *err);

/* The provider's form of an action, inverse of the above; for plumb and tests. */
TH_NODISCARD enum th_code th_model_action_encode(const struct th_profile *p,
						 const struct th_action *action, struct th_jw *w,
						 struct th_err *err);

/* Retry by class. */
// clang-format off
#define TH_FAILURES(X)                                                                     \
	X(CONNECT, "connect", true)          /* nothing was received */                    \
	X(TIMEOUT, "timeout", true)          /* silence: byte-idle, event-idle or total */ \
	X(CUT, "cut", true)                  /* the answer ended before its end */         \
	X(RATE_LIMITED, "rate_limited", true)/* 429 */                                     \
	X(OVERLOADED, "overloaded", true)    /* 503, 529 */                                \
	X(SERVER, "server", true)            /* 408, 409, 5xx, server_error in a stream */ \
	X(MALFORMED, "malformed", true)      /* not what the wire promises */              \
	X(QUOTA, "quota", false)             /* money is out */                            \
	X(AUTH, "auth", false)               /* 401, 403 */                                \
	X(NOT_FOUND, "not_found", false)     /* 404: model or URL */                       \
	X(REJECTED, "rejected", false)       /* 400, 413, 422: the request is wrong */     \
	X(LIMIT, "limit", false)             /* one of our maxima */                       \
	X(CANCELLED, "cancelled", false)
// clang-format on
#define X(id, name, retry) TH_FAILURE_##id,
enum th_failure { TH_FAILURES(X) TH_FAILURE_COUNT };
#undef X
const char *th_failure_name(enum th_failure f);
int th_failure_find(struct th_str name); /* or -1 */
bool th_failure_retries(enum th_failure f);

/* The class of an error by its HTTP status (0: it came inside an answer) and the provider's words
 * for it, which may be empty. */
enum th_failure th_failure_of(int http_status, struct th_str code, struct th_str type);

struct th_retry_hints {
	int64_t retry_after_ms; /* -1: not said */
	int should_retry;       /* x-should-retry: 1, 0, or -1 not said */
};

/* How long to wait before try number `attempt` + 1, in ms; -1: do not.  `random` is uniform in
 * [0, 1).  Capped exponential with full jitter; a server's hint of at most a minute wins. */
int64_t th_retry_delay_ms(enum th_failure f, const struct th_retry_hints *hints, int attempt,
			  int attempts_max, double random);

#endif
