/* Answers that a wrapper gets: only the three that it knows lead anywhere. */
#define main wrapper_main
#include "../wrapper/main.c"
#undef main

#include "fuzz.h"

const struct seed seeds[] = {
    SEED("{\"action\":\"Run\"}"),
    SEED("{\"action\":\"Escalate\"}"),
    SEED("{\"action\":{\"Deny\":{\"reason\":\"no\"}}}"),
    SEED("{\"action\":{\"Deny\":{\"reason\":null}}}"),
    SEED("{\"action\":{\"Deny\":{}},\"action\":\"Run\"}"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

void print_stderr_parts(const char *const *parts)
{
    (void)parts;
}

const char *execute_file(const char *file, char **argv, char **environment, const char *shell)
{
    (void)file, (void)argv, (void)environment, (void)shell;
    return "not here";
}

int forward_command(int stream, int except)
{
    (void)stream, (void)except;
    return 0;
}

void fuzz_one(const uint8_t *input, size_t length)
{
    char *argv[] = {"execve-wrapper", "/bin/true", "true", NULL};
    struct bytes frame = {.start = (char *)input, .length = length};
    obey(&frame, -1, -1, argv);
}
