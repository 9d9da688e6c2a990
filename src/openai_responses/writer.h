/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - what the parts of the Responses encoder share: a group
 * under way, and the content lists that messages and results have in common.
 */
#ifndef TH_OPENAI_RESPONSES_WRITER_H
#define TH_OPENAI_RESPONSES_WRITER_H

#include "models/model.h"

/* A string member, still escaped, without its quotes; absent when it is none. */
struct th_str th_writer_raw_str(struct th_str object, const char *key);
bool th_writer_is_image(struct th_str part); /* of our form */
/* A hole for the picture of a part that begins at `from` of the output; the caller closes it with
 * th_writer_hole_end when the part is written, and writes then what stands in its place. */
TH_NODISCARD enum th_code th_writer_image_url(struct th_group_writer *x, struct th_str part,
					      size_t from, struct th_hole **ret);
/* One part of our own form, or one of the API's, which is left as it is. */
TH_NODISCARD enum th_code th_writer_part(struct th_group_writer *x, struct th_str part,
					 bool assistant);
/* A string, or a list of parts. */
TH_NODISCARD enum th_code th_writer_content(struct th_group_writer *x, struct th_str content,
					    bool assistant);

/* An item of an answer, sent back (back.c); a call's result (result.c). */
TH_NODISCARD enum th_code th_writer_item(struct th_group_writer *x, struct th_str items,
					 struct th_str item);
TH_NODISCARD enum th_code th_writer_result(struct th_group_writer *x, const struct th_result *r);
bool th_writer_is_empty_list(struct th_str raw);
/* A function or custom tool's call that means the API's own apply_patch, which is what is offered:
 * it goes back as that. */
bool th_writer_patch_called(struct th_group_writer *x, struct th_str item);

#endif
