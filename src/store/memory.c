/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - sessions, events and blobs in this process's memory: opened, leased and closed.  Owns
 * copies of all it was given (memory_data.c).  One thread.
 */
#include "store/memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "store/common.h"
#include "store/memory_internal.h"

static struct th_memory *shared; /* the named ones */

/* ---- opening and closing ---- */

static struct th_memory *memory_get(struct th_str name)
{
	struct th_memory *m;

	for (m = shared; m && name.len > 0; m = m->next) {
		if (th_str_is(name, m->name))
			return m;
	}
	m = th_alloc(sizeof(*m));
	th_usage_sums_init(&m->usage);
	if (name.len > 0) {
		m->name = th_alloc(name.len + 1);
		memcpy(m->name, name.ptr, name.len);
		m->next = shared;
		shared = m;
	}
	return m;
}

static void memory_free(struct th_memory *m)
{
	for (struct th_memory **p = &shared; *p; p = &(*p)->next) {
		if (*p == m) {
			*p = m->next;
			break;
		}
	}
	for (size_t i = 0; i < m->session_count; i++)
		th_memory_session_free(m->sessions[i]);
	for (size_t i = 0; i < m->blob_count; i++)
		free(m->blobs[i].bytes);
	free(m->sessions);
	free(m->blobs);
	th_usage_sums_deinit(&m->usage);
	free(m->name);
	free(m);
}

static enum th_code memory_open(struct th_str rest, const struct th_store_options *options,
				struct th_store **ret, struct th_err *err)
{
	struct th_memory_handle *h;

	if (rest.len > TH_SESSION_ID_MAX || (rest.len > 0 && memchr(rest.ptr, 0, rest.len)))
		return th_fail(err, TH_EUSAGE, "memory: takes a short name, or none");
	h = th_alloc(sizeof(*h));
	h->base.kind = &th_store_memory;
	h->loop = options->loop;
	h->run = (struct th_deferred){ .fn = th_memory_run_pending, .ctx = h };
	h->read_only = options->read_only;
	h->m = memory_get(rest);
	h->m->users++;
	h->next = h->m->handles;
	h->m->handles = h;
	snprintf(h->owner, sizeof(h->owner), "memory-%u", ++h->m->owners);
	*ret = &h->base;
	return TH_OK;
}

static void handle_free(struct th_memory_handle *h)
{
	struct th_memory_handle **p = &h->m->handles;

	if (h->loop)
		th_loop_undefer(h->loop, &h->run);
	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
	if (--h->m->users == 0)
		memory_free(h->m);
	free(h);
}

static void memory_close(struct th_store *s)
{
	struct th_memory_handle *h = th_memory_handle(s);

	while (th_memory_step(s))
		;
	handle_free(h);
}

/* Of this process: another one's sessions are others, whatever they are called. */
static enum th_code memory_scope(struct th_str rest, struct th_buf *out, struct th_err *err)
{
	static uint64_t process[2];

	(void)err;
	if (process[0] == 0)
		th_random(process, sizeof(process));
	th_buf_printf(out, "%016llx%016llx:", (unsigned long long)process[0],
		      (unsigned long long)process[1]);
	th_buf_add(out, rest);
	return TH_OK;
}

/* ---- for the simulator ---- */

void th_memory_crash(struct th_store *s, size_t written)
{
	struct th_memory_handle *h = th_memory_handle(s);

	for (size_t i = 0; i < written && h->first; i++)
		(void)th_memory_write_batch(h, th_memory_take_first(h), NULL);
	handle_free(h);
}

void th_memory_fail(struct th_store *s, enum th_code code)
{
	struct th_memory_handle *h = th_memory_handle(s);

	if (h->failing != TH_EIO)
		h->failing = code;
}

/* ---- leases ---- */

static enum th_code memory_lease(struct th_store *store, struct th_str id, struct th_arena *a,
				 struct th_session_row *ret, struct th_err *err)
{
	struct th_memory_handle *h = th_memory_handle(store);
	struct th_memory_session *s = th_memory_session_find(h->m, id);

	if (h->read_only)
		return th_fail(err, TH_EPERM, "the store was opened for reading only");
	if (!s)
		return th_fail_no_session(err, id);
	if (s->row.owner.len > 0 && !th_str_is(s->row.owner, h->owner) &&
	    th_memory_owner_alive(h->m, s->row.owner))
		return th_fail(err, TH_EBUSY, "session %s is held by another runtime (%.*s)",
			       th_session_shown(id).text, TH_FMT(s->row.owner));
	th_memory_row_set(s, &s->row, th_str_of(h->owner), s->row.epoch + 1);
	return th_memory_row_copy(&s->row, a, ret, err);
}

static enum th_code memory_lease_many(struct th_store *store, const struct th_str *ids,
				      size_t count, bool skip, struct th_arena *a,
				      struct th_session_row *rows, struct th_err *errs,
				      struct th_err *err)
{
	(void)skip; /* nobody has anything in hand: there is one thread */
	for (size_t i = 0; i < count; i++) {
		errs[i].code = memory_lease(store, ids[i], a, &rows[i], &errs[i]);
		if (errs[i].code == TH_ELIMIT || errs[i].code == TH_EPERM)
			return th_fail(err, errs[i].code, "%s", errs[i].msg);
	}
	return TH_OK;
}

static enum th_code memory_release(struct th_store *store, struct th_str id, int64_t epoch,
				   struct th_err *err)
{
	struct th_memory_handle *h = th_memory_handle(store);
	struct th_memory_session *s = th_memory_session_find(h->m, id);

	if (!s)
		return th_fail_no_session(err, id);
	if (s->row.epoch != epoch || !th_str_is(s->row.owner, h->owner))
		return th_fail_fenced(err, id, epoch);
	th_memory_row_set(s, &s->row, TH_STR(""), epoch + 1);
	return TH_OK;
}

static enum th_code memory_release_many(struct th_store *store, const struct th_held *list,
					size_t count, struct th_err *errs, struct th_err *err)
{
	(void)err;
	for (size_t i = 0; i < count; i++)
		errs[i].code = memory_release(store, list[i].session_id, list[i].epoch, &errs[i]);
	return TH_OK;
}

const struct th_store_kind th_store_memory = {
	.scheme = "memory",
	.single = true,
	.summary = "in this process, gone with it: memory: or memory:NAME",
	.scope = memory_scope,
	.open = memory_open,
	.close = memory_close,
	.commit = th_memory_commit,
	.commit_now = th_memory_commit_now,
	.lease = memory_lease,
	.lease_many = memory_lease_many,
	.release = memory_release,
	.release_many = memory_release_many,
	.get = th_memory_get,
	.list = th_memory_list,
	.read = th_memory_read,
	.blob = th_memory_blob,
	.usage = th_memory_usage,
	.remove = th_memory_remove,
	.sweep = th_memory_sweep,
	.verify = th_memory_verify,
};
