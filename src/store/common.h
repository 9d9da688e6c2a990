/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.h - what the kinds of stores share: the contract of an append, and
 * the sentences.  Only they and stores/ include it.
 */
#ifndef TH_STORE_COMMON_H
#define TH_STORE_COMMON_H

#include "store/store.h"

/* What data can get wrong: EUSAGE for the id, ELIMIT for sizes.  Sets nothing. */
enum th_code th_append_check(const struct th_append *a);

/* The whole batch: sizes of blobs and number of events; TH_ELIMIT with a sentence. */
TH_NODISCARD enum th_code th_batch_check(struct th_batch *batch, struct th_err *err);
size_t th_batch_events(const struct th_batch *batch);

bool th_session_id_ok(struct th_str id);
/* An id as people may see it: one line, cut. */
#define TH_SESSION_ID_SHOWN 100
struct th_shown {
	char text[TH_SESSION_ID_SHOWN * 4];
};
struct th_shown th_session_shown(struct th_str id);

/* CRC-32C over all columns of a row; `number` and `place` are the store's own. */
uint32_t th_session_row_crc(const struct th_session_row *row, uint64_t number, uint64_t place);

/* A hash of the columns that most appends leave as they are: who, which, where from, when it began,
 * what it is called, and the metadata. */
uint64_t th_session_row_rest(const struct th_session_row *row);

/* Of values one after the other, as the checksums of all rows are made. */
uint32_t th_crc_u64(uint32_t crc, uint64_t v);
uint32_t th_crc_str(uint32_t crc, struct th_str s);
/* The checksum of a row of tasks: number and text. */
uint32_t th_task_crc(uint64_t number, struct th_str text);

/* Less than 0: `a` stands before `b` in a list of this order. */
int th_list_compare(enum th_list_order order, const struct th_session_row *a,
		    const struct th_session_row *b);
/* All but the limit.  `task` NULL: what it says is looked up only where the title has not the text
 * that is asked for, and the caller asks again with it: then *ret_ask is true. */
bool th_filter_takes(const struct th_session_filter *f, const struct th_session_row *row,
		     const struct th_str *task, bool *ret_ask);

enum th_code th_fail_no_session(struct th_err *err, struct th_str session_id);
enum th_code th_fail_forked(struct th_err *err, struct th_str session_id, struct th_str fork);
enum th_code th_fail_fenced(struct th_err *err, struct th_str session_id, int64_t epoch);

/* `lease` and `release` of a kind that does many at once. */
enum th_code th_lease_alone(struct th_store *store, struct th_str id, struct th_arena *a,
			    struct th_session_row *ret, struct th_err *err);
enum th_code th_release_alone(struct th_store *store, struct th_str id, int64_t epoch,
			      struct th_err *err);

/* The report's first finding. */
TH_PRINTF(4, 5)
void th_verify_blame(struct th_verify_report *r, const char *table, const char *key,
		     const char *what, ...);
/* What is wrong with a session's row in itself; NULL: nothing. */
const char *th_verify_row(const struct th_session_row *row);
struct th_shown th_session_key(struct th_str session_id); /* "session a1" */
struct th_shown th_event_key(struct th_str session_id, uint64_t seq);

#endif
