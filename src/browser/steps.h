/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - the steps on the structure of pages, one function each: step_look.c has those that
 * only read, step_act.c those on elements, step_go.c those that navigate or wait.
 *
 * An action goes to the page as input from a device where there is one for it;
 * what has none (choosing in a list, a date) is set by a function in the page.
 */
#ifndef TH_BROWSER_STEPS_H
#define TH_BROWSER_STEPS_H

#include "browser/browser.h"

typedef enum th_code th_browser_step_fn(struct th_browser *b, const struct th_browse_step *s,
					struct th_buf *out, struct th_err *err);

/* step_look.c */
th_browser_step_fn th_browser_step_snapshot, th_browser_step_read, th_browser_step_tabs,
    th_browser_step_console, th_browser_step_screenshot, th_browser_step_evaluate;
/* Prints the newest snapshot, which the model has seen then. */
void th_browser_tell_snapshot(struct th_browser *b, struct th_buf *out);

/* step_act.c */
th_browser_step_fn th_browser_step_click, th_browser_step_hover, th_browser_step_drag,
    th_browser_step_type, th_browser_step_key, th_browser_step_scroll, th_browser_step_select,
    th_browser_step_upload;

/* step_go.c */
th_browser_step_fn th_browser_step_open, th_browser_step_search, th_browser_step_go,
    th_browser_step_dialog, th_browser_step_tab, th_browser_step_wait;

#endif
