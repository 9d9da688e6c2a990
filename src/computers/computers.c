/* SPDX-License-Identifier: Apache-2.0 */
#include "computers/computers.h"

#include "base/limits.h"
#include "browser/kind.h"
#include "desktop/kind.h"
#include "x11/kind.h"

const struct th_computer_kind *const th_computer_kinds[] = {
#define X(name, help) &th_computer_##name,
	TH_COMPUTERS(X)
#undef X
	    NULL,
};

static_assert(TH_COUNT(th_computer_kinds) <= TH_COMPUTER_KINDS_MAX + 1,
	      "a name for each, in lists");

const struct th_computer_kind *th_computer_find(struct th_str name)
{
	for (size_t i = 0; th_computer_kinds[i]; i++)
		if (th_str_is(name, th_computer_kinds[i]->name))
			return th_computer_kinds[i];
	return NULL;
}

void th_computer_names(unsigned shared, const char *last, struct th_buf *out)
{
	const char *names[TH_COMPUTER_KINDS_MAX];
	size_t count = 0;

	for (size_t i = 0; th_computer_kinds[i]; i++)
		if ((th_computer_kinds[i]->shared & shared) == shared)
			names[count++] = th_computer_kinds[i]->name;
	for (size_t i = 0; i < count; i++)
		th_buf_printf(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : last, names[i]);
}

enum th_code th_computer_open(const struct th_computer_options *options, struct th_computer **ret,
			      struct th_err *err)
{
	const struct th_computer_kind *kind = th_computer_find(options->kind);

	if (!kind) {
		TH_CLEANUP(th_buf_deinit) struct th_buf known = TH_BUF_INIT(TH_ERR_MSG_MAX);
		th_computer_names(0, ", ", &known);
		return th_fail(err, TH_EUSAGE,
			       "there is no kind of computer called \"%.*s\"; known: %s",
			       TH_FMT(th_str_sub(options->kind, 0, 64)), known.ptr);
	}
	enum th_code code = kind->open(options, ret, err);
	return code ? th_prefix(err, code, "open the computer %s", kind->name) : TH_OK;
}
