/* SPDX-License-Identifier: Apache-2.0 */
/* computers.h - which kinds of computers there are: one kind = one row; a computer by its name. */
#ifndef TH_COMPUTERS_COMPUTERS_H
#define TH_COMPUTERS_COMPUTERS_H

#include "computer/computer.h"

/* name, what help says of it.  The first is the default; its struct is
 * th_computer_NAME of NAME/kind.h. */
#define TH_COMPUTERS(X)                              \
	X(desktop, "private, default 1280x800")      \
	X(x11, "the one of DISPLAY")                 \
	X(browser, "pages of a Chromium of its own") \
	X(browser_window, "the same in a window on a private desktop")

/* For help, "desktop (private …), x11 (…), "; for completion, "desktop x11 ". */
#define TH_COMPUTER_HELP_ROW(name, help) #name " (" help "), "
#define TH_COMPUTER_HELP TH_COMPUTERS(TH_COMPUTER_HELP_ROW)
#define TH_COMPUTER_WORDS_ROW(name, help) #name " "
#define TH_COMPUTER_WORDS TH_COMPUTERS(TH_COMPUTER_WORDS_ROW)

extern const struct th_computer_kind *const th_computer_kinds[]; /* NULL-terminated */
const struct th_computer_kind *th_computer_find(struct th_str name);
/* The names, as "desktop or x11": of those with this shared option; 0: of all. */
void th_computer_names(unsigned shared, const char *last, struct th_buf *out);

/* Opens by options->kind; an unknown name is TH_EUSAGE and lists the known ones. */
TH_NODISCARD enum th_code th_computer_open(const struct th_computer_options *options,
					   struct th_computer **ret, struct th_err *err);

#endif
