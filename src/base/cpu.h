/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.h - which instructions this processor has.  Only base/ includes it.
 *
 * Asked once by CPUID, which is no system call, and kept: the answer cannot
 * change, so that threads asking at the same time store the same.
 */
#ifndef TH_BASE_CPU_H
#define TH_BASE_CPU_H

#include "base/base.h"

#ifdef __x86_64__
#define TH_CPU_X86 1
#endif

enum th_cpu_feature {
	TH_CPU_KNOWN = 1 << 0,
	TH_CPU_SSE42 = 1 << 1,
	TH_CPU_SHA = 1 << 2, /* with SSSE3 and SSE4.1 */
	TH_CPU_AVX2 = 1 << 3,
};

bool th_cpu_has(enum th_cpu_feature feature);

/* For tests: only the features of `mask` count from now on, so that portable bodies run too. */
void th_cpu_limit(unsigned mask);

#endif
