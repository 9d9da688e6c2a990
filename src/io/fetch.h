/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - the HTTP client: thousands of requests at a time on one loop.
 *
 * Only http and https.  Redirects are never followed (a 3xx is an answer like
 * any other), so a secret goes to the host it was meant for and nowhere else.
 * Proxies come from the environment as curl has them; TLS certificates are
 * checked against the system's trust store, which is loaded at the first TLS
 * connection.  HTTP/2 where TLS offers it and libcurl is 8.1 or later.
 * Connections are kept and reused.
 *
 * A request's body is a list of borrowed pieces, sent in order and never
 * joined: the list, its pieces and the ctx must live until on_done or th_fetch_cancel.
 * All else in the request is copied by th_fetch_start.
 *
 * on_done is called exactly once per started request, and never from inside
 * th_fetch_start; after th_fetch_cancel nothing is called any more.  Callbacks
 * may start and cancel requests, this one included.  One thread: the loop's.
 */
#ifndef TH_IO_FETCH_H
#define TH_IO_FETCH_H

#include "base/err.h"
#include "base/secret.h"
#include "base/str.h"
#include "io/loop.h"

struct th_fetcher; /* one per loop: connections, name cache, slots */

/* NULL: there can be one; else why not. */
const char *th_fetcher_missing(void);
TH_NODISCARD enum th_code th_fetcher_new(struct th_loop *l, struct th_fetcher **ret,
					 struct th_err *err);
/* For requests to wherever somebody says: each address is asked about when it is about to be
 * dialled, so a name that means another place by then gets nobody in, and no proxy is used.  Before
 * the first request. */
struct th_address;
typedef bool th_fetch_allows_fn(void *ctx, const struct th_address *to);
void th_fetcher_only(struct th_fetcher *f, th_fetch_allows_fn *fn, void *ctx);
/* Requests still running end with TH_FETCH_CANCELLED first.  Takes NULL, returns NULL. */
struct th_fetcher *th_fetcher_free(struct th_fetcher *f);

/* A request; index 0 with generation 0 is none.  One that has ended is a miss, not an error. */
struct th_fetch_id {
	uint32_t index, generation;
};

#define TH_FETCH_TEXT_MAX 96 /* of a header value we keep; longer ones are cut */

/* What an answer's head says; strings are borrowed until the callback returns. */
struct th_fetch_head {
	int status;
	int64_t retry_after_ms; /* retry-after-ms, else retry-after (seconds or date); -1: absent */
	int should_retry;       /* x-should-retry: 1, 0; -1: absent */
	struct th_str content_type, request_id; /* "" when absent */
};

/* name, what a person reads */
#define TH_FETCH_ENDS(X)                                                                    \
	X(OK, "ok")                  /* whole answer, status 200..299 */                    \
	X(STATUS, "HTTP status")     /* whole answer, any other status */                   \
	X(CONNECT, "cannot connect") /* no connection: name, refused, unreachable, proxy */ \
	X(TLS, "TLS")                /* handshake or certificate */                         \
	X(TIMEOUT_CONNECT, "timeout: connecting")                                           \
	X(TIMEOUT_BYTE, "timeout: no bytes")                                                \
	X(TIMEOUT_EVENT, "timeout: bytes but no event")                                     \
	X(TIMEOUT_TOTAL, "timeout: total")                                                  \
	X(CUT, "connection cut")  /* ended before the answer was whole */                   \
	X(LIMIT, "too large")     /* head or body larger than allowed */                    \
	X(PROTOCOL, "not HTTP")   /* bytes that are no HTTP answer */                       \
	X(CANCELLED, "cancelled") /* a callback said stop, or the fetcher ended */

#define X(id, text) TH_FETCH_##id,
enum th_fetch_end { TH_FETCH_ENDS(X) TH_FETCH_END_COUNT };
#undef X
const char *th_fetch_end_name(enum th_fetch_end end);

struct th_fetch_result {
	enum th_fetch_end end;
	struct th_fetch_head head; /* status 0: no head came */
	uint64_t received;         /* bytes of body given to on_data */
	bool sent;                 /* a byte of the request may have reached the server */
	uint64_t duration_ms;
	struct th_err err; /* code TH_OK for OK and STATUS, else one sentence without secrets */
};

struct th_fetch_header {
	const char *name; /* no colon; "" values are sent as empty headers */
	struct th_str value;
};

struct th_fetch_request {
	const char *method; /* "GET", "POST", … */
	struct th_str url;
	const struct th_fetch_header *headers;
	size_t header_count;
	/* Sent as "Authorization: Bearer <secret>", or as "<secret_header>: <secret>". */
	const struct th_secret *secret;
	const char *secret_header;
	/* Sent with its Content-Length.  body_count 0: no body (POST and PUT: an empty one). */
	const struct th_str *body;
	size_t body_count;
	/* What must not happen twice.  curl sends a request a second time when a server closes a
	 * kept connection before the first byte of an answer: this one is sent again only where
	 * nothing of its body had left, else it ends with TH_FETCH_CUT.  It goes on a kept
	 * connection only when that was in use a moment ago, for one that rested longer may be
	 * closed just now; without a body it has a connection of its own. */
	bool once;
	/* The answer may come compressed, as the library can undo it: on_data gets what it was, and
	 * body_max counts that. */
	bool compressed;
	const char *unix_path; /* connect to this socket instead of the URL's host; NULL: no */

	/* Milliseconds; 0: none. */
	uint64_t connect_ms;    /* name, TCP, TLS */
	uint64_t byte_idle_ms;  /* restarted by every byte that moves, either way */
	uint64_t event_idle_ms; /* from the head on; restarted only by th_fetch_alive */
	uint64_t total_ms;
	size_t body_max; /* of the answer; 0: TH_HTTP_BODY_MAX */

	/* Any may be NULL.  on_head and on_data: false ends the request with TH_FETCH_CANCELLED. */
	bool (*on_head)(void *ctx, const struct th_fetch_head *head); /* once, before on_data */
	void (*on_header)(void *ctx, struct th_str name,
			  struct th_str value); /* each, before on_head */
	bool (*on_data)(void *ctx, struct th_str bytes);
	void (*on_done)(void *ctx, const struct th_fetch_result *result);
	void *ctx;
};

/*
 * TH_EUSAGE: bad URL (not http or https, control characters, user and
 * password), method or header.  TH_ELIMIT: too many requests at a time, or the
 * body is over TH_REQUEST_MAX.  What the network does shows in on_done.
 */
TH_NODISCARD enum th_code th_fetch_start(struct th_fetcher *f, const struct th_fetch_request *r,
					 struct th_fetch_id *ret, struct th_err *err);

/* The consumer has decoded a whole event: the event-idle deadline starts again. */
void th_fetch_alive(struct th_fetcher *f, struct th_fetch_id id);

/* The consumer cannot take more: on_data is not called, nothing is read, and the byte-idle deadline
 * rests, until it is let go on; on_data may be called before that returns.  A miss does nothing. */
void th_fetch_hold(struct th_fetcher *f, struct th_fetch_id id, bool hold);

/* Nothing is called after this, and the body may be freed at once.  A miss does nothing. */
void th_fetch_cancel(struct th_fetcher *f, struct th_fetch_id id);

size_t th_fetch_count(const struct th_fetcher *f); /* requests running */

#endif
