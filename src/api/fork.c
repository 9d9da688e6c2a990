/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork.c - sessions forked beside the loop: the log that is shared is read there, and the fork is
 * written from there.
 */
#include <stdlib.h>

#include "admin/edit.h"
#include "api/work.h"
#include "io/clock.h"

struct forking {
	struct th_api_work work;
	struct thole_runtime *rt;
	struct th_store *store; /* the loop's: what forks is written with it */
	uint64_t seq;
	char id[TH_SESSION_ID_MAX + 1], new_id[TH_SESSION_ID_MAX + 1], user[TH_USER_MAX + 1];
};

static enum th_code print(const struct forking *f, struct th_store *reads, struct th_buf *out,
			  struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_jw w = th_jw(out);
	struct th_session_row row;
	enum th_code code;

	th_arena_init(&a, TH_MIB);
	code = reads->kind->get(reads, th_str_of(f->new_id), &a, &row, err);
	if (!code)
		th_api_row_print(&row, &w);
	return code;
}

static enum th_code run(struct th_api_work *w, struct th_store *reads, struct th_buf *out,
			struct th_err *err)
{
	const struct forking *f = TH_CONTAINER_OF(w, struct forking, work);
	enum th_code code = th_api_check_user(reads, f->id, f->user[0] ? f->user : NULL, err);

	if (!code)
		code = th_edit_fork(reads, f->store, th_str_of(f->id), f->seq, th_str_of(f->new_id),
				    err);
	return code ? code : print(f, reads, out, err);
}

static enum th_code then(struct th_api_work *w, bool *ret_again, struct th_err *err)
{
	(void)ret_again;
	(void)err;
	th_api_schedule_came(TH_CONTAINER_OF(w, struct forking, work)->rt);
	return TH_OK;
}

static void forking_free(struct th_api_work *w)
{
	free(TH_CONTAINER_OF(w, struct forking, work));
}

int thole_runtime_fork_start(struct thole_runtime *rt, const char *session_id, uint64_t seq,
			     const char *user, const char *new_id, thole_line_fn *fn,
			     thole_done_fn *done, void *ctx, struct thole_reading **ret,
			     struct thole_error *err)
{
	struct forking *f;
	int code = th_api_enter_reading(rt, session_id, fn, err);

	if (!code && user)
		code = th_api_text(user, "the user", 1, TH_USER_MAX, err);
	if (!code && new_id)
		code = th_api_text(new_id, "the new session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && !done)
		code = th_api_fail(err, TH_EUSAGE, "done is NULL");
	if (!code && new_id)
		code = th_api_check_removed(rt, new_id, err);
	if (code)
		return code;
	f = th_alloc(sizeof(*f));
	*f = (struct forking){
		.work = { .run = run, .then = then, .free = forking_free, .changes = true },
		.rt = rt,
		.store = th_runtime_store(rt->rt),
		.seq = seq
	};
	memcpy(f->id, session_id, strlen(session_id));
	memcpy(f->user, user ?: "", user ? strlen(user) : 0);
	if (new_id) {
		memcpy(f->new_id, new_id, strlen(new_id));
	} else {
		struct th_uuid made = th_uuid_now();

		th_uuid_text(&made, f->new_id);
	}
	return th_api_work_start(rt, th_runtime_long_reader(rt->rt), &f->work, fn, done, ctx, ret,
				 err);
}
