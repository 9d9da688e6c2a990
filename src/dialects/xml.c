/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/xml.h"

#define FUNCTION "<function="
#define PARAMETER "<parameter="
#define PARAMETER_END "</parameter>"

static bool at(struct th_str s, const char *what)
{
	return th_str_starts(s, th_str_of(what));
}

static struct th_str after(struct th_str s, size_t count)
{
	return th_str_sub(s, count, s.len);
}

bool th_xml_begins(struct th_str text)
{
	return at(th_str_trim(text), FUNCTION);
}

/* What may follow a value's end. */
static bool goes_on(struct th_str s)
{
	s = th_str_trim(s);
	return !s.len || at(s, PARAMETER) || at(s, "</function") || at(s, "</tool_call") ||
	       at(s, "</seed:");
}

/* Where a value ends and how long its end tag is: the first that something sensible follows, else
 * the first, else where the next tag begins. */
static bool value_end(struct th_str s, size_t *ret_len, size_t *ret_tag)
{
	const size_t tag = sizeof(PARAMETER_END) - 1;
	ptrdiff_t first = th_str_find(s, TH_STR(PARAMETER_END)), other;
	size_t from = 0;

	*ret_tag = tag;
	for (ptrdiff_t next = first; next >= 0;
	     next = th_str_find(after(s, from), TH_STR(PARAMETER_END))) {
		*ret_len = from + (size_t)next;
		if (goes_on(after(s, *ret_len + tag)))
			return true;
		from = *ret_len + tag;
	}
	*ret_len = (size_t)first;
	if (first >= 0)
		return true;
	*ret_tag = 0;
	first = th_str_find(s, TH_STR("</function>"));
	other = th_str_find(s, TH_STR(PARAMETER));
	if (other >= 0 && (first < 0 || other < first))
		first = other;
	*ret_len = (size_t)first;
	return first >= 0;
}

static enum th_code read_parameter(struct th_str *s, struct th_xml_call *ret, struct th_err *err)
{
	ptrdiff_t close = th_str_find_char(*s, '>');
	size_t len, tag, start = sizeof(PARAMETER) - 1;

	if (ret->count == TH_XML_PARAMETERS_MAX)
		return th_fail(err, TH_EPROTO, "a call has more than %d parameters",
			       TH_XML_PARAMETERS_MAX);
	if (close < 0)
		return th_fail(err, TH_EPROTO, "a parameter does not end");
	ret->keys[ret->count] = th_str_trim(th_str_sub(*s, start, (size_t)close - start));
	*s = after(*s, (size_t)close + 1);
	if (!value_end(*s, &len, &tag))
		return th_fail(err, TH_EPROTO, "the parameter %.*s does not end",
			       TH_FMT(th_str_sub(ret->keys[ret->count], 0, 40)));
	ret->values[ret->count++] = th_str_sub(*s, 0, len);
	*s = after(*s, len + tag);
	return TH_OK;
}

enum th_code th_xml_read(struct th_str *text, struct th_xml_call *ret, struct th_err *err)
{
	struct th_str s = th_str_trim(*text);
	const size_t start = sizeof(FUNCTION) - 1;
	ptrdiff_t close = th_str_find_char(s, '>');

	ret->count = 0;
	if (!at(s, FUNCTION) || close < 0)
		return th_fail(err, TH_EPROTO, "there is no <function=…>");
	ret->name = th_str_trim(th_str_sub(s, start, (size_t)close - start));
	s = after(s, (size_t)close + 1);
	for (s = th_str_trim(s); at(s, PARAMETER); s = th_str_trim(s)) {
		enum th_code code = read_parameter(&s, ret, err);

		if (code)
			return code;
	}
	if (at(s, "</function>"))
		s = after(s, strlen("</function>"));
	else if (!at(s, "</tool_call>") && !at(s, "</seed:tool_call>"))
		return th_fail(err, TH_EPROTO, "the call of %.*s does not end",
			       TH_FMT(th_str_sub(ret->name, 0, 40)));
	*text = s;
	return TH_OK;
}

bool th_xml_sayable(struct th_str value)
{
	return th_str_find(value, TH_STR("</")) < 0 && th_str_find(value, TH_STR("<para")) < 0 &&
	       th_str_find(value, TH_STR("<func")) < 0;
}
