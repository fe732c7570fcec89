/* Frames that a wrapper receives, cut anywhere. */
#include "fuzz.h"

#include <unistd.h>

#include "../wrapper/wrapper.h"

const struct seed seeds[] = {
    SEED("\x10\0\0\0{\"action\":\"Run\"}"),
    SEED("\x02\0\0\0{}\x04\0\0\0[{}]\x01\0\0\0" "1"),
    SEED("\0\0\0\0\0\0\0\0"),
    SEED("\xff\xff\xff\xff{"),
    SEED("\0\0\0\x04{"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

void fuzz_one(const uint8_t *input, size_t length)
{
    int stream = fuzz_stream(input, length);
    struct bytes json = {0};
    while (receive_frame(stream, &json) == 0) {
        if (json.start[json.length] != '\0')
            fuzz_fail("a frame that no NUL ends");
        json.length = 0;
    }
    bytes_free(&json);
    close(stream);
}
