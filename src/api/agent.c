/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - agents of the C API: definitions as agent files have them, and changes of their
 * members.
 */
#include <stdlib.h>

#include "api/api.h"

/* ---- life ---- */

static struct thole_agent *agent_make(void)
{
	struct thole_agent *a = th_alloc(sizeof(*a));

	atomic_init(&a->users, 1);
	atomic_init(&a->in_use, false);
	pthread_mutex_init(&a->lock, NULL);
	th_arena_init(&a->memory, TH_AGENT_MEMORY_MAX);
	return a;
}

struct thole_agent *th_api_agent_ref(struct thole_agent *a)
{
	if (a)
		atomic_fetch_add(&a->users, 1);
	return a;
}

void th_api_agent_unref(struct thole_agent *a)
{
	if (!a || atomic_fetch_sub(&a->users, 1) > 1)
		return;
	for (size_t i = 0; i < a->member_count; i++)
		th_api_agent_unref(a->members[i]);
	free(a->members);
	free(a->functions);
	pthread_mutex_destroy(&a->lock);
	free(a->tools);
	th_arena_deinit(&a->memory);
	free(a);
}

void thole_agent_free(struct thole_agent *agent)
{
	th_api_agent_unref(agent);
}

int th_api_check_agent(struct thole_agent *a, struct thole_error *err)
{
	if (!a)
		return th_api_fail(err, TH_EUSAGE, "the agent is NULL");
	if (atomic_load(&a->in_use))
		return th_api_fail(
		    err, TH_EPROTO,
		    "a session was begun with the agent: it does not change any more");
	return TH_OK;
}

int th_api_agent_too_large(struct thole_error *err)
{
	return th_api_fail(err, TH_ELIMIT, "the agent's definition has more than %zu bytes",
			   TH_AGENT_MEMORY_MAX);
}

/* ---- definitions ---- */

int thole_agent_new(const char *name, struct thole_agent **ret, struct thole_error *err)
{
	struct thole_agent *a;
	int code = th_api_text(name, "the agent's name", 1, TH_AGENT_NAME_MAX, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the agent: ret is NULL");
	if (code)
		return code;
	a = agent_make();
	th_agent_default(&a->def);
	a->def.name = th_arena_str(&a->memory, th_str_of(name));
	a->def.instructions = TH_STR("");
	a->bare = true;
	*ret = a;
	return TH_OK;
}

static int agent_from(struct thole_agent *a, enum th_code code, const struct th_err *e,
		      struct thole_agent **ret, struct thole_error *err)
{
	if (code) {
		th_api_agent_unref(a);
		return th_api_out(code, e, err);
	}
	*ret = a;
	return TH_OK;
}

int thole_agent_load(const char *path, struct thole_agent **ret, struct thole_error *err)
{
	struct thole_agent *a;
	struct th_err e = { 0 };
	int code = th_api_text(path, "the file's name", 1, TH_PATH_LEN_MAX, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the agent: ret is NULL");
	if (code)
		return code;
	a = agent_make();
	return agent_from(a, th_agent_load(th_str_of(path), &a->memory, &a->def, &e), &e, ret, err);
}

int thole_agent_parse(const char *yaml, const char *name, struct thole_agent **ret,
		      struct thole_error *err)
{
	struct thole_agent *a;
	struct th_err e = { 0 };
	int code = th_api_text(yaml, "the agent's definition", 0, TH_CONFIG_SIZE_MAX, err);

	if (!code && name)
		code = th_api_text(name, "the definition's name", 0, TH_PATH_LEN_MAX, err);
	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the agent: ret is NULL");
	if (code)
		return code;
	a = agent_make();
	return agent_from(a,
			  th_agent_parse(th_str_of(yaml), name ? th_str_of(name) : TH_STR("agent"),
					 &a->memory, &a->def, &e),
			  &e, ret, err);
}

/* ---- changes ---- */

static size_t size_of(enum th_field_kind kind)
{
	switch (kind) {
#define X(kind, type, text)   \
	case TH_FIELD_##kind: \
		return sizeof(th_field_type_##kind);
		TH_FIELD_KINDS(X)
#undef X
	case TH_FIELD_KIND_COUNT:
		break;
	}
	return 0;
}

static const struct th_field *field_find(struct th_str name)
{
	for (size_t i = 0; i < th_agent_table.count; i++)
		if (th_str_is(name, th_agent_table.fields[i].name))
			return &th_agent_table.fields[i];
	return NULL;
}

/* The member is parsed as a definition of its own, and its cell taken over: what it refers to is
 * copied to the agent's memory, and no more. */
static int member_set(struct thole_agent *a, struct th_str member, struct th_str json,
		      struct thole_error *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_CONFIG_SIZE_MAX);
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(&text);
	struct th_agent parsed;
	struct th_err e = { 0 };
	const struct th_field *f;
	enum th_code code;

	th_arena_init(&scratch, TH_AGENT_MEMORY_MAX);
	th_jw_object(&w);
	th_jw_key(&w, member);
	th_jw_raw(&w, json);
	th_jw_object_end(&w);
	code = th_buf_check(&text, "the member", &e);
	if (!code)
		code = th_json_parse(th_buf_str(&text), &doc, &e);
	if (!code)
		code = th_table_parse(&th_agent_table, th_json_root(doc), &scratch, &parsed, &e);
	if (!code && th_str_is(member, "net")) {
		struct th_net_policy policy;

		code = th_net_parse(parsed.net, &scratch, &policy, NULL, &e);
		code = code ? th_prefix(&e, code, "net") : TH_OK;
	}
	f = code ? NULL : field_find(member);
	if (f) {
		struct th_agent own;

		code = th_agent_copy(&parsed, &a->memory, &own, &e);
		if (code)
			(void)th_fail(&e, code, "the agent's definition has more than %zu bytes",
				      TH_AGENT_MEMORY_MAX);
		else
			memcpy((char *)&a->def + f->offset, (const char *)&own + f->offset,
			       size_of(f->kind));
	}
	if (!code && th_str_is(member, "computer"))
		a->see = NULL;
	th_json_free(doc);
	th_buf_deinit(&text);
	return th_api_out(code, &e, err);
}

static int check_member(struct thole_agent *a, const char *member, struct thole_error *err)
{
	int code = th_api_check_agent(a, err);

	return code ? code : th_api_text(member, "the member's name", 1, TH_NAME_NEAR_MAX, err);
}

int thole_agent_set(struct thole_agent *agent, const char *member, const char *text,
		    struct thole_error *err)
{
	struct th_buf json = TH_BUF_INIT(2 * TH_CONFIG_SIZE_MAX);
	struct th_jw w = th_jw(&json);
	struct th_err e = { 0 };
	int code = check_member(agent, member, err);

	if (!code)
		code = th_api_text(text, member, 0, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	th_jw_str(&w, th_str_of(text));
	code = th_buf_check(&json, member, &e);
	if (code)
		(void)th_api_out((enum th_code)code, &e, err);
	else
		code = member_set(agent, th_str_of(member), th_buf_str(&json), err);
	th_buf_deinit(&json);
	return code;
}

int thole_agent_set_json(struct thole_agent *agent, const char *member, const char *json,
			 struct thole_error *err)
{
	struct th_json_doc *doc = NULL;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = check_member(agent, member, err);

	if (!code)
		code = th_api_text(json, member, 1, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	/* By itself: text that closes the object around it is no value. */
	bad = th_json_parse(th_str_of(json), &doc, &e);
	th_json_free(doc);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "%s", member), &e, err);
	return member_set(agent, th_str_of(member), th_str_of(json), err);
}

/* The smaller of both; 0 is none. */
static int64_t lower(int64_t has, int64_t wanted)
{
	return wanted <= 0 ? has : has <= 0 ? wanted : TH_MIN(has, wanted);
}

int thole_agent_lower(struct thole_agent *agent, const char *limits, struct thole_error *err)
{
	struct th_agent_limits wanted, now = { 0 };
	struct th_json_doc *doc = NULL;
	struct th_agent def;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(limits, "the limits", 1, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	bad = th_json_parse(th_str_of(limits), &doc, &e);
	if (!bad)
		bad = th_table_parse(&th_agent_limits_table, th_json_root(doc), &agent->memory,
				     &wanted, &e);
	th_json_free(doc);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "limits"), &e, err);
	def = agent->def;
	if (def.limits)
		now = *def.limits;
	now.turns = lower(now.turns ?: TH_TURNS_DEFAULT, wanted.turns);
	now.model_attempts =
	    lower(now.model_attempts ?: TH_ATTEMPTS_DEFAULT, wanted.model_attempts);
	now.command_seconds =
	    lower(now.command_seconds ?: TH_COMMAND_SECONDS_DEFAULT, wanted.command_seconds);
	now.tokens = lower(now.tokens, wanted.tokens);
	now.seconds = lower(now.seconds, wanted.seconds);
	now.parallel_calls = lower(now.parallel_calls, wanted.parallel_calls);
	if (wanted.cost_usd > 0 && (now.cost_usd <= 0 || wanted.cost_usd < now.cost_usd))
		now.cost_usd = wanted.cost_usd;
	def.limits = &now;
	return th_api_out(th_agent_copy(&def, &agent->memory, &agent->def, &e), &e, err);
}
