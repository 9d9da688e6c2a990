/* SPDX-License-Identifier: Apache-2.0 */
#include "store/common.h"

#include <stdio.h>

#include "base/text.h"

/* Asserts what only a programmer can get wrong: numbering, the head, a fork's first event. */
static void assert_append(const struct th_append *a)
{
	const struct th_session_row *row = a->row;
	const struct th_digest *head = &a->head_before;

	assert(row && (a->event_count == 0 || (a->events && a->digests)));
	for (size_t i = 0; i < a->event_count; i++)
		assert(a->events[i].seq == a->seq_before + 1 + i);
	if (a->event_count > 0)
		head = &a->digests[a->event_count - 1];
	assert(row->head_seq == a->seq_before + a->event_count);
	assert(th_digest_eq(&row->head, head));
	if (!a->create)
		return;
	assert(a->event_count > 0);
	assert(a->seq_before == (row->parent.len > 0 ? row->parent_seq : 0));
	assert((a->events[0].kind == TH_EV_SESSION_FORKED) == (row->parent.len > 0));
}

bool th_session_id_ok(struct th_str id)
{
	return id.len > 0 && id.len <= TH_SESSION_ID_MAX && !memchr(id.ptr, 0, id.len) &&
	       th_utf8_valid(id) == id.len;
}

enum th_code th_append_check(const struct th_append *a)
{
	if (a->needs && a->needs->result != TH_OK)
		return TH_EFENCED;
	if (!th_session_id_ok(a->row->session_id))
		return TH_EUSAGE;
	if (a->row->metadata.len > TH_EVENT_DATA_MAX)
		return TH_ELIMIT;
	for (size_t i = 0; i < a->event_count; i++) {
		const struct th_event *ev = &a->events[i];

		if (ev->data.len > TH_EVENT_DATA_MAX || ev->call.len > TH_EVENT_DATA_MAX ||
		    ev->build.len > TH_EVENT_DATA_MAX)
			return TH_ELIMIT;
	}
	return TH_OK;
}

size_t th_batch_events(const struct th_batch *batch)
{
	size_t count = batch->append_count;

	for (size_t i = 0; i < batch->append_count; i++)
		count += batch->appends[i].event_count;
	return count;
}

enum th_code th_batch_check(struct th_batch *batch, struct th_err *err)
{
	for (size_t i = 0; i < batch->append_count; i++)
		assert_append(&batch->appends[i]);
	for (size_t i = 0; i < batch->blob_count; i++) {
		if (batch->blobs[i].bytes.len > TH_BLOB_MAX)
			return th_fail(err, TH_ELIMIT,
				       "a blob of %zu bytes is larger than the %zu a store takes",
				       batch->blobs[i].bytes.len, TH_BLOB_MAX);
	}
	if (th_batch_events(batch) > TH_BATCH_EVENTS_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%zu events in one batch, more than the %d there may be",
			       th_batch_events(batch), TH_BATCH_EVENTS_MAX);
	return TH_OK;
}

struct th_shown th_session_shown(struct th_str id)
{
	struct th_shown ret;
	struct th_buf b = TH_BUF_INIT(sizeof(ret.text) - 1);

	b.may_fail = true; /* then it is cut: only for sentences */
	th_text_line(&b, id, TH_SESSION_ID_SHOWN);
	memcpy(ret.text, b.ptr, b.len);
	ret.text[b.len] = 0;
	th_buf_deinit(&b);
	return ret;
}

struct th_shown th_session_key(struct th_str session_id)
{
	struct th_shown ret, id = th_session_shown(session_id);

	snprintf(ret.text, sizeof(ret.text), "session %.*s",
		 TH_FMT(th_utf8_cut(th_str_of(id.text), 150)));
	return ret;
}

struct th_shown th_event_key(struct th_str session_id, uint64_t seq)
{
	struct th_shown ret, id = th_session_shown(session_id);

	snprintf(ret.text, sizeof(ret.text), "session %.*s event %llu",
		 TH_FMT(th_utf8_cut(th_str_of(id.text), 150)), (unsigned long long)seq);
	return ret;
}

/* ---- the checksum of a row ---- */

uint32_t th_crc_u64(uint32_t crc, uint64_t v)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	return th_crc32c(crc, bytes, sizeof(bytes));
}

uint32_t th_crc_str(uint32_t crc, struct th_str s)
{
	return th_crc32c(th_crc_u64(crc, s.len), s.ptr, s.len);
}

uint32_t th_session_row_crc(const struct th_session_row *row, uint64_t number, uint64_t place)
{
	const struct th_str strings[] = {
		row->session_id, row->user,   row->agent, row->model,    row->state,
		row->title,      row->parent, row->owner, row->metadata,
	};
	const uint64_t numbers[] = {
		row->parent_seq,
		row->head_seq,
		(uint64_t)row->iteration,
		(uint64_t)row->calls,
		(uint64_t)row->tokens_in,
		(uint64_t)row->tokens_out,
		(uint64_t)row->cost_nano,
		(uint64_t)row->epoch,
		(uint64_t)row->created_ms,
		(uint64_t)row->updated_ms,
		number,
		place,
	};
	uint32_t crc = th_crc32c(0, row->head.bytes, sizeof(row->head.bytes));

	for (size_t i = 0; i < TH_COUNT(strings); i++)
		crc = th_crc_str(crc, strings[i]);
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		crc = th_crc_u64(crc, numbers[i]);
	/* Rows from before it was kept have none. */
	return row->tokens_cached ? th_crc_u64(crc, (uint64_t)row->tokens_cached) : crc;
}

uint32_t th_task_crc(uint64_t number, struct th_str text)
{
	return th_crc_str(th_crc_u64(0, number), text);
}

/* ---- hashes in events ---- */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

enum th_code th_hashes_in(struct th_str text, th_hash_fn *fn, void *ctx, struct th_err *err)
{
	const size_t size = TH_SHA256_HEX_SIZE;
	enum th_code code = TH_OK;
	struct th_digest hash;

	/* A run of so many digits that begins in text[at .. at + size - 1] has the last of these.
	 */
	for (size_t at = 0, end; at + size <= text.len && !code; at = end + 1) {
		size_t begin = end = at + size - 1;

		if (!is_hex(text.ptr[end]))
			continue;
		while (begin > at && is_hex(text.ptr[begin - 1]))
			begin--;
		while (end < text.len && is_hex(text.ptr[end]))
			end++;
		if (end - begin < size)
			continue;
		if (th_digest_parse(th_str_sub(text, begin, size), &hash))
			code = fn(ctx, &hash, err);
		if (!code && end - begin > size &&
		    th_digest_parse(th_str_sub(text, end - size, size), &hash))
			code = fn(ctx, &hash, err);
	}
	return code;
}

/* ---- lists ---- */

static int64_t time_of(enum th_list_order order, const struct th_session_row *row)
{
	return order == TH_LIST_CREATED ? row->created_ms : row->updated_ms;
}

static int compare(int64_t a_ms, struct th_str a, int64_t b_ms, struct th_str b)
{
	return a_ms != b_ms ? (a_ms > b_ms ? -1 : 1) : th_str_cmp(a, b);
}

int th_list_compare(enum th_list_order order, const struct th_session_row *a,
		    const struct th_session_row *b)
{
	return compare(time_of(order, a), a->session_id, time_of(order, b), b->session_id);
}

static bool has_text(struct th_str s, struct th_str what)
{
	for (size_t i = 0; i + what.len <= s.len; i++)
		if (th_str_ieq(th_str_sub(s, i, what.len), what))
			return true;
	return false;
}

static bool has_member(struct th_str metadata, struct th_str key, struct th_str value)
{
	struct th_str raw = th_json_raw_getn(metadata, key);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	if (!raw.len)
		return false;
	if (th_json_unescape(raw, &text))
		return th_str_eq(th_buf_str(&text), value);
	return th_str_eq(raw, value);
}

bool th_user_is(struct th_str user, struct th_str of_row)
{
	return th_str_eq(user, of_row.len > 0 ? of_row : TH_STR(TH_USER_LOCAL));
}

bool th_filter_takes(const struct th_session_filter *f, const struct th_session_row *row,
		     const struct th_str *task, bool *ret_ask)
{
	bool takes;

	*ret_ask = false;
	if (f->after.id.len > 0 &&
	    compare(time_of(f->order, row), row->session_id, f->after.ms, f->after.id) <= 0)
		return false;
	takes = (f->state.len == 0 || th_str_eq(f->state, row->state)) &&
		(f->user.len == 0 || th_user_is(f->user, row->user)) &&
		(f->agent.len == 0 || th_str_eq(f->agent, row->agent)) &&
		th_str_starts(row->session_id, f->prefix) &&
		(f->title.len == 0 || has_text(row->title, f->title)) &&
		(f->key.len == 0 || has_member(row->metadata, f->key, f->value));
	if (!takes || f->text.len == 0 || has_text(row->title, f->text))
		return takes;
	*ret_ask = !task;
	return task && has_text(*task, f->text);
}

/* ---- sentences ---- */

enum th_code th_fail_no_session(struct th_err *err, struct th_str session_id)
{
	return th_fail(err, TH_ENOENT, "there is no session %s", th_session_shown(session_id).text);
}

enum th_code th_fail_forked(struct th_err *err, struct th_str session_id, struct th_str fork)
{
	struct th_shown other = th_session_shown(fork);

	return th_fail(err, TH_EBUSY,
		       "session %s shares its events with session %s, which was forked from it; "
		       "delete that one first",
		       th_session_shown(session_id).text, other.text);
}

enum th_code th_fail_fenced(struct th_err *err, struct th_str session_id, int64_t epoch)
{
	return th_fail(err, TH_EFENCED, "session %s is not held here under epoch %lld",
		       th_session_shown(session_id).text, (long long)epoch);
}

uint64_t th_session_row_rest(const struct th_session_row *row)
{
	const struct th_str strings[] = { row->user,  row->agent,  row->model,
					  row->title, row->parent, row->metadata };
	uint64_t parts[TH_COUNT(strings) * 2 + 2], *p = parts;

	for (size_t i = 0; i < TH_COUNT(strings); i++) {
		*p++ = strings[i].len;
		*p++ = strings[i].len > 0 ? th_hash64(strings[i].ptr, strings[i].len) : 0;
	}
	*p++ = row->parent_seq;
	*p++ = (uint64_t)row->created_ms;
	return th_hash64(parts, sizeof(parts));
}

static enum th_code alone(enum th_code all, const struct th_err *one, struct th_err *err)
{
	if (all == TH_OK && one->code != TH_OK && err)
		*err = *one;
	return all != TH_OK ? all : one->code;
}

enum th_code th_lease_alone(struct th_store *store, struct th_str id, struct th_arena *a,
			    struct th_session_row *ret, struct th_err *err)
{
	struct th_err one = { 0 };

	return alone(store->kind->lease_many(store, &id, 1, false, a, ret, &one, err), &one, err);
}

enum th_code th_release_alone(struct th_store *store, struct th_str id, int64_t epoch,
			      struct th_err *err)
{
	const struct th_held held = { .session_id = id, .epoch = epoch };
	struct th_err one = { 0 };

	return alone(store->kind->release_many(store, &held, 1, &one, err), &one, err);
}

void th_verify_blame(struct th_verify_report *r, const char *table, const char *key,
		     const char *what, ...)
{
	va_list ap;

	assert(!r->bad);
	r->bad = true;
	snprintf(r->table, sizeof(r->table), "%s", table);
	snprintf(r->key, sizeof(r->key), "%.*s",
		 TH_FMT(th_utf8_cut(th_str_of(key), sizeof(r->key) - 1)));
	va_start(ap, what);
	vsnprintf(r->what, sizeof(r->what), what, ap);
	va_end(ap);
	r->what[th_utf8_valid(th_str_of(r->what))] = 0;
}

const char *th_verify_row(const struct th_session_row *row)
{
	if (!th_session_id_ok(row->session_id))
		return "there is no such session id";
	if (row->head_seq <= row->parent_seq)
		return "it has no events";
	return (row->parent_seq > 0) != (row->parent.len > 0) ? "parent and parent_seq do not fit"
							      : NULL;
}
