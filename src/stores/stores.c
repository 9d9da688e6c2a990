/* SPDX-License-Identifier: Apache-2.0 */
#include "stores/stores.h"

#include "base/text.h"
#include "postgres/kind.h"
#include "sqlite/kind.h"
#include "store/common.h"
#include "store/memory.h"

const struct th_store_kind *const th_store_kinds[] = { &th_store_sqlite, &th_store_postgres,
						       &th_store_memory, NULL };

/* NULL: none has this scheme. */
static const struct th_store_kind *kind_find(struct th_str scheme)
{
	for (size_t i = 0; th_store_kinds[i]; i++) {
		const struct th_store_kind *kind = th_store_kinds[i];

		if (th_str_is(scheme, kind->scheme) ||
		    (kind->also && th_str_is(scheme, kind->also)))
			return kind;
	}
	return NULL;
}

static enum th_code fail_unknown(struct th_str url, struct th_err *err)
{
	struct th_buf known TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	for (size_t i = 0; th_store_kinds[i]; i++)
		th_buf_printf(&known, "%s%s:", i ? ", " : "", th_store_kinds[i]->scheme);
	/* No more than its beginning: there may be a password in it. */
	return th_fail(err, TH_EUSAGE, "store \"%s\": not one of the known kinds: %s",
		       th_session_shown(th_str_split(&url, ':')).text, known.ptr);
}

enum th_code th_store_open(struct th_str url, const struct th_store_options *options,
			   struct th_store **ret, struct th_err *err)
{
	struct th_str rest = url;
	const struct th_store_kind *kind = kind_find(th_str_split(&rest, ':'));

	if (th_str_find_char(url, ':') < 0 || !kind)
		return fail_unknown(url, err);
	return kind->open(rest, options, ret, err);
}

enum th_code th_store_scope(struct th_str url, struct th_buf *out, struct th_err *err)
{
	struct th_str rest = url;
	const struct th_store_kind *kind = kind_find(th_str_split(&rest, ':'));
	enum th_code code = TH_OK;

	if (!kind || !kind->scope) {
		th_buf_add(out, url);
	} else {
		th_buf_printf(out, "%s:", kind->scheme);
		code = kind->scope(rest, out, err);
	}
	return code ? code : th_buf_check(out, "the name of the store", err);
}

void th_store_show(struct th_str url, struct th_buf *out)
{
	struct th_str rest = url;
	const struct th_store_kind *kind = kind_find(th_str_split(&rest, ':'));

	if (kind && kind->show)
		kind->show(url, out);
	else
		th_buf_add(out, url);
}

bool th_store_has_secret(struct th_str url)
{
	struct th_str rest = url;
	const struct th_store_kind *kind = kind_find(th_str_split(&rest, ':'));

	return kind && kind->secret && kind->secret(url);
}
