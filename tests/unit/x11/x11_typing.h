/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x11_typing.h - an X server with a window manager, as a desktop has it, and
 * what is done with a program that has a text field: it is waited for, typed
 * into, and read back through the clipboard.  Waiting is for windows and titles.
 */
#ifndef TH_TESTS_X11_TYPING_H
#define TH_TESTS_X11_TYPING_H

#include "x11_rig.h"

extern struct rig rig;            /* from typing_setup to typing_teardown */
extern char typing_folder[];      /* of this program alone, removed at its end */
extern const char typing_words[]; /* of all kinds of letters */
extern char typing_title[256];    /* of the window that was active when it was last asked */

/* Of a group of tests. */
int typing_setup(void **state);
int typing_teardown(void **state);

/* The active window's class or title begins with the text, in any case, and keys go to it. */
bool is_active(const char *text);
/* Until it is so; fails when that takes too long. */
void wait_active(const char *text);
/* More different characters than the keyboard has room for at a time, in two orders; the caller's.
 */
char *many_characters(void);
/* What every program must do with its text field, which has the focus. */
void check_field(void);

#endif
