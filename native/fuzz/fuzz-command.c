/* The strings of a command that a broker is to start. */
#include "fuzz.h"

#include "../broker/broker.h"

const struct seed seeds[] = {
    SEED("/tmp\0/bin/ls\0-\0-\0" "0\0" "1\0ls\0PATH=/bin\0"),
    SEED("/\0/bin/sh\0" "022\0" "64769:131\0" "2\0nofile 1024 4096\0core 0 unlimited\0" "3\0sh\0-c\0true\0A=1\0B=\0"),
    SEED("/\0x\0-\0-\0" "-1\0" "-1\0"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

void fuzz_one(const uint8_t *input, size_t length)
{
    struct bytes block = {0};
    bytes_add(&block, input, length);
    bytes_add(&block, "", 1);
    block.length--;
    struct command *command = command_parse(&block);
    if (command != NULL && command->start.argv[0] == NULL)
        fuzz_fail("a command without a name");
    command_free(command);
    bytes_free(&block);
}
