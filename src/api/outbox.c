/* SPDX-License-Identifier: Apache-2.0 */
/* outbox.c - what this runtime has promised, for those that live when it is dead. */
#include <stdlib.h>

#include "api/work.h"

struct outbox {
	struct th_api_work work;
	struct th_store *store; /* the loop's */
	bool merged;
	size_t count;
	struct th_outbox_line *lines; /* with their bytes */
};

static void outbox_free(struct th_api_work *w)
{
	struct outbox *o = TH_CONTAINER_OF(w, struct outbox, work);

	free(o->lines);
	free(o);
}

static int check(struct thole_runtime *rt, thole_done_fn *done, struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code && !done)
		code = th_api_fail(err, TH_EUSAGE, "done is NULL");
	return code;
}

static int check_store(struct thole_runtime *rt, struct thole_error *err)
{
	if (th_runtime_store(rt->rt)->kind->outbox_put)
		return TH_OK;
	return th_api_fail(err, TH_EUNSUPPORTED,
			   "the store is of this machine alone: nobody else takes what this "
			   "runtime leaves");
}

/* ---- putting ---- */

static enum th_code put_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			    struct th_err *err)
{
	struct outbox *o = TH_CONTAINER_OF(w, struct outbox, work);

	(void)reads, (void)out;
	return o->store->kind->outbox_put(o->store, o->lines, o->count, o->merged, err);
}

/* Names and texts, copied behind the list. */
static int lines_read(const char *const *from, struct outbox *o, struct thole_error *err)
{
	size_t bytes = 0, count = 0;
	int code = TH_OK;
	char *at;

	for (; !code && from && from[2 * count]; count++) {
		code =
		    th_api_text(from[2 * count], "the name of a line", 1, TH_OUTBOX_NAME_MAX, err);
		if (!code)
			code =
			    th_api_text(from[2 * count + 1], "a line", 0, TH_OUTBOX_LINE_MAX, err);
		if (!code)
			bytes += strlen(from[2 * count]) + strlen(from[2 * count + 1]) + 2;
	}
	if (!code && count > TH_OUTBOX_LINES_MAX)
		code = th_api_fail(err, TH_ELIMIT, "at most %d lines are put at a time",
				   TH_OUTBOX_LINES_MAX);
	if (code)
		return code;
	o->count = count;
	o->lines = th_alloc((count + 1) * sizeof(*o->lines) + bytes);
	at = (char *)(o->lines + count + 1);
	for (size_t i = 0; i < count; i++) {
		struct th_str *const parts[] = { &o->lines[i].name, &o->lines[i].text };

		for (size_t k = 0; k < TH_COUNT(parts); k++)
			*parts[k] = th_str_of(th_api_put(&at, th_str_of(from[2 * i + k])));
	}
	return TH_OK;
}

int thole_runtime_outbox_put_start(struct thole_runtime *rt, const char *const *lines, bool merged,
				   thole_done_fn *done, void *ctx, struct thole_reading **ret,
				   struct thole_error *err)
{
	struct outbox *o;
	int code = check(rt, done, err);

	if (code)
		return code;
	o = th_alloc(sizeof(*o));
	*o = (struct outbox){ .work = { .run = put_run, .free = outbox_free, .changes = true },
			      .store = th_runtime_store(rt->rt),
			      .merged = merged };
	code = lines_read(lines, o, err);
	if (!code)
		code = check_store(rt, err);
	if (code) {
		outbox_free(&o->work);
		return code;
	}
	return th_api_work_start(rt, th_runtime_writer(rt->rt), &o->work, NULL, done, ctx, ret,
				 err);
}

/* ---- taking ---- */

static enum th_code print_line(void *ctx, const struct th_outbox_line *line, bool taken,
			       struct th_err *err)
{
	struct th_jw *w = ctx;

	th_jw_object(w);
	th_jw_kstr(w, "name", line->name);
	th_jw_kstr(w, "text", line->text);
	th_jw_kbool(w, "taken", taken);
	th_jw_object_end(w);
	return th_buf_check(w->out, "what dead runtimes left", err);
}

static enum th_code take_run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			     struct th_err *err)
{
	struct outbox *o = TH_CONTAINER_OF(w, struct outbox, work);
	struct th_jw list = th_jw(out);
	enum th_code code;

	(void)reads;
	th_jw_array(&list);
	code = o->store->kind->outbox_take(o->store, print_line, &list, err);
	th_jw_array_end(&list);
	return code;
}

int thole_runtime_outbox_take_start(struct thole_runtime *rt, thole_line_fn *fn,
				    thole_done_fn *done, void *ctx, struct thole_reading **ret,
				    struct thole_error *err)
{
	struct outbox *o;
	int code = check(rt, done, err);

	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "fn is NULL");
	if (!code)
		code = check_store(rt, err);
	if (code)
		return code;
	o = th_alloc(sizeof(*o));
	*o = (struct outbox){ .work = { .run = take_run, .free = outbox_free },
			      .store = th_runtime_store(rt->rt) };
	return th_api_work_start(rt, th_runtime_writer(rt->rt), &o->work, fn, done, ctx, ret, err);
}
