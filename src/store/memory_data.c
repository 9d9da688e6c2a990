/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_data.c - what the memory store holds: sessions with their rows and events, and blobs.
 * All are copies.
 */
#include <stdlib.h>

#include "store/common.h"
#include "store/memory_internal.h"

/* Makes room for one more of `size` bytes. */
void *th_memory_grown(void *list, size_t count, size_t *cap, size_t size)
{
	if (count < *cap)
		return list;
	*cap = *cap ? *cap * 2 : 16;
	return th_realloc(list, *cap * size);
}

/* ---- sessions ---- */

/* Where `id` is, or would be. */
size_t th_memory_session_place(const struct th_memory *m, struct th_str id, bool *found)
{
	size_t low = 0, high = m->session_count;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = th_str_cmp(m->sessions[middle]->row.session_id, id);

		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct th_memory_session *th_memory_session_find(const struct th_memory *m, struct th_str id)
{
	bool found;
	size_t place = th_memory_session_place(m, id, &found);

	return found ? m->sessions[place] : NULL;
}

struct th_memory_session *th_memory_session_add(struct th_memory *m, struct th_str id)
{
	bool found;
	size_t place = th_memory_session_place(m, id, &found);
	struct th_memory_session *s = th_alloc(sizeof(*s));

	assert(!found);
	m->sessions = th_memory_grown(m->sessions, m->session_count, &m->session_cap,
				      sizeof(struct th_memory_session *));
	memmove(m->sessions + place + 1, m->sessions + place,
		(m->session_count - place) * sizeof(struct th_memory_session *));
	m->sessions[place] = s;
	m->session_count++;
	return s;
}

void th_memory_session_free(struct th_memory_session *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->records[i]);
	free(s->records);
	free(s->text);
	free(s->task);
	free(s);
}

static struct th_str copy_to(char **p, struct th_str s)
{
	struct th_str ret = { *p, s.len };

	if (s.len > 0)
		memcpy(*p, s.ptr, s.len);
	*p += s.len;
	return ret;
}

/* The row with this owner and epoch, all strings in one piece. */
void th_memory_row_set(struct th_memory_session *s, const struct th_session_row *row,
		       struct th_str owner, int64_t epoch)
{
	struct th_session_row new = *row;
	struct th_str *const strings[] = {
		&new.session_id, &new.user,   &new.agent, &new.model,    &new.state,
		&new.title,      &new.parent, &new.owner, &new.metadata,
	};
	size_t size = 1;
	char *text, *p;

	new.owner = owner;
	new.epoch = epoch;
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		size += strings[i]->len;
	p = text = th_alloc(size);
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		*strings[i] = copy_to(&p, *strings[i]);
	free(s->text); /* `row` may be s->row */
	s->text = text;
	s->row = new;
	s->crc = th_session_row_crc(&s->row, 0, 0);
}

enum th_code th_memory_row_copy(const struct th_session_row *row, struct th_arena *a,
				struct th_session_row *ret, struct th_err *err)
{
	*ret = *row;
	struct th_str *const strings[] = {
		&ret->session_id, &ret->user,   &ret->agent, &ret->model,    &ret->state,
		&ret->title,      &ret->parent, &ret->owner, &ret->metadata,
	};

	for (size_t i = 0; i < TH_COUNT(strings); i++) {
		*strings[i] = th_arena_str(a, *strings[i]);
		if (!strings[i]->ptr)
			return th_fail(err, TH_ELIMIT,
				       "the row of a session takes more than %zu bytes", a->max);
	}
	return TH_OK;
}

bool th_memory_owner_alive(const struct th_memory *m, struct th_str owner)
{
	for (const struct th_memory_handle *h = m->handles; h; h = h->next) {
		if (th_str_is(owner, h->owner))
			return true;
	}
	return false;
}

/* ---- events ---- */

struct th_memory_record *th_memory_record_new(const struct th_event *ev,
					      const struct th_digest *digest)
{
	struct th_memory_record *r =
	    th_alloc(sizeof(*r) + ev->call.len + ev->data.len + ev->build.len);
	char *p = (char *)(r + 1);

	r->ev = *ev;
	r->digest = *digest;
	r->ev.call = copy_to(&p, ev->call);
	r->ev.data = copy_to(&p, ev->data);
	r->ev.build = copy_to(&p, ev->build);
	return r;
}

/* The event `seq` of a session or of what it was forked from; NULL when there is none. */
const struct th_memory_record *
th_memory_record_find(const struct th_memory *m, const struct th_memory_session *s, uint64_t seq)
{
	for (size_t depth = 0; s && depth <= TH_FORK_DEPTH_MAX; depth++) {
		if (seq > s->row.head_seq || seq == 0)
			return NULL;
		if (seq > s->row.parent_seq)
			return s->records[seq - s->row.parent_seq - 1];
		s = th_memory_session_find(m, s->row.parent);
	}
	return NULL;
}

/* ---- blobs ---- */

size_t th_memory_blob_place(const struct th_memory *m, const struct th_digest *hash, bool *found)
{
	size_t low = 0, high = m->blob_count;

	*found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(m->blobs[middle].hash.bytes, hash->bytes, sizeof(hash->bytes));

		if (order == 0) {
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void th_memory_blob_add(struct th_memory *m, const struct th_blob *b)
{
	bool found;
	size_t place = th_memory_blob_place(m, &b->hash, &found);
	char *bytes;

	if (found)
		return;
	bytes = th_alloc(b->bytes.len + 1);
	if (b->bytes.len > 0)
		memcpy(bytes, b->bytes.ptr, b->bytes.len);
	m->blobs = th_memory_grown(m->blobs, m->blob_count, &m->blob_cap, sizeof(*m->blobs));
	memmove(m->blobs + place + 1, m->blobs + place,
		(m->blob_count - place) * sizeof(*m->blobs));
	m->blobs[place] = (struct th_memory_blob){ b->hash, bytes, b->bytes.len, false };
	m->blob_count++;
}
