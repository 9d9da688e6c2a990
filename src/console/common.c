/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.c - what is common to the commands: the log, the configuration, and the session that is
 * meant.
 */
#include "console/console.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/field.h"
#include "base/session_name.h"
#include "base/text.h"
#include "stores/stores.h"

#define PREFIX_MIN 4  /* bytes of a session's name that stand for all of it */
#define NAMES_MAX 64  /* that are looked at for the one that may be meant */
#define NAMES_SHOWN 3 /* of those that begin alike */

void th_cli_same_log(const struct th_common *o, struct th_buf *out)
{
	if (o && o->server.len) {
		th_buf_add_cstr(out, " --server ");
		th_cli_word(out, o->server);
	}
	if (o && o->token_file.len) {
		th_buf_add_cstr(out, " --token-file ");
		th_cli_word(out, o->token_file);
	}
	if (o && o->store.len) {
		struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_STORE_PATH_MAX);

		th_store_show(o->store, &shown);
		th_buf_add_cstr(out, " --store ");
		th_cli_word(out, th_buf_str(&shown));
	}
	if (o && o->config.len) {
		th_buf_add_cstr(out, " --config ");
		th_cli_word(out, o->config);
	}
}

enum th_code th_cli_config(const struct th_common *o, struct th_config **ret, struct th_err *err)
{
	enum th_code code = th_config_load(o->config, ret, err);

	if (code == TH_OK && th_store_has_secret(o->store))
		return th_fail(err, TH_EUSAGE,
			       "--store: everybody on this machine can read a password there; the "
			       "configuration's key `store`, THOLE_STORE or ~/.pgpass may have it");
	if (code == TH_OK && o->store.len)
		(*ret)->store = o->store;
	return code;
}

static enum th_code store_open(const struct th_common *o, bool write, bool create,
			       struct th_store **ret, struct th_err *err)
{
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct th_store_options options = { .read_only = !write, .create = create };
	enum th_code code = th_cli_config(o, &config, err);

	if (code != TH_OK)
		return code;
	code = th_store_open(config->store, &options, ret, err);
	if (code == TH_ENOENT && !create) {
		struct th_buf shown TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_STORE_PATH_MAX);

		th_store_show(config->store, &shown);
		return th_fail(err, code,
			       "there is no log at %s yet; %s run \"TASK\" makes it, --store "
			       "names another",
			       shown.ptr, th_cli_program());
	}
	return code;
}

enum th_code th_cli_store(const struct th_common *o, bool write, struct th_store **ret,
			  struct th_err *err)
{
	if (o->remote) {
		*ret = o->remote_store(o->remote);
		return TH_OK;
	}
	return store_open(o, write, false, ret, err);
}

enum th_code th_cli_store_make(const struct th_common *o, struct th_store **ret, struct th_err *err)
{
	return store_open(o, true, true, ret, err);
}

enum th_code th_cli_scope(const struct th_common *o, struct th_arena *a, struct th_str *ret,
			  struct th_err *err)
{
	struct th_config *config TH_CLEANUP(th_config_freep) = NULL;
	struct th_buf scope TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	enum th_code code = th_cli_config(o, &config, err);

	if (code == TH_OK)
		code = th_store_scope(config->store, &scope, err);
	/* A store of this process alone has no sessions of others, and we want to be found again.
	 */
	if (code == TH_OK)
		*ret = th_arena_str(a, th_str_starts(config->store, TH_STR("memory:"))
					   ? config->store
					   : th_buf_str(&scope));
	return code;
}

void th_cli_storep(struct th_store **s)
{
	*s = th_store_close(*s);
}

enum th_code th_cli_check_name(struct th_str name, struct th_err *err)
{
	const char *fault = th_session_name_fault(name);

	return fault ? th_fail(err, TH_EUSAGE, "a session's name %s", fault) : TH_OK;
}

/* Names of sessions: of those that begin as asked, or the newest there are. */
struct names {
	struct th_arena *a;
	const char *list[NAMES_MAX + 1]; /* NULL-terminated */
	size_t count;
};

static enum th_code take_name(void *ctx, const struct th_session_row *row,
			      struct th_err *err TH_UNUSED)
{
	struct names *n = ctx;
	const char *name = th_arena_cstr(n->a, row->session_id);

	if (name && n->count < NAMES_MAX)
		n->list[n->count++] = name;
	return TH_OK;
}

static enum th_code fail_many(const struct names *n, struct th_str name, struct th_err *err)
{
	struct th_buf list TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	for (size_t i = 0; i < n->count && i < NAMES_SHOWN; i++)
		th_buf_printf(&list, "%s%s", i ? ", " : "", n->list[i]);
	if (n->count > NAMES_SHOWN)
		th_buf_printf(&list, " and others; %s sessions lists them", th_cli_program());
	return th_fail(err, TH_EUSAGE, "more than one session begins with \"%.*s\": %s",
		       TH_FMT(name), list.ptr);
}

/* Of one that is not there. */
static enum th_code fail_none(struct th_store *s, struct names *n, struct th_str name,
			      const char *where, struct th_err *err)
{
	struct th_session_filter newest = { .limit = NAMES_MAX };
	const char *near = n->list[0];
	enum th_code code = TH_OK;

	if (!near)
		code = s->kind->list(s, &newest, take_name, n, err);
	if (code != TH_OK)
		return code;
	near = near ?: th_names_nearest(n->list, name);
	return th_fail(err, TH_ENOENT, "no session \"%.*s\" %s; %s%s%s", TH_FMT(name), where,
		       near ? "did you mean " : th_cli_program(), near ?: "",
		       near ? "?" : " sessions lists them");
}

static enum th_code find_session(struct th_store *s, struct th_str name, const char *where,
				 struct th_arena *a, struct th_session_row *ret, struct th_err *err)
{
	struct th_session_filter filter = { .prefix = name, .limit = NAMES_SHOWN + 1 };
	struct names n = { .a = a };
	enum th_code code = s->kind->get(s, name, a, ret, err);

	if (code != TH_ENOENT)
		return code;
	if (name.len) {
		code = s->kind->list(s, &filter, take_name, &n, err);
		if (code != TH_OK)
			return code;
	}
	if (n.count > 1)
		return fail_many(&n, name, err);
	if (n.count == 1 && name.len >= PREFIX_MIN)
		return s->kind->get(s, th_str_of(n.list[0]), a, ret, err);
	return fail_none(s, &n, name, where, err);
}

enum th_code th_cli_session(const struct th_common *o, bool write, struct th_str name,
			    struct th_arena *a, struct th_store **ret_store,
			    struct th_session_row *ret, struct th_err *err)
{
	const char *where = o->remote ? "on this server" : "in this log";
	enum th_code code = th_cli_store(o, write, ret_store, err);

	return code == TH_OK ? find_session(*ret_store, name, where, a, ret, err) : code;
}

int th_cli_names_none(const struct th_command *self)
{
	return th_cli_die(2, "%s needs the name of one session; %s sessions lists them", self->name,
			  th_cli_program());
}
