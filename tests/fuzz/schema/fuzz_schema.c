/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A schema, and after a NUL a value: any schema is made strict or refused with
 * a sentence, and what is strict stays as it is; any value is checked against
 * any schema, with a fault exactly when it does not fit.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "schema/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sentence(const struct th_err *err)
{
	if (!err->msg[0] || strchr(err->msg, '\n') ||
	    th_utf8_valid(th_str_of(err->msg)) != strlen(err->msg))
		abort();
}

static void make_strict(const struct th_json *schema, unsigned flags)
{
	struct th_json_doc *doc = NULL, *second = NULL;
	struct th_arena a;
	struct th_str once, twice;
	struct th_err err = {};

	th_arena_init(&a, 4 * TH_MIB);
	if (th_schema_strict(schema, flags, &a, &once, &err)) {
		check_sentence(&err);
	} else {
		if (th_json_parse(once, &doc, &err))
			abort();
		/* References that stay are read again from where they are now: not with them. */
		if (th_str_find(once, TH_STR("$ref")) < 0 &&
		    th_str_find(once, TH_STR("allOf")) < 0) {
			if (th_schema_strict(th_json_root(doc), flags, &a, &twice, &err) ||
			    th_json_parse(twice, &second, &err) ||
			    !th_json_equal(th_json_root(doc), th_json_root(second)))
				abort();
		}
	}
	th_json_free(doc);
	th_json_free(second);
	th_arena_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_str value = th_str_n(data, size), schema = th_str_split(&value, '\0');
	struct th_buf faults = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *s = NULL, *v = NULL;
	struct th_err err = {};

	if (!th_json_parse(schema, &s, &err)) {
		make_strict(th_json_root(s), 0);
		make_strict(th_json_root(s), TH_SCHEMA_CLOSED);
	}
	if (s && !th_json_parse(value, &v, &err)) {
		enum th_code code =
		    th_schema_check(th_json_root(s), th_json_root(v), &faults, &err);

		if (code)
			check_sentence(&err);
		if ((code == TH_EPROTO) != (faults.len > 0))
			abort();
	}
	th_json_free(s);
	th_json_free(v);
	th_buf_deinit(&faults);
	return 0;
}
