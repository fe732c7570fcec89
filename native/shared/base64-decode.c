/* Base64 back to bytes, strictly: padded, standard alphabet, no stray bits. 32 characters a step where there is AVX2. */
#include "base64.h"

/* The value of a character, or 255. */
static uint8_t value_of(uint8_t character)
{
    if (character >= 'A' && character <= 'Z')
        return (uint8_t)(character - 'A');
    if (character >= 'a' && character <= 'z')
        return (uint8_t)(character - 'a' + 26);
    if (character >= '0' && character <= '9')
        return (uint8_t)(character - '0' + 52);
    return character == '+' ? 62 : character == '/' ? 63 : 255;
}

#if defined(__x86_64__)
#include <immintrin.h>

#include "processor.h"

/*
 * The high half of a character says in which ranges it can lie, the low half in which it cannot: where the two agree
 * on a bit, it is no base64. The high half also gives the offset to the value, '/' apart, which shares it with '+'.
 */
__attribute__((target("avx2"))) static size_t decode_wide(uint8_t *bytes, const uint8_t *text, size_t length)
{
    const __m256i halves = _mm256_set1_epi8(0x0f);
    const __m256i slash = _mm256_set1_epi8('/');
    const __m256i by_high = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10));
    const __m256i by_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b, 0x1b, 0x1a));
    const __m256i offsets = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0, 63 - '/', 62 - '+', 52 - '0', -'A', -'A', 26 - 'a', 26 - 'a', 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i gather = _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    size_t done = 0;
    /* A step writes 32 bytes, 8 of them for nothing, so it keeps that far from the end. */
    for (; length - done >= 48; done += 32, bytes += 24) {
        __m256i input = _mm256_loadu_si256((const __m256i *)(text + done));
        __m256i high = _mm256_and_si256(_mm256_srli_epi32(input, 4), halves);
        __m256i low = _mm256_and_si256(input, halves);
        if (!_mm256_testz_si256(_mm256_shuffle_epi8(by_high, high), _mm256_shuffle_epi8(by_low, low)))
            break;
        __m256i row = _mm256_add_epi8(_mm256_cmpeq_epi8(input, slash), high);
        __m256i values = _mm256_add_epi8(input, _mm256_shuffle_epi8(offsets, row));
        __m256i pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x01400140));
        __m256i groups = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00011000));
        __m256i packed = _mm256_shuffle_epi8(groups, gather);
        packed = _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
        _mm256_storeu_si256((__m256i *)bytes, packed);
    }
    return done;
}

static size_t decode_fast(uint8_t *bytes, const uint8_t *text, size_t length)
{
    return length >= 48 && has_avx2() ? decode_wide(bytes, text, length) : 0;
}
#else
static size_t decode_fast(uint8_t *bytes, const uint8_t *text, size_t length)
{
    (void)bytes, (void)text, (void)length;
    return 0;
}
#endif

static bool decode_group(const uint8_t *text, int characters, uint32_t *group)
{
    *group = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t value = i < characters ? value_of(text[i]) : 0;
        if (value == 255)
            return false;
        *group = *group << 6 | value;
    }
    return true;
}

size_t base64_decoded_length(const uint8_t *text, size_t length)
{
    if (length == 0 || length % 4 != 0)
        return 0;
    return length / 4 * 3 - (text[length - 1] == '=') - (text[length - 2] == '=');
}

bool base64_decode(uint8_t *bytes, const uint8_t *text, size_t length)
{
    if (length % 4 != 0)
        return false;
    if (length == 0)
        return true;
    uint32_t group;
    size_t whole = length - 4;
    size_t done = decode_fast(bytes, text, whole);
    for (bytes += done / 4 * 3; done < whole; done += 4, bytes += 3) {
        if (!decode_group(text + done, 4, &group))
            return false;
        bytes[0] = (uint8_t)(group >> 16);
        bytes[1] = (uint8_t)(group >> 8);
        bytes[2] = (uint8_t)group;
    }
    int characters = text[done + 3] != '=' ? 4 : text[done + 2] != '=' ? 3 : 2;
    if (!decode_group(text + done, characters, &group))
        return false;
    if ((characters == 3 && (group & 0xff) != 0) || (characters == 2 && (group & 0xffff) != 0))
        return false;
    for (int i = 0; i < characters - 1; i++)
        bytes[i] = (uint8_t)(group >> (16 - 8 * i));
    return true;
}
