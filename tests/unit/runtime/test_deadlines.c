/* SPDX-License-Identifier: Apache-2.0 */
/* How long a request to a model may take. */
#include "unit.h"

#include "runtime/internal.h"

/* What the agent's settings do not say. */
static void deadlines_of_a_request(void **state)
{
	const struct th_agent_model_settings own = { TH_SETTINGS_UNSET, .idle_seconds = 7,
						     .total_seconds = 9 };
	struct th_model_call call = { .stream = true, .total_ms_max = -1 };
	struct th_fetch_request r = { 0 };

	(void)state;
	th_world_model_deadlines(&call, &r);
	assert_int_equal(r.connect_ms, TH_MODEL_CONNECT_MS);
	assert_int_equal(r.byte_idle_ms, TH_MODEL_IDLE_MS);
	assert_int_equal(r.event_idle_ms, TH_MODEL_IDLE_MS);
	assert_int_equal(r.total_ms, TH_MODEL_TOTAL_MS);
	call.total_ms_max = TH_MODEL_TOTAL_MS + 1; /* of the task more is left */
	th_world_model_deadlines(&call, &r);
	assert_int_equal(r.total_ms, TH_MODEL_TOTAL_MS);
	call = (struct th_model_call){ .settings = &own, .total_ms_max = 8999 };
	th_world_model_deadlines(&call, &r);
	assert_int_equal(r.byte_idle_ms, 7000);
	assert_int_equal(r.event_idle_ms, 0); /* an answer in one piece has no events */
	assert_int_equal(r.total_ms, 8999);
	call.total_ms_max = 0;
	th_world_model_deadlines(&call, &r);
	assert_int_equal(r.total_ms, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines_of_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
