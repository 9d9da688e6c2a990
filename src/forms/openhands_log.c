/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/openhands_log.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"

#define ROOT "__root__"

void th_openhands_log_init(struct th_openhands_log *log, enum th_openhands version)
{
	*log = (struct th_openhands_log){ .version = version };
	th_openhands_log_bound(log, TH_EXPORT_SIZE_MAX, TH_EXPORT_EVENTS_MAX);
}

void th_openhands_log_bound(struct th_openhands_log *log, size_t size_max, size_t count_max)
{
	log->size_max = size_max;
	log->count_max = count_max;
	th_arena_init(&log->memory, size_max);
}

void th_openhands_log_deinit(struct th_openhands_log *log)
{
	th_arena_deinit(&log->memory);
	free(log->list);
	free(log->slots);
	*log = (struct th_openhands_log){ 0 };
}

/* ---- ids ---- */

static size_t slot_of(const struct th_openhands_log *log, struct th_str id)
{
	size_t at = (size_t)th_hash64(id.ptr, id.len) & (log->slot_count - 1);

	while (log->slots[at] && !th_str_eq(log->list[log->slots[at] - 1].id, id))
		at = (at + 1) & (log->slot_count - 1);
	return at;
}

ptrdiff_t th_openhands_log_find(const struct th_openhands_log *log, struct th_str id)
{
	return log->slot_count ? (ptrdiff_t)log->slots[slot_of(log, id)] - 1 : -1;
}

static void grow(struct th_openhands_log *log)
{
	if (log->count == log->cap) {
		log->cap = TH_MAX(2 * log->cap, (size_t)64);
		log->list = th_realloc(log->list, log->cap * sizeof(*log->list));
	}
	if (2 * (log->count + 1) <= log->slot_count)
		return;
	log->slot_count = TH_MAX(2 * log->slot_count, (size_t)256);
	log->slots = th_realloc(log->slots, log->slot_count * sizeof(*log->slots));
	memset(log->slots, 0, log->slot_count * sizeof(*log->slots));
	for (size_t i = 0; i < log->count; i++)
		if (log->list[i].id.len)
			log->slots[slot_of(log, log->list[i].id)] = i + 1;
}

static enum th_code push(struct th_openhands_log *log, uint64_t number, struct th_str id,
			 struct th_str text, struct th_err *err)
{
	struct th_openhands_entry e = { number, th_arena_str(&log->memory, id),
					th_arena_str(&log->memory, text) };

	if (log->count == log->count_max)
		return th_fail(err, TH_ELIMIT, "a conversation has at most %zu events",
			       log->count_max);
	if (!e.text.ptr || (id.len && !e.id.ptr))
		return th_fail(err, TH_ELIMIT, "the events take more than %zu bytes",
			       log->size_max);
	grow(log);
	log->list[log->count++] = e;
	if (id.len)
		log->slots[slot_of(log, log->list[log->count - 1].id)] = log->count;
	return TH_OK;
}

static enum th_code check_v1(const struct th_openhands_log *log, const struct th_json *event,
			     struct th_err *err)
{
	struct th_str id = th_json_get_str(event, "id"),
		      parent = th_json_get_str(event, "parent_id");
	ptrdiff_t at = th_openhands_log_find(log, id);

	if (id.len && at >= 0)
		return th_fail(err, TH_EEXIST, "event %.*s is there already, as number %td",
			       TH_FMT(th_str_sub(id, 0, TH_NAME_NEAR_MAX)), at);
	if (parent.len && !th_str_is(parent, ROOT) && th_openhands_log_find(log, parent) < 0)
		return th_fail(err, TH_ENOENT, "event %.*s names a parent %.*s that is not there",
			       TH_FMT(th_str_sub(id, 0, TH_NAME_NEAR_MAX)),
			       TH_FMT(th_str_sub(parent, 0, TH_NAME_NEAR_MAX)));
	return TH_OK;
}

enum th_code th_openhands_log_add(struct th_openhands_log *log, struct th_str text,
				  struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *event;
	enum th_code code = th_json_parse(text, &doc, err);
	uint64_t next = log->count ? log->list[log->count - 1].number + 1 : 0;
	int64_t id;

	if (code)
		return code;
	event = th_json_root(doc);
	if (!th_json_is_object(event))
		return th_fail(err, TH_EPROTO, "an event is an object");
	if (log->version == TH_OPENHANDS_V1) {
		code = check_v1(log, event, err);
		return code ? code : push(log, next, th_json_get_str(event, "id"), text, err);
	}
	id = th_json_get_int(event, "id", -1);
	if (id >= 0 && (uint64_t)id < next)
		return th_fail(err, TH_EEXIST, "event %lld is there already: it was added before",
			       (long long)id);
	return push(log, id >= 0 ? (uint64_t)id : next, TH_STR(""), text, err);
}

/* ---- files ---- */

void th_openhands_v0_folder(struct th_str user, struct th_str id, struct th_buf *out)
{
	if (user.len)
		th_buf_printf(out, "users/%.*s/conversations/%.*s/", TH_FMT(user), TH_FMT(id));
	else
		th_buf_printf(out, "sessions/%.*s/", TH_FMT(id));
}

void th_openhands_event_file(const struct th_openhands_log *log, size_t index, struct th_buf *out)
{
	if (log->version == TH_OPENHANDS_V0)
		th_buf_printf(out, "events/%llu.json", (unsigned long long)log->list[index].number);
	else
		th_buf_printf(out, "events/event-%05zu-%.*s.json", index,
			      TH_FMT(log->list[index].id));
}

void th_openhands_page_file(size_t first, struct th_buf *out)
{
	th_buf_printf(out, "event_cache/%zu-%zu.json", first, first + TH_OPENHANDS_PAGE);
}

bool th_openhands_file_number(enum th_openhands v, struct th_str name, uint64_t *ret)
{
	struct th_str digits;
	int64_t n;

	if (!th_str_ends(name, TH_STR(".json")))
		return false;
	name.len -= sizeof(".json") - 1;
	if (v == TH_OPENHANDS_V1) {
		if (!th_str_starts(name, TH_STR("event-")))
			return false;
		name = th_str_sub(name, sizeof("event-") - 1, name.len);
		digits = th_str_split(&name, '-');
		if (digits.len < 5 || !name.len)
			return false;
		while (digits.len > 1 && digits.ptr[0] == '0')
			digits = th_str_sub(digits, 1, digits.len);
		name = digits;
	}
	if (!name.len || name.ptr[0] < '0' || name.ptr[0] > '9' || !th_str_i64(name, &n) || n < 0)
		return false;
	*ret = (uint64_t)n;
	return true;
}

/* ---- states ---- */

bool th_openhands_v0_steps(const struct th_json *event, struct th_str state, bool delegate)
{
	static const char *const going[] = { "delegate", "condensation", "condensation_request" };
	const struct th_openhands_kind *kind = th_openhands_kind(TH_OPENHANDS_V0, event);
	bool action = th_json_get(event, "action");

	if (delegate || !kind)
		return false;
	if (strcmp(kind->name, "message") == 0)
		return th_str_is(th_json_get_str(event, "source"), "user") ||
		       !th_str_is(state, "awaiting_user_input");
	for (size_t i = 0; i < TH_COUNT(going); i++)
		if (action && strcmp(kind->name, going[i]) == 0)
			return true;
	if (action)
		return false;
	/* Ids count from 0 there, and 0 is no cause. */
	if (strcmp(kind->name, "null") == 0)
		return th_json_get_int(event, "cause", 0) > 0;
	return strcmp(kind->name, "agent_state_changed") != 0;
}
