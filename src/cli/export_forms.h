/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_forms.h - the forms that a session is written in for others: one row each.
 *
 * A form writes one file to a descriptor, or makes a new folder.
 */
#ifndef TH_CLI_EXPORT_FORMS_H
#define TH_CLI_EXPORT_FORMS_H

#include "store/store.h"

#define TH_EXPORT_FORM_WORDS "lines html atif openai anthropic sharegpt openhands openhands-v0"

struct th_export_form {
	const char *name;
	enum th_code (*write)(struct th_store *store, const struct th_session_row *row, int fd,
			      struct th_err *err);
	enum th_code (*folder)(struct th_store *store, const struct th_session_row *row,
			       const char *path, struct th_err *err);
};

/* NULL: there is none of that name. */
const struct th_export_form *th_export_form(struct th_str name);

#endif
