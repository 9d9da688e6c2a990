/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.h - a stored session in a form of forms/trajectory.h, with its pictures. */
#ifndef TH_ADMIN_TRAJECTORY_H
#define TH_ADMIN_TRAJECTORY_H

#include "forms/trajectory.h"
#include "store/store.h"

TH_NODISCARD enum th_code
th_trajectory_export(struct th_store *store, const struct th_session_row *row,
		     const struct th_trajectory_form *form,
		     enum th_code (*put)(void *ctx, struct th_str text, struct th_err *err),
		     void *ctx, struct th_err *err);
/* A picture of the store as base64: what th_trajectory_out.picture has to give. */
TH_NODISCARD enum th_code th_trajectory_picture(struct th_store *store,
						const struct th_digest *hash, struct th_buf *out,
						struct th_err *err);

#endif
