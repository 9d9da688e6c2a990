/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - the accessibility bus of a display that is already there. */
#ifndef TH_X11_TREE_H
#define TH_X11_TREE_H

#include "x11/x11.h"

#define TH_X11_BUS_OF_DISPLAY "display" /* in place of an address: the one that it names */

/* The member `tree` of kind "x11".  TH_EUNSUPPORTED: none is named, or it is not there, with a
 * sentence; TH_ECANCELED: interrupted. */
enum th_code th_x11_tree(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err);

#endif
