/* SPDX-License-Identifier: Apache-2.0 */
/* kind.h - all that others see of this kind: a private X display with its programs. */
#ifndef TH_DESKTOP_KIND_H
#define TH_DESKTOP_KIND_H

#include "computer/computer.h"

extern const struct th_computer_kind th_computer_desktop;

#endif
