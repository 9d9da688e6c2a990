/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - what is left of this machine: memory and processors.
 *
 * From /proc/meminfo and /proc/loadavg (proc(5)), and the limit of this process's cgroup (Linux
 * kernel documentation, "Control Group v2", memory), which is less inside a container or a unit
 * with MemoryMax=.  A few reads of small files: some tens of microseconds.
 */
#ifndef TH_IO_MACHINE_H
#define TH_IO_MACHINE_H

#include <stdint.h>

struct th_machine {
	int64_t memory; /* bytes that programs can have without swapping; -1: it cannot be known */
	double load;    /* processes that run or could, for each processor, the last minute; -1 */
};

void th_machine_look(struct th_machine *ret);

#endif
