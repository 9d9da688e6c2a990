/* SPDX-License-Identifier: Apache-2.0 */
#include "models/dialect.h"
#include "models/gemini.h"

#include "models/messages.h"

const struct th_dialect th_dialect_native = {
	.name = "native",
	.note = "the wire's own tools, or the function computer",
};

const struct th_dialect *const th_dialects[] = { &th_dialect_native, &th_dialect_anthropic,
						 &th_dialect_gemini, NULL };

const struct th_dialect *th_dialect_find(struct th_str name)
{
	for (size_t i = 0; th_dialects[i]; i++)
		if (th_str_is(name, th_dialects[i]->name))
			return th_dialects[i];
	return NULL;
}
