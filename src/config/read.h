/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - files that people write (the configuration, models, agents): read, as JSON, and
 * with errors that name the file and the line.
 */
#ifndef TH_CONFIG_READ_H
#define TH_CONFIG_READ_H

#include "base/arena.h"
#include "base/field.h"
#include "base/json.h"
#include "base/limits.h"

/* "FILE:7: limits.turns must be …" from a table's "limits.turns: must be …", which err has; `code`
 * is what the table said.  TH_OK stays what it is. */
TH_NODISCARD enum th_code th_config_table_err(struct th_str yaml, struct th_str name,
					      enum th_code code, struct th_err *err);

/* The same of a member that is read elsewhere: its errors begin with its name ("serve:
 * users[0].name: is missing").  Any other error stays as it is, and so do all where `file` is
 * empty. */
TH_NODISCARD enum th_code th_config_part_err(struct th_str file, const char *member,
					     enum th_code code, struct th_err *err);

/* The text of the file `name` as JSON. */
TH_NODISCARD enum th_code th_config_read_yaml(struct th_str yaml, struct th_str name,
					      struct th_json_doc **ret, struct th_err *err);

/* A path as a person writes it: "~/x", or relative to the folder of the file `beside`. */
struct th_str th_config_path(struct th_arena *a, struct th_str path, struct th_str beside);

/* The file's text added to `out`, whose maximum is the file's; `what` it is, for errors. */
TH_NODISCARD enum th_code th_config_read_file(struct th_str path, const char *what,
					      struct th_buf *out, struct th_err *err);

#endif
