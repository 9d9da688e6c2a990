/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - blocks of the Messages API as items in the unified form, and
 * items as blocks; see unify.c.
 */
#ifndef TH_ANTHROPIC_MESSAGES_VIEW_H
#define TH_ANTHROPIC_MESSAGES_VIEW_H

#include "base/json.h"

/* A block as an item: its members only, so that others can follow. */
void th_messages_put_view(struct th_jw *w, struct th_str block, struct th_str role);
/* An item as a block, or as several.  Nothing for reasoning that nobody has
 * signed: it would not be taken. */
void th_messages_put_blocks(struct th_jw *w, const struct th_json *item, struct th_str raw);
/* A part with a picture or a file by its URL (input_image, input_file) as a block.  False: it is
 * none, and nothing was written. */
bool th_messages_put_media(struct th_jw *w, struct th_str part);
/* Of the message that an item belongs to: "user", "assistant" … */
struct th_str th_messages_role_of(struct th_str item);

/* The inside of a string member, still escaped; absent when it is none. */
struct th_str th_messages_raw_str(struct th_str object, const char *key);
/* `names` ends with NULL. */
bool th_messages_is_among(struct th_str key, const char *const *names);
void th_messages_put_member(struct th_jw *w, struct th_str key, struct th_str val);
/* Members of `object` that are not among the names. */
void th_messages_put_rest(struct th_jw *w, struct th_str object, const char *const *names);

#endif
