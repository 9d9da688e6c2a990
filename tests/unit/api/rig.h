/* SPDX-License-Identifier: Apache-2.0 */
/* rig.h - a runtime of the C API beside a scripted model. */
#ifndef TH_TESTS_UNIT_API_RIG_H
#define TH_TESTS_UNIT_API_RIG_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thole/thole.h>
#include <unistd.h>

#include "scripted.h"

static struct thole_error error;

/* A call of the API that has to succeed. */
#define GOOD(call)                                                                              \
	do {                                                                                    \
		if ((call) != THOLE_OK)                                                         \
			fail_msg("%s: %s: %s", #call, thole_code_name(error.code), error.text); \
	} while (0)
/* One that has to fail, with a sentence. */
#define BAD(wanted, call)                               \
	do {                                            \
		memset(&error, 0, sizeof(error));       \
		assert_int_equal((call), (wanted));     \
		assert_int_equal(error.code, (wanted)); \
		assert_true(strlen(error.text) > 0);    \
	} while (0)

static struct thole_runtime *runtime_at(const char *url, const char *store)
{
	const char *options[] = { "store",   store,       "model",   "gpt-5.4", "base_url", url,
				  "api_key", "sk-secret", "sandbox", "none",    NULL };
	struct thole_runtime *rt = NULL;

	GOOD(thole_runtime_new(options, &rt, &error));
	assert_non_null(rt);
	return rt;
}

TH_UNUSED static struct thole_agent *agent_of(const char *name)
{
	struct thole_agent *a = NULL;

	GOOD(thole_agent_new(name, &a, &error));
	assert_non_null(a);
	return a;
}

TH_UNUSED static void says_hello(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)request;
	(void)nth;
	scripted_say(items, "Hello to you.");
}

/* The configuration of whoever runs the tests is none of theirs. */
static int away_from_home(void **state)
{
	(void)state;
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	unsetenv("THOLE_STORE");
	unsetenv("THOLE_MODEL");
	unsetenv("OPENAI_BASE_URL");
	return 0;
}

#endif
