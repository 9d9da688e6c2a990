/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/wiped.h"
#include "config/read.h"
#include "config/yaml.h"
#include "io/files.h"
#include "profiles/compose.h"
#include "profiles/profiles.h"
#include "profiles/user_profiles.h"
#include "tools/tool.h"

#define CONFIG_MEMORY_MAX (4 * TH_CONFIG_SIZE_MAX)
#define KEY_SIZE_MAX (16 * TH_KIB)

TH_TABLE(config_file, "The configuration file.", false)

/* A key that stands in an environment variable. */
struct env_key {
	struct env_key *next;
	const char *name;
	struct th_secret *secret;
};

struct full {
	struct th_config c; /* first: what others see */
	struct th_arena memory;
	struct th_str file_base_url, file_models, file_model;
	struct th_secret *given, *from_file;
	struct env_key *from_env;
};

static struct full *full_of(struct th_config *c)
{
	return (struct full *)(void *)c;
}

static const struct full *full_of_const(const struct th_config *c)
{
	return (const struct full *)(const void *)c;
}

static struct th_str env(const char *name)
{
	return th_str_of(getenv(name));
}

/* ---- the configuration ---- */

/* Strings of `out` live as long as *ret_doc. */
static enum th_code parse_text(struct th_str yaml, struct th_str name, const struct th_table *t,
			       struct th_arena *a, void *out, struct th_json_doc **ret_doc,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = th_config_read_yaml(yaml, name, &doc, err);

	if (code == TH_OK)
		code = th_config_table_err(yaml, name,
					   th_table_parse(t, th_json_root(doc), a, out, err), err);
	if (code != TH_OK)
		return code;
	*ret_doc = doc;
	doc = NULL;
	return TH_OK;
}

enum th_code th_config_secret_read(struct th_str path, struct th_secret **ret, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(KEY_SIZE_MAX);
	struct th_str key;
	enum th_code code = th_config_read_file(path, "key file", &text, err);

	if (code == TH_OK) {
		key = th_str_trim(th_buf_str(&text));
		if (!key.len || th_str_find_char(key, '\n') >= 0)
			code =
			    th_fail(err, TH_EUSAGE,
				    "key file %.*s must hold the key on one line, and nothing else",
				    TH_FMT(path));
		else
			*ret = th_secret_new(key);
	}
	th_buf_wipe(&text);
	return code;
}

/* Now, and not when the first agent is run with them. */
static enum th_code check_tools(const struct th_strs *list, struct th_str path, struct th_err *err)
{
	const char *names[TH_AGENT_TOOLS_MAX + 2] = { "none" }, *near;

	(void)th_tool_names(names + 1);
	for (size_t i = 0; i < list->count; i++) {
		if (th_names_find(names, list->list[i]) >= 0)
			continue;
		near = th_names_nearest(names, list->list[i]);
		return th_fail(
		    err, TH_EUSAGE, "%.*s: tools[%zu] is \"%.*s\", which is not a tool%s%s%s",
		    TH_FMT(path), i, TH_FMT(th_utf8_cut(list->list[i], TH_NAME_NEAR_MAX)),
		    near ? "; did you mean \"" : "", near ?: "", near ? "\"?" : "");
	}
	return TH_OK;
}

static enum th_code apply_file(struct full *f, const struct th_config_file *file,
			       struct th_str path, struct th_err *err)
{
	struct th_arena *a = &f->memory;

	f->c.model = f->file_model = th_arena_str(a, file->model);
	f->c.store = th_arena_str(a, file->store);
	f->file_base_url = th_arena_str(a, file->base_url);
	if (file->models.len)
		f->file_models = th_config_path(a, file->models, path);
	f->c.otlp = th_arena_str(&f->memory, file->otlp);
	if (file->tools.count) {
		enum th_code code = check_tools(&file->tools, path, err);

		if (code)
			return code;
		f->c.tools.list = th_arena_array(a, file->tools.count, sizeof(*f->c.tools.list));
		if (!f->c.tools.list)
			return th_fail(err, TH_ELIMIT, "%.*s: tools: too many", TH_FMT(path));
		for (size_t i = 0; i < file->tools.count; i++)
			f->c.tools.list[f->c.tools.count++] = th_arena_str(a, file->tools.list[i]);
	}
	if (file->serve.len)
		f->c.serve = th_arena_str(&f->memory, file->serve);
	if (file->executor_linger_s)
		f->c.executor_linger_s = file->executor_linger_s;
	if (file->api_key.len && file->api_key_file.len)
		return th_fail(err, TH_EUSAGE,
			       "%.*s: has both api_key and api_key_file; leave one out",
			       TH_FMT(path));
	if ((file->api_key.len || file->api_key_file.len) && !file->base_url.len &&
	    !file->model.len)
		return th_fail(err, TH_EUSAGE,
			       "%.*s: says not whose key %s is; put base_url or model beside it",
			       TH_FMT(path), file->api_key.len ? "api_key" : "api_key_file");
	if (file->api_key.len)
		f->from_file = th_secret_new(file->api_key);
	if (!file->api_key_file.len)
		return TH_OK;
	return th_config_secret_read(th_config_path(a, file->api_key_file, path), &f->from_file,
				     err);
}

static enum th_code load_file(struct full *f, struct th_str path, bool must, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_config_file file;
	enum th_code code = th_config_read_file(path, "configuration", &text, err);

	if (code == TH_ENOENT && !must) {
		th_buf_deinit(&text);
		return TH_OK;
	}
	if (code == TH_OK)
		code = parse_text(th_buf_str(&text), path, &th_config_file_table, &f->memory, &file,
				  &doc, err);
	if (code == TH_OK) {
		f->c.file = th_arena_str(&f->memory, path);
		code = apply_file(f, &file, f->c.file, err);
	}
	th_buf_wipe(&text);
	return code;
}

/* The first of the profile's variables that is set. */
static struct th_str env_key_of(const struct th_profile *p)
{
	struct th_str names = th_str_of(p->key_env), key = TH_STR("");
	char name[64];

	while (names.len && !key.len) {
		struct th_str one = th_str_split(&names, '|');

		assert(one.len < sizeof(name));
		memcpy(name, one.ptr, one.len);
		name[one.len] = '\0';
		key = th_str_trim(env(name));
	}
	return key;
}

static void load_env_key(struct full *f, const struct th_profile *p)
{
	struct th_str key = env_key_of(p);
	struct env_key *e = f->from_env;

	while (e && strcmp(e->name, p->key_env ?: "") != 0)
		e = e->next;
	if (e || !key.len)
		return;
	e = th_alloc(sizeof(*e));
	*e = (struct env_key){ f->from_env, p->key_env, th_secret_new(key) };
	f->from_env = e;
}

/* As the OpenTelemetry specification has them: a base or a whole URL, and name=value pairs with
 * percent signs, of which the first is sent. */
static void load_otlp(struct full *f)
{
	struct th_str whole = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
	struct th_str base = env("OTEL_EXPORTER_OTLP_ENDPOINT");
	struct th_str pair = env("OTEL_EXPORTER_OTLP_HEADERS"), name, value;
	struct th_buf plain = TH_BUF_INIT(KEY_SIZE_MAX);

	if (!base.len)
		base = f->c.otlp;
	while (th_str_ends(base, TH_STR("/")))
		base.len--;
	if (!whole.len && base.len)
		whole = th_str_ends(base, TH_STR("/v1/traces"))
			    ? base
			    : th_arena_printf(&f->memory, "%.*s/v1/traces", TH_FMT(base));
	f->c.otlp = th_arena_str(&f->memory, whole);
	value = th_str_split(&pair, ',');
	name = th_str_trim(th_str_split(&value, '='));
	value = th_str_trim(value);
	if (!f->c.otlp.len || !name.len || !value.len)
		return;
	for (size_t i = 0; i < value.len; i++) {
		char code[3] = { 0 }, *end = code;
		long byte;

		if (value.ptr[i] == '%' && i + 2 < value.len) {
			memcpy(code, value.ptr + i + 1, 2);
			byte = strtol(code, &end, 16);
			if (end == code + 2) {
				th_buf_add_char(&plain, (char)byte);
				i += 2;
				continue;
			}
		}
		th_buf_add_char(&plain, value.ptr[i]);
	}
	f->c.otlp_header = th_arena_cstr(&f->memory, name);
	f->c.otlp_secret = th_secret_new(th_buf_str(&plain));
	th_buf_wipe(&plain);
}

static void load_env(struct full *f)
{
	struct th_str model = env("THOLE_MODEL"), store = env("THOLE_STORE");

	if (model.len)
		f->c.model = th_arena_str(&f->memory, model);
	if (store.len)
		f->c.store = th_arena_str(&f->memory, store);
	for (const struct th_profile *p = th_profile_next(NULL); p; p = th_profile_next(p))
		load_env_key(f, p);
}

static enum th_code default_store(struct full *f, struct th_err *err)
{
	struct th_buf dir TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	enum th_code code = th_dir_of(TH_DIR_STATE, &dir, err);

	if (code == TH_OK)
		f->c.store = th_arena_printf(&f->memory, "sqlite:%s/log.db", dir.ptr);
	return code == TH_OK
		   ? code
		   : th_prefix(err, code, "default place of the log; --store URL names another");
}

static enum th_code load(struct full *f, struct th_str path, struct th_err *err)
{
	struct th_buf dir TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_err ignored;
	enum th_code code = TH_OK;

	if (path.len)
		code = load_file(f, path, true, err);
	else if (th_dir_of(TH_DIR_CONFIG, &dir, &ignored) == TH_OK)
		code = load_file(f, th_arena_printf(&f->memory, "%s/config.yaml", dir.ptr), false,
				 err);
	if (code != TH_OK)
		return code;
	load_env(f);
	load_otlp(f);
	if (!f->c.store.len)
		code = default_store(f, err);
	return code;
}

enum th_code th_config_load(struct th_str path, struct th_config **ret, struct th_err *err)
{
	struct full *f = th_alloc(sizeof(*f));
	enum th_code code;

	th_arena_init(&f->memory, CONFIG_MEMORY_MAX);
	f->c.executor_linger_s = 600;
	code = load(f, path, err);
	if (code != TH_OK) {
		th_config_free(&f->c);
		return code;
	}
	*ret = &f->c;
	return TH_OK;
}

struct th_config *th_config_free(struct th_config *c)
{
	struct full *f = full_of(c);

	if (!c)
		return NULL;
	th_secret_free(f->given);
	th_secret_free(f->from_file);
	th_secret_free(f->c.otlp_secret);
	while (f->from_env) {
		struct env_key *e = f->from_env;

		f->from_env = e->next;
		th_secret_free(e->secret);
		free(e);
	}
	th_arena_deinit(&f->memory);
	free(f);
	return NULL;
}

void th_config_freep(struct th_config **c)
{
	*c = th_config_free(*c);
}

/* ---- the models file ---- */

/* Keys are separate: `err` names the row and its line. */
static enum th_code check_urls(struct th_str yaml, struct th_str name,
			       const struct th_profiles *list, struct th_err *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct th_profile *p = &list->rows[i];
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
		struct th_err why = { 0 };

		if (!p->base_url || !th_config_check_url(th_str_of(p->base_url), &why))
			continue;
		th_buf_printf(&path, "models[%zu].base_url", i);
		return th_fail(err, TH_EUSAGE, "%.*s:%d: %s: %s", TH_FMT(name),
			       th_yaml_line(yaml, th_buf_str(&path)), path.ptr, why.msg);
	}
	return TH_OK;
}

enum th_code th_models_parse(struct th_str yaml, struct th_str name, struct th_arena *a,
			     struct th_profiles *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_profiles list;
	enum th_code code = th_config_read_yaml(yaml, name, &doc, err);

	if (code == TH_OK)
		code = th_config_table_err(
		    yaml, name, th_profiles_parse(th_json_root(doc), a, &list, err), err);
	if (code == TH_OK)
		code = check_urls(yaml, name, &list, err);
	if (code == TH_OK)
		*ret = list;
	return code;
}

static enum th_code load_models(struct full *f, struct th_str path, bool must, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code = th_config_read_file(path, "models file", &text, err);

	if (code == TH_ENOENT && !must)
		return TH_OK;
	if (code == TH_OK)
		code = th_models_parse(th_buf_str(&text), path, &f->memory, &f->c.profiles, err);
	if (code != TH_OK)
		return code;
	f->c.models_file = th_arena_str(&f->memory, path);
	for (size_t i = 0; i < f->c.profiles.count; i++)
		load_env_key(f, &f->c.profiles.rows[i]);
	return TH_OK;
}

enum th_code th_config_models(struct th_config *c, struct th_str path, struct th_err *err)
{
	struct th_buf dir TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct full *f = full_of(c);
	struct th_err ignored;

	if (!path.len)
		path = env("THOLE_MODELS");
	if (!path.len)
		path = f->file_models;
	if (path.len)
		return load_models(f, path, true, err);
	if (th_dir_of(TH_DIR_CONFIG, &dir, &ignored) != TH_OK)
		return TH_OK;
	return load_models(f, th_arena_printf(&f->memory, "%s/models.yaml", dir.ptr), false, err);
}

/* ---- keys and servers ---- */

static const struct th_secret *env_key(const struct full *f, const struct th_profile *p)
{
	for (const struct env_key *e = f->from_env; e; e = e->next)
		if (p->key_env && strcmp(e->name, p->key_env) == 0)
			return e->secret;
	return NULL;
}

/* Whose the config file's key is. */
static bool file_key_fits(const struct full *f, const struct th_profile *p, struct th_str base)
{
	struct th_composed composed;
	struct th_match match;
	struct th_err ignored;

	if (f->file_base_url.len)
		return th_str_eq(base, f->file_base_url);
	return th_model_compose(&f->c.profiles, f->file_model, &composed, &match, &ignored) ==
		   TH_OK &&
	       th_profile_same_provider(match.profile, p);
}

const struct th_secret *th_config_own_key(const struct th_config *c, const struct th_profile *p,
					  struct th_str base)
{
	const struct full *f = full_of_const(c);
	const struct th_secret *key = env_key(f, p);

	return !key && f->from_file && file_key_fits(f, p, base) ? f->from_file : key;
}

const struct th_secret *th_config_key(const struct th_config *c, const struct th_profile *p,
				      struct th_str base)
{
	return full_of_const(c)->given ?: th_config_own_key(c, p, base);
}

void th_config_set_key(struct th_config *c, struct th_str value)
{
	struct full *f = full_of(c);

	th_secret_free(f->given);
	f->given = th_secret_new(value);
}

enum th_code th_config_set_key_file(struct th_config *c, struct th_str path, struct th_err *err)
{
	struct full *f = full_of(c);
	struct th_secret *key = NULL;
	enum th_code code = th_config_secret_read(path, &key, err);

	if (code == TH_OK) {
		th_secret_free(f->given);
		f->given = key;
	}
	return code;
}

bool th_config_key_needed(const struct th_profile *p, struct th_str base)
{
	return p->key_env && !p->key_optional && th_str_eq(base, th_str_of(p->base_url));
}

void th_config_key_hint(const struct th_config *c, const struct th_profile *p, struct th_buf *out)
{
	const struct full *f = full_of_const(c);
	struct th_str names = th_str_of(p->key_env), name = th_str_split(&names, '|');

	if (name.len)
		th_buf_printf(out, "set %.*s", TH_FMT(name));
	while ((name = th_str_split(&names, '|')).len)
		th_buf_printf(out, " or %.*s", TH_FMT(name));
	if (p->key_env && *p->key_env)
		th_buf_add_cstr(out, ", or give --api-key-file FILE");
	else
		th_buf_add_cstr(out, "give --api-key-file FILE");
	if (f->from_file)
		th_buf_printf(out, " (the key in %.*s is for %.*s)", TH_FMT(f->c.file),
			      TH_FMT(f->file_base_url.len ? f->file_base_url : f->file_model));
}

struct th_str th_config_provider_url(const struct th_config *c, const struct th_profile *p)
{
	const struct full *f = full_of_const(c);
	struct th_str from_env = p->base_url_env ? env(p->base_url_env) : TH_STR("");

	return from_env.len           ? from_env
	       : p->own_server        ? th_str_of(p->base_url)
	       : f->file_base_url.len ? f->file_base_url
				      : th_str_of(p->base_url);
}

struct th_str th_config_base_url(const struct th_config *c, const struct th_profile *p)
{
	return c->base_url.len ? c->base_url : th_config_provider_url(c, p);
}

enum th_code th_config_check_url(struct th_str url, struct th_err *err)
{
	bool plain = th_str_istarts(url, TH_STR("http://"));
	struct th_str rest = th_str_sub(url, plain ? 7 : 8, url.len), host = rest;
	struct th_str shown = th_utf8_cut(url, 200);

	if (!url.len)
		return th_fail(
		    err, TH_EUSAGE,
		    "the model's server is not known: give --base-url URL or set OPENAI_BASE_URL");
	host = th_str_split(&rest, '/');
	if (th_str_find_char(host, '@') >= 0) /* not shown: it holds a password */
		return th_fail(
		    err, TH_EUSAGE,
		    "a server's URL must not hold a name and password; the key has its own place");
	if (!plain && !th_str_istarts(url, TH_STR("https://")))
		return th_fail(
		    err, TH_EUSAGE,
		    "a server's URL must begin with http:// or https://, which \"%.*s\" does not",
		    TH_FMT(shown));
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f)
			return th_fail(err, TH_EUSAGE, "a server's URL \"%.*s\" holds a blank",
				       TH_FMT(shown));
	if (!host.len || host.ptr[0] == ':')
		return th_fail(err, TH_EUSAGE, "a server's URL \"%.*s\" has no host",
			       TH_FMT(shown));
	return TH_OK;
}
