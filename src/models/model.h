/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - how models are spoken to: profiles (data), wires (an HTTP API:
 * encoder and decoder), retry classes, usage and cost.  Pure: bytes in, bytes
 * out; runtime/ sends them.
 *
 * A request is  head | group, group, … | tail.  A group is what one message of
 * a wire may hold: what a person said, an answer of the model, or all results
 * of an answer's calls.  Each group is rendered once and kept as immutable
 * bytes with holes, so that a request of turn 800 costs what is new since turn
 * 799; what may still change (a picture that is left out later, the mark of the
 * cache) is a hole.
 *
 * Items are in the unified form, the Responses API's: message, reasoning,
 * function_call, computer_call.  The actions of a computer_call are in
 * OpenAI's words or in ours (actions/action.h), in pixels of the screen.  Where a
 * wire's own form differs, the provider's turn is kept beside the items, as
 * `raw`, and goes back untouched: opaque reasoning, ids, signatures.
 */
#ifndef TH_MODELS_MODEL_H
#define TH_MODELS_MODEL_H

#include "agents/agent.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/geom.h"
#include "base/json.h"

enum th_computer_tool {
	TH_COMPUTER_NONE,
	TH_COMPUTER_PREVIEW,  /* OpenAI's computer_use_preview */
	TH_COMPUTER_GA,       /* OpenAI's computer, batched actions */
	TH_COMPUTER_FUNCTION, /* a function tool in our own words */
	TH_COMPUTER_NATIVE,   /* the wire's own tool: Anthropic's, Gemini's */
	TH_COMPUTER_DIALECT,  /* the dialect says how: in text, or by a function of its own */
	TH_COMPUTER_CLICK /* only points at things: a grounder, the first half of a composed model
			   */
};

/* Prices in 1e-9 US dollars per token. */
struct th_price {
	int64_t input, cached, output;
	int64_t written; /* to the cache; 0: as input */
};

struct th_wire;
struct th_dialect;

/* What the model's coordinates count in. */
enum th_space_kind {
	TH_SPACE_PIXELS, /* pixels of the picture as it was sent */
	TH_SPACE_NORM,   /* 0 … max over each side */
	TH_SPACE_SMART   /* pixels of the picture as the model's own processor resizes it */
};
struct th_space {
	enum th_space_kind kind;
	int32_t max;                    /* NORM: 1000, 999 or 1 (fractions) */
	int32_t factor;                 /* SMART: sides are multiples of it */
	int64_t pixels_min, pixels_max; /* SMART: and their product within these */
	bool floor; /* rounds down, sides (SMART) and points: GTA1 and its kin, GLM */
};

/* How a picture is made smaller before it is sent; all 0: not at all. */
struct th_resize {
	int32_t side_max;   /* the longer side */
	int64_t pixels_max; /* of both */
	struct th_size box; /* so that it fits in; sides rounded down */
	bool xga;           /* to the nearest of 1024x768, 1280x800, 1366x768 by its ratio */
};

struct th_profile {
	const char *name;    /* "openai-computer-use-preview" */
	const char *pattern; /* names it serves: * and |, case-folded, provider prefix removed */
	const struct th_wire *wire;
	const struct th_dialect *dialect;
	enum th_computer_tool computer;
	const char *tool;   /* version of the wire's own tool: "computer_20251124"; else NULL */
	const char *beta;   /* what the wire's beta header must say for it; else NULL */
	const char *editor; /* Anthropic's version of its text editor, which says those of its other
			       tools (dialects/anthropic_own.c); else NULL */
	const char
	    *flavour; /* of a wire that many servers speak: "openrouter", "vllm" …; else NULL */
	struct th_space space;
	struct th_resize resize;
	int32_t images_max;                 /* in one request; 0: unknown */
	const char *base_url;               /* without the endpoint's path */
	const char *base_url_env, *key_env; /* key_env: several, with | between them */
	bool key_optional;                  /* a server of the user's own, which may need no key */
	bool vision, reasoning; /* takes images; gives reasoning items, encrypted when asked */
	bool strict;            /* the provider's own server, which refuses ids of others */
	int64_t context_tokens, output_tokens; /* limits; 0: unknown */
	struct th_price price;                 /* all 0: unknown */
	const char *note;                      /* one line for `thole models` */
	const char *sends; /* name to send in place of the one given; NULL: that one */
	bool newer;        /* a family's last word: takes versions that the table does not know */
	bool user;         /* of the user's models file */
	bool own_server; /* and it says itself where its server is: no key but its own goes there */
};

/* Profiles of a user, which are tried before the built-in ones. */
struct th_profiles {
	const struct th_profile *rows;
	size_t count;
};

/*
 * Which tools the answer may call, must call, or must not.  All 0: nothing is
 * said, which is AUTO everywhere.  Nothing is said either when the request has
 * no tools.  Claude does not think while a call is demanded of it (the API
 * refuses both at once); Gemini's computer cannot be demanded by name, so that
 * any tool is.  `parallel` says whether an answer may hold several calls; Gemini
 * has no word for it.
 */
enum th_choice_kind {
	TH_CHOICE_UNSET,
	TH_CHOICE_AUTO,
	TH_CHOICE_REQUIRED, /* some call */
	TH_CHOICE_NONE,     /* no call */
	TH_CHOICE_TOOL      /* a call of `tool`: a function, or "computer" */
};
struct th_tool_choice {
	enum th_choice_kind kind;
	struct th_str tool;
};
enum th_parallel { TH_PARALLEL_UNSET, TH_PARALLEL_YES, TH_PARALLEL_NO };

/*
 * The last message must be JSON that fits a schema.  Where the provider cannot
 * hold the model to it (servers that know no schemas, older Claudes, Claude with
 * a schema that is not strict, Gemini 2 with tools), the system prompt says so instead: who asks
 * for it checks the answer in any case (schema/schema.h).
 */
struct th_output_format {
	struct th_str name;   /* empty: "final_output" */
	struct th_str schema; /* JSON; empty: any text will do */
	bool strict;          /* it is in the strict subset (th_schema_strict) */
};

struct th_speaker {
	const struct th_profile *profile;
	struct th_str model; /* name sent on the wire */
};

/* What the answer is asked with. */
struct th_request_options {
	const struct th_profile *profile;
	struct th_str model;          /* name sent on the wire */
	const struct th_agent *agent; /* instructions, settings */
	const struct th_tool_spec *tools;
	size_t tool_count;
	bool has_computer;
	bool has_pages;        /* it shows pages of the web, and nothing else */
	struct th_size screen; /* with has_computer */
	struct th_size image;  /* the screen's pictures as they are sent: th_image_size */
	bool stream;
	struct th_tool_choice choice;
	enum th_parallel parallel;
	struct th_output_format format;
	struct th_str previous; /* response that the groups follow; empty: they are the whole; */
	bool conversation;      /* it is a conversation, which they are added to */
	bool kept;              /* the provider keeps the answer, whatever the settings say */
	bool extra;             /* the settings' extra_body and extra_headers are for it */
	/* Where several models share a history: who answered a request of this agent (empty: the
	 * only one) to this model of its list.  What another one said is adopted.  NULL: it was
	 * always `model`. */
	void (*who)(const void *ctx, struct th_str agent, size_t choice, struct th_speaker *ret);
	const void *who_ctx;
};

/* The result of a call, borrowed. */
struct th_result {
	struct th_str call_item; /* the item that asked */
	struct th_str call_id, tool;
	/* A JSON string, or a list of parts {type:"text",text} and
	 * {type:"image",media_type,blob,width,height}. */
	struct th_str output;
	struct th_str
	    acknowledged; /* safety checks that a person accepted: a JSON list, or empty */
	/* Of a call that is an item of the Responses API's own (events/native.h). */
	enum th_outcome_status status;
	struct th_str evidence;
};

/* One group of the history, borrowed. */
enum th_group_kind { TH_GROUP_MESSAGE, TH_GROUP_ANSWER, TH_GROUP_RESULTS };
struct th_group {
	enum th_group_kind kind;
	/* MESSAGE: content is JSON, a string or a list of parts. */
	struct th_str role, content;
	/* ANSWER: the list of its items, unified; and the provider's own form or empty:
	 * {"wire":"messages","message":…}.  A wire takes only what is its own. */
	struct th_str items, raw;
	/* RESULTS: in the order of the calls, never empty. */
	const struct th_result *results;
	size_t result_count;
};

/*
 * A place in a rendered group that is filled when the request is built.
 *
 * IMAGE: the base64 of `blob` goes in at `at`.  When the picture is left out,
 * what stands in `from`…`to` goes too, and what stands in `to`…`end` takes its
 * place; else `to`…`end` is passed over.  `part`: `from`…`to` is a whole part of
 * a content list, for which wire->same may stand when the picture is the same
 * as the one before it.
 *
 * MARK: wire->mark goes in at `at` in the last wire->marks_max groups that have one.
 */
enum th_hole_kind { TH_HOLE_IMAGE, TH_HOLE_MARK };
struct th_hole {
	enum th_hole_kind kind;
	size_t from, at, to, end;
	struct th_digest blob;
	bool part;
};

/* What stands for pictures that are not sent; plain text that is JSON as it is. */
#define TH_IMAGE_LEFT_OUT "[an older screenshot was here; it is left out]"
#define TH_IMAGE_SAME "[the screen looks the same as in the screenshot before]"
#define TH_IMAGE_NOT_TAKEN "[an image was here; this model takes none]"

/* A decoded answer.  Strings live in the decoder's memory until it is freed. */
struct th_usage {
	int64_t input, output, cached, reasoning, total; /* -1: not said */
	int64_t written; /* of the input, to the cache; 0 or less: none, or not said */
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
	TH_DELTA_REFUSAL,
	TH_DELTA_SEALED /* of the reasoning before it, whole, as its item's encrypted_content */
};
typedef void th_delta_fn(void *ctx, enum th_delta_kind kind, size_t output_index,
			 struct th_str text);

struct th_decoder;

/* A group under way: what the parts of an encoder share. */
struct th_group_writer {
	const struct th_request_options *o;
	struct th_jw w;
	struct th_hole *holes;
	size_t hole_max, hole_count;
	struct th_err *err;
};

/* A wire is one file with this row, and one line in TH_WIRES (wires.h). */
struct th_wire {
	const char *name;       /* "responses" */
	const char *key_header; /* "Authorization" (Bearer) or a header of its own */
	const char *profile; /* built-in: a profile of this wire in a models file starts from it */
	/* Its own computer tools, as bits 1 << enum th_computer_tool, and the dialect that reads
	 * them; 0 and NULL: none. */
	unsigned computers;
	const struct th_dialect *dialect;
	bool hosted_tools; /* takes tools that the provider runs, as the agent names them */
	/* Members of the body that settings.extra_body cannot set, as thole writes them: from the
	 * agent's own members, and from its settings (which null may remove).  NULL-terminated. */
	const char *const *body_agent, *const *body_settings;
	const char *mark; /* what a MARK becomes; NULL: the wire has none */
	int marks_max;
	/* Where an answer in the background is fetched; with "/cancel" behind it, it is ended.
	 * `next_event` > 0: as a stream, from the event of that number on.  NULL: the wire has
	 * none. */
	void (*background_path)(struct th_str response_id, int64_t next_event, struct th_buf *out);
	/* The id of the answer under way, as soon as it is known, and the number of the event that
	 * follows the one which brought it; 0: it has none.  With background_path. */
	struct th_str (*response_id)(const struct th_decoder *d, int64_t *ret_next_event);
	bool chains;        /* a request may continue from a response that the provider stores */
	bool conversations; /* the provider also has conversations, to which requests add */
	const char *same;   /* the part that stands for a picture like the one before; NULL: none */

	/* What follows the base URL: "/responses", "/models/NAME:streamGenerateContent?alt=sse". */
	void (*path)(const struct th_request_options *o, struct th_buf *out);
	/* Lines "name: value\n" beside the key and the content type; NULL: none. */
	void (*headers)(const struct th_request_options *o, struct th_buf *out);

	/* Everything before the first group, and after the last. */
	void (*head)(const struct th_request_options *o, struct th_buf *out);
	void (*tail)(const struct th_request_options *o, struct th_buf *out);
	/* True: the head has put something in the list of groups.  NULL: it never does. */
	bool (*begun)(const struct th_request_options *o);
	/* One group, by its kind; see th_group_render.  TH_EPROTO, TH_ELIMIT. */
	enum th_code (*message)(struct th_group_writer *x, const struct th_group *g);
	enum th_code (*answer)(struct th_group_writer *x, const struct th_group *g);
	enum th_code (*results)(struct th_group_writer *x, const struct th_group *g);

	/*
	 * The server's side: a request's body in the unified form, a JSON object
	 *   {"model","stream","instructions","items":[…],"tools":[…],"settings":{…},"extra":{…}}
	 * items: messages, output items of answers and results (function_call_output …), in order,
	 * each with a member "raw" where the wire's own form says more; tools:
	 * {"type","name","description", "parameters",…}; settings: temperature, top_p,
	 * max_output_tokens, effort, and in the words of the Responses API tool_choice,
	 * parallel_tool_calls and format; extra: members of the body that no table
	 * knows, verbatim.  And its inverse: encode(decode(body)) is body, as JSON values.
	 * TH_EPROTO: one sentence for the client. `model`: as the path names it, where the body
	 * does not.
	 */
	enum th_code (*request_decode)(struct th_str model, struct th_str body, struct th_buf *out,
				       struct th_err *err);
	enum th_code (*request_encode)(struct th_str unified, struct th_buf *out,
				       struct th_err *err);

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

/* One group as the profile's wire writes it, with its leading comma if `first` is false.  Holes in
 * order, up to `hole_max`.  May add nothing (an answer whose items must not be sent back): the next
 * group is then the first as before.  TH_EPROTO: not a group; TH_ELIMIT: too many holes. */
TH_NODISCARD enum th_code th_group_render(const struct th_request_options *o,
					  const struct th_group *g, bool first, struct th_buf *out,
					  struct th_hole *holes, size_t hole_max,
					  size_t *ret_hole_count, struct th_err *err);

/*
 * Finds the profile of a model name.  An unknown version of a known family
 * gets the family's newest; a name that no family knows is TH_EUSAGE with a
 * sentence that says what to do.  *ret_name is the name to send.
 */
TH_NODISCARD enum th_code th_model_resolve(struct th_str name, const struct th_profile **ret,
					   struct th_str *ret_name, struct th_err *err);

/* How a name was resolved.  Strings are borrowed from the name and the profile. */
enum th_match_rule {
	TH_MATCH_USER,   /* a row of the user's */
	TH_MATCH_TABLE,  /* a built-in row */
	TH_MATCH_SERVED, /* a built-in server's row, and its model's family */
	TH_MATCH_GENERIC /* any server that speaks the Responses API */
};
struct th_match {
	const struct th_profile *profile;
	struct th_str name;    /* to send */
	struct th_str prefix;  /* that says the provider or server, and is not sent */
	struct th_str pattern; /* that fits; empty: none had to */
	enum th_match_rule rule;
	const struct th_profile *server; /* SERVED: the row of the server */
};

/* th_model_resolve, which knows the built-in profiles only, with a user's as well (may be NULL). */
TH_NODISCARD enum th_code th_model_match(const struct th_profiles *mine, struct th_str name,
					 struct th_match *ret, struct th_err *err);

/* How many pictures a request may hold: the agent's setting, at most the profile's; 0: any number.
 */
size_t th_images_keep(const struct th_request_options *o);

/* The size that a screen's pictures are sent in: the profile's resize rule. Never larger. */
struct th_size th_image_size(const struct th_profile *p, struct th_size screen);

int64_t th_model_cost_nano(const struct th_profile *p,
			   const struct th_usage *u); /* -1: price unknown */

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
	X(CONTEXT, "context_length", false)  /* the history is longer than the model takes */ \
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

/* CONTEXT where the provider's words say that the request is longer than the model takes; else `f`.
 */
enum th_failure th_failure_context(enum th_failure f, struct th_str code, struct th_str message);

struct th_retry_hints {
	int64_t retry_after_ms; /* -1: not said */
	int should_retry;       /* x-should-retry: 1, 0, or -1 not said */
};

/* How long to wait before try number `attempt` + 1, in ms; -1: do not.  `random` is uniform in
 * [0, 1).  Capped exponential with full jitter; a server's hint of at most a minute wins. */
int64_t th_retry_delay_ms(enum th_failure f, const struct th_retry_hints *hints, int attempt,
			  int attempts_max, double random);

#endif
