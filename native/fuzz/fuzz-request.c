/* Whatever a command is called with, the question about it is one JSON object. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../shared/json.h"
#include "../wrapper/wrapper.h"

const struct seed seeds[] = {
    SEED("/bin/ls\0ls\0-l\0\0PATH=/bin\0HOME=/\0"),
    SEED("x\0\0\0=\0=x\0A\0A=1\0A=2\0CODEX_ESCALATE_SOCKET=3\0"),
    SEED("\xff\xfe\0\xc3\0\0\x80=\x80\0"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

/* The strings up to an empty one, or all. */
static char **take_strings(char **at, char *end)
{
    char **list = calloc((size_t)(end - *at) + 2, sizeof *list);
    size_t count = 0;
    while (list != NULL && *at < end && **at != '\0') {
        list[count++] = *at;
        *at += strlen(*at) + 1;
    }
    if (*at < end)
        (*at)++;
    return list;
}

void fuzz_one(const uint8_t *input, size_t length)
{
    char *at = (char *)input, *end = at + length;
    char **argv = take_strings(&at, end), **environment = take_strings(&at, end);
    if (argv == NULL || environment == NULL)
        fuzz_fail("out of memory");
    struct bytes json = {0};
    struct json value, member;
    if (write_request(&json, argv[0] != NULL ? argv[0] : "", argv, environment) == 0) {
        bytes_add(&json, "", 1);
        if (!json_parse(json.start, json.length - 1, &value) || json_member(&value, "argv", &member) != 1)
            fuzz_fail("a request that is not JSON");
    }
    bytes_free(&json);
    free(argv);
    free(environment);
}
