/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h - a runtime of a store that several machines use, as JSON: what
 * thole_runtime_nodes_start, GET /api/fleet and `thole fleet --json` give.
 */
#ifndef TH_ADMIN_NODES_H
#define TH_ADMIN_NODES_H

#include "store/store.h"

/* Its object, without a line's end. */
void th_node_print(const struct th_node *node, struct th_buf *out);
/* One of the list "slow" of the last two. */
void th_slow_print(const struct th_slow *slow, struct th_buf *out);

#endif
