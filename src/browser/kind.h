/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - all that others see of these kinds: a Chromium, without a window and in one. */
#ifndef TH_BROWSER_KIND_H
#define TH_BROWSER_KIND_H

#include "computer/computer.h"

extern const struct th_computer_kind th_computer_browser;
extern const struct th_computer_kind th_computer_browser_window;

#endif
