/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markdown.h - folders of Markdown files with front matter (YAML between two lines ---).
 */
#ifndef TH_CONFIG_MARKDOWN_H
#define TH_CONFIG_MARKDOWN_H

#include "base/arena.h"
#include "base/buf.h"

/* Takes the front matter off *text; absent: there is none. */
struct th_str th_markdown_front_matter(struct th_str *text);
/* A folder that a person has named, as the member `key`: where it is not there, that is said. */
TH_NODISCARD enum th_code th_markdown_open(const char *key, struct th_str folder,
					   struct th_arena *a, int *ret_dir, struct th_err *err);
/* The names in a folder, sorted, so that the order does not depend on the disk; hidden ones are
 * passed over.  TH_ELIMIT: the arena is full. */
TH_NODISCARD enum th_code th_markdown_list(int dir, struct th_arena *a, char **names, size_t max,
					   size_t *ret_count, struct th_err *err);
/* A file below `dir` that is there and can be read, up to what `out` takes; false: nothing is said
 * of others.  A link that leads out of `dir` is not followed. */
bool th_markdown_read(int dir, struct th_str path, struct th_buf *out);

#endif
