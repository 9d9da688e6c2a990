/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webhooks.h - who is told when a session ends, fails, waits for a person or
 * reaches a limit: a signed POST (Standard Webhooks).
 *
 * What is to be told is read from the sessions' logs, which are the only truth:
 * live from the events as they become durable, and at a start from the logs of
 * all sessions that went on since the time up to which all was taken.  That
 * time stands in a file, with what was taken after it.  So a kill loses
 * nothing; it may repeat one, under the same webhook-id.
 *
 * Hooks of clients are told of one session each, by letters that their service
 * writes (webhooks_client.c).  They stand in the same file, and are over with
 * what ends the task that they are for.
 *
 * In a fleet all of this stands in the store instead, sealed with the fleet's secret, and when a
 * node is dead another one goes on with it (webhooks_shared.c).
 */
#ifndef TH_SERVER_WEBHOOKS_H
#define TH_SERVER_WEBHOOKS_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/limits.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "server/needs.h"
#include "server/settings.h"

struct th_server;
struct th_webhooks;

/* Begins with what the server's settings say.  `path`: of the file; empty: nothing is remembered.
 * Never NULL. */
struct th_webhooks *th_webhooks_new(struct th_server *s, struct th_str path);
struct th_webhooks *th_webhooks_free(struct th_webhooks *w); /* takes NULL, returns NULL */
/* The settings are others: what waits for a webhook that stays goes on. */
void th_webhooks_configure(struct th_webhooks *w);
/* Begins to read the logs; before sessions are taken up. */
void th_webhooks_recover(struct th_webhooks *w);
bool th_webhooks_any(const struct th_webhooks *w); /* is somebody told? */
/* An event of a session of this server is durable. */
void th_webhooks_event(struct th_webhooks *w, const char *session, const char *user,
		       struct th_str event);
/* About once a second: writes down what was taken. */
void th_webhooks_sweep(struct th_webhooks *w);
size_t th_webhooks_waiting(const struct th_webhooks *w);

/* ---- hooks of clients ---- */

struct th_client_hook {
	struct th_str service; /* its row of the server's: with `letters` */
	struct th_str id;      /* of the service; another one with it is replaced */
	struct th_str session, user, url;
	struct th_str more; /* a JSON object of the service's; secrets may be in it */
	uint64_t after;     /* events behind this one are told */
	bool ended;         /* only that which ended it: it has happened */
};

/*
 * It is there, and written down; NULL: it is being written.  Its session may not have begun yet:
 * th_client_hook_begin says that it has, and th_client_hook_undo that it has not, or that nobody
 * waits to hear of the hook.  One that took another's place stays then: that session has begun.
 * TH_EUSAGE: the URL; TH_ELIMIT: too many, or too large.
 */
const struct th_found *th_need_hook(struct th_needs *n, const struct th_client_hook *hook);
void th_client_hook_begin(struct th_webhooks *w, const struct th_client_hook *hook);
void th_client_hook_undo(struct th_webhooks *w, const struct th_client_hook *hook);
/* Of th_need_hook: in a fleet it is not written down yet when this returns (th_shared_wait). */
TH_NODISCARD enum th_code th_client_hook_add(struct th_webhooks *w,
					     const struct th_client_hook *hook, struct th_err *err);
TH_NODISCARD enum th_code
th_client_hook_check(struct th_webhooks *w, const struct th_client_hook *hook,
		     struct th_err *err); /* the same, without adding it */
/* The next one of a user's behind `from` (NULL: the first), those alone whose id begins so. */
struct th_webhook *th_client_hook_next(struct th_webhooks *w, struct th_webhook *from,
				       const char *service, const char *user, struct th_str prefix);
const struct th_client_hook *th_client_hook_of(const struct th_webhook *h);
void th_client_hook_drop(struct th_webhook *h); /* it is told nothing any more */
/* About once a second: in a fleet, what other nodes have added to their sessions
 * (webhooks_look.c). */
void th_client_hooks_look(struct th_webhooks *w);
/* The session is deleted. */
void th_client_hooks_forget(struct th_webhooks *w, const char *session);

/* What is sent to one for one event. */
struct th_letter {
	struct th_server *server;
	const struct th_client_hook *hook;
	uint64_t seq;  /* of the event */
	void *writing; /* of the service */
	/* Filled in. */
	struct th_buf body;
	const char *type;
	struct th_letter_header {
		const char *name;
		struct th_buf value;
	} headers[TH_LETTER_HEADERS_MAX];
	size_t header_count;
};
enum th_letter_end {
	TH_LETTER_WRITTEN,
	TH_LETTER_RETRY, /* the store does not answer now */
	TH_LETTER_GONE   /* nothing is to be told any more */
};
struct th_letters {
	/* Ends by th_letter_done, once, maybe from inside, unless it is cancelled. */
	void (*write)(struct th_letter *l);
	void (*cancel)(struct th_letter *l);
};
void th_letter_done(struct th_letter *l, enum th_letter_end how);

/* ---- its parts ---- */

struct th_webhook_id {
	unsigned char bytes[16];
};

/* Something to tell. */
struct th_webhook_item {
	struct th_webhook_item *next;
	char *session, *user, *more; /* more: a JSON object */
	uint64_t seq;
	int64_t ts_ms;
	enum th_webhook_event event;
};
struct th_webhook_item *th_webhook_item_new(struct th_str session, struct th_str user,
					    struct th_str more);
void th_webhook_item_free(struct th_webhook_item *item);
/* What is sent of it; `row`: of its session as it is now, or nothing. */
void th_webhook_print(const struct th_webhook_item *item, struct th_str row, struct th_buf *out);

struct th_webhook_done {
	int64_t ts_ms;
	struct th_webhook_id id;
};

struct th_webhook_attempt;
struct th_webhook_scan;

struct th_webhook {
	struct th_webhook *next;
	struct th_webhooks *all;
	struct th_webhook_to to;
	struct th_buf url, user; /* those that `to` borrows */
	struct th_webhook_item *first, *last;
	size_t count; /* waiting, those in flight not counted */
	struct th_webhook_attempt *flight[TH_WEBHOOK_FLIGHT_MAX];
	struct th_webhook_done *done;
	size_t done_count;
	int64_t since_ms;   /* all of before was taken */
	int64_t skipped_ms; /* of the first that had no room and stays in its log; 0: none */
	uint64_t good_ms;   /* the loop's time of the last that was taken, or of the beginning */
	unsigned failures;  /* one after the other */
	struct th_timer timer;
	struct th_webhook_scan *scan;  /* the logs are being read; NULL: they are not */
	struct th_client_hook *client; /* NULL: it is of the configuration */
	struct th_buf client_text;     /* what that borrows */
	uint64_t scanned_ms;           /* the loop's time when they were; 0: never */
	bool known, off;
	bool ending;       /* of a client: the last that it is told waits */
	uint64_t read_seq; /* of a client: its log was read up to this event; 0: not yet */
	uint64_t looked;   /* of a client: the round of looks that it had its turn in */
	bool unread;       /* the last row could not be read, as the journal says */
	bool early;        /* of a client: its session may not have begun yet */
	bool again;        /* of one that is early: it took the place of one that was not */
	/* In a fleet: its line is on the way (`fresh`: for the first time); the store has one. */
	bool fresh, putting, shared;
	bool replaced;              /* of a client: a new one of its name is being written down */
	struct th_digest line, put; /* what the store has; what is on the way */
};

struct th_shared;

struct th_webhooks {
	struct th_server *server;
	struct th_webhook *first;
	struct th_fetcher *any, *guarded; /* guarded: to public addresses alone */
	struct th_buf path;
	uint64_t sent, failed;
	uint64_t round; /* of looks at clients' sessions: over when all have had their turn */
	bool dirty, closing, blocked;
	size_t appended;          /* bytes behind the file since it was written last */
	struct th_shared *shared; /* NULL: it is a file */
};

/* "v1,BASE64": of "ID.SECONDS.BODY". */
void th_webhook_sign(const struct th_webhook_to *to, const char *id, int64_t seconds,
		     struct th_str body, struct th_buf *out);
/* What an event of a log says to webhooks.  False: nothing.  `more` gets an object. */
bool th_webhook_event_of(struct th_str kind, struct th_str data, enum th_webhook_event *ret,
			 struct th_buf *more);
void th_webhook_clear(struct th_webhook *h); /* what waits is dropped */
struct th_webhook_id th_webhook_id_of(const char *session, uint64_t seq);
void th_webhook_id_hex(const struct th_webhook_id *id, char out[static 33]);
/* After so many failures, one after the other; `chance` 0 to 255. */
uint64_t th_webhook_wait_ms(uint64_t first_ms, unsigned failures, unsigned chance);
/* It has taken nothing since `good_ms`: it is told nothing any more. */
bool th_webhook_is_lost(uint64_t good_ms, uint64_t now_ms);

/* webhooks_queue.c: it is told of it. */
bool th_webhook_wants(const struct th_webhook *h, const struct th_webhook_item *item);
/* A copy of it waits, where there is room and it is not known. */
void th_webhook_queue(struct th_webhook *h, const struct th_webhook_item *like);

/* webhooks_scan.c: finds what is to be told since `since_ms`, and queues what was not taken yet. */
void th_webhook_scan(struct th_webhook *h);
void th_webhook_scan_cancel(struct th_webhook *h);

/* webhooks_client.c: one of the file, and into it. */
void th_client_hook_restore(struct th_webhooks *w, const struct th_json *line);
void th_client_hook_print(const struct th_webhook *h, struct th_jw *w);
struct th_webhook *th_client_hook_new(struct th_webhooks *w, const struct th_client_hook *hook);
/* A new one was written down and takes the place of those before; or it was not, and goes. */
void th_client_hook_settle(struct th_webhook *h, bool good);
/* The one of the same id that is told; NULL: there is none. */
struct th_webhook *th_client_hook_find(struct th_webhooks *w, const struct th_client_hook *hook);
struct th_webhook *th_webhook_new(struct th_webhooks *w); /* in the list; nothing is set */
/* What it was for is over with this event. */
static inline bool th_client_hook_ends(const struct th_webhook *h, enum th_webhook_event e)
{
	return h->client && e != TH_WEBHOOK_WAITING;
}

static inline size_t th_webhook_done_max(const struct th_webhook *h)
{
	return h->client ? TH_CLIENT_HOOK_DONE_MAX : TH_WEBHOOK_DONE_MAX;
}

/* webhooks_shared.c: in a fleet, instead of the file.  Beside the loop. */
struct th_shared_wait {
	struct th_shared_wait *next;
	uint64_t put; /* the number of the put that it waits for */
	void (*done)(struct th_shared_wait *wait, const struct thole_error *err);
};
struct th_shared *th_shared_new(struct th_webhooks *w);
struct th_shared *th_shared_free(struct th_shared *s); /* takes NULL, returns NULL */
void th_shared_put(struct th_shared *s);   /* the lines that are others than in the store */
void th_shared_again(struct th_shared *s); /* all of them: the secret may be another */
void th_shared_sweep(struct th_shared *s); /* about once a second */
/* All that there is now is put; `done` is called then, not from inside. */
void th_shared_wait(struct th_shared *s, struct th_shared_wait *wait);
void th_shared_forget(struct th_shared *s, struct th_shared_wait *wait); /* it is not called */
void th_shared_gone(struct th_webhook *h); /* it is freed: so is its line */

/* webhooks_file.c */
/* The one of a line: of clients it is made; NULL: there is none of that name, or it is torn. */
struct th_webhook *th_webhook_line_read(struct th_webhooks *w, struct th_str line);
/* What was taken is added to what is known to be; `all`: and its time is no later. */
void th_webhook_line_merge(struct th_webhook *h, struct th_str line, bool all);
void th_webhook_line_print(struct th_webhook *h, struct th_buf *out);
/* One line behind the file. */
TH_NODISCARD enum th_code th_webhooks_append(struct th_webhooks *w, struct th_webhook *h,
					     struct th_err *err);
TH_NODISCARD enum th_code th_webhooks_load(struct th_webhooks *w, struct th_err *err);
TH_NODISCARD enum th_code th_webhooks_save(struct th_webhooks *w, struct th_err *err);

/* webhooks_send.c: sends what waits, as far as may be. */
const struct th_webhook_item *th_webhook_flies(const struct th_webhook_attempt *a);
void th_webhook_send(struct th_webhook *h);
void th_webhook_cancel(struct th_webhook *h); /* what is in flight waits again */

#endif
