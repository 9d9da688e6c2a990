/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - from a model's name to its profile.
 */
#include "base/field.h"
#include "base/limits.h"
#include "base/text.h"
#include "profiles/profiles.h"

#define GENERIC "responses"
#define NAME_MAX_SHOWN 60
#define NEAR_NAMES_MAX 1024 /* that are looked at for the one that may be meant */

static char fold(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* `*` is any run of characters.  Goes back to the last star only, which is enough. */
static bool match_one(struct th_str pattern, struct th_str name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, star_n = 0;

	while (n < name.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = p++;
			star_n = n;
		} else if (p < pattern.len && fold(pattern.ptr[p]) == fold(name.ptr[n])) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++star_n;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

/* What stands before the first star up to a slash or colon says the server: it is not sent. */
static size_t pattern_prefix(struct th_str pattern)
{
	size_t len = 0;

	for (size_t i = 0; i < pattern.len && pattern.ptr[i] != '*'; i++)
		if (pattern.ptr[i] == '/' || pattern.ptr[i] == ':')
			len = i + 1;
	return len;
}

/* Whether a pattern of the row fits; fills pattern, prefix and name. */
static bool match_row(const struct th_profile *p, struct th_str name, struct th_match *m)
{
	struct th_str patterns = th_str_of(p->pattern);

	while (patterns.len) {
		struct th_str pattern = th_str_split(&patterns, '|');
		size_t prefix = pattern_prefix(pattern);

		if (!match_one(pattern, name))
			continue;
		m->profile = p;
		m->pattern = pattern;
		m->name = th_str_sub(name, prefix, name.len);
		return true;
	}
	return false;
}

static bool find_builtin(struct th_str name, struct th_match *m)
{
	const struct th_profile *p = th_profile_next(NULL);

	while (p && !match_row(p, name, m))
		p = th_profile_next(p);
	return p != NULL;
}

static bool find_mine(const struct th_profiles *mine, struct th_str name, struct th_match *m)
{
	for (size_t i = 0; mine && i < mine->count; i++)
		if (match_row(&mine->rows[i], name, m)) {
			m->rule = TH_MATCH_USER;
			return true;
		}
	return false;
}

bool th_profile_fits(const struct th_profile *p, struct th_str name)
{
	struct th_match m;

	return match_row(p, name, &m);
}

static const struct th_profile *generic(void)
{
	const struct th_profile *p = th_profile_next(NULL);

	while (p && strcmp(p->name, GENERIC))
		p = th_profile_next(p);
	assert(p);
	return p;
}

static bool cut_prefix(struct th_str *name, const char *prefix)
{
	struct th_str start = th_str_of(prefix);

	if (!th_str_istarts(*name, start))
		return false;
	*name = th_str_sub(*name, start.len, name->len);
	return true;
}

/* A name that can go into a request and a terminal. */
static enum th_code check_name(struct th_str name, struct th_err *err)
{
	if (!name.len)
		return th_fail(err, TH_EUSAGE, "the model's name is empty");
	if (name.len > TH_MODEL_NAME_MAX)
		return th_fail(err, TH_EUSAGE, "the model's name has more than %d bytes",
			       TH_MODEL_NAME_MAX);
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] <= ' ' || name.ptr[i] == 0x7f)
			return th_fail(err, TH_EUSAGE,
				       "the model's name holds a blank or a control character");
	if (th_utf8_valid(name) != name.len)
		return th_fail(err, TH_EUSAGE, "the model's name is not UTF-8");
	return TH_OK;
}

/* Ways to a known model that ask for something thole does not do, and what to set instead. */
static const struct {
	const char *prefix, *what;
} closed[] = {
	{ "bedrock/", "Bedrock's signed requests are not spoken" },
	{ "bedrock_converse/", "Bedrock's signed requests are not spoken" },
	{ "anthropic.claude", "this is Bedrock's name, and its signed requests are not spoken" },
	{ "us.anthropic.", "this is Bedrock's name, and its signed requests are not spoken" },
	{ "eu.anthropic.", "this is Bedrock's name, and its signed requests are not spoken" },
	{ "apac.anthropic.", "this is Bedrock's name, and its signed requests are not spoken" },
	{ "global.anthropic.", "this is Bedrock's name, and its signed requests are not spoken" },
	{ "vertex_ai/claude", "Vertex's signed requests are not spoken" },
	{ "vertex/claude", "Vertex's signed requests are not spoken" },
};

/* Providers that a name may begin with. */
static const char *const prefixes[] = { "openai/", "anthropic/", "gemini/", "google/", "models/" };

/* Vertex takes an API key in its express mode. */
static enum th_code check_vertex(struct th_str name, struct th_err *err)
{
	static const char *const vertex[] = { "vertex/", "vertex_ai/", "vertexai/",
					      "google-vertex/", "vertex_ai_beta/" };
	struct th_str rest = name;

	for (size_t i = 0; i < TH_COUNT(vertex); i++)
		if (cut_prefix(&rest, vertex[i]))
			return th_fail(
			    err, TH_EUSAGE,
			    "Vertex AI wants requests that an account of the cloud signs; with an "
			    "API key of its express mode, write gemini/%.*s, set GEMINI_API_KEY "
			    "to the key and GEMINI_BASE_URL to "
			    "https://aiplatform.googleapis.com/v1/publishers/google",
			    TH_FMT(th_utf8_cut(rest, NAME_MAX_SHOWN)));
	return TH_OK;
}

static enum th_code check_way(struct th_str name, struct th_err *err)
{
	for (size_t i = 0; i < TH_COUNT(closed); i++)
		if (th_str_istarts(name, th_str_of(closed[i].prefix)))
			return th_fail(err, TH_EUSAGE,
				       "\"%.*s\": %s; write anthropic/NAME, and set "
				       "ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL to a gateway that "
				       "speaks the Messages API",
				       TH_FMT(th_utf8_cut(name, NAME_MAX_SHOWN)), closed[i].what);
	return TH_OK;
}

/* What other runtimes load into their own process.  Here a server runs it. */
static enum th_code check_in_process(struct th_str name, struct th_err *err)
{
	static const char *const loaded[] = { "huggingface-local/", "mlx/" };

	for (size_t i = 0; i < TH_COUNT(loaded); i++) {
		struct th_str rest = name;

		th_str_split(&rest, '+'); /* of a pair, the grounder */
		rest = th_str_sub(name, 0, name.len - rest.len - (rest.len > 0));
		if (cut_prefix(&rest, loaded[i]))
			return th_fail(err, TH_EUSAGE,
				       "thole runs no model in its own process: serve %.*s (for "
				       "example with vLLM), write vllm/%.*s and set "
				       "HOSTED_VLLM_API_BASE to the server, such as "
				       "http://localhost:8000/v1",
				       TH_FMT(th_utf8_cut(rest, NAME_MAX_SHOWN)),
				       TH_FMT(th_utf8_cut(rest, NAME_MAX_SHOWN)));
	}
	return TH_OK;
}

static enum th_code check_built_in(struct th_str name, struct th_err *err)
{
	enum th_code code = check_way(name, err);

	if (!code)
		code = check_vertex(name, err);
	if (!code)
		code = check_in_process(name, err);
	return code;
}

static enum th_code fail_short(struct th_str name, struct th_err *err)
{
	return th_fail(err, TH_EUSAGE, "the model's name ends behind its prefix: \"%.*s\"",
		       TH_FMT(th_utf8_cut(name, NAME_MAX_SHOWN)));
}

/* Patterns that are names themselves, or with a star behind: gpt-4 and gpt-4o*, but not gpt-*. */
static size_t add_names(const struct th_profile *p, const struct th_profiles *mine,
			struct th_arena *a, const char **names, size_t count)
{
	struct th_str patterns = th_str_of(p->pattern);

	while (patterns.len && count < NEAR_NAMES_MAX) {
		struct th_str name = th_str_split(&patterns, '|');
		struct th_match m;

		if (th_str_ends(name, TH_STR("*")))
			name = th_str_sub(name, 0, name.len - 1);
		if (th_str_find_char(name, '*') < 0 &&
		    (find_mine(mine, name, &m) || find_builtin(name, &m)) && m.name.len &&
		    (names[count] = th_arena_cstr(a, name)))
			count++;
	}
	return count;
}

static const char *nearest(const struct th_profiles *mine, struct th_str name, struct th_arena *a)
{
	const char *names[NEAR_NAMES_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; mine && i < mine->count; i++)
		count = add_names(&mine->rows[i], mine, a, names, count);
	for (const struct th_profile *p = th_profile_next(NULL); p; p = th_profile_next(p))
		count = add_names(p, mine, a, names, count);
	names[count] = NULL;
	return th_names_nearest(names, name);
}

static enum th_code fail_unknown(const struct th_profiles *mine, struct th_str name,
				 struct th_str bare, struct th_err *err)
{
	struct th_arena a;
	enum th_code code;
	const char *near;

	th_arena_init(&a, NEAR_NAMES_MAX * TH_MODEL_NAME_MAX);
	near = nearest(mine, bare, &a);
	code = th_fail(
	    err, TH_EUSAGE,
	    "no profile fits the model \"%.*s\"%s%s%s command `models` lists those that are known; "
	    "for a server of one's own, write chat:%.*s (or responses:… where it speaks the "
	    "Responses API) and set OPENAI_BASE_URL",
	    TH_FMT(th_utf8_cut(name, NAME_MAX_SHOWN)), near ? "; did you mean \"" : ": the",
	    near ?: "", near ? "\"? The" : "", TH_FMT(th_utf8_cut(bare, NAME_MAX_SHOWN)));
	th_arena_deinit(&a);
	return code;
}

/* Libraries that ask any provider, in the Agents SDK's names: what follows is the model's. */
static struct th_str behind_router(struct th_str name)
{
	static const char *const routers[] = { "litellm/", "any-llm/" };

	for (size_t i = 0; i < TH_COUNT(routers); i++)
		if (cut_prefix(&name, routers[i]))
			break;
	return name;
}

/* `bare`: without the provider's prefix; `any_server`: that prefix names no provider. */
static enum th_code match_built_in(const struct th_profiles *mine, struct th_str name,
				   struct th_str bare, bool any_server, struct th_match *m,
				   struct th_err *err)
{
	struct th_str tail = bare;
	const struct th_profile *served;
	bool found;

	while (any_server && th_str_find_char(tail, '/') >= 0)
		th_str_split(&tail, '/');
	found = find_builtin(any_server && tail.len ? tail : bare, m);
	m->rule = TH_MATCH_TABLE;
	served = found ? th_profile_served(m->profile, &m->name) : NULL;
	if (served) {
		struct th_match family;

		m->rule = TH_MATCH_SERVED;
		m->server = m->profile;
		m->profile = served;
		if (match_row(served, m->name, &family))
			m->pattern = family.pattern;
	}
	if (any_server && (!found || m->profile->wire != generic()->wire))
		*m = (struct th_match){ .profile = generic(), .rule = TH_MATCH_GENERIC };
	else if (!found)
		return fail_unknown(mine, name, bare, err);
	if (any_server)
		m->name = bare;
	return TH_OK;
}

enum th_code th_model_match(const struct th_profiles *mine, struct th_str name,
			    struct th_match *ret, struct th_err *err)
{
	enum th_code code = check_name(name, err);
	struct th_str whole = name, bare;
	struct th_match m = { 0 };
	bool any_server;

	if (code)
		return code;
	if (!find_mine(mine, name, &m))
		name = behind_router(name);
	bare = name;
	any_server = cut_prefix(&bare, "responses:") || cut_prefix(&bare, "local/");
	for (size_t i = 0; !any_server && i < TH_COUNT(prefixes); i++)
		if (cut_prefix(&bare, prefixes[i]))
			break;
	/* The user's word comes first, also for ways that are otherwise refused. */
	if (!find_mine(mine, name, &m) && (any_server || !find_mine(mine, bare, &m))) {
		code = check_built_in(name, err);
		if (!code && !bare.len)
			code = fail_short(whole, err);
		if (!code)
			code = match_built_in(mine, name, bare, any_server, &m, err);
		if (code)
			return code;
	}
	if (!m.name.len)
		return fail_short(whole, err);
	m.prefix = th_str_sub(whole, 0, whole.len - m.name.len);
	if (m.profile->sends)
		m.name = th_str_of(m.profile->sends);
	*ret = m;
	return TH_OK;
}

enum th_code th_model_resolve(struct th_str name, const struct th_profile **ret,
			      struct th_str *ret_name, struct th_err *err)
{
	struct th_match m;
	enum th_code code = th_model_match(NULL, name, &m, err);

	if (code)
		return code;
	*ret = m.profile;
	*ret_name = m.name;
	return TH_OK;
}
