/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/trajectory.h"

#include "base/limits.h"

struct leaving {
	struct th_store *store;
	struct th_trajectory trajectory;
	enum th_code (*put)(void *ctx, struct th_str text, struct th_err *err);
	void *ctx;
};

static enum th_code on_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err)
{
	struct leaving *x = ctx;

	(void)digest;
	return th_trajectory_add(&x->trajectory, ev, err);
}

static enum th_code put(void *ctx, struct th_str text, struct th_err *err)
{
	struct leaving *x = ctx;

	return x->put(x->ctx, text, err);
}

enum th_code th_trajectory_picture(struct th_store *store, const struct th_digest *hash,
				   struct th_buf *out, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	enum th_code code = store->kind->blob(store, hash, &bytes, err);

	if (!code)
		th_base64_encode(out, bytes.ptr, bytes.len);
	return code;
}

static enum th_code picture(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	const struct leaving *x = ctx;

	return th_trajectory_picture(x->store, hash, out, err);
}

enum th_code th_trajectory_export(struct th_store *store, const struct th_session_row *row,
				  const struct th_trajectory_form *form,
				  enum th_code (*to)(void *ctx, struct th_str text,
						     struct th_err *err),
				  void *ctx, struct th_err *err)
{
	struct leaving x = { .store = store, .put = to, .ctx = ctx };
	const struct th_trajectory_out out = { &x, put, picture };
	enum th_code code;

	th_trajectory_init(&x.trajectory, row->session_id);
	code = store->kind->read(store, row->session_id, 1, row->head_seq, on_event, &x, err)
		   ?: form->write(&x.trajectory, &out, err);
	th_trajectory_deinit(&x.trajectory);
	return code;
}
