/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.h - what programs say of their windows over the accessibility bus
 * (AT-SPI): buttons, fields, labels, and where they are.
 *
 * The tree is walked in rounds: five calls for each visible object, those of many
 * objects in one round trip.  AT-SPI's cache (Cache.GetItems) has no positions, and
 * GTK fills it only for readers that registered for events before.
 *
 * Programs may answer anything, slowly or never: at most TH_TREE_ITEMS_MAX objects
 * are asked about, and after TH_TREE_MS the answers so far are used.
 */
#ifndef TH_COMPUTER_TREE_H
#define TH_COMPUTER_TREE_H

#include "base/err.h"
#include "wire/found.h"

struct th_tree_options {
	int interrupt_fd;  /* -1: none */
	uint64_t total_ms; /* 0: TH_TREE_MS */
	size_t memory_max; /* for their answers; 0: TH_TREE_MEMORY_MAX */
};

/* `fd` is connected to the bus and stays the caller's.  TH_ECANCELED: interrupted;
 * TH_EUNSUPPORTED: the bus does not answer as one, with a sentence. */
TH_NODISCARD enum th_code th_tree_read(int fd, const struct th_tree_options *options,
				       th_found_fn *fn, void *ctx, struct th_err *err);

#endif
