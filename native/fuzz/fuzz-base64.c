/* Decoded bytes are encoded to the same text again; nothing is written after the announced length. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../shared/base64.h"

const struct seed seeds[] = {
    SEED(""),
    SEED("Zg=="),
    SEED("Zm8="),
    SEED("Zm9vYmFy"),
    SEED("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="),
    SEED("//////////////////////////////////////////////////////////////////////////////////////++++++++++"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

void fuzz_one(const uint8_t *input, size_t length)
{
    size_t decoded = base64_decoded_length(input, length);
    uint8_t *bytes = malloc(decoded > 0 ? decoded : 1), *text = malloc(length > 0 ? length : 1);
    if (bytes == NULL || text == NULL)
        fuzz_fail("out of memory");
    if (base64_decode(bytes, input, length)) {
        base64_encode(text, bytes, decoded);
        if (memcmp(text, input, length) != 0)
            fuzz_fail("a text is not what its bytes are encoded to");
    }
    free(bytes);
    free(text);
}
