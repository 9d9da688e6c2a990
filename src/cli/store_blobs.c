/* SPDX-License-Identifier: Apache-2.0 */
/* store_blobs.c - thole store blobs, thole store clean: where a store's large blobs are. */
#include "base/text.h"
#include "cli/store.h"

/* ---- telling ---- */

struct telling {
	struct th_buf *out;
	struct th_jw *w; /* NULL: for people */
};

static void say(struct th_buf *out, const struct th_store_place *p)
{
	th_buf_printf(out, "%s %.*s: ", p->current ? "*" : " ",
		      TH_FMT(p->url.len ? p->url : TH_STR("database")));
	th_cli_count(out, p->blobs, "blob");
	th_buf_add_cstr(out, ", ");
	th_cli_size(out, p->bytes);
	if (p->url.len && p->current)
		th_buf_printf(out, "; what is larger than %lld bytes goes there",
			      (long long)p->over);
	if (p->doomed > 0)
		th_buf_printf(out, "; %lld to be removed", (long long)p->doomed);
	if (!p->ours)
		th_buf_add_cstr(out,
				"; it belongs to the database that this one is a copy of: it is "
				"only read");
	if (p->failure.len)
		th_buf_printf(out, "\n    failed %lld s ago: %.*s", (long long)p->failed_s,
			      TH_FMT(p->failure));
	th_buf_add_char(out, '\n');
}

static enum th_code on_place(void *ctx, const struct th_store_place *p, struct th_err *err)
{
	struct telling *t = ctx;
	struct th_jw *w = t->w;

	(void)err;
	if (!w) {
		say(t->out, p);
		return TH_OK;
	}
	th_jw_object(w);
	th_jw_kstr(w, "place", p->url.len ? p->url : TH_STR("database"));
	th_jw_kbool(w, "current", p->current);
	th_jw_kbool(w, "ours", p->ours);
	if (p->url.len)
		th_jw_kint(w, "over", p->over);
	th_jw_kint(w, "blobs", p->blobs);
	th_jw_kint(w, "bytes", p->bytes);
	th_jw_kint(w, "doomed", p->doomed);
	if (p->failure.len) {
		th_jw_kstr(w, "failure", p->failure);
		th_jw_kint(w, "failed_s", p->failed_s);
	}
	th_jw_object_end(w);
	return TH_OK;
}

static int tell(struct th_store *store, bool json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);
	struct telling t = { &out, json ? &w : NULL };
	struct th_err err = { 0 };
	enum th_code code;

	if (json)
		th_jw_array(&w);
	code = store->kind->places(store, on_place, &t, &err);
	if (json) {
		th_jw_array_end(&w);
		th_buf_add_char(&out, '\n');
	}
	return code == TH_OK ? th_cli_print(&out, 0) : th_cli_fail(&err);
}

/* ---- the commands ---- */

static enum th_code fail_kind(const struct th_store *store, struct th_err *err)
{
	return th_fail(err, TH_EUSAGE,
		       "blobs of %s: are in the log itself; a place for them is for postgres:",
		       store->kind->scheme);
}

int th_store_command_blobs(const struct th_store_command *o, const char *place)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_str url = th_str_of(place);
	struct th_err err = { 0 };
	enum th_code code = th_cli_store(&o->common, place != NULL, &store, &err);

	if (code == TH_OK && !store->kind->places)
		code = fail_kind(store, &err);
	if (code == TH_OK && place)
		code = store->kind->place_set(store, th_str_is(url, "database") ? TH_STR("") : url,
					      o->over < 0 ? TH_BLOB_OVER : (uint64_t)o->over, &err);
	return code == TH_OK ? tell(store, o->json) : th_cli_fail(&err);
}

static int report(const struct th_clean_report *r, bool json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&out);

	if (json) {
		th_jw_object(&w);
		th_jw_kuint(&w, "seen", r->seen);
		th_jw_kuint(&w, "doomed", r->doomed);
		th_jw_kuint(&w, "spared", r->spared);
		th_jw_kuint(&w, "removed", r->removed);
		th_jw_object_end(&w);
	} else {
		th_cli_count(&out, (int64_t)r->seen, "object");
		th_buf_printf(&out,
			      " seen: %llu more that nobody names, %llu named after all, %llu "
			      "removed",
			      (unsigned long long)r->doomed, (unsigned long long)r->spared,
			      (unsigned long long)r->removed);
	}
	th_buf_add_char(&out, '\n');
	return th_cli_print(&out, 0);
}

int th_store_command_clean(const struct th_store_command *o)
{
	struct th_store *store TH_CLEANUP(th_cli_storep) = NULL;
	struct th_clean_report r = { 0 };
	struct th_err err = { 0 };
	enum th_code code = th_cli_store(&o->common, true, &store, &err);
	bool more = true;

	while (code == TH_OK && more)
		code = store->kind->sweep(store, &more, &err);
	if (code == TH_OK && store->kind->clean)
		code = store->kind->clean(store, &r, &err);
	return code == TH_OK ? report(&r, o->json) : th_cli_fail(&err);
}
