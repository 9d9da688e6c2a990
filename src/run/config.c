/* SPDX-License-Identifier: Apache-2.0 */
#include "run/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "computers/computer.h"
#include "core/team.h"
#include "io/files.h"
#include "models/compose.h"
#include "models/profiles.h"
#include "models/user_profiles.h"
#include "run/config_script.h"
#include "run/config_tools.h"
#include "run/yaml.h"
#include "tools/tool.h"

#define CONFIG_MEMORY_MAX (4 * TH_CONFIG_SIZE_MAX)
#define AGENT_JSON_MAX (8 * TH_CONFIG_SIZE_MAX) /* escapes make JSON longer than its YAML */
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

/* ---- a file through its table ---- */

/* "FILE:7: limits.turns must be …" from the table's "limits.turns: must be …". */
static enum th_code fail_table(struct th_str yaml, struct th_str name, enum th_code code,
			       struct th_err *err)
{
	struct th_err table = code ? *err : (struct th_err){ 0 };
	struct th_str path = th_table_err_path(&table);
	const char *rest = table.msg + (path.len ? path.len + 2 : 0);

	if (code != TH_EUSAGE)
		return code ? th_prefix(err, code, "%.*s", TH_FMT(name)) : TH_OK;
	return th_fail(err, TH_EUSAGE, "%.*s:%d: %.*s %s", TH_FMT(name), th_yaml_line(yaml, path),
		       TH_FMT(path.len ? path : TH_STR("the file")), rest);
}

static enum th_code read_yaml(struct th_str yaml, struct th_str name, struct th_json_doc **ret,
			      struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(AGENT_JSON_MAX);
	enum th_code code = th_yaml_to_json(yaml, name, &json, err);

	if (code != TH_OK)
		return code;
	code = th_json_parse(th_buf_str(&json), ret, err);
	return code == TH_OK ? TH_OK : th_prefix(err, code, "%.*s", TH_FMT(name));
}

/* Strings of `out` live as long as *ret_doc. */
static enum th_code parse_text(struct th_str yaml, struct th_str name, const struct th_table *t,
			       struct th_arena *a, void *out, struct th_json_doc **ret_doc,
			       struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	enum th_code code = read_yaml(yaml, name, &doc, err);

	if (code == TH_OK)
		code =
		    fail_table(yaml, name, th_table_parse(t, th_json_root(doc), a, out, err), err);
	if (code != TH_OK)
		return code;
	*ret_doc = doc;
	doc = NULL;
	return TH_OK;
}

/* A path as a person writes it: "~/x", or relative to the folder of `beside`. */
static struct th_str path_resolve(struct th_arena *a, struct th_str path, struct th_str beside)
{
	struct th_str home = env("HOME");
	size_t folder = beside.len;

	if (th_str_starts(path, TH_STR("~/")) && home.len)
		return th_arena_printf(a, "%.*s%.*s", TH_FMT(home),
				       TH_FMT(th_str_sub(path, 1, path.len)));
	while (folder > 0 && beside.ptr[folder - 1] != '/')
		folder--;
	if (!path.len || path.ptr[0] == '/' || !folder)
		return th_arena_str(a, path);
	return th_arena_printf(a, "%.*s%.*s", TH_FMT(th_str_sub(beside, 0, folder)), TH_FMT(path));
}

static enum th_code read_file(struct th_str path, const char *what, struct th_buf *out,
			      struct th_err *err)
{
	char name[TH_PATH_LEN_MAX];
	enum th_code code;

	if (path.len >= sizeof(name) || memchr(path.ptr, '\0', path.len))
		return th_fail(err, TH_EUSAGE, "%s: the path is too long", what);
	memcpy(name, path.ptr, path.len);
	name[path.len] = '\0';
	code = th_file_read(name, out->max, out, err);
	return code == TH_OK ? TH_OK : th_prefix(err, code, "%s", what);
}

/* ---- the configuration ---- */

static enum th_code key_read(struct th_str path, struct th_secret **ret, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(KEY_SIZE_MAX);
	struct th_str key;
	enum th_code code = read_file(path, "key file", &text, err);

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
	if (text.len)
		explicit_bzero(text.ptr, text.len);
	th_buf_deinit(&text);
	return code;
}

static enum th_code apply_file(struct full *f, const struct th_config_file *file,
			       struct th_str path, struct th_err *err)
{
	struct th_arena *a = &f->memory;

	f->c.model = f->file_model = th_arena_str(a, file->model);
	f->c.store = th_arena_str(a, file->store);
	f->file_base_url = th_arena_str(a, file->base_url);
	if (file->models.len)
		f->file_models = path_resolve(a, file->models, path);
	f->c.otlp = th_arena_str(&f->memory, file->otlp);
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
	return key_read(path_resolve(a, file->api_key_file, path), &f->from_file, err);
}

static enum th_code load_file(struct full *f, struct th_str path, bool must, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_config_file file;
	enum th_code code = read_file(path, "configuration", &text, err);

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
	if (text.len)
		explicit_bzero(text.ptr, text.len); /* it may hold a key */
	th_buf_deinit(&text);
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
	explicit_bzero(plain.ptr, plain.len);
	th_buf_deinit(&plain);
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
	enum th_code code = read_yaml(yaml, name, &doc, err);

	if (code == TH_OK)
		code = fail_table(yaml, name, th_profiles_parse(th_json_root(doc), a, &list, err),
				  err);
	if (code == TH_OK)
		code = check_urls(yaml, name, &list, err);
	if (code == TH_OK)
		*ret = list;
	return code;
}

static enum th_code load_models(struct full *f, struct th_str path, bool must, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code = read_file(path, "models file", &text, err);

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
	enum th_code code = key_read(path, &key, err);

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
		    "the model's URL must not hold a name and password; the key has its own place");
	if (!plain && !th_str_istarts(url, TH_STR("https://")))
		return th_fail(
		    err, TH_EUSAGE,
		    "the model's URL must begin with http:// or https://, which \"%.*s\" does not",
		    TH_FMT(shown));
	for (size_t i = 0; i < url.len; i++)
		if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f)
			return th_fail(err, TH_EUSAGE, "the model's URL \"%.*s\" holds a blank",
				       TH_FMT(shown));
	if (!host.len || host.ptr[0] == ':')
		return th_fail(err, TH_EUSAGE, "the model's URL \"%.*s\" has no host",
			       TH_FMT(shown));
	return TH_OK;
}

/* ---- agents ---- */

static enum th_code copy_strs(const struct th_strs *from, struct th_arena *a, struct th_strs *to)
{
	to->count = from->count;
	to->list = from->list ? th_arena_array(a, from->count, sizeof(*to->list)) : NULL;
	if (from->list && !to->list)
		return TH_ELIMIT;
	for (size_t i = 0; i < from->count; i++) {
		to->list[i] = th_arena_str(a, from->list[i]);
		if (!to->list[i].ptr)
			return TH_ELIMIT;
	}
	return TH_OK;
}

static enum th_code copy_table(const struct th_table *t, void *to, struct th_arena *a);

static enum th_code copy_objects(const struct th_field *f, struct th_objects *to,
				 struct th_arena *a)
{
	struct th_objects from = *to;
	enum th_code code = TH_OK;

	if (!from.list)
		return TH_OK;
	to->list = th_arena_array(a, from.count + 1, f->sub->size);
	if (!to->list)
		return TH_ELIMIT;
	memcpy(to->list, from.list, from.count * f->sub->size);
	for (size_t i = 0; i < from.count && !code; i++)
		code = copy_table(f->sub, (char *)to->list + i * f->sub->size, a);
	return code;
}

/* `to` is a flat copy of `from`: what it points to is copied into the arena. */
static enum th_code copy_table(const struct th_table *t, void *to, struct th_arena *a)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < t->count && code == TH_OK; i++) {
		const struct th_field *f = &t->fields[i];
		void *cell = (char *)to + f->offset;
		struct th_str *s = cell;
		void **sub = cell;

		if (f->kind == TH_FIELD_strs) {
			struct th_strs from = *(struct th_strs *)cell;

			code = copy_strs(&from, a, cell);
		} else if ((f->kind == TH_FIELD_str || f->kind == TH_FIELD_raw) && s->ptr) {
			*s = th_arena_str(a, *s);
			code = s->ptr ? TH_OK : TH_ELIMIT;
		} else if (f->kind == TH_FIELD_object && *sub) {
			const void *from = *sub;

			*sub = th_arena_alloc(a, f->sub->size);
			if (!*sub)
				return TH_ELIMIT;
			memcpy(*sub, from, f->sub->size);
			code = copy_table(f->sub, *sub, a);
		} else if (f->kind == TH_FIELD_objects) {
			code = copy_objects(f, cell, a);
		}
	}
	return code;
}

enum th_code th_agent_copy(const struct th_agent *from, struct th_arena *a, struct th_agent *ret,
			   struct th_err *err)
{
	struct th_agent copy = *from;
	enum th_code code = copy_table(&th_agent_table, &copy, a);

	if (code != TH_OK)
		return th_fail(err, code, "the agent's definition is too large");
	*ret = copy;
	return TH_OK;
}

static const char default_instructions[] =
    "You do tasks on a Linux computer with the tools you are given.\n"
    "Your commands and files are in the workspace, the current folder; other folders may be "
    "read-only, and "
    "there may be no network.\n"
    "Where you have a computer, look at the screen before you act and check on it that each step "
    "worked.\n"
    "When an outcome is said to be unknown, look before you do it again.\n"
    "Work until the task is done, check the result, then say in a few sentences what you did and "
    "what you found.";

void th_agent_default(struct th_agent *ret)
{
	*ret = (struct th_agent){
		.name = TH_STR("default"),
		.instructions = th_str_of(default_instructions),
	};
}

/* ---- what an agent file's table cannot say ---- */

struct checker {
	struct th_str yaml, name;
	const struct th_tools_places *places;
	struct th_err *err;
};

TH_PRINTF(3, 4)
static enum th_code fail_path(const struct checker *c, struct th_str path, const char *fmt, ...)
{
	struct th_buf what = TH_BUF_INIT(TH_ERR_MSG_MAX * 4);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&what, fmt, ap);
	va_end(ap);
	(void)th_fail(c->err, TH_EUSAGE, "%.*s:%d: %.*s %s", TH_FMT(c->name),
		      th_yaml_line(c->yaml, path), TH_FMT(path), what.ptr);
	th_buf_deinit(&what);
	return TH_EUSAGE;
}

/* One list of names against what is known; `more`, `computer`: words that are no tools. */
static enum th_code check_tools(const struct checker *c, const struct th_agent *agent,
				const char *field, const struct th_strs *list, const char *more,
				const char *computer)
{
	const char *names[TH_AGENT_TOOLS_MAX + 3] = { more, computer };
	size_t count = computer ? 2 : 1;

	for (size_t i = 0; th_tools[i] && count < TH_AGENT_TOOLS_MAX; i++)
		names[count++] = th_tools[i]->name;
	for (size_t i = 0; i < list->count; i++) {
		struct th_str shown = th_utf8_cut(list->list[i], TH_NAME_NEAR_MAX);
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
		const char *near;

		if (th_names_find(names, list->list[i]) >= 0 ||
		    th_agent_command_find(&agent->commands, list->list[i]))
			continue;
		near = th_names_nearest(names, list->list[i]);
		th_buf_printf(&path, "%s[%zu]", field, i);
		return fail_path(c, th_buf_str(&path), "is \"%.*s\", which is no tool%s%s%s",
				 TH_FMT(shown), near ? "; did you mean \"" : "", near ? near : "",
				 near ? "\"?" : "");
	}
	return TH_OK;
}

/* A rule or a guardrail about a tool that is not there would hold nothing back, and not say so. One
 * of the program's functions may come later: only a name that looks like a known one is a slip. */
static enum th_code check_slip(const struct checker *c, const struct th_agent *agent,
			       struct th_str tool, const char *path)
{
	const char *names[TH_AGENT_TOOLS_MAX + 2] = { "computer" }, *near;
	size_t count = 1;

	for (size_t i = 0; th_tools[i] && count < TH_AGENT_TOOLS_MAX; i++)
		names[count++] = th_tools[i]->name;
	if (th_str_find_char(tool, '*') >= 0 || th_str_find_char(tool, '?') >= 0 || !tool.len ||
	    th_names_find(names, tool) >= 0 || th_agent_command_find(&agent->commands, tool))
		return TH_OK;
	near = th_names_nearest(names, tool);
	if (!near)
		return TH_OK;
	return fail_path(c, th_str_of(path), "is \"%.*s\", which is no tool; did you mean \"%s\"?",
			 TH_FMT(th_utf8_cut(tool, TH_NAME_NEAR_MAX)), near);
}

static enum th_code check_slips(const struct checker *c, const struct th_agent *agent)
{
	const struct th_agent_guardrail *guards = agent->guardrails.list;
	const struct th_agent_rule *rules = agent->rules.list;
	enum th_code code = TH_OK;
	char path[64];

	for (size_t i = 0; i < agent->guardrails.count; i++)
		for (size_t k = 0; code == TH_OK && k < guards[i].tools.count; k++) {
			snprintf(path, sizeof(path), "guardrails[%zu].tools[%zu]", i, k);
			code = check_slip(c, agent, guards[i].tools.list[k], path);
		}
	for (size_t i = 0; code == TH_OK && i < agent->rules.count; i++) {
		snprintf(path, sizeof(path), "rules[%zu].tool", i);
		code = check_slip(c, agent, rules[i].tool, path);
	}
	return code;
}

/* What a check of core/ says of the field at `path`. */
static enum th_code fail_checked(const struct checker *c, const struct th_buf *path,
				 const struct th_err *why)
{
	(void)th_fail(c->err, TH_EUSAGE, "%s: %s", path->ptr, why->msg);
	th_tools_place_err(c->places, c->err);
	return fail_table(c->yaml, c->name, TH_EUSAGE, c->err);
}

static enum th_code check_commands(const struct checker *c, const struct th_agent *agent)
{
	const char *taken[TH_AGENT_TOOLS_MAX] = { "all", "none", "computer", "command" };
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_err why;
	enum th_code code;

	for (size_t i = 0; th_tools[i] && i + 5 < TH_COUNT(taken); i++)
		taken[i + 4] = th_tools[i]->name;
	code = th_agent_commands_check(&agent->commands, taken, &path, &why);
	if (code == TH_OK)
		return TH_OK;
	return fail_checked(c, &path, &why);
}

static enum th_code check_rules(const struct checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_err why;

	return th_rules_check(&agent->rules, &path, &why) ? fail_checked(c, &path, &why) : TH_OK;
}

static enum th_code check_environment(const struct checker *c, const struct th_strs *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct th_str s = list->list[i];
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);

		if (th_str_find_char(s, '=') > 0 && !memchr(s.ptr, '\0', s.len))
			continue;
		th_buf_printf(&path, "environment[%zu]", i);
		return fail_path(c, th_buf_str(&path), "must be NAME=value");
	}
	return TH_OK;
}

static enum th_code check_computer(const struct checker *c, const struct th_agent_computer *k)
{
	struct th_buf known TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct th_str shown;

	if (!k)
		return TH_OK;
	if (!th_computer_find(k->kind)) {
		shown = th_utf8_cut(k->kind, TH_NAME_NEAR_MAX);
		for (size_t i = 0; th_computer_kinds[i]; i++)
			th_buf_printf(&known, "%s%s",
				      i == 0                     ? ""
				      : th_computer_kinds[i + 1] ? ", "
								 : " or ",
				      th_computer_kinds[i]->name);
		return fail_path(c, TH_STR("computer.kind"), "must be %s, not \"%.*s\"", known.ptr,
				 TH_FMT(shown));
	}
	if (!k->width != !k->height)
		return fail_path(c, k->width ? TH_STR("computer.width") : TH_STR("computer.height"),
				 "needs its partner: give width and height, or neither");
	if (k->width > TH_SCREEN_SIDE_MAX || k->height > TH_SCREEN_SIDE_MAX)
		return fail_path(c,
				 k->width > TH_SCREEN_SIDE_MAX ? TH_STR("computer.width")
							       : TH_STR("computer.height"),
				 "must be at most %d", TH_SCREEN_SIDE_MAX);
	if (k->width * k->height > TH_SCREEN_PIXELS_MAX)
		return fail_path(
		    c, TH_STR("computer.height"),
		    "must be at most %d with this width: a screen has at most %d pixels",
		    (int)(TH_SCREEN_PIXELS_MAX / k->width), TH_SCREEN_PIXELS_MAX);
	if (k->start.count > TH_DESKTOP_START_MAX)
		return fail_path(c, TH_STR("computer.start"),
				 "has more than %d commands; one of them may be a script that "
				 "starts the others",
				 TH_DESKTOP_START_MAX);
	if (!th_str_is(k->kind, "desktop") && (k->width || k->start.count))
		return fail_path(c, k->width ? TH_STR("computer.width") : TH_STR("computer.start"),
				 "is only for a desktop");
	if (!th_str_is(k->kind, "x11") && k->bus.len)
		return fail_path(c, TH_STR("computer.bus"), "is only for x11");
	if (k->ocr.len && k->ocr.ptr[0] != '/')
		return fail_path(c, TH_STR("computer.ocr"), "must be an absolute path");
	if (th_str_is(k->kind, "desktop") && k->display.len)
		return fail_path(c, TH_STR("computer.display"), "is only for x11");
	return TH_OK;
}

static enum th_code check_fallback(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_agent_fallback_fault(a, &at);

	th_buf_printf(&path, "fallback[%zu]", at);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_settings(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	const char *member, *fault = th_agent_settings_fault(a->settings, &member);

	th_buf_printf(&path, "settings.%s", member);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_native(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_agent_native_fault(a, &at);

	th_buf_printf(&path, "native_tools[%zu]", at);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

/* Functions and the computer are ours to run. */
static enum th_code check_hosted(const struct checker *c, const struct th_agent *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	enum th_code code = TH_OK;

	if (!a->hosted_tools.len)
		return TH_OK;
	code = th_json_parse(a->hosted_tools, &doc, c->err);
	if (code)
		return code;
	if (!th_json_is_array(th_json_root(doc)))
		return fail_path(c, TH_STR("hosted_tools"), "must be a list");
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");
		bool mcp = th_str_is(type, "mcp");
		bool shell = th_str_is(type, "shell") && !th_native_is_theirs(it.val);

		if (mcp && !th_json_get_str(it.val, "server_label").len)
			return fail_path(c, TH_STR("hosted_tools"),
					 "has an mcp without a server_label, by which its calls "
					 "are told apart");
		if (!type.len || th_str_is(type, "function") || th_str_is(type, "custom") ||
		    shell || th_str_is(type, "apply_patch") || th_str_is(type, "local_shell") ||
		    th_str_is(th_str_sub(type, 0, 8), "computer"))
			return fail_path(
			    c, TH_STR("hosted_tools"),
			    "is for what the provider runs itself, such as web_search: "
			    "each has such a type");
	}
	return TH_OK;
}

static enum th_code check_output(const struct checker *c, const struct th_agent *a)
{
	enum th_code code = th_agent_check_output(a, c->err);

	return code ? th_prefix(c->err, code, "%.*s", TH_FMT(c->name)) : TH_OK;
}

static enum th_code check_agent(const struct checker *c, const struct th_agent *a)
{
	enum th_code code = check_computer(c, a->computer);

	if (code == TH_OK)
		code = check_fallback(c, a);
	if (code == TH_OK)
		code = check_settings(c, a);
	if (code == TH_OK)
		code = check_hosted(c, a);
	if (code == TH_OK)
		code = check_native(c, a);
	if (code == TH_OK)
		code = check_commands(c, a);
	if (code == TH_OK)
		code = check_tools(c, a, "tools", &a->tools, "none", NULL);
	if (code == TH_OK)
		code = check_tools(c, a, "approve", &a->approve, "all", "computer");
	if (code == TH_OK)
		code = check_rules(c, a);
	if (code == TH_OK)
		code = check_output(c, a);
	if (code == TH_OK)
		code = check_slips(c, a);
	if (code == TH_OK)
		code = check_environment(c, &a->environment);
	return code;
}

/* The other agents, and all that they say of each other. */
static enum th_code check_team(const struct checker *c, const struct th_agent *agent,
			       const struct th_json *root, struct th_arena *a)
{
	static const struct th_tools_places no_places;
	const struct checker of_member = { c->yaml, c->name, &no_places, c->err };
	const struct th_team *team;
	enum th_code code = th_team_resolve(root, a, &team, c->err);

	for (size_t i = 1; code == TH_OK && i < team->count; i++) {
		struct th_agent member;

		code = th_team_agent(root, i, a, &member, c->err);
		if (code == TH_OK)
			code = check_agent(&of_member, &member);
		if (code != TH_OK)
			return code;
	}
	if (code == TH_OK)
		code = th_config_check_script(agent, root, team, c->err);
	return code ? th_prefix(c->err, code, "%.*s", TH_FMT(c->name)) : TH_OK;
}

/* Of a file, absolute, with a slash at its end: a definition is used from anywhere. */
static struct th_str folder_of(struct th_arena *a, struct th_str file)
{
	char here[TH_PATH_LEN_MAX];
	size_t len = file.len;

	while (len > 0 && file.ptr[len - 1] != '/')
		len--;
	file = th_str_sub(file, 0, len);
	if ((file.len && file.ptr[0] == '/') || !getcwd(here, sizeof(here)))
		return th_arena_str(a, file);
	return th_arena_printf(a, "%s/%.*s", here, TH_FMT(file));
}

/* script_file becomes script: the log holds all that a session is run with. */
static enum th_code read_script(const struct checker *c, struct th_arena *a, struct th_agent *agent)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SCRIPT_SOURCE_MAX);
	struct th_str path = agent->script_file;
	enum th_code code;

	if (!path.len)
		return TH_OK;
	if (agent->script.len)
		return fail_path(c, TH_STR("script_file"), "stands beside script: give one");
	code = read_file(path_resolve(a, path, c->name), "script_file", &text, c->err);
	if (code != TH_OK)
		return th_prefix(c->err, code, "%.*s", TH_FMT(c->name));
	if (!text.len)
		return fail_path(c, TH_STR("script_file"), "is empty");
	agent->script = th_arena_str(a, th_buf_str(&text));
	return agent->script.ptr ? TH_OK : th_fail(c->err, TH_ELIMIT, "the script is too large");
}

enum th_code th_agent_parse(struct th_str yaml, struct th_str name, struct th_arena *a,
			    struct th_agent *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_tools_places places;
	struct checker c = { yaml, name, &places, err };
	struct th_agent agent;
	enum th_code code = read_yaml(yaml, name, &doc, err);

	if (code == TH_OK) {
		code = th_tools_lift(&doc, folder_of(a, name), &places, err);
		if (code == TH_OK)
			code = th_table_parse(&th_agent_table, th_json_root(doc), a, &agent, err);
		if (code != TH_OK)
			th_tools_place_err(&places, err);
		code = fail_table(yaml, name, code, err);
	}
	if (code == TH_OK)
		code = check_agent(&c, &agent);
	if (code == TH_OK)
		code = read_script(&c, a, &agent);
	if (code == TH_OK)
		code = check_team(&c, &agent, th_json_root(doc), a);
	if (code != TH_OK)
		return code;
	if (!agent.name.len)
		agent.name = TH_STR("default");
	if (!agent.instructions.ptr)
		agent.instructions = th_str_of(default_instructions);
	if (agent.workspace.len)
		agent.workspace = path_resolve(a, agent.workspace, name);
	return th_agent_copy(&agent, a, ret, err);
}

enum th_code th_agent_load(struct th_str path, struct th_arena *a, struct th_agent *ret,
			   struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code = read_file(path, "agent file", &text, err);

	return code == TH_OK ? th_agent_parse(th_buf_str(&text), path, a, ret, err) : code;
}
