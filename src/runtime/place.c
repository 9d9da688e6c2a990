/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - what this machine has, and whether a session can be run on it. */
#include "base/label.h"
#include "computers/computers.h"
#include "runtime/internal.h"

void th_runtime_labels(struct th_runtime *rt, struct th_str labels)
{
	struct th_str one;

	th_buf_clear(&rt->labels);
	rt->placed = true;
	while ((one = th_label_next(&labels)).len)
		th_labels_add(&rt->labels, one, " ");
	for (size_t i = 0; th_computer_kinds[i]; i++)
		if (th_computer_kinds[i]->here && th_computer_kinds[i]->here())
			th_labels_add(&rt->labels, th_str_of(th_computer_kinds[i]->name), " ");
}

struct th_str th_runtime_labels_of(const struct th_runtime *rt)
{
	return th_buf_str(&rt->labels);
}

static void put_needs(const struct th_agent *agent, struct th_buf *out)
{
	const struct th_computer_kind *kind =
	    agent->computer ? th_computer_find(agent->computer->kind) : NULL;

	for (size_t i = 0; i < agent->labels.count; i++)
		th_labels_add(out, agent->labels.list[i], ", ");
	if (kind && kind->here)
		th_labels_add(out, th_str_of(kind->name), ", ");
}

enum th_code th_runtime_place(const struct th_runtime *rt, const struct th_agent *agent,
			      struct th_err *err)
{
	struct th_buf needs TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_LABELS_TEXT_MAX);
	struct th_buf missing TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_LABELS_TEXT_MAX);
	struct th_str rest, one;

	if (!rt->placed)
		return TH_OK;
	put_needs(agent, &needs);
	rest = th_buf_str(&needs);
	while ((one = th_label_next(&rest)).len)
		if (!th_labels_has(th_buf_str(&rt->labels), one))
			th_labels_add(&missing, one, ", ");
	if (!missing.len)
		return TH_OK;
	return th_fail(err, TH_EPLACE, "this machine lacks %s; the session needs: %s", missing.ptr,
		       needs.ptr);
}
