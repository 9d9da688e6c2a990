/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - thole store: a log as a whole: raised to this version, checked, copied. */
#include "cli/store.h"

#include "admin/copy.h"
#include "stores/stores.h"

static const struct th_option store_options[] = {
	{ "over", 0, "BYTES", TH_OPTION_INT, offsetof(struct th_store_command, over),
	  "with blobs PLACE: larger ones go there; default: 65536", NULL },
	TH_OPTION_JSON(struct th_store_command, json),
	TH_OPTIONS_COMMON(struct th_store_command, common),
	TH_OPTIONS_END,
};

static int check(const struct th_store_command *o)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_err err = { 0 };

	if (th_cli_store(&o->common, false, &store, &err) != TH_OK)
		return th_cli_fail(&err);
	return th_cli_verify(store, TH_STR(""), o->json);
}

static int migrated(void)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_add_cstr(&out, "the log has the tables of this version\n");
	return th_cli_print(&out, 0);
}

/* Whatever is raised when somebody writes is raised now. */
static int migrate(const struct th_store_command *o)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_batch nothing = { 0 };
	struct th_err err = { 0 };
	enum th_code code = th_cli_store_make(&o->common, &store, &err);

	if (code == TH_OK)
		code = store->kind->commit_now(store, &nothing, &err);
	if (code != TH_OK)
		return th_cli_fail(&err);
	return o->json ? 0 : migrated();
}

static enum th_code copy_open(const char *url, bool write, struct th_store **ret,
			      struct th_err *err)
{
	struct th_store_options options = { .read_only = !write, .create = write };
	struct th_str s = th_str_of(url);

	if (th_store_has_secret(s))
		return th_fail(err, TH_EUSAGE,
			       "everybody on this machine can read a password on the command line; "
			       "~/.pgpass may have it");
	return th_store_open(s, &options, ret, err);
}

static int copy_print(const struct th_copy_report *r, bool json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&out);

	if (json) {
		th_jw_object(&w);
		th_jw_kuint(&w, "sessions", r->sessions);
		th_jw_kuint(&w, "events", r->events);
		th_jw_kuint(&w, "blobs", r->blobs);
		th_jw_kuint(&w, "there", r->there);
		th_jw_object_end(&w);
	} else {
		th_buf_add_cstr(&out, "copied: ");
		th_cli_count(&out, (int64_t)r->sessions, "session");
		th_buf_add_cstr(&out, ", ");
		th_cli_count(&out, (int64_t)r->events, "event");
		th_buf_add_cstr(&out, ", ");
		th_cli_count(&out, (int64_t)r->blobs, "blob");
		th_buf_printf(&out, "; %llu there already", (unsigned long long)r->there);
	}
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

static int copy(const struct th_store_command *o, const char *from_url, const char *to_url)
{
	struct th_store *from TH_CLEANUP(th_cli_storep) = NULL;
	struct th_store *to TH_CLEANUP(th_cli_storep) = NULL;
	struct th_copy_report r;
	struct th_err err = { 0 };
	enum th_code code = copy_open(from_url, false, &from, &err);

	if (code == TH_OK)
		code = copy_open(to_url, true, &to, &err);
	if (code == TH_OK)
		code = th_store_copy(from, to, &r, &err);
	return code == TH_OK ? copy_print(&r, o->json) : th_cli_fail(&err);
}

static int run_store(const struct th_command *self, int argc, char **argv)
{
	struct th_store_command o = { .over = -1 };
	struct th_operands rest;
	struct th_err err = { 0 };
	enum th_code code = th_options_parse(self, argc, argv, &o, &rest, &err);
	struct th_str what;

	if (code != TH_OK)
		return code == TH_ECANCELED ? 0 : th_cli_fail(&err);
	what = th_str_of(rest.count > 0 ? rest.list[0] : "");
	if (o.over >= 0 && (!th_str_is(what, "blobs") || rest.count != 2))
		return th_cli_die(2, "--over goes with blobs PLACE");
	if (th_str_is(what, "copy") && rest.count == 3)
		return copy(&o, rest.list[1], rest.list[2]);
	if (th_str_is(what, "check") && rest.count == 1)
		return check(&o);
	if (th_str_is(what, "migrate") && rest.count == 1)
		return migrate(&o);
	if (th_str_is(what, "blobs") && rest.count <= 2)
		return th_store_command_blobs(&o, rest.count == 2 ? rest.list[1] : NULL);
	if (th_str_is(what, "clean") && rest.count == 1)
		return th_store_command_clean(&o);
	return th_cli_die(2, "store takes check, migrate, copy FROM TO, blobs [PLACE], or clean");
}

const struct th_command th_command_store = {
	.name = "store",
	.operands = "check|migrate|copy FROM TO|blobs [PLACE]|clean",
	.summary = "check a log, raise it to this version, copy it, place its blobs",
	.text = "check reads every stored byte and compares it with its digest. migrate brings the "
		"tables of an older\n"
		"version to this one, or makes them; it never goes back. copy writes the sessions "
		"of one log into another, of\n"
		"any kind, and computes every digest again; what is there already is left, so an "
		"interrupted copy is begun\n"
		"again. What sessions used (thole usage) is not copied.\n"
		"blobs says where a PostgreSQL store's pictures are, and chooses a place for "
		"the large ones that come from now\n"
		"on: folder:PATH, s3:https://HOST/BUCKET/PREFIX?region=REGION, or database. clean "
		"removes now what is left\n"
		"of deleted sessions, as servers do by themselves: docs/FLEET.md.\n\n"
		"Examples:\n"
		"  thole store check --store postgres://thole@db/thole\n"
		"  thole store copy sqlite:/srv/thole/log.db postgres://thole@db/thole\n"
		"  thole store blobs folder:/srv/blobs --over 65536\n",
	.options = store_options,
	.words = "check migrate copy blobs clean",
	.run = run_store,
};
