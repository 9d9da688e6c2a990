/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xml.h - calls as <function=NAME><parameter=KEY>VALUE</parameter>…
 * </function>: UI-TARS 2 and Qwen 3.5.  Values are text without escapes.
 */
#ifndef TH_DIALECTS_XML_H
#define TH_DIALECTS_XML_H

#include "dialects/say.h"

#define TH_XML_PARAMETERS_MAX 32

struct th_xml_call {
	struct th_str name;
	struct th_str keys[TH_XML_PARAMETERS_MAX], values[TH_XML_PARAMETERS_MAX];
	size_t count;
};

/* *text begins with "<function=", perhaps after blanks. */
bool th_xml_begins(struct th_str text);
/* Takes one call off *text.  TH_EPROTO: it does not end. */
TH_NODISCARD enum th_code th_xml_read(struct th_str *text, struct th_xml_call *ret,
				      struct th_err *err);
/* Whether a value can be written so that it is read back. */
bool th_xml_sayable(struct th_str value);

#endif
