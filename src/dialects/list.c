/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/list.h"

const struct th_dialect th_dialect_native = {
	.name = "native",
	.note = "the wire's own items, or the function `computer` in our words",
};

const struct th_dialect *const th_dialects[] = {
	&th_dialect_native,         &th_dialect_json,         &th_dialect_json_qwen,
	&th_dialect_json_anthropic, &th_dialect_uitars,       &th_dialect_uitars15,
	&th_dialect_uitars2,        &th_dialect_qwen,         &th_dialect_qwen35,
	&th_dialect_fara,           &th_dialect_glm,          &th_dialect_opencua,
	&th_dialect_yutori,         &th_dialect_points,       &th_dialect_fractions,
	&th_dialect_holo,           &th_dialect_internvl,     &th_dialect_uiins,
	&th_dialect_functions,      &th_dialect_descriptions, &th_dialect_elements,
	&th_dialect_anthropic,      &th_dialect_gemini,       NULL,
};

const struct th_dialect *th_dialect_find(struct th_str name)
{
	for (size_t i = 0; th_dialects[i]; i++)
		if (th_str_is(name, th_dialects[i]->name))
			return th_dialects[i];
	return NULL;
}
