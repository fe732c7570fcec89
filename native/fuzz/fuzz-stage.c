/* The request of a sandboxed command, up to its execution; nothing of this process is changed. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../shared/calls.h"

static int unchanged(void)
{
    return 0;
}

static int not_found(const char *file, char *const *arguments, char *const *environment)
{
    errno = file != NULL && arguments != NULL && environment != NULL ? ENOENT : EFAULT;
    return -1;
}

static int enter(const char *path)
{
    return path == NULL ? -1 : 0;
}

static int control(int option, ...)
{
    (void)option;
    return 0;
}

#define main stage_main
#define chdir enter
#define close_between(first, last, flags) unchanged()
#define prctl control
#define execve not_found
#include "../stage/main.c"
#undef main

#include "fuzz.h"

const struct seed seeds[] = {
    SEED("-1\0" "-1\0" "-1\0" "0\0" "0\0/tmp\0" "-\0" "1\0/bin/ls\0" "2\0ls\0-l\0PATH=/bin\0HOME=/\0"),
    SEED("-1\0" "5\0np\0" "-1\0" "0600000000000000\0" "7\0" "2\0" "8080\0" "1080\0" "4\0/dev\0-\0/proc\0" "1:2\0/\0" "1:2\0" "2\0/usr/bin/sh\0/bin/sh\0" "1\0sh\0"),
    SEED("-1\0" "5\0o\0" "250\0" "060\0" "-1\0" "2147483647\0" "-1\0\0" "18446744073709551616:\0" "-5\0" "x\0"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

/* Requests live as long as the process that becomes the command. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

void print_stderr_parts(const char *const *parts)
{
    (void)parts;
}

int listen_for_server(int channel, char **ports, size_t count)
{
    (void)channel;
    for (size_t i = 0; i < count; i++)
        if (ports[i] == NULL)
            fuzz_fail("fewer ports than announced");
    return 0;
}

int reaper_fork(int control, int *supervisor)
{
    (void)control;
    *supervisor = -1;
    return 0;
}

int supervisor_start(void)
{
    return 9;
}

int install_listening(const struct sock_fprog *program)
{
    (void)program;
    return -1;
}

int watch_self(const struct sock_fprog *program, int channel, int reports, struct watch_options options)
{
    (void)options;
    if (program->len == 0 || channel < 0 || reports < 0)
        fuzz_fail("a filter without instructions or without a supervisor");
    for (size_t i = 0; i < program->len; i++)
        if (program->filter[i].code == UINT16_MAX && program->filter[i].k == 1)
            return -1;
    return 0;
}

/* As it is, and with the length in front that makes it complete. */
void fuzz_one(const uint8_t *input, size_t length)
{
    struct bytes request = {0};
    bytes_add_number(&request, length);
    bytes_add(&request, "", 1);
    bytes_add(&request, input, length);
    int whole = fuzz_stream((const uint8_t *)request.start, request.length), bare = fuzz_stream(input, length);
    run(whole, -1, -1);
    run(bare, -1, -1);
    close(whole);
    close(bare);
    bytes_free(&request);
}
