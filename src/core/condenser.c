/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser.c - the table of condensers.
 */
#include "core/condenser.h"

#include "base/text.h"

const struct th_condenser *const th_condensers[] = { &th_condenser_recent, &th_condenser_summary,
						     NULL };

static const struct th_condenser *find(struct th_str name)
{
	for (size_t i = 0; th_condensers[i]; i++)
		if (th_str_is(name, th_condensers[i]->name))
			return th_condensers[i];
	return NULL;
}

enum th_code th_condenser_check(const struct th_agent_compact *compact, struct th_err *err)
{
	struct th_buf names = TH_BUF_INIT(TH_KIB);
	enum th_code code;

	if (!compact)
		return TH_OK;
	if (!compact->from.len == !compact->condenser.len)
		return th_fail(err, TH_EUSAGE,
			       "compact: give either condenser (a name) or from (a function of the "
			       "agent's code)");
	if (!compact->condenser.len || find(compact->condenser))
		return TH_OK;
	for (size_t i = 0; th_condensers[i]; i++)
		th_buf_printf(&names, "%s%s", i ? ", " : "", th_condensers[i]->name);
	code = th_fail(err, TH_EUSAGE,
		       "compact.condenser: no condenser is called \"%.*s\"; there is %.*s",
		       TH_FMT(th_utf8_cut(compact->condenser, 80)), TH_FMT(th_buf_str(&names)));
	th_buf_deinit(&names);
	return code;
}

const struct th_condenser *th_condenser_of(const struct th_agent_compact *compact)
{
	const struct th_condenser *condenser = find(compact->condenser);

	assert(condenser);
	return condenser;
}

bool th_condense(const struct th_condenser *condenser, const struct th_condense *c,
		 struct th_buf *marks, size_t *ret_items)
{
	struct th_jw w = th_jw(marks);

	th_jw_array(&w);
	*ret_items = condenser->condense(c, &w);
	th_jw_array_end(&w);
	return *ret_items > 0;
}

bool th_condense_half(const struct th_transcript *transcript, struct th_buf *marks,
		      size_t *ret_items)
{
	struct th_agent_compact options = { .keep = 0 };
	struct th_condense c = { .options = &options, .transcript = transcript };
	size_t all = 0, tail = 0;

	for (size_t i = 0; i < transcript->count; i++)
		all += th_condenser_size(&transcript->list[i]);
	for (size_t i = transcript->count; i-- > 0 && tail <= all / 2; options.keep++)
		tail += th_condenser_size(&transcript->list[i]);
	/* The one that passes the half goes; the newest stays in any case. */
	options.keep = TH_MAX(options.keep - 1, (int64_t)1);
	return th_condense(&th_condenser_recent, &c, marks, ret_items);
}
