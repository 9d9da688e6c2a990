/* SPDX-License-Identifier: Apache-2.0 */
/* lookup_values.c - the values of an agent's secrets that were asked for, as far as they have come.
 */
#include "runtime/internal.h"
#include "runtime/lookups_internal.h"
#include "wire/exec.h"

const struct th_secret *th_runtime_lookups_value(const struct th_runtime_session *s,
						 struct th_str name)
{
	for (size_t i = 0; s->lookups && i < s->lookups->count; i++)
		if (th_str_eq(s->lookups->list[i].of->name, name))
			return s->lookups->list[i].value;
	return NULL;
}

void th_runtime_lookups_put(const struct th_runtime_session *s, struct th_jw *list)
{
	for (size_t i = 0; s->lookups && i < s->lookups->count; i++) {
		const struct th_lookup *k = &s->lookups->list[i];
		struct th_exec_given m = { .name = k->of->name };

		if (!k->value)
			continue;
		m.value = th_secret_expose(k->value);
		th_table_print(&th_exec_given_table, &m, list);
	}
}

enum th_code th_runtime_lookups_mask(const struct th_runtime_session *s, struct th_mask *mask,
				     struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; s->lookups && !code && i < s->lookups->count; i++)
		if (s->lookups->list[i].value)
			code = th_mask_add(mask, s->lookups->list[i].value, err);
	return code;
}
