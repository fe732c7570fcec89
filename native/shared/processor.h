/* Features of the processor, queried when first needed: on a virtual machine the hypervisor answers, which would delay a start. */
#ifndef EXEC_PROCESSOR_H
#define EXEC_PROCESSOR_H
#if defined(__x86_64__)

#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Whether the kernel saves the registers that AVX widens. */
static inline bool saves_wide_registers(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
        return false;
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
}

static inline bool has_avx2(void)
{
    enum { UNKNOWN, NO, YES };
    static atomic_int answer = UNKNOWN; /* threads that query at the same time get the same answer */
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == UNKNOWN) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        bool found = saves_wide_registers() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) != 0;
        known = found ? YES : NO;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == YES;
}

#endif
#endif
