/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - all that others see of this kind: an X display that is already there. */
#ifndef TH_X11_KIND_H
#define TH_X11_KIND_H

#include "computer/computer.h"

extern const struct th_computer_kind th_computer_x11;

#endif
