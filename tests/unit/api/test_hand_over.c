/* SPDX-License-Identifier: Apache-2.0 */
/* A session that is given to whoever takes it, on a store that several runtimes share. */
#include <string.h>

#include "rig.h"

/* What it was told just now is not durable yet: the loop turns meanwhile, and what that closes is
 * not closed twice. */
static void not_durable_yet(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	const char *server = getenv("THOLE_TEST_POSTGRES");
	struct thole_session *s = NULL, *other = NULL;
	struct thole_agent *agent = agent_of("a");
	struct thole_runtime *rt, *second;
	char url[512];

	(void)state;
	assert_non_null(server);
	snprintf(url, sizeof(url), "%spostgres", server);
	rt = runtime_at(scripted_url(model), url);
	second = runtime_at(scripted_url(model), url);
	GOOD(thole_session_new(rt, agent, "s", &s, &error));
	GOOD(thole_session_new(rt, agent, "freed", &other, &error));
	GOOD(thole_session_message(s, "Go.", &error));
	GOOD(thole_session_message(other, "Go.", &error));
	thole_session_free(other); /* closed as soon as it is durable */
	GOOD(thole_session_hand_over(s, true, &error));
	GOOD(thole_runtime_run(rt, &error));
	/* Its message is there, and another runtime goes on with it. */
	GOOD(thole_session_open(second, agent, "s", &s, &error));
	GOOD(thole_session_run(s, NULL, &error));
	assert_int_equal(thole_session_state(s), THOLE_FINISHED);
	thole_session_free(s);
	thole_agent_free(agent);
	GOOD(thole_runtime_free(second));
	GOOD(thole_runtime_free(rt));
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(not_durable_yet) };

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
