/* SPDX-License-Identifier: Apache-2.0 */
#include "store/usage.h"

#include <stdlib.h>

#include "store/common.h"

#define DAY_MS 86400000

static int64_t day_of(int64_t unix_ms)
{
	return unix_ms >= 0 ? unix_ms / DAY_MS : -1 - (-(unix_ms + 1)) / DAY_MS;
}

/* What the later total has more; a log never takes anything back. */
static int64_t more_than(int64_t before, int64_t after)
{
	int64_t more;

	if (after <= before)
		return 0;
	return __builtin_sub_overflow(after, before, &more) ? INT64_MAX : more;
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t ret;

	return __builtin_add_overflow(a, b, &ret) ? INT64_MAX : ret;
}

bool th_usage_of(const struct th_session_row *before, const struct th_session_row *after,
		 struct th_usage_row *ret)
{
	const struct th_session_row *whose = before ? before : after;

	if (th_delegated_by(after->metadata).len)
		return false;
	*ret = (struct th_usage_row){
		.user = whose->user,
		.agent = whose->agent,
		.model = whose->model,
		.day = day_of(after->updated_ms),
		.sessions = before == NULL,
	};
	if (!before)
		return true;
	ret->turns = more_than(before->iteration, after->iteration);
	ret->calls = more_than(before->calls, after->calls);
	ret->tokens_in = more_than(before->tokens_in, after->tokens_in);
	ret->tokens_cached = more_than(before->tokens_cached, after->tokens_cached);
	ret->tokens_out = more_than(before->tokens_out, after->tokens_out);
	ret->cost_nano = more_than(before->cost_nano, after->cost_nano);
	return ret->turns || ret->calls || ret->tokens_in || ret->tokens_cached ||
	       ret->tokens_out || ret->cost_nano;
}

static bool is_used(const struct th_used *u)
{
	return u->tokens_written || u->model_ms || u->tools_ms || u->person_ms;
}

bool th_usage_used(const struct th_append *a, struct th_usage_row *ret)
{
	if (!is_used(&a->used) || th_delegated_by(a->row->metadata).len)
		return false;
	*ret = (struct th_usage_row){
		.user = a->row->user,
		.agent = a->row->agent,
		.model = a->row->model,
		.day = day_of(a->row->updated_ms),
		.used = a->used,
	};
	return true;
}

void th_usage_add(struct th_usage_row *to, const struct th_usage_row *more)
{
	to->sessions = sum(to->sessions, more->sessions);
	to->turns = sum(to->turns, more->turns);
	to->calls = sum(to->calls, more->calls);
	to->tokens_in = sum(to->tokens_in, more->tokens_in);
	to->tokens_cached = sum(to->tokens_cached, more->tokens_cached);
	to->tokens_out = sum(to->tokens_out, more->tokens_out);
	to->cost_nano = sum(to->cost_nano, more->cost_nano);
	th_used_add(&to->used.tokens_written, more->used.tokens_written);
	th_used_add(&to->used.model_ms, more->used.model_ms);
	th_used_add(&to->used.tools_ms, more->used.tools_ms);
	th_used_add(&to->used.person_ms, more->used.person_ms);
}

bool th_usage_takes(const struct th_usage_filter *f, const struct th_usage_row *row)
{
	return (f->user.len == 0 || th_user_is(f->user, row->user)) &&
	       (f->from_day == 0 || row->day >= f->from_day) &&
	       (f->to_day == 0 || row->day <= f->to_day);
}

uint32_t th_usage_crc(const struct th_usage_row *row)
{
	const struct th_str strings[] = { row->user, row->agent, row->model };
	const int64_t numbers[] = { row->day,        row->sessions,  row->turns,
				    row->calls,      row->tokens_in, row->tokens_cached,
				    row->tokens_out, row->cost_nano };
	uint32_t crc = 0;

	for (size_t i = 0; i < TH_COUNT(strings); i++)
		crc = th_crc_str(crc, strings[i]);
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		crc = th_crc_u64(crc, (uint64_t)numbers[i]);
	return crc;
}

/* ---- lines, each once ---- */

void th_usage_sums_init(struct th_usage_sums *s)
{
	*s = (struct th_usage_sums){ 0 };
	th_arena_init_try(&s->memory, TH_BATCH_MEMORY_MAX);
}

void th_usage_sums_deinit(struct th_usage_sums *s)
{
	th_arena_deinit(&s->memory);
	free(s->list);
	free(s->slots);
	*s = (struct th_usage_sums){ 0 };
}

static bool same_line(const struct th_usage_row *a, const struct th_usage_row *b)
{
	return a->day == b->day && th_str_eq(a->user, b->user) && th_str_eq(a->agent, b->agent) &&
	       th_str_eq(a->model, b->model);
}

static size_t slot_of(const struct th_usage_sums *s, const struct th_usage_row *row)
{
	const uint64_t parts[] = { (uint64_t)row->day, th_hash64(row->user.ptr, row->user.len),
				   th_hash64(row->agent.ptr, row->agent.len),
				   th_hash64(row->model.ptr, row->model.len) };
	size_t i = (size_t)th_hash64(parts, sizeof(parts)) & (s->slot_count - 1);

	while (s->slots[i] && !same_line(&s->list[s->slots[i] - 1], row))
		i = (i + 1) & (s->slot_count - 1);
	return i;
}

/* Room for one more line. */
static bool room(struct th_usage_sums *s)
{
	size_t cap = s->cap ? s->cap * 2 : 16;
	struct th_usage_row *list;
	uint32_t *slots;

	if (s->count < s->cap)
		return true;
	list = th_try_realloc(s->list, cap * sizeof(*list));
	if (!list)
		return false;
	s->list = list;
	slots = th_try_alloc(cap * 2 * sizeof(*slots));
	if (!slots)
		return false;
	free(s->slots);
	s->cap = cap;
	s->slots = slots;
	s->slot_count = cap * 2;
	for (size_t i = 0; i < s->count; i++)
		s->slots[slot_of(s, &s->list[i])] = (uint32_t)i + 1;
	return true;
}

enum th_code th_usage_sums_add(struct th_usage_sums *s, const struct th_usage_row *row,
			       struct th_err *err)
{
	struct th_usage_row *to;
	uint32_t *slot;

	if (!room(s))
		return th_fail_memory(err);
	slot = &s->slots[slot_of(s, row)];
	if (*slot) {
		th_usage_add(&s->list[*slot - 1], row);
		return TH_OK;
	}
	if (s->count == TH_USAGE_GROUPS_MAX)
		return th_fail(err, TH_ELIMIT,
			       "there are more than %d lines of usage; ask for fewer days",
			       TH_USAGE_GROUPS_MAX);
	to = &s->list[s->count];
	*to = *row;
	to->user = th_arena_str(&s->memory, row->user);
	to->agent = th_arena_str(&s->memory, row->agent);
	to->model = th_arena_str(&s->memory, row->model);
	if (!to->user.ptr || !to->agent.ptr || !to->model.ptr)
		return th_fail_memory(err);
	*slot = (uint32_t)++s->count;
	return TH_OK;
}

struct th_usage_row th_usage_group(enum th_usage_by by, const struct th_usage_row *row)
{
	struct th_usage_row ret = *row;
	struct th_str none = TH_STR("");

	ret.day = by == TH_USAGE_BY_DAY ? row->day : 0;
	ret.user = by != TH_USAGE_BY_USER ? none
		   : row->user.len        ? row->user
					  : TH_STR(TH_USER_LOCAL);
	ret.agent = by == TH_USAGE_BY_AGENT ? row->agent : none;
	ret.model = by == TH_USAGE_BY_MODEL ? row->model : none;
	return ret;
}

static int in_order(const void *a, const void *b)
{
	const struct th_usage_row *x = a, *y = b;
	int order = th_str_cmp(x->user, y->user);

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	if (!order)
		order = th_str_cmp(x->agent, y->agent);
	return order ? order : th_str_cmp(x->model, y->model);
}

enum th_code th_usage_give(struct th_usage_sums *s, th_usage_fn *fn, void *ctx, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (s->count > 1)
		qsort(s->list, s->count, sizeof(*s->list), in_order);
	for (size_t i = 0; i < s->count && !code; i++)
		code = fn(ctx, &s->list[i], err);
	return code;
}
