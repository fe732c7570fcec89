/* Base64, RFC 4648 section 4: 24 bytes a step where the processor has AVX2, 3 otherwise. */
#include "base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#if defined(__x86_64__)
#include <immintrin.h>

#include "processor.h"

/*
 * A lane of 12 bytes becomes 16 characters. Each group of three bytes a b c is spread to b a c b, from which two
 * multiplications shift the four 6-bit values into bytes of their own. A value is then moved to its character by
 * an offset that depends only on the range it lies in: 0-25, 26-51, 52-61, 62 or 63.
 */
__attribute__((target("avx2"))) static size_t encode_wide(uint8_t *text, const uint8_t *bytes, size_t length)
{
    const __m256i spread = _mm256_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10, 1, 0, 2, 1, 4, 3, 5, 4, 7, 6,
                                            8, 7, 10, 9, 11, 10);
    const __m256i offsets = _mm256_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                             '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0,
                                             'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                             '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0);
    size_t done = 0;
    for (; length - done >= 28; done += 24, text += 32) {
        __m128i low = _mm_loadu_si128((const __m128i *)(bytes + done));
        __m128i high = _mm_loadu_si128((const __m128i *)(bytes + done + 12));
        __m256i input = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), spread);
        __m256i odd = _mm256_mulhi_epu16(_mm256_and_si256(input, _mm256_set1_epi32(0x0fc0fc00)), _mm256_set1_epi32(0x04000040));
        __m256i even = _mm256_mullo_epi16(_mm256_and_si256(input, _mm256_set1_epi32(0x003f03f0)), _mm256_set1_epi32(0x01000010));
        __m256i values = _mm256_or_si256(odd, even);
        /* 0 for 0-51, 1-12 above; then 13 for 0-25. */
        __m256i range = _mm256_subs_epu8(values, _mm256_set1_epi8(51));
        __m256i upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), values);
        range = _mm256_or_si256(range, _mm256_and_si256(upper, _mm256_set1_epi8(13)));
        __m256i characters = _mm256_add_epi8(values, _mm256_shuffle_epi8(offsets, range));
        _mm256_storeu_si256((__m256i *)text, characters);
    }
    return done;
}

static size_t encode_fast(uint8_t *text, const uint8_t *bytes, size_t length)
{
    return length >= 28 && has_avx2() ? encode_wide(text, bytes, length) : 0;
}
#else
static size_t encode_fast(uint8_t *text, const uint8_t *bytes, size_t length)
{
    (void)text, (void)bytes, (void)length;
    return 0;
}
#endif

static void encode_group(uint8_t *text, uint32_t group)
{
    text[0] = (uint8_t)alphabet[group >> 18];
    text[1] = (uint8_t)alphabet[group >> 12 & 63];
    text[2] = (uint8_t)alphabet[group >> 6 & 63];
    text[3] = (uint8_t)alphabet[group & 63];
}

void base64_encode(uint8_t *text, const uint8_t *bytes, size_t length)
{
    size_t done = encode_fast(text, bytes, length);
    text += done / 3 * 4;
    for (; length - done >= 3; done += 3, text += 4)
        encode_group(text, (uint32_t)bytes[done] << 16 | (uint32_t)bytes[done + 1] << 8 | bytes[done + 2]);
    if (length == done)
        return;
    uint32_t last = (uint32_t)bytes[done] << 16;
    if (length - done == 2)
        last |= (uint32_t)bytes[done + 1] << 8;
    encode_group(text, last);
    text[3] = '=';
    if (length - done == 1)
        text[2] = '=';
}
