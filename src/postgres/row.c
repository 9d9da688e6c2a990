/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - rows of sessions as the database has them. */
#include "base/json.h"
#include "postgres/postgres.h"

const char *th_pg_row(PGresult *r, int row, uint64_t *ret_number, struct th_session_row *ret)
{
	int64_t crc = 0;
	bool good;

	*ret = (struct th_session_row){ 0 };
	good = th_pq_u64(r, row, 0, ret_number) && th_pq_text(r, row, 1, &ret->session_id) &&
	       th_pq_text(r, row, 2, &ret->user) && th_pq_text(r, row, 3, &ret->agent) &&
	       th_pq_text(r, row, 4, &ret->model) && th_pq_text(r, row, 5, &ret->state) &&
	       th_pq_text(r, row, 6, &ret->title) && th_pq_text(r, row, 7, &ret->parent) &&
	       th_pq_u64(r, row, 8, &ret->parent_seq) && th_pq_u64(r, row, 9, &ret->head_seq) &&
	       th_pq_fixed(r, row, 10, ret->head.bytes, sizeof(ret->head.bytes)) &&
	       th_pq_i64(r, row, 11, &ret->iteration) && th_pq_i64(r, row, 12, &ret->calls) &&
	       th_pq_i64(r, row, 13, &ret->tokens_in) &&
	       th_pq_i64(r, row, 14, &ret->tokens_cached) &&
	       th_pq_i64(r, row, 15, &ret->tokens_out) && th_pq_i64(r, row, 16, &ret->cost_nano) &&
	       th_pq_i64(r, row, 17, &ret->epoch) && th_pq_text(r, row, 18, &ret->owner) &&
	       th_pq_i64(r, row, 19, &ret->created_ms) && th_pq_i64(r, row, 20, &ret->updated_ms) &&
	       th_pq_bytes(r, row, 21, &ret->metadata) && th_pq_i64(r, row, 22, &crc);
	if (!good)
		return "a column cannot have such a value";
	return crc == (int64_t)th_session_row_crc(ret, 0, 0) ? NULL
							     : "a column is not what was written";
}

enum th_code th_pg_row_keep(struct th_arena *a, struct th_session_row *row, struct th_err *err)
{
	struct th_str *const strings[] = {
		&row->session_id, &row->user,   &row->agent, &row->model,    &row->state,
		&row->title,      &row->parent, &row->owner, &row->metadata,
	};

	for (size_t i = 0; i < TH_COUNT(strings); i++) {
		*strings[i] = th_arena_str(a, *strings[i]);
		if (!strings[i]->ptr)
			return th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes",
				       a->max);
	}
	return TH_OK;
}

enum th_code th_pg_fail_row(struct th_postgres *s, struct th_str id, const char *bad,
			    struct th_err *err)
{
	struct th_shown key = th_session_key(id);

	if (s->report && !s->report->bad)
		th_verify_blame(s->report, "sessions", key.text, "%s", bad);
	return th_fail(err, TH_ECORRUPT, "%s is damaged: %s: %s", s->shown, key.text, bad);
}

enum th_code th_pg_fail_event(struct th_postgres *s, struct th_str id, uint64_t seq,
			      const char *bad, struct th_err *err)
{
	struct th_shown key = th_event_key(id, seq);

	if (s->report && !s->report->bad)
		th_verify_blame(s->report, "events", key.text, "%s", bad);
	return th_fail(err, TH_ECORRUPT, "%s is damaged: %s: %s", s->shown, key.text, bad);
}

/* Longer numbers, and larger exponents, are more than PostgreSQL may take. */
#define NUMBER_DIGITS_MAX 1000
#define EXPONENT_DIGITS_MAX 3

static bool is_half(struct th_str json, size_t at, const char *third)
{
	struct th_str s = th_str_sub(json, at, 6);

	return s.len == 6 && s.ptr[0] == '\\' && s.ptr[1] == 'u' &&
	       (s.ptr[2] == 'd' || s.ptr[2] == 'D') && strchr(third, s.ptr[3]);
}

/* Bytes of the escape that begins there; 0: \u0000, or a half of a pair without the other. */
static size_t escape_len(struct th_str json, size_t at)
{
	if (json.ptr[at + 1] != 'u')
		return 2;
	if (is_half(json, at, "89abAB"))
		return is_half(json, at + 6, "cdefCDEF") ? 12 : 0;
	if (is_half(json, at, "cdefCDEF") || th_str_is(th_str_sub(json, at + 2, 4), "0000"))
		return 0;
	return 6;
}

/* Bytes of the number that begins there; 0: it may be too large. */
static size_t number_len(struct th_str json, size_t at)
{
	size_t i = at, exponent = 0;

	for (; i < json.len && strchr("+-.0123456789eE", json.ptr[i]) && json.ptr[i]; i++)
		if (json.ptr[i] == 'e' || json.ptr[i] == 'E')
			exponent = i;
	if (i - at > NUMBER_DIGITS_MAX || (exponent && i - exponent > EXPONENT_DIGITS_MAX + 2))
		return 0;
	return i - at;
}

bool th_pg_jsonb_ok(struct th_str json)
{
	bool in_string = false;
	size_t len;

	if (!th_json_valid(json))
		return false;
	for (size_t i = 0; i < json.len; i += len) {
		char c = json.ptr[i];

		len = 1;
		if (c == '"')
			in_string = !in_string;
		else if (in_string && c == '\\')
			len = escape_len(json, i);
		else if (!in_string && (c == '-' || (c >= '0' && c <= '9')))
			len = number_len(json, i);
		if (len == 0)
			return false;
	}
	return true;
}
