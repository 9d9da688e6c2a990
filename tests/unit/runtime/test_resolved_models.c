/* SPDX-License-Identifier: Apache-2.0 */
/* test_resolved_models.c - which server and which key each model of an agent gets. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/resolved_models.h"

struct ground {
	struct th_config *config;
	struct th_arena memory;
	struct th_agent agent;
	struct th_str names[TH_FALLBACK_MAX + 1];
	struct th_resolved_models all;
	struct th_err err;
};

static const char *const keys[] = { "OPENAI_API_KEY",  "ANTHROPIC_API_KEY",  "GEMINI_API_KEY",
				    "GOOGLE_API_KEY",  "OPENROUTER_API_KEY", "HOSTED_VLLM_API_KEY",
				    "OPENAI_BASE_URL", "THOLE_MODEL",        "HOSTED_VLLM_API_BASE",
				    "XDG_CONFIG_HOME", "ANTHROPIC_BASE_URL" };

/* `list`: names with commas. */
static enum th_code choose(struct ground *g, const char *list)
{
	struct th_str text = th_str_of(list);

	g->agent.name = TH_STR("x");
	g->agent.model = th_str_split(&text, ',');
	g->agent.fallback = (struct th_strs){ g->names, 0 };
	while (text.len)
		g->names[g->agent.fallback.count++] = th_str_split(&text, ',');
	return th_resolved_models_of(g->config, NULL, &g->agent, &g->memory, &g->all, &g->err);
}

static void begin(struct ground *g)
{
	memset(g, 0, sizeof(*g));
	for (size_t i = 0; i < TH_COUNT(keys); i++)
		unsetenv(keys[i]);
	setenv("OPENAI_API_KEY", "for-openai", 1);
	setenv("ANTHROPIC_API_KEY", "for-claude", 1);
	setenv("OPENROUTER_API_KEY", "for-router", 1);
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	setenv("XDG_STATE_HOME", "/tmp", 1);
	assert_int_equal(th_config_load(TH_STR(""), &g->config, &g->err), TH_OK);
	th_arena_init(&g->memory, TH_MIB);
}

static void end(struct ground *g)
{
	g->config = th_config_free(g->config);
	th_arena_deinit(&g->memory);
}

static void expect(const struct ground *g, size_t at, const char *base, const char *key)
{
	struct th_str found = g->all.list[at].base_url;

	if (!th_str_is(found, base))
		fail_msg("model %zu is at %.*s, not at %s", at, TH_FMT(found), base);
	if (key)
		assert_true(th_secret_eq(g->all.keys[at].model, th_str_of(key)));
	else
		assert_null(g->all.keys[at].model);
}

static void test_each_has_its_own(void **unused)
{
	struct ground g;

	(void)unused;
	begin(&g);
	assert_int_equal(choose(&g, "gpt-5.4,claude-sonnet-4-5,gpt-5.2"), TH_OK);
	assert_int_equal(g.all.count, 3);
	expect(&g, 0, "https://api.openai.com/v1", "for-openai");
	expect(&g, 1, "https://api.anthropic.com", "for-claude");
	expect(&g, 2, "https://api.openai.com/v1", "for-openai");
	assert_true(th_str_is(g.all.list[2].model, "gpt-5.2"));
	end(&g);
}

/* What is named for the session is the first model's, and its provider's. */
static void test_a_named_server_is_the_first_models(void **unused)
{
	for (int option = 0; option <= 1; option++) {
		struct ground g;

		(void)unused;
		begin(&g);
		if (option)
			g.config->base_url = TH_STR("http://here");
		else
			g.agent.base_url = TH_STR("http://here");
		assert_int_equal(choose(&g, "gpt-5.4,claude-sonnet-4-5,gpt-5.2"), TH_OK);
		expect(&g, 0, "http://here", "for-openai");
		expect(&g, 1, "https://api.anthropic.com", "for-claude");
		expect(&g, 2, "http://here", "for-openai");
		end(&g);
	}
}

static void test_a_given_key_is_the_first_models(void **unused)
{
	struct ground g;

	(void)unused;
	begin(&g);
	th_config_set_key(g.config, TH_STR("given"));
	assert_int_equal(choose(&g, "gpt-5.4,claude-sonnet-4-5,gpt-5.2"), TH_OK);
	expect(&g, 0, "https://api.openai.com/v1", "given");
	expect(&g, 1, "https://api.anthropic.com", "for-claude");
	expect(&g, 2, "https://api.openai.com/v1", "given");
	unsetenv("ANTHROPIC_API_KEY");
	end(&g);
	begin(&g);
	unsetenv("ANTHROPIC_API_KEY");
	g.config = th_config_free(g.config);
	assert_int_equal(th_config_load(TH_STR(""), &g.config, &g.err), TH_OK);
	th_config_set_key(g.config, TH_STR("given"));
	assert_int_equal(choose(&g, "gpt-5.4,claude-sonnet-4-5"), TH_ESETUP);
	assert_non_null(strstr(g.err.msg, "fallback: model claude-sonnet-4-5: there is no key: set "
					  "ANTHROPIC_API_KEY"));
	end(&g);
}

/* Ollama, LM Studio, llama.cpp and vLLM ask for none, unless they were told to. */
static void test_local_servers_need_no_key(void **unused)
{
	static const char *const names[] = { "ollama/qwen2.5vl:7b", "lm_studio/ui-tars-1.5-7b",
					     "llamacpp/qwen3-vl", "gpt-5.4,ollama/qwen2.5vl:7b" };
	struct ground g;

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		begin(&g);
		if (choose(&g, names[i]) != TH_OK)
			fail_msg("%s: %s", names[i], g.err.msg);
		end(&g);
	}
}

static void test_lists_that_make_no_sense(void **unused)
{
	static const struct {
		const char *list, *says;
	} rows[] = {
		{ "", "no model is named" },
		{ "gpt-5.4,gpt-5.4", "fallback[0] is the model that is asked first" },
		{ "gpt-5.4,gpt-5.2,gpt-5.2", "fallback[1] stands there twice" },
		{ "gpt-5.4,,gpt-5.2", "fallback[0] is empty" },
		{ "gpt-5.4,a1,a2,a3,a4,a5,a6,a7,a8,a9", "fallback[8] is one too many" },
		{ "gpt-5.4,openrouter/gta1-7b",
		  "fallback: the model openrouter/gta1-7b only points at things" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct ground g;

		begin(&g);
		assert_int_equal(choose(&g, rows[i].list), TH_EUSAGE);
		if (!strstr(g.err.msg, rows[i].says))
			fail_msg("%s: %s", rows[i].list, g.err.msg);
		end(&g);
	}
}

/* Whose names are good: only an address is not set. */
static void test_an_address_is_not_set(void **unused)
{
	struct ground g;

	(void)unused;
	begin(&g);
	assert_int_equal(choose(&g, "gpt-5.4,vllm/x"), TH_ESETUP);
	assert_non_null(
	    strstr(g.err.msg, "fallback: model vllm/x: the model's server is not known"));
	end(&g);
}

static void test_what_keeps_answers(void **unused)
{
	struct th_agent_model_settings kept = { TH_SETTINGS_UNSET, .history = TH_HISTORY_PREVIOUS };
	struct ground g;

	(void)unused;
	begin(&g);
	g.agent.settings = &kept;
	assert_int_equal(choose(&g, "gpt-5.4,claude-sonnet-4-5"), TH_OK);
	/* The wire has what it needs: only the key is missing. */
	assert_int_equal(choose(&g, "interactions:gemini-3-flash-preview"), TH_ESETUP);
	assert_non_null(strstr(g.err.msg, "GEMINI_API_KEY"));
	assert_int_equal(choose(&g, "gemini-3-flash-preview"), TH_EUSAGE);
	assert_non_null(strstr(g.err.msg, "gemini-3-flash-preview is not"));
	assert_int_equal(choose(&g, "claude-sonnet-4-5"), TH_EUSAGE);
	assert_non_null(strstr(g.err.msg,
			       "is for models of the Responses API or the Interactions API, which "
			       "claude-sonnet-4-5 is not"));
	end(&g);
}

/* A definition that was made without a file is held to the same. */
static void test_settings(void **unused)
{
	struct th_agent_model_settings bad = { TH_SETTINGS_UNSET,
					       .extra_body = TH_STR_INIT("{\"input\":1}") };
	struct th_agent_model_settings kept = { TH_SETTINGS_UNSET,
						.extra_body = TH_STR_INIT(
						    "{\"store\":null,\"background\":true}") };
	struct ground g;

	(void)unused;
	begin(&g);
	g.agent.settings = &bad;
	assert_int_equal(choose(&g, "gpt-5.4"), TH_EUSAGE);
	assert_string_equal(g.err.msg, "settings.extra_body cannot say input: the agent has a "
				       "member for it");
	/* Another wire has no such member: what it means there is its server's to say. */
	assert_int_equal(choose(&g, "claude-sonnet-4-5"), TH_OK);
	g.agent.settings = &kept;
	assert_int_equal(choose(&g, "gpt-5.4"), TH_EUSAGE);
	assert_string_equal(g.err.msg, "settings.extra_body cannot say background: settings has a "
				       "member for it");
	end(&g);
}

/* Each half of a pair, in a fallback list too. */
static void test_pairs(void **unused)
{
	struct ground g;

	(void)unused;
	begin(&g);
	setenv("HOSTED_VLLM_API_BASE", "http://gpu/v1", 1);
	assert_int_equal(choose(&g, "gpt-5.4,vllm/HelloKKMe/GTA1-7B+claude-sonnet-4-5"), TH_OK);
	expect(&g, 1, "https://api.anthropic.com", "for-claude");
	assert_non_null(g.all.list[1].composed);
	assert_null(g.all.list[0].composed);
	assert_true(th_str_is(g.all.list[1].grounder_url, "http://gpu/v1"));
	assert_null(g.all.keys[1].grounder);
	unsetenv("HOSTED_VLLM_API_BASE");
	end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_its_own),
		cmocka_unit_test(test_a_named_server_is_the_first_models),
		cmocka_unit_test(test_a_given_key_is_the_first_models),
		cmocka_unit_test(test_local_servers_need_no_key),
		cmocka_unit_test(test_lists_that_make_no_sense),
		cmocka_unit_test(test_an_address_is_not_set),
		cmocka_unit_test(test_what_keeps_answers),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
