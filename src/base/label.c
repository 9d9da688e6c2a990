/* SPDX-License-Identifier: Apache-2.0 */
#include "base/label.h"

_Static_assert(TH_LABELS_MAX == 8 && TH_LABEL_MAX == 24, "th_labels_fault says so");

static bool is_label(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!((s.ptr[i] >= 'a' && s.ptr[i] <= 'z') ||
		      (s.ptr[i] >= '0' && s.ptr[i] <= '9') || s.ptr[i] == '-' || s.ptr[i] == '_' ||
		      s.ptr[i] == '.'))
			return false;
	return s.len > 0 && s.len <= TH_LABEL_MAX;
}

const char *th_labels_fault(const struct th_strs *list, size_t *ret_at)
{
	for (size_t i = 0; i < list->count; i++) {
		*ret_at = i;
		if (i == TH_LABELS_MAX)
			return "is one too many: there may be 8";
		if (!is_label(list->list[i]))
			return "must be 1 to 24 of a-z, 0-9, \"-\", \"_\" and \".\"";
		for (size_t j = 0; j < i; j++)
			if (th_str_eq(list->list[i], list->list[j]))
				return "stands there twice";
	}
	return NULL;
}

struct th_str th_label_next(struct th_str *text)
{
	struct th_str s = { 0 };

	while (text->len && !s.len) {
		s = th_str_split(text, ' ');
		if (s.len && s.ptr[s.len - 1] == ',')
			s.len--;
	}
	return s;
}

bool th_labels_has(struct th_str text, struct th_str label)
{
	struct th_str one;

	while ((one = th_label_next(&text)).len)
		if (th_str_eq(one, label))
			return true;
	return false;
}

bool th_labels_have(struct th_str text, struct th_str needs)
{
	struct th_str one;

	while ((one = th_label_next(&needs)).len)
		if (!th_labels_has(text, one))
			return false;
	return true;
}

void th_labels_add(struct th_buf *text, struct th_str label, const char *between)
{
	if (th_labels_has(th_buf_str(text), label))
		return;
	th_buf_add_cstr(text, text->len ? between : "");
	th_buf_add(text, label);
}
