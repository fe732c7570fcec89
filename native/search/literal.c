/*
 * A place is a candidate when the two rarest bytes of the literal stand where they have to: 32 places are examined at a time with
 * AVX2, 16 with SSE2. Looking for two bytes leaves so few candidates that comparing them costs nothing.
 */
#define _GNU_SOURCE
#include "literal.h"

#include <string.h>

#include "byte-set.h"

void literal_prepare(struct literal *literal)
{
    size_t rarest = 0, second = literal->length > 1 ? 1 : 0;
    for (size_t i = 1; i < literal->length; i++) {
        if (byte_rarity(literal->bytes[i]) > byte_rarity(literal->bytes[rarest]))
            second = rarest, rarest = i;
        else if (second == rarest || byte_rarity(literal->bytes[i]) > byte_rarity(literal->bytes[second]))
            second = i;
    }
    literal->rarest = rarest;
    literal->second = second;
}

static bool equal_at(const struct literal *literal, const uint8_t *at)
{
    for (size_t i = 0; i < literal->length; i++) {
        if ((at[i] | literal->fold[i]) != literal->bytes[i])
            return false;
    }
    return true;
}

static const uint8_t *find_slowly(const struct literal *literal, const uint8_t *at, const uint8_t *last)
{
    for (; at <= last; at++) {
        size_t one = literal->rarest;
        if ((at[one] | literal->fold[one]) == literal->bytes[one] && equal_at(literal, at))
            return at;
    }
    return NULL;
}

#if defined(__x86_64__)
#include <immintrin.h>

#include "../shared/processor.h"

/* The candidates of a block as bits; the first that is an occurrence, or NULL. */
static inline const uint8_t *first_of(const struct literal *literal, const uint8_t *block, uint32_t candidates)
{
    for (; candidates != 0; candidates &= candidates - 1) {
        const uint8_t *at = block + __builtin_ctz(candidates);
        if (equal_at(literal, at))
            return at;
    }
    return NULL;
}

/* Sets *at to the first place that is left. */
__attribute__((target("avx2"))) static const uint8_t *find_wide(const struct literal *literal, const uint8_t **at,
                                                                const uint8_t *last)
{
    size_t one = literal->rarest, two = literal->second;
    __m256i first = _mm256_set1_epi8((char)literal->bytes[one]), first_fold = _mm256_set1_epi8((char)literal->fold[one]);
    __m256i other = _mm256_set1_epi8((char)literal->bytes[two]), other_fold = _mm256_set1_epi8((char)literal->fold[two]);
    for (; last - *at >= 31; *at += 32) {
        __m256i a = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)(*at + one)), first_fold);
        __m256i b = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)(*at + two)), other_fold);
        __m256i both = _mm256_and_si256(_mm256_cmpeq_epi8(a, first), _mm256_cmpeq_epi8(b, other));
        uint32_t candidates = (uint32_t)_mm256_movemask_epi8(both);
        const uint8_t *found = candidates == 0 ? NULL : first_of(literal, *at, candidates);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static const uint8_t *find_narrow(const struct literal *literal, const uint8_t **at, const uint8_t *last)
{
    size_t one = literal->rarest, two = literal->second;
    __m128i first = _mm_set1_epi8((char)literal->bytes[one]), first_fold = _mm_set1_epi8((char)literal->fold[one]);
    __m128i other = _mm_set1_epi8((char)literal->bytes[two]), other_fold = _mm_set1_epi8((char)literal->fold[two]);
    for (; last - *at >= 15; *at += 16) {
        __m128i a = _mm_or_si128(_mm_loadu_si128((const __m128i *)(*at + one)), first_fold);
        __m128i b = _mm_or_si128(_mm_loadu_si128((const __m128i *)(*at + two)), other_fold);
        __m128i both = _mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, other));
        uint32_t candidates = (uint32_t)_mm_movemask_epi8(both);
        const uint8_t *found = candidates == 0 ? NULL : first_of(literal, *at, candidates);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static const uint8_t *find_fast(const struct literal *literal, const uint8_t **at, const uint8_t *last)
{
    const uint8_t *found = has_avx2() ? find_wide(literal, at, last) : NULL;
    return found != NULL ? found : find_narrow(literal, at, last);
}

__attribute__((target("avx2,popcnt"))) static size_t count_wide(const uint8_t **from, const uint8_t *end)
{
    const __m256i feed = _mm256_set1_epi8('\n');
    size_t count = 0;
    for (; end - *from >= 32; *from += 32) {
        __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)*from), feed);
        count += (size_t)__builtin_popcount((unsigned)_mm256_movemask_epi8(equal));
    }
    return count;
}

static size_t count_fast(const uint8_t **from, const uint8_t *end)
{
    return has_avx2() ? count_wide(from, end) : 0;
}
#else
static const uint8_t *find_fast(const struct literal *literal, const uint8_t **at, const uint8_t *last)
{
    size_t one = literal->rarest;
    if (literal->fold[one] != 0)
        return NULL;
    while (*at <= last) {
        const uint8_t *found = memchr(*at + one, literal->bytes[one], (size_t)(last - *at) + 1);
        *at = found == NULL ? last + 1 : found - one;
        if (found != NULL && equal_at(literal, *at))
            return *at;
        *at += found != NULL;
    }
    return NULL;
}

static size_t count_fast(const uint8_t **from, const uint8_t *end)
{
    (void)from, (void)end;
    return 0;
}
#endif

const uint8_t *literal_find(const struct literal *literal, const uint8_t *from, const uint8_t *end)
{
    if ((size_t)(end - from) < literal->length)
        return NULL;
    const uint8_t *last = end - literal->length;
    const uint8_t *found = find_fast(literal, &from, last);
    return found != NULL ? found : find_slowly(literal, from, last);
}

size_t count_lines(const uint8_t *from, const uint8_t *end)
{
    size_t count = count_fast(&from, end);
    for (; from < end; from++)
        count += *from == '\n';
    return count;
}
