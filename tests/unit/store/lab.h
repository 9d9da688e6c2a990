/* SPDX-License-Identifier: Apache-2.0 */
/* lab.h - making logs, and the tests that every kind of store must pass. */
#ifndef TH_TESTS_LAB_H
#define TH_TESTS_LAB_H

#include "unit.h"

#include "io/loop.h"
#include "stores/stores.h"

#define LAB_EVENTS_MAX 64

/* One session as its only writer knows it. */
struct lab_log {
	char id[TH_SESSION_ID_MAX + 8];
	char parent[TH_SESSION_ID_MAX + 8];
	uint64_t parent_seq;
	uint64_t seq;
	struct th_digest head;
	int64_t epoch;
	bool stored;
	struct th_digest at[512]; /* digest of event seq, where seq is small */
};

/* One append of it; nothing moves while it is under way. */
struct lab_append {
	struct th_session_row row;
	struct th_event events[LAB_EVENTS_MAX];
	struct th_digest digests[LAB_EVENTS_MAX];
	char data[LAB_EVENTS_MAX][128];
	char title[64];
};

void lab_log_init(struct lab_log *log, const char *id);
/* A fork of `parent` behind its event `seq`. */
void lab_log_fork(struct lab_log *log, const char *id, const struct lab_log *parent, uint64_t seq);

/* Fills `a` and `ret` with `count` more events.  lab_done makes them count. */
void lab_make(const struct lab_log *log, size_t count, struct lab_append *a, struct th_append *ret);
void lab_done(struct lab_log *log, const struct th_append *a);
/* The events' digests, after somebody changed them. */
void lab_rechain(const struct lab_log *log, struct lab_append *a, struct th_append *ret);

extern struct th_err lab_err; /* of the last function here that failed */

/* All at once: one append in one batch of its own.  Returns the append's result or the batch's
 * code. */
enum th_code lab_append_now(struct th_store *s, struct lab_log *log, size_t count);

/* Asserts that the store has this log and nothing more of it. */
void lab_check(struct th_store *s, const struct lab_log *log);
void lab_verify(struct th_store *s); /* nothing is wrong */

struct th_store *lab_open(const char *url, struct th_loop *loop);

/* A new URL for a test; `again` NULL for a fresh one. */
struct lab_kind {
	const char *(*fresh)(void);
};
extern const struct lab_kind *lab_kind;

/* The tests: defined in suite.c, run by each kind's program. */
#define LAB_TESTS(X)                     \
	X(written_and_read)              \
	X(listed)                        \
	X(paged)                         \
	X(page_cursors)                  \
	X(blobs_once)                    \
	X(fenced)                        \
	X(one_of_many_refused)           \
	X(one_needs_another)             \
	X(leased_and_released)           \
	X(leased_in_bulk)                \
	X(forked)                        \
	X(forked_deep)                   \
	X(forks_refused)                 \
	X(read_in_parts)                 \
	X(reading_nested_and_stopped)    \
	X(sizes_at_the_edge)             \
	X(ids_at_the_edge)               \
	X(strange_text)                  \
	X(committed_in_groups)           \
	X(closed_with_commits_under_way) \
	X(committing_from_callbacks)     \
	X(rows_only)                     \
	X(read_only)                     \
	X(removed)                       \
	X(remove_refused)                \
	X(used)                          \
	X(used_said)                     \
	X(found_by_text)                 \
	X(words_found)                   \
	X(queued)                        \
	X(queued_flood)                  \
	X(as_the_model)
#define X(name) void lab_##name(void **state);
LAB_TESTS(X)
#undef X
#define LAB_TEST(name) { "suite: " #name, lab_##name, NULL, NULL, NULL },

#endif
