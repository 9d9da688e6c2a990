/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - configuration and agent files: YAML (and so JSON) through the
 * field tables, with file and line in every error; keys as secrets.
 *
 * Order, the later wins: built-in defaults, config file
 * ($XDG_CONFIG_HOME/thole/config.yaml), environment, agent file, options.
 *
 * A key is a th_secret from the moment it is read.  It comes from a file or the
 * environment, never from an argument: those are everybody's to read.
 */
#ifndef TH_CONFIG_CONFIG_H
#define TH_CONFIG_CONFIG_H

#include "agents/agent.h"
#include "base/secret.h"
#include "models/model.h"

// clang-format off
#define TH_FIELDS_config_file(F)                                                                   \
	F(config_file, str, model, "model", TH_NONEMPTY, "model to use where agent file and options name none") \
	F(config_file, str, models, "models", TH_NONEMPTY, "models file with your own profiles")   \
	F(config_file, str, store, "store", TH_NONEMPTY,                                         \
	  "URL of the log, such as sqlite:/srv/log.db (the folder must exist) or postgres://thole@db/thole")               \
	F(config_file, str, base_url, "base_url", TH_NONEMPTY, "URL of the model's API")         \
	F(config_file, str, api_key, "api_key", TH_NONEMPTY, "key for base_url or, without base_url, for the provider of model in this file; better: api_key_file") \
	F(config_file, str, api_key_file, "api_key_file", TH_NONEMPTY, "file that contains this key")  \
	F(config_file, str, otlp, "otlp", TH_NONEMPTY, "collector of traces: base URL of OTLP over HTTP; default: none") \
	F(config_file, int, executor_linger_s, "executor_linger_s", TH_POSITIVE, "how long a desktop waits for its runtime to come back, seconds; default 600") \
	F(config_file, strs, tools, "tools", TH_NONEMPTY, "tools of an agent that names none; default: bash, edit, search") \
	F(config_file, raw, serve, "serve", 0, "of thole serve: an object, see docs/HTTP.md")
// clang-format on

TH_STRUCT(config_file)
extern const struct th_table th_config_file_table;

struct th_config {
	struct th_str file;     /* that was read; empty: none */
	struct th_str model;    /* default model: THOLE_MODEL or the file's; may be empty */
	struct th_str store;    /* URL: THOLE_STORE, the file's, or the default place */
	struct th_str base_url; /* of --base-url, which the caller sets; else empty */
	struct th_str otlp;     /* where traces are sent, with its path; empty: nowhere */
	/* With the first of OTEL_EXPORTER_OTLP_HEADERS; NULL: none. */
	const char *otlp_header;
	struct th_secret *otlp_secret;
	int64_t executor_linger_s;
	struct th_strs tools;        /* of an agent that names none; empty: the built-in ones */
	struct th_str serve;         /* JSON object; empty: none */
	struct th_str models_file;   /* that th_config_models read; empty: none */
	struct th_profiles profiles; /* and what is in it */
};

/* `path` empty: the default place, where a missing file is no error.  Fills from file and
 * environment. */
TH_NODISCARD enum th_code th_config_load(struct th_str path, struct th_config **ret,
					 struct th_err *err);
struct th_config *th_config_free(struct th_config *c); /* takes NULL, returns NULL */
void th_config_freep(struct th_config **c);

/*
 * Reads the models file: `path`, THOLE_MODELS, the configuration's `models`, or
 * models.yaml beside config.yaml, where a missing one is no error.  Only for
 * those who ask models: a mistake in it must not keep anybody from his log.
 */
TH_NODISCARD enum th_code th_config_models(struct th_config *c, struct th_str path,
					   struct th_err *err);
/* For text at hand; `name` stands in errors.  The rows live in the arena. */
TH_NODISCARD enum th_code th_models_parse(struct th_str yaml, struct th_str name,
					  struct th_arena *a, struct th_profiles *ret,
					  struct th_err *err);

/*
 * Key for a profile at the server `base`: th_config_set_key, its environment variable, the config
 * file.  NULL: none is set; th_config_key_hint says what to set.  The config file's belongs to the
 * `base_url` of that file or, where that names none, to the provider of its `model`; one that has
 * neither beside it is an error of th_config_load.
 */
const struct th_secret *th_config_key(const struct th_config *c, const struct th_profile *p,
				      struct th_str base);
/* The same without th_config_set_key's, which is for the first model of a session. */
const struct th_secret *th_config_own_key(const struct th_config *c, const struct th_profile *p,
					  struct th_str base);
void th_config_set_key(struct th_config *c, struct th_str value); /* wins */
/* Reads it from a file: the first line, trimmed.  Errors name the file, never what is in it. */
TH_NODISCARD enum th_code th_config_set_key_file(struct th_config *c, struct th_str path,
						 struct th_err *err);
/* A secret that is the only line of a file. */
TH_NODISCARD enum th_code th_config_secret_read(struct th_str path, struct th_secret **ret,
						struct th_err *err);
/* A request without a key would be refused there: a provider's own server, or one whose row in the
 * models file names a key.  A server that somebody named may do without. */
bool th_config_key_needed(const struct th_profile *p, struct th_str base);
/* "set OPENAI_API_KEY, or give --api-key-file FILE" */
void th_config_key_hint(const struct th_config *c, const struct th_profile *p, struct th_buf *out);
/* Base URL: --base-url, environment (OPENAI_BASE_URL …), config file, the profile's own; that of a
 * row of the models file goes before the config file's. */
struct th_str th_config_base_url(const struct th_config *c, const struct th_profile *p);
/* The same without --base-url. */
struct th_str th_config_provider_url(const struct th_config *c, const struct th_profile *p);
/* What a base URL must be: http or https, a host, no password.  TH_EUSAGE says what it is not. */
TH_NODISCARD enum th_code th_config_check_url(struct th_str url, struct th_err *err);

/*
 * An agent file.  "agents/x.yaml:7: limits.turns must be an integer, not a
 * string".  A relative workspace is taken from the file's folder.  Names of
 * tools and computers and the form of the environment are checked too; what
 * models are called is not.  Strings in the arena.
 */
TH_NODISCARD enum th_code th_agent_load(struct th_str path, struct th_arena *a,
					struct th_agent *ret, struct th_err *err);
/* The same for text at hand; `name` stands in errors. */
TH_NODISCARD enum th_code th_agent_parse(struct th_str yaml, struct th_str name, struct th_arena *a,
					 struct th_agent *ret, struct th_err *err);
/* What runs without an agent file. */
void th_agent_default(struct th_agent *ret);
/* Deep copy into the arena, by the table.  TH_ELIMIT: it is full. */
TH_NODISCARD enum th_code th_agent_copy(const struct th_agent *from, struct th_arena *a,
					struct th_agent *ret, struct th_err *err);

#endif
