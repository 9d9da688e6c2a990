/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser.c - the table of condensers, what an agent file may say of them, and
 * which of them acts.
 */
#include "context/condenser.h"

#include <stdlib.h>

#include "base/text.h"

// clang-format off
const struct th_condenser *const th_condensers[] = {
	&th_condenser_summary,
	&th_condenser_recent,
	&th_condenser_noop,
	&th_condenser_observation,
	&th_condenser_browser,
	&th_condenser_amortized,
	&th_condenser_llm,
	&th_condenser_attention,
	&th_condenser_structured,
	&th_condenser_window,
	&th_condenser_summarizing,
	&th_condenser_provider,
	&th_condenser_pipeline,
	NULL,
};
// clang-format on

const struct th_condenser *th_condenser_find(struct th_str name)
{
	for (size_t i = 0; th_condensers[i]; i++)
		if (th_str_is(name, th_condensers[i]->name))
			return th_condensers[i];
	return NULL;
}

const struct th_condenser *th_condenser_of(const struct th_agent_compact *compact)
{
	return compact->own.condenser.len ? th_condenser_find(compact->own.condenser) : NULL;
}

/* ---- what an agent file may say ----------------------------------------------------------- */

static enum th_code not_known(struct th_str name, struct th_err *err)
{
	struct th_buf names = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	for (size_t i = 0; th_condensers[i]; i++)
		th_buf_printf(&names, "%s%s", i ? ", " : "", th_condensers[i]->name);
	code = th_fail(err, TH_EUSAGE,
		       "compact.condenser: no condenser is called \"%.*s\"; there is %.*s",
		       TH_FMT(th_utf8_cut(name, 80)), TH_FMT(th_buf_str(&names)));
	th_buf_deinit(&names);
	return code;
}

static bool has_number(const struct th_condenser *condenser, const char *name)
{
	for (size_t i = 0; condenser->numbers[i]; i++)
		if (th_str_is(th_str_of(name), condenser->numbers[i]))
			return true;
	return false;
}

/* A number that the condenser does not look at is a mistake. */
static enum th_code check_numbers(const struct th_condenser *condenser,
				  const struct th_agent_condenser *given, struct th_err *err)
{
	const struct {
		const char *name;
		bool is_given;
	} numbers[] = {
		{ "keep", given->keep > 0 },
		{ "keep_first", given->keep_first >= 0 },
		{ "max_size", given->max_size > 0 },
		{ "max_events", given->max_events > 0 },
		{ "attention_window", given->attention_window > 0 },
		{ "max_event_length", given->max_event_length > 0 },
	};

	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		if (numbers[i].is_given && !has_number(condenser, numbers[i].name))
			return th_fail(err, TH_EUSAGE,
				       "compact.%s: the condenser \"%s\" has no such number",
				       numbers[i].name, condenser->name);
	return TH_OK;
}

static enum th_code check_one(const struct th_agent_condenser *given, struct th_err *err)
{
	const struct th_condenser *condenser = th_condenser_find(given->condenser);
	struct th_agent_condenser own;
	enum th_code code;

	if (!condenser)
		return not_known(given->condenser, err);
	code = check_numbers(condenser, given, err);
	if (code)
		return code;
	own = th_condenser_own(condenser, given);
	if (own.max_size && own.keep_first >= own.max_size / 2)
		return th_fail(
		    err, TH_EUSAGE,
		    "compact.keep_first (%lld) must be less than half of max_size (%lld)",
		    (long long)own.keep_first, (long long)own.max_size);
	/* The first ones, the summary, and at least one of the newest. */
	if (condenser == &th_condenser_summarizing && own.keep_first + 1 >= own.max_size / 2)
		return th_fail(err, TH_EUSAGE,
			       "compact.keep_first (%lld): with the summary, half of max_size "
			       "(%lld) leaves no room for a newest item",
			       (long long)own.keep_first, (long long)own.max_size);
	if (own.max_events && own.keep_first >= own.max_events)
		return th_fail(err, TH_EUSAGE,
			       "compact.keep_first (%lld) must be less than max_events (%lld)",
			       (long long)own.keep_first, (long long)own.max_events);
	if (given->max_events && given->keep)
		return th_fail(err, TH_EUSAGE, "compact: give either keep or max_events");
	return TH_OK;
}

static enum th_code check_pipeline(const struct th_agent_compact *compact, struct th_err *err)
{
	const struct th_agent_condenser *list = compact->condensers.list;
	enum th_code code = TH_OK;

	if (!compact->condensers.count)
		return th_fail(err, TH_EUSAGE,
			       "compact.condensers: a pipeline needs at least one condenser");
	if (compact->condensers.count > TH_CONDENSERS_MAX)
		return th_fail(err, TH_ELIMIT, "compact.condensers: there are more than %d",
			       TH_CONDENSERS_MAX);
	for (size_t i = 0; i < compact->condensers.count && !code; i++) {
		if (th_condenser_find(list[i].condenser) == &th_condenser_pipeline)
			code = th_fail(err, TH_EUSAGE,
				       "compact.condensers: a pipeline cannot be part of one");
		else
			code = check_one(&list[i], err);
	}
	return code;
}

enum th_code th_condenser_check(const struct th_agent_compact *compact, struct th_err *err)
{
	const struct th_condenser *condenser;
	enum th_code code;

	if (!compact)
		return TH_OK;
	if (!compact->from.len == !compact->own.condenser.len)
		return th_fail(err, TH_EUSAGE,
			       "compact: give either condenser (a name) or from (a function of the "
			       "agent's code)");
	if (compact->pins > (int64_t)TH_COMPACT_PINS_MAX)
		return th_fail(err, TH_ELIMIT, "compact.pins: at most %zu bytes of messages stay",
			       TH_COMPACT_PINS_MAX);
	if (!compact->own.condenser.len)
		return TH_OK;
	code = check_one(&compact->own, err);
	if (code)
		return code;
	condenser = th_condenser_of(compact);
	if (condenser == &th_condenser_pipeline)
		return check_pipeline(compact, err);
	if (compact->condensers.count)
		return th_fail(err, TH_EUSAGE,
			       "compact.condensers: only the condenser \"pipeline\" has others");
	return TH_OK;
}

/* ---- which of them acts ------------------------------------------------------------------- */

/* Those that are named, in their order. */
static size_t rows_of(const struct th_agent_compact *compact,
		      const struct th_agent_condenser **ret_list)
{
	if (th_condenser_of(compact) != &th_condenser_pipeline) {
		*ret_list = &compact->own;
		return 1;
	}
	*ret_list = compact->condensers.list;
	return compact->condensers.count;
}

static bool acts(const struct th_condenser *condenser, const struct th_agent_condenser *given,
		 unsigned reasons, uint64_t items, uint64_t fresh)
{
	struct th_agent_condenser own;

	if (!condenser) /* no row of this build */
		return false;
	own = th_condenser_own(condenser, given);
	return (reasons & condenser->reasons) ||
	       (condenser->due && condenser->due(&own, items, fresh));
}

bool th_condenser_due(const struct th_agent_compact *compact, unsigned reasons, uint64_t items,
		      uint64_t fresh)
{
	const struct th_agent_condenser *list;
	size_t count = rows_of(compact, &list);

	for (size_t i = 0; i < count; i++)
		if (acts(th_condenser_find(list[i].condenser), &list[i], reasons, items, fresh))
			return true;
	return false;
}

bool th_condenser_asks(const struct th_agent_compact *compact)
{
	const struct th_agent_condenser *list;
	size_t count = rows_of(compact, &list);

	for (size_t i = 0; i < count; i++) {
		const struct th_condenser *row = th_condenser_find(list[i].condenser);

		if (row && row->ask)
			return true;
	}
	return false;
}

bool th_condenser_sizes(const struct th_agent_compact *compact, bool tokens)
{
	const struct th_agent_condenser *list;
	size_t count = rows_of(compact, &list);

	for (size_t i = 0; i < count; i++) {
		const struct th_condenser *row = th_condenser_find(list[i].condenser);

		if ((tokens && row && row->ask) ||
		    acts(row, &list[i], 0, (uint64_t)INT64_MAX, (uint64_t)INT64_MAX))
			return true;
	}
	return false;
}

/* Those that only mask go on to the next; the first that leaves something out ends it. */
static bool condense(const struct th_condense *c, bool loose, struct th_buf *out,
		     struct th_condensed *ret)
{
	const struct th_agent_condenser *list;
	size_t count = rows_of(c->options, &list);
	struct th_condense_plan p;
	bool done = false;

	th_condense_plan_init(&p, c, loose);
	for (size_t i = 0; i < count && !done; i++) {
		const struct th_condenser *row = th_condenser_find(list[i].condenser);
		size_t masked = p.masked;

		if (!row || !acts(row, &list[i], c->reasons, c->transcript->count, c->fresh))
			continue;
		th_condense_plan_by(&p, row, &list[i]);
		done = th_condense_plan_settle(&p) > 0;
		if (!done)
			th_plan_keep_all(&p);
		if (!done && p.masked == masked)
			continue;
		ret->by = row;
		ret->own = p.own;
		ret->ask = done && row->ask && !c->summary.len ? row : NULL;
	}
	if (ret->ask)
		ret->ask->ask(&p, out);
	else if (ret->by)
		th_condense_plan_print(&p, out, ret);
	th_condense_plan_deinit(&p);
	return ret->by != NULL;
}

bool th_condense(const struct th_condense *c, struct th_buf *out, struct th_condensed *ret)
{
	*ret = (struct th_condensed){ 0 };
	return condense(c, false, out, ret) || condense(c, true, out, ret);
}

bool th_condense_half(const struct th_condense *c, struct th_buf *marks, struct th_condensed *ret)
{
	const struct th_transcript *t = c->transcript;
	struct th_agent_compact options = { .own = { .condenser =
							 th_str_of(th_condenser_recent.name) } };
	struct th_condense half = *c;
	size_t all = 0, tail = 0, keep = 0;

	for (size_t i = 0; i < t->count; i++)
		all += th_condenser_size(&t->list[i]);
	for (size_t i = t->count; i-- > 0 && tail <= all / 2; keep++)
		tail += th_condenser_size(&t->list[i]);
	/* The one that passes the half goes; the newest stays in any case. */
	options.own.keep = TH_MAX((int64_t)keep - 1, (int64_t)1);
	options.own.keep_first = -1;
	half.options = &options;
	half.reasons = TH_CONDENSE_TOKENS;
	half.summary = TH_STR("");
	half.read_seq = 0;
	return th_condense(&half, marks, ret);
}
