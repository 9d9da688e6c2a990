/* SPDX-License-Identifier: Apache-2.0 */
/* own.c - the options of one kind alone: apart from the list of kinds, which knows them all. */
#include "computers/computer.h"

enum th_code th_computer_own(const struct th_computer_kind *kind, struct th_str own,
			     struct th_arena *a, struct th_json_doc **ret_doc, void *ret,
			     struct th_err *err)
{
	*ret_doc = NULL;
	if (!kind->own)
		return own.len
			   ? th_fail(err, TH_EUSAGE,
				     "a computer of kind %s has no options of its own", kind->name)
			   : TH_OK;
	void *to = ret ?: th_arena_alloc(a, kind->own->size);
	if (!to)
		return th_fail(err, TH_ELIMIT, "the computer's options are too long");
	enum th_code code = th_json_parse(own.len ? own : TH_STR("{}"), ret_doc, err);
	return code ? code : th_table_parse(kind->own, th_json_root(*ret_doc), a, to, err);
}
