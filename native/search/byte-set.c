/* 32 bytes at a time with AVX2: two shuffles look up the halves of each byte. */
#include "byte-set.h"

#include <string.h>

/* Bytes of source code and prose, the most frequent first; all others are rarer. */
static const char frequent[] = " etaoinrslcdpumfhg_b.yv\n,()-k;:=/\"'*w0x1T>ESAIC{}R<N\tP2MOD[]LF3#&U84q56j7zB9+|$!\\GHWV%@?XKYQJZ^~`";

int byte_rarity(uint8_t byte)
{
    const char *at = byte == 0 ? NULL : strchr(frequent, byte);
    return at == NULL ? (int)sizeof frequent : (int)(at - frequent);
}

bool byte_set_is_rare(const struct byte_set *set)
{
    unsigned thousandths = 0;
    for (int byte = 0; byte < 256; byte++) {
        int rarity = byte_rarity((uint8_t)byte);
        if (set->has[byte])
            thousandths += rarity == 0 ? 150 : rarity < 10 ? 50 : rarity < 24 ? 20 : rarity < 48 ? 4 : 1;
    }
    return thousandths < 250;
}

/* The bytes with one high half are told apart by a bit; halves with the same bytes share it, and so do all after the seventh. */
void byte_set_prepare(struct byte_set *set)
{
    uint16_t known[8] = {0};
    unsigned count = 0;
    memset(set->low, 0, sizeof set->low);
    memset(set->high, 0, sizeof set->high);
    for (unsigned high = 0; high < 16; high++) {
        uint16_t lows = 0;
        unsigned bit = 0;
        for (unsigned low = 0; low < 16; low++)
            lows |= (uint16_t)(set->has[high * 16 + low] << low);
        if (lows == 0)
            continue;
        while (bit < count && known[bit] != lows && bit < 7)
            bit++;
        count = bit == count ? count + 1 : count;
        known[bit] |= lows;
        set->high[high] = (uint8_t)(1u << bit);
        for (unsigned low = 0; low < 16; low++)
            set->low[low] |= (uint8_t)((lows >> low & 1) << bit);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

#include "../shared/processor.h"

/* The first block that may hold a byte of the set. */
__attribute__((target("avx2"))) static const uint8_t *find_block(const struct byte_set *set, const uint8_t *at, const uint8_t *end)
{
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->low));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->high));
    const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    for (; end - at >= 32; at += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
        __m256i lows = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half));
        __m256i highs = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
        __m256i absent = _mm256_cmpeq_epi8(_mm256_and_si256(lows, highs), zero);
        unsigned present = ~(unsigned)_mm256_movemask_epi8(absent);
        if (present != 0)
            return at + __builtin_ctz(present);
    }
    return at;
}
__attribute__((target("avx2"))) static const uint8_t *find_block_with(const uint8_t *at, const uint8_t *end, uint8_t byte)
{
    const __m256i wanted = _mm256_set1_epi8((char)byte);
    for (; end - at >= 32; at += 32) {
        __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)at), wanted);
        unsigned present = (unsigned)_mm256_movemask_epi8(equal);
        if (present != 0)
            return at + __builtin_ctz(present);
    }
    return at;
}
#endif

const uint8_t *byte_find(const uint8_t *at, const uint8_t *end, uint8_t byte)
{
#if defined(__x86_64__)
    if (end - at >= 32 && has_avx2())
        at = find_block_with(at, end, byte);
#endif
    return at < end ? memchr(at, byte, (size_t)(end - at)) : NULL;
}

const uint8_t *byte_set_find(const struct byte_set *set, const uint8_t *at, const uint8_t *end)
{
#if defined(__x86_64__)
    if (end - at >= 32 && has_avx2())
        at = find_block(set, at, end);
#endif
    while (at < end && !set->has[*at])
        at++;
    return at;
}
