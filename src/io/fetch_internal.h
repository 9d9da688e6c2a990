/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_internal.h - what the files of the HTTP client share: fetch.c is a
 * request from its start to its end, fetch_request.c what is sent,
 * fetch_answer.c what comes, fetch_curl.c whatever curl wants of the loop.
 */
#ifndef TH_IO_FETCH_INTERNAL_H
#define TH_IO_FETCH_INTERNAL_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "io/fetch.h"
#include "io/fetch_link.h"

#define TH_FETCH_LANE 128           /* requests; a multi handle has 35 KB */
#define TH_FETCH_UPLOAD_SIZE 16384L /* curl's minimum; larger ones only while few requests run */

struct th_fetch_watch;

/*
 * Some of the requests have a multi handle of their own: for each request curl
 * goes through all of a host's connections until it finds one that is free, and
 * with a thousand requests under way nearly all are not.
 */
struct th_fetch_lane {
	struct th_fetcher *f;
	CURLM *multi;
	struct th_timer timer; /* curl's */
	bool timeout_due;
};

struct th_answer_head {
	int status;
	int should_retry;
	int64_t retry_after_ms;
	bool has_retry_ms;
	size_t content_type_len, request_id_len;
	char content_type[TH_FETCH_TEXT_MAX], request_id[TH_FETCH_TEXT_MAX];
};

struct th_fetch {
	struct th_fetcher *f;
	struct th_fetch_lane *lane;
	struct th_fetch *prev, *next; /* in `pending`, `dead` or a spare */
	CURL *easy;
	CURLU *url;          /* as set in `easy`; NULL: not yet */
	uint64_t url_number; /* which one that is */
	void *block;         /* header list and its strings, behind them a small body */
	size_t lines_size;   /* without that body; wiped, for the secret */
	uint32_t index, generation;

	bool (*on_head)(void *, const struct th_fetch_head *);
	void (*on_header)(void *, struct th_str, struct th_str);
	bool (*on_data)(void *, struct th_str);
	void (*on_done)(void *, const struct th_fetch_result *);
	void *ctx;

	char *small; /* a small body in one piece, in `block` */
	const struct th_str *body;
	size_t body_count, piece, offset; /* where reading goes on */
	uint64_t body_size;

	struct th_timer timer;
	uint64_t started_ms, byte_ms, event_ms;
	uint64_t byte_idle_ms, event_idle_ms, total_ms;
	struct th_answer_head *head;
	uint64_t received;
	size_t head_size, body_max;
	bool added, uploading, connected, head_done, informational, dead, stopped, over_limit;
	bool held;  /* its consumer cannot take more */
	bool once;  /* nothing of its body may be sent twice */
	bool fresh; /* on a connection of its own */
	bool stale; /* it got a connection that rested too long: sent nothing, to begin again */
	char why[CURL_ERROR_SIZE];
};

struct th_fetch_slot {
	struct th_fetch *fetch; /* NULL: free */
	uint32_t generation, next_free;
};

/* When a connection was last in use, by our end's port. */
struct th_fetch_use {
	uint16_t port; /* 0: none */
	uint64_t at_ms;
};
#define TH_FETCH_USES 1024    /* others in the same place are taken for resting too long */
#define TH_FETCH_REST_MS 3000 /* of servers that close what rests, most wait for 5 s */

struct th_fetcher {
	struct th_loop *loop;
	struct th_fetch_lane **lanes; /* of TH_FETCH_LANE slots each */
	size_t lane_count;
	struct th_deferred kick;
	struct th_fetch_slot *slots;
	uint32_t slot_count, slot_free, count;
	struct th_fetch_watch **watches; /* by descriptor */
	size_t watch_count;
	int ready_fd; /* the epoll set of curl's descriptors */
	struct th_poll *ready;
	size_t watched;                         /* descriptors in it */
	uint32_t serial;                        /* of the last watch */
	struct th_fetch pending, dead, uploads; /* sentinels */
	struct th_fetch *spares;
	size_t spare_count;
	char *url_checked;   /* the last URL found good: most requests go to the same */
	CURLU *url_parsed;   /* the same, so that curl does not parse it for each request */
	uint64_t url_number; /* how many there were */
	const char *ca_file, *ca_dir;
	th_fetch_allows_fn *allows; /* NULL: whatever curl wants to dial */
	void *allows_ctx;
	struct th_fetch_use uses[TH_FETCH_USES];
	uint64_t rest_ms; /* what a connection may have rested for a request that is once */
	unsigned depth;   /* inside curl */
	bool closing, http2;
	bool kicked; /* th_fetch_on_kick is at work, and sees what becomes due */
};

static inline uint64_t th_fetch_now(const struct th_fetch *x)
{
	return th_loop_now_ms(x->f->loop);
}

/* fetch.c */
void th_fetch_list_append(struct th_fetch *sentinel, struct th_fetch *x);
void th_fetch_list_remove(struct th_fetch *x);
void th_fetch_arm(struct th_fetch *x); /* its deadlines */
void th_fetch_finish(struct th_fetch *x, enum th_fetch_end end, CURLcode code);
/* Sent nothing on a connection that rested too long: on one of its own now. */
void th_fetch_again(struct th_fetch *x);
void th_fetch_reap(struct th_fetcher *f); /* those that were cancelled inside curl */

/* fetch_request.c */
TH_NODISCARD enum th_code th_fetch_check(struct th_fetcher *f, const struct th_fetch_request *r,
					 uint64_t *ret_size, struct th_err *err);
/* Makes `block`, and `small` for a small body. */
struct curl_slist *th_fetch_lines(struct th_fetch *x, const struct th_fetch_request *r);
size_t th_fetch_read_body(char *to, size_t size, size_t count, void *ctx);
int th_fetch_seek_body(void *ctx, curl_off_t offset, int origin);

/* fetch_answer.c */
size_t th_fetch_on_header_line(char *ptr, size_t size, size_t count, void *ctx);
size_t th_fetch_on_body(char *ptr, size_t size, size_t count, void *ctx);
struct th_fetch_head th_fetch_head_view(const struct th_answer_head *h);
enum th_fetch_end th_fetch_end_of(const struct th_fetch *x, CURLcode code);
void th_fetch_describe(const struct th_fetch *x, enum th_fetch_end end, CURLcode code,
		       struct th_err *ret);

/* fetch_curl.c */
void th_fetch_watch_free(struct th_fetch_watch *w);
curl_socket_t th_fetch_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a);
int th_fetch_close_socket(void *ctx, curl_socket_t fd);
/* f->ready: what has come on them, for TH_LOOP_SHARE_MS at most. */
void th_fetch_on_ready(void *ctx, unsigned events);
/* f->kick: adds what is pending to curl, for TH_LOOP_SHARE_MS at most. */
void th_fetch_on_kick(void *ctx);
/* NULL: out of memory. */
struct th_fetch_lane *th_fetch_lane_new(struct th_fetcher *f);
void th_fetch_lane_free(struct th_fetch_lane *lane);

#endif
