/* SPDX-License-Identifier: Apache-2.0 */
/* What sessions are run with is made once for all that have one definition. */
#include "unit.h"

#include "runtime/internal.h"

struct fixture {
	struct th_config *config;
	struct th_runtime *rt;
	struct th_runtime_session session; /* the one that was begun or read last */
};

static const struct th_tool_row extra = {
	.spec = { .name = TH_STR("extra"), .schema = TH_STR("{\"type\":\"object\"}") },
};

static void setup(struct fixture *f)
{
	struct th_runtime_options options = { .store_url = TH_STR("memory:"),
					      .store_create = true };
	struct th_err err = { 0 };

	if (th_config_load(TH_STR(""), &f->config, &err))
		fail_msg("%s", err.msg);
	options.config = f->config;
	if (th_runtime_new(&options, &f->rt, &err))
		fail_msg("%s", err.msg);
	f->session = (struct th_runtime_session){ .rt = f->rt };
	th_arena_init(&f->session.memory, TH_MIB);
}

/* All that were made are dropped by now. */
static void teardown(struct fixture *f)
{
	for (size_t i = 0; i < TH_SETUP_BUCKETS; i++)
		assert_null(f->rt->setups[i]);
	th_arena_deinit(&f->session.memory);
	th_runtime_free(f->rt);
	th_config_free(f->config);
}

static struct th_agent agent_of(const char *instructions)
{
	return (struct th_agent){ .name = TH_STR("a"),
				  .instructions = th_str_of(instructions),
				  .model = TH_STR("gpt-5.4"),
				  .base_url = TH_STR("http://127.0.0.1:9") };
}

static struct th_runtime_setup *made(struct fixture *f, const struct th_start *start)
{
	struct th_err err = { 0 };

	if (th_runtime_setup_new(&f->session, start, &err))
		fail_msg("%s", err.msg);
	return f->session.setup;
}

/* A stored session whose first event says that.  Those of older builds name the workspace in the
 * definition, too. */
static struct th_runtime_setup *stored_in(struct fixture *f, const struct th_agent *agent,
					  const char *workspace)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB), definition = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&definition);
	struct th_event first = { .kind = TH_EV_SESSION_CREATED };
	struct th_err err = { 0 };

	th_table_print(&th_agent_table, agent, &w);
	th_buf_printf(&text,
		      "{\"agent\":%s,\"model\":\"%.*s\",\"workspace\":\"%s\","
		      "\"user\":\"somebody\"}",
		      definition.ptr, TH_FMT(agent->model), workspace);
	first.data = th_buf_str(&text);
	if (th_runtime_setup_stored(&f->session, &first, NULL, &err))
		fail_msg("%s", err.msg);
	th_buf_deinit(&text);
	th_buf_deinit(&definition);
	return f->session.setup;
}

static struct th_runtime_setup *stored(struct fixture *f, const struct th_agent *agent)
{
	return stored_in(f, agent, "");
}

static void test_shared(void **state)
{
	struct fixture f;
	struct th_agent agent = agent_of("Be brief."), other = agent_of("Be long.");
	struct th_start start = { .agent = &agent }, another = { .agent = &other };
	struct th_runtime_setup *first, *second, *third, *old;

	(void)state;
	setup(&f);
	first = made(&f, &start);
	second = made(&f, &start);
	old = stored(&f, &agent);
	third = made(&f, &another);
	assert_ptr_equal(first, second);
	assert_ptr_equal(first, old);
	assert_ptr_not_equal(first, third);
	assert_int_equal(first->users, 3);
	assert_true(first->config.tools && first->config.specs);
	assert_true(th_str_is(first->agent.instructions, "Be brief."));
	assert_true(th_str_is(third->agent.instructions, "Be long."));
	th_runtime_setup_drop(f.rt, first);
	th_runtime_setup_drop(f.rt, second);
	assert_true(th_str_is(old->config.agent->instructions, "Be brief.")); /* it lives */
	th_runtime_setup_drop(f.rt, old);
	th_runtime_setup_drop(f.rt, third);
	teardown(&f);
}

/* Sessions differ in their workspace alone: it is theirs, and the rest is shared. */
/* What a session's first event has of its agent is printed once, by whoever has it first. */
static void test_definition(void **state)
{
	struct fixture f;
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_agent agent = agent_of("Be brief."), moved = agent, other = agent_of("Be long.");
	struct th_start start = { .agent = &moved }, known = { .agent = &moved };
	struct th_start another = { .agent = &other };
	struct th_runtime_setup *first, *second, *third;
	struct th_jw w = th_jw(&text);

	(void)state;
	setup(&f);
	th_table_print(&th_agent_table, &agent, &w);
	moved.workspace = TH_STR("/tmp");
	known.definition = th_buf_str(&text);
	first = made(&f, &start);
	assert_true(th_str_eq(first->config.definition, th_buf_str(&text)));
	second = made(&f, &known);
	assert_ptr_equal(first, second);
	assert_true(th_str_is(f.session.workspace, "/tmp"));
	/* It is believed: nothing is printed to be compared. */
	another.definition = th_buf_str(&text);
	third = made(&f, &another);
	assert_ptr_equal(first, third);
	for (int i = 0; i < 3; i++)
		th_runtime_setup_drop(f.rt, first);
	teardown(&f);
}

static void test_workspaces(void **state)
{
	struct fixture f;
	struct th_agent agent = agent_of("Be brief.");
	struct th_start start = { .agent = &agent };
	struct th_runtime_setup *first, *second, *again, *old;

	(void)state;
	setup(&f);
	agent.workspace = TH_STR("/srv/one");
	first = made(&f, &start);
	assert_true(th_str_is(f.session.workspace, "/srv/one"));
	agent.workspace = TH_STR("/srv/two");
	second = made(&f, &start);
	assert_true(th_str_is(f.session.workspace, "/srv/two"));
	assert_ptr_equal(first, second);
	agent.workspace = TH_STR("");
	again = stored_in(&f, &agent, "/srv/three");
	assert_true(th_str_is(f.session.workspace, "/srv/three"));
	assert_ptr_equal(first, again);
	agent.workspace = TH_STR("/srv/four");
	old = stored_in(&f, &agent, "/srv/four");
	assert_true(th_str_is(f.session.workspace, "/srv/four"));
	assert_int_equal(first->agent.workspace.len + old->agent.workspace.len, 0);
	th_runtime_setup_drop(f.rt, first);
	th_runtime_setup_drop(f.rt, second);
	th_runtime_setup_drop(f.rt, again);
	th_runtime_setup_drop(f.rt, old);
	teardown(&f);
}

static bool has_extra(const struct th_runtime_setup *u)
{
	for (size_t i = 0; i < u->config.tool_count; i++)
		if (th_str_is(u->config.tools[i].spec.name, "extra"))
			return true;
	return false;
}

/* What a program gives for one session is no other session's. */
static void test_own(void **state)
{
	struct fixture f;
	struct th_agent agent = agent_of("Be brief.");
	struct th_start start = { .agent = &agent }, own = start;
	struct th_runtime_setup *first, *second, *third, *later;
	struct th_err err = { 0 };

	(void)state;
	setup(&f);
	own.tools = &extra;
	own.tool_count = 1;
	first = made(&f, &own);
	second = made(&f, &own);
	third = made(&f, &start);
	assert_ptr_not_equal(first, second);
	assert_ptr_not_equal(first, third);
	assert_true(has_extra(first) && has_extra(second) && !has_extra(third));
	/* One that the runtime gets is for those that begin later. */
	assert_int_equal(th_runtime_tool(f.rt, &extra, &err), TH_OK);
	later = made(&f, &start);
	assert_true(has_extra(later) && !has_extra(third));
	th_runtime_setup_drop(f.rt, first);
	th_runtime_setup_drop(f.rt, second);
	th_runtime_setup_drop(f.rt, third);
	th_runtime_setup_drop(f.rt, later);
	teardown(&f);
}

/* A stored session may be older than a check: a new one does not pass by it. */
static void test_checked(void **state)
{
	struct fixture f;
	struct th_agent_limits limits = { .cost_usd = 1 };
	struct th_agent agent = agent_of("Be brief.");
	struct th_start start = { .agent = &agent };
	struct th_runtime_setup *old;
	struct th_err err = { 0 };

	(void)state;
	setup(&f);
	agent.limits = &limits;
	agent.model = TH_STR("ui-tars-1.5-7b");
	old = stored(&f, &agent);
	assert_int_equal(th_runtime_setup_new(&f.session, &start, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "limits.cost_usd"));
	th_runtime_setup_drop(f.rt, old);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),     cmocka_unit_test(test_definition),
		cmocka_unit_test(test_workspaces), cmocka_unit_test(test_own),
		cmocka_unit_test(test_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
