/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/given.h"

#include <stdlib.h>

#include "agents/agent_secret.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/wiped.h"
#include "runtime/given_source.h"
#include "runtime/internal.h"
#include "runtime/lookups.h"
#include "runtime/mcp.h"
#include "runtime/secrets.h"
#include "wire/exec.h"

struct value {
	char name[TH_SECRET_NAME_MAX + 1];
	struct th_secret *secret;
	bool old; /* its name has another one now, or none */
};

struct th_runtime_given {
	struct th_runtime_given *next; /* the one that was used last is first */
	char session[TH_SESSION_ID_MAX + 1];
	int64_t born_ms;      /* of that session: a name may be another one's later */
	struct th_mask *mask; /* what does not go into it is refused here; NULL: not made yet */
	struct value list[TH_SECRETS_GIVEN_MAX];
	size_t count;
	struct th_given_source *sources[TH_SECRETS_MAX]; /* whose values are looked up */
	size_t source_count;
};

static void given_free(struct th_runtime_given *g)
{
	for (size_t i = 0; i < g->count; i++)
		th_secret_free(g->list[i].secret);
	for (size_t i = 0; i < g->source_count; i++)
		th_given_source_free(g->sources[i]);
	th_mask_free(g->mask);
	free(g);
}

/* NULL: nobody gave a session of that name any. */
static struct th_runtime_given *named(const struct th_runtime *rt, struct th_str session_id)
{
	struct th_runtime_given *g = rt->given;

	while (g && !th_str_is(session_id, g->session))
		g = g->next;
	return g;
}

/* 0: it is not begun yet. */
static int64_t born_ms(const struct th_runtime_session *s)
{
	const struct th_session *fold =
	    s->stored ? NULL : th_driver_session(s->rt->driver, s->handle);

	return s->stored ? s->row.created_ms : fold ? fold->created_ms : 0;
}

/* NULL: nobody gave this session any.  Another one that had its name may be deleted elsewhere. */
static struct th_runtime_given *given_of(const struct th_runtime_session *s)
{
	struct th_runtime_given *g = named(s->rt, s->id);

	return g && g->born_ms == born_ms(s) ? g : NULL;
}

void th_runtime_given_drop(struct th_runtime *rt, struct th_str session_id)
{
	struct th_runtime_given *g = named(rt, session_id), **at = &rt->given;

	while (*at && *at != g)
		at = &(*at)->next;
	if (!g)
		return;
	*at = g->next;
	given_free(g);
}

void th_runtime_given_free(struct th_runtime *rt)
{
	while (rt->given) {
		struct th_runtime_given *g = rt->given;

		rt->given = g->next;
		given_free(g);
	}
}

/* The one that was not used for the longest time goes, unless its session is open.  False: all are.
 */
static bool make_room(struct th_runtime *rt)
{
	const struct th_runtime_given *list[TH_SECRETS_SESSIONS_MAX];
	size_t count = 0;

	for (const struct th_runtime_given *g = rt->given; g; g = g->next) {
		assert(count < TH_SECRETS_SESSIONS_MAX);
		list[count++] = g;
	}
	if (count < TH_SECRETS_SESSIONS_MAX)
		return true;
	while (count-- > 0)
		if (!th_runtime_has(rt, th_str_of(list[count]->session))) {
			th_runtime_given_drop(rt, th_str_of(list[count]->session));
			return true;
		}
	return false;
}

/* Those of the session, which are first now; made, where there are none.  NULL: no room. */
static struct th_runtime_given *given_take(const struct th_runtime_session *s)
{
	struct th_runtime *rt = s->rt;
	struct th_runtime_given *g = given_of(s), **at = &rt->given;

	if (!g)
		th_runtime_given_drop(rt, s->id);
	while (g && *at != g)
		at = &(*at)->next;
	if (g) {
		*at = g->next;
	} else if (make_room(rt)) {
		g = th_alloc(sizeof(*g));
		g->born_ms = born_ms(s);
		memcpy(g->session, s->id.ptr, s->id.len);
	} else {
		return NULL;
	}
	g->next = rt->given;
	rt->given = g;
	return g;
}

void th_runtime_given_say(struct th_runtime_session *s)
{
	struct th_buf json = TH_BUF_INIT(TH_FRAME_JSON_MAX / 2);
	const struct th_runtime_given *g = given_of(s);
	struct th_jw w = th_jw(&json);

	if ((!g && !s->lookups) || !s->executor)
		return;
	th_buf_reserve(&json, TH_FRAME_JSON_MAX / 2); /* so that no copy is left behind */
	th_jw_array(&w);
	th_runtime_lookups_put(s, &w);
	for (size_t i = 0; g && i < g->count; i++) {
		const struct value *v = &g->list[i];
		const struct th_exec_given m = { .name = th_str_of(v->name),
						 .value = th_secret_expose(v->secret),
						 .old = v->old };

		th_table_print(&th_exec_given_table, &m, &w);
	}
	th_jw_array_end(&w);
	assert(!json.failed);
	th_executor_client_give(s->executor, th_buf_str(&json));
	th_buf_wipe(&json);
}

enum th_code th_runtime_given_mask(const struct th_runtime_session *s, struct th_mask *mask,
				   struct th_err *err)
{
	const struct th_runtime_given *g = given_of(s);
	enum th_code code = TH_OK;

	for (size_t i = 0; g && !code && i < g->count; i++)
		code = th_mask_add(mask, g->list[i].secret, err);
	return code;
}

/* ---- one more ---- */

static const struct value *find(const struct th_runtime_given *g, struct th_str name,
				struct th_str value)
{
	for (size_t i = 0; i < g->count; i++)
		if (th_str_is(name, g->list[i].name) && th_secret_eq(g->list[i].secret, value))
			return &g->list[i];
	return NULL;
}

/* Only a variable has it, so it may have several lines. */
static enum th_code check_text(struct th_str text, struct th_err *err)
{
	if (text.len < TH_MASK_LEN_MIN || text.len > TH_MASK_LEN_MAX)
		return th_fail(err, TH_EUSAGE,
			       "its value has %zu bytes; a secret that can be masked has %d to %d",
			       text.len, TH_MASK_LEN_MIN, TH_MASK_LEN_MAX);
	if (memchr(text.ptr, 0, text.len))
		return th_fail(err, TH_EUSAGE, "its value has a zero");
	return th_utf8_valid(text) == text.len ? TH_OK
					       : th_fail(err, TH_EUSAGE, "its value is no UTF-8");
}

static enum th_code check_value(const struct th_json *v, struct th_err *err)
{
	if (th_json_is_null(v))
		return TH_OK;
	if (th_json_is_object(v))
		return th_given_source_check(v, err);
	if (th_json_type(v) != TH_JSON_STR)
		return th_fail(err, TH_EUSAGE,
			       "its value is a text, or says where it is looked up");
	return check_text(th_json_str(v), err);
}

static enum th_code check_one(const struct th_agent_secrets *own, struct th_str name,
			      const struct th_json *v, struct th_err *err)
{
	if (!th_secret_name_ok(name))
		return th_fail(err, TH_EUSAGE,
			       "is no name of a variable (letters, digits and _; at most %d)",
			       TH_SECRET_NAME_MAX);
	for (size_t i = 0; i < own->count; i++)
		if (th_str_eq(own->list[i].name, name))
			return th_fail(err, TH_EUSAGE, "is a secret of the agent file");
	return check_value(v, err);
}

/* As its executor has it: of the agent's own and of all that were given. */
static enum th_code mask_make(const struct th_runtime_session *s, struct th_runtime_given *g,
			      struct th_err *err)
{
	enum th_code code;

	if (g->mask)
		return TH_OK;
	code = th_runtime_secrets_mask(s, &g->mask, err);
	if (!g->mask)
		g->mask = th_mask_new();
	for (size_t i = 0; !code && i < g->count; i++)
		code = th_mask_add(g->mask, g->list[i].secret, err);
	return code;
}

static enum th_code mask_value(struct th_runtime_given *g, struct th_str value, struct th_err *err)
{
	struct th_secret *secret = th_secret_new(value);
	enum th_code code = th_mask_add(g->mask, secret, err);

	th_secret_free(secret);
	return code;
}

static enum th_code mask_add(const struct th_runtime_session *s, struct th_runtime_given *g,
			     const struct th_json *secrets, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(secrets);
	enum th_code code = mask_make(s, g, err);

	while (!code && th_json_next(&it)) {
		if (th_json_type(it.val) == TH_JSON_STR)
			code = mask_value(g, th_json_str(it.val), err);
	}
	if (code) /* what was refused is not in the next one */
		g->mask = th_mask_free(g->mask);
	return code;
}

static enum th_code check_count(size_t values, struct th_err *err)
{
	return values <= TH_SECRETS_GIVEN_MAX
		   ? TH_OK
		   : th_fail(err, TH_ELIMIT,
			     "more than %d values of secrets were given to this session",
			     TH_SECRETS_GIVEN_MAX);
}

/* Nothing of it is done unless all of it can be. */
static enum th_code check_all(const struct th_runtime_given *g, const struct th_agent_secrets *own,
			      const struct th_json *secrets, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(secrets);
	size_t values = g->count, names = own->count;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < g->count; i++)
		names += !g->list[i].old && !th_json_getn(secrets, th_str_of(g->list[i].name));
	for (size_t i = 0; i < g->source_count; i++) /* a value of it is among those */
		names +=
		    !g->sources[i]->known && !th_json_getn(secrets, th_str_of(g->sources[i]->name));
	while (!code && th_json_next(&it)) {
		struct th_str value = th_json_str(it.val);

		code = check_one(own, it.key, it.val, err);
		values += !code && value.len && !find(g, it.key, value);
		names += value.len > 0 || th_json_is_object(it.val);
		if (code)
			code = th_prefix(err, code, "%.*s",
					 TH_FMT(th_str_sub(it.key, 0, TH_SECRET_NAME_MAX)));
	}
	if (!code && names > TH_SECRETS_MAX)
		code = th_fail(err, TH_ELIMIT, "more than %d secrets", TH_SECRETS_MAX);
	return code ? code : check_count(values, err);
}

static void put(struct th_runtime_given *g, struct th_str name, struct th_str value)
{
	struct value *v;

	for (size_t i = 0; i < g->count; i++)
		if (th_str_is(name, g->list[i].name))
			g->list[i].old = !th_secret_eq(g->list[i].secret, value);
	if (!value.len || find(g, name, value))
		return;
	v = &g->list[g->count++];
	*v = (struct value){ .secret = th_secret_new(value) };
	memcpy(v->name, name.ptr, name.len);
}

static void source_drop(struct th_runtime_given *g, struct th_str name)
{
	for (size_t i = 0; i < g->source_count; i++)
		if (th_str_is(name, g->sources[i]->name)) {
			th_given_source_free(g->sources[i]);
			g->sources[i] = g->sources[--g->source_count];
			return;
		}
}

enum th_code th_runtime_given_add(struct th_runtime_session *s, const struct th_json *secrets,
				  struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_runtime_given *g;
	struct th_agent_secrets own;
	struct th_json_iter it;
	enum th_code code;

	if (!th_json_is_object(secrets))
		return th_fail(err, TH_EUSAGE, "secrets are an object of names and values");
	th_arena_init(&a, 2 * TH_MIB);
	code = th_agent_secrets_read(s->setup->agent.secrets, &a, &own, &path, err);
	if (code)
		return code;
	g = given_take(s);
	if (!g)
		return th_fail(err, TH_ELIMIT,
			       "%d other sessions that are open have secrets of clients",
			       TH_SECRETS_SESSIONS_MAX);
	code = check_all(g, &own, secrets, err) ?: mask_add(s, g, secrets, err);
	if (code)
		return code;
	it = th_json_iter(secrets);
	while (th_json_next(&it)) {
		source_drop(g, it.key);
		put(g, it.key, th_json_str(it.val)); /* nothing, where it is looked up */
		if (th_json_is_object(it.val))
			g->sources[g->source_count++] =
			    th_given_source_new(++s->rt->given_sources, it.key, it.val);
	}
	th_runtime_given_say(s);
	return TH_OK;
}

/* ---- those that are looked up ---- */

struct th_given_source *th_runtime_given_source(const struct th_runtime_session *s, size_t at)
{
	const struct th_runtime_given *g = given_of(s);

	return g && at < g->source_count ? g->sources[at] : NULL;
}

struct th_given_source *th_runtime_given_source_of(const struct th_runtime_session *s,
						   uint64_t number)
{
	struct th_given_source *source;

	for (size_t i = 0; (source = th_runtime_given_source(s, i)); i++)
		if (source->number == number)
			return source;
	return NULL;
}

enum th_code th_runtime_given_have(struct th_runtime_session *s, struct th_given_source *source,
				   struct th_str value, struct th_err *err)
{
	struct th_runtime_given *g = given_of(s);
	struct th_str name = th_str_of(source->name);
	enum th_code code;

	while (value.len && (value.ptr[value.len - 1] == '\n' || value.ptr[value.len - 1] == '\r'))
		value.len--;
	code = check_text(value, err);
	if (code)
		return code;
	if (!find(g, name, value))
		code = check_count(g->count + 1, err) ?: mask_make(s, g, err)
						      ?: mask_value(g, value, err);
	if (code) {
		g->mask = th_mask_free(g->mask);
		return code;
	}
	put(g, name, value);
	source->known = true;
	return TH_OK;
}
