/*
 * What __builtin_cpu_supports("avx2") reads. Compilers bring it in their runtime library, but that of the one that makes releases
 * has none. Its layout and the number of the feature are the same for all of them.
 */
#if defined(__x86_64__) && !defined(LEAN)
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

enum { FEATURE_AVX2 = 10 };

__attribute__((visibility("hidden"))) struct {
    uint32_t vendor;
    uint32_t type;
    uint32_t subtype;
    uint32_t features;
} __cpu_model;

/* Whether the kernel saves the registers that AVX widens. */
static bool saves_wide_registers(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
        return false;
    uint32_t low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
}

__attribute__((constructor(101))) static void look_at_processor(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (saves_wide_registers() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) != 0)
        __cpu_model.features |= 1U << FEATURE_AVX2;
}
#else
typedef int nothing_to_know;
#endif
