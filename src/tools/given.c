/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/given.h"

#include "agents/agent_secret.h"

const char *th_given_entry(const struct th_given *g, struct th_str name)
{
	for (size_t i = 0; i < g->count; i++)
		if (th_str_eq(g->list[i].name, name))
			return g->list[i].entry;
	return NULL;
}

const char *const *th_given_environment(const struct th_given *g, struct th_str command,
					const char *const *base, struct th_arena *a)
{
	const char **ret;
	size_t count = 0;

	if (g->count == 0)
		return base;
	while (base && base[count])
		count++;
	ret = (const char **)th_arena_array(a, count + g->count + 1, sizeof(*ret));
	for (size_t i = 0; ret && i < count; i++)
		ret[i] = base[i];
	for (size_t i = 0; ret && i < g->count; i++)
		if (th_secret_named(command, g->list[i].name))
			ret[count++] = g->list[i].entry;
	return ret;
}

void th_given_export(const struct th_given *g, struct th_str command, struct th_buf *out)
{
	for (size_t i = 0; i < g->count; i++) {
		struct th_str value = th_str_of(g->list[i].entry);

		if (!th_secret_named(command, g->list[i].name))
			continue;
		value = th_str_sub(value, g->list[i].name.len + 1, value.len);
		th_buf_printf(out, "export %.*s='", TH_FMT(g->list[i].name));
		for (size_t k = 0; k < value.len; k++) {
			if (value.ptr[k] == '\'')
				th_buf_add_cstr(out, "'\\'");
			th_buf_add_char(out, value.ptr[k]);
		}
		th_buf_add_cstr(out, "'\n");
	}
}
