/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stdatomic.h>
#ifdef TH_CPU_X86
#include <cpuid.h>
#endif

static _Atomic unsigned known;

static unsigned ask(void)
{
	unsigned features = TH_CPU_KNOWN;
#ifdef TH_CPU_X86
	unsigned a, b, c, d, c1, low, high;

	if (!__get_cpuid(1, &a, &b, &c1, &d))
		return features;
	if (c1 & bit_SSE4_2)
		features |= TH_CPU_SSE42;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return features;
	if ((b & bit_SHA) && (c1 & bit_SSSE3) && (c1 & bit_SSE4_1))
		features |= TH_CPU_SHA;
	if ((b & bit_AVX2) && (c1 & bit_OSXSAVE)) {
		/* Whether the system saves the wide registers: bits 1 and 2 of XCR0. */
		__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
		(void)high;
		if ((low & 6) == 6)
			features |= TH_CPU_AVX2;
	}
#endif
	return features;
}

bool th_cpu_has(enum th_cpu_feature feature)
{
	unsigned features = atomic_load_explicit(&known, memory_order_relaxed);

	if (!features) {
		features = ask();
		atomic_store_explicit(&known, features, memory_order_relaxed);
	}
	return features & feature;
}

void th_cpu_limit(unsigned mask)
{
	atomic_store_explicit(&known, (ask() & mask) | TH_CPU_KNOWN, memory_order_relaxed);
}
