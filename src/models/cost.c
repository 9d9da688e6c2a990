/* SPDX-License-Identifier: Apache-2.0 */
#include "models/model.h"

static int64_t count(int64_t tokens, int64_t max)
{
	return TH_MIN(TH_MAX(tokens, (int64_t)0), max);
}

int64_t th_model_cost_nano(const struct th_profile *p, const struct th_usage *u)
{
	int64_t input = count(u->input, INT64_MAX), cached = count(u->cached, input);
	int64_t written = p->price.written ? count(u->written, input - cached) : 0;
	int64_t parts[4], sum = 0;

	if (!p->price.input && !p->price.cached && !p->price.output)
		return -1;
	if (__builtin_mul_overflow(input - cached - written, p->price.input, &parts[0]) ||
	    __builtin_mul_overflow(cached, p->price.cached, &parts[1]) ||
	    __builtin_mul_overflow(written, p->price.written, &parts[3]) ||
	    __builtin_mul_overflow(count(u->output, INT64_MAX), p->price.output, &parts[2]))
		return INT64_MAX;
	for (size_t i = 0; i < TH_COUNT(parts); i++)
		if (__builtin_add_overflow(sum, parts[i], &sum))
			return INT64_MAX;
	return sum;
}
