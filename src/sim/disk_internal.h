/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_internal.h - a simulated disk: sessions, blobs and journals.
 */
#ifndef TH_SIM_DISK_INTERNAL_H
#define TH_SIM_DISK_INTERNAL_H

#include "sim/disk.h"

struct stored {
	struct th_event ev; /* strings behind it */
	struct th_digest digest;
};

struct stored_session {
	char *id, *user, *title, *parent, *metadata;
	uint64_t parent_seq;
	int64_t epoch, created_ms;
	struct th_digest parent_head;
	struct stored **events; /* own: seq parent_seq + 1 … */
	size_t count, cap, synced;
};

struct stored_blob {
	struct th_digest hash;
	char *bytes;
	size_t len;
};

struct record {
	char *bytes; /* NULL: it was torn */
	size_t len;
};

/* An executor's journal file. */
struct file {
	bool exists, damaged, torn;
	struct record *records;
	size_t count, cap, synced;
	uint64_t size;
};

struct th_sim_disk {
	struct th_sim_random *random;
	struct stored_session *sessions[TH_SIM_SESSIONS_MAX];
	size_t session_count;
	struct stored_blob *blobs;
	size_t blob_count, blob_cap;
	struct file files[TH_SIM_SESSIONS_MAX];
	enum th_code journal_fault;
	bool no_fencing, no_sync, no_journal, blind, unsynced_journals, tidy_often;
};

char *th_sim_copy(struct th_str s);
void th_sim_record_remove(struct file *f, size_t index);
void th_sim_file_cut(struct file *f, size_t count);

/* th_sim_journal_open has no other way to find it. */
extern struct th_sim_disk *th_sim_disk_in_use;

#endif
