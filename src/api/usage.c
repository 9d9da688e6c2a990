/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - what all sessions of the store used. */
#include "admin/usage.h"

#include <stdlib.h>

#include "api/work.h"

struct printing {
	const struct th_usage_ask *ask;
	struct th_jw w;
};

static enum th_code print_line(void *ctx, const struct th_usage_line *line, struct th_err *err)
{
	struct printing *p = ctx;

	th_jw_object(&p->w);
	th_usage_line_print(p->ask, line, &p->w);
	th_jw_object_end(&p->w);
	return th_buf_check(p->w.out, "the list of usage", err);
}

/* As it is asked for; read on any thread. */
struct usage {
	struct th_api_work work;
	struct th_usage_ask ask; /* borrows of `memory` */
	struct th_arena memory;
};

static int usage_read(const char *const *options, struct usage *u, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = TH_OK;

	th_arena_init(&u->memory, TH_MIB);
	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err);
		if (!code)
			code = th_api_text(options[1], *options, 1, TH_PATH_LEN_MAX, err);
		if (!code)
			code = th_api_out(
			    th_usage_option(*options,
					    th_arena_str(&u->memory, th_str_of(options[1])),
					    &u->ask, &e),
			    &e, err);
	}
	return code;
}

static enum th_code usage_print(const struct usage *u, struct th_store *store, struct th_buf *out,
				struct th_err *err)
{
	struct th_buf next TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct printing p = { .ask = &u->ask, .w = th_jw(out) };
	enum th_code code;

	th_jw_object(&p.w);
	th_jw_kstr(&p.w, "by", th_str_of(th_usage_by_name(&u->ask)));
	th_jw_key(&p.w, TH_STR("usage"));
	th_jw_array(&p.w);
	code = th_usage_report(store, &u->ask, print_line, &p, &next, err);
	th_jw_array_end(&p.w);
	if (next.len)
		th_jw_kstr(&p.w, "next", th_buf_str(&next));
	th_jw_object_end(&p.w);
	return code ? code : th_buf_check(out, "the list of usage", err);
}

int thole_runtime_usage(struct thole_runtime *rt, const char *const *options, char **ret,
			struct thole_error *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct usage u = { 0 };
	struct th_err e = { 0 };
	enum th_code bad = TH_OK;
	int code = th_api_enter(rt, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the list: ret is NULL");
	if (code)
		return code;
	code = usage_read(options, &u, err);
	if (!code)
		bad = usage_print(&u, th_runtime_store(rt->rt), &text, &e);
	th_arena_deinit(&u.memory);
	if (!code && !bad)
		*ret = th_api_copy(th_buf_str(&text));
	return code ? code : th_api_out(bad, &e, err);
}

static enum th_code usage_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			      struct th_err *err)
{
	return usage_print(TH_CONTAINER_OF(w, struct usage, work), reads, out, err);
}

static void usage_free(struct th_api_work *w)
{
	struct usage *u = TH_CONTAINER_OF(w, struct usage, work);

	th_arena_deinit(&u->memory);
	free(u);
}

int thole_runtime_usage_start(struct thole_runtime *rt, const char *const *options,
			      thole_line_fn *fn, thole_done_fn *done, void *ctx,
			      struct thole_reading **ret, struct thole_error *err)
{
	struct usage *u;
	int code = th_api_enter(rt, err);

	if (!code && (!fn || !done))
		code = th_api_fail(err, TH_EUSAGE, "a function is NULL");
	if (code)
		return code;
	u = th_alloc(sizeof(*u));
	u->work = (struct th_api_work){ .run = usage_run, .free = usage_free };
	code = usage_read(options, u, err);
	if (code) {
		usage_free(&u->work);
		return code;
	}
	return th_api_work_start(rt, th_runtime_reader(rt->rt), &u->work, fn, done, ctx, ret, err);
}
