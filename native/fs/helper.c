/*
 * usage: fs-helper FD
 *
 * Answers file requests (engine.h) that come through the socket FD, one after the other, until it ends. Runs inside a
 * sandbox, so that the kernel decides what a request may touch; FS_PROTECT names entries that it must refuse itself, and
 * FS_MOUNTED says what its view must be, or it ends. It keeps no other descriptor above standard error.
 *
 * Exit codes: 0 the socket ended, 1 it failed (one line on stderr), 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "../shared/files.h"
#include "engine.h"
#include "protect.h"
#include "../stage/mounted.h"

static int complain(const char *what)
{
    dprintf(2, "fs-helper: %s: %s\n", what, strerror(errno));
    return 1;
}

/* 1 when everything was read, 0 at the end of the input, -1 on failure; an end in the middle is a failure. */
static int read_all(int fd, uint8_t *bytes, size_t length)
{
    size_t filled = 0;
    while (filled < length) {
        ssize_t count = read_retrying(fd, bytes + filled, length - filled);
        if (count == 0 && filled == 0)
            return 0;
        if (count == 0)
            errno = EPIPE;
        if (count <= 0)
            return -1;
        filled += (size_t)count;
    }
    return 1;
}

static int write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = write_retrying(fd, bytes, length);
        if (count < 0)
            return -1;
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

static int answer(int fd, const uint8_t *message, size_t length)
{
    struct fs_request request;
    struct fs_answer answer;
    if (!fs_parse(&request, message, length, NULL, 0)) {
        errno = EINVAL;
        return complain("request");
    }
    if (request.operation == FS_PROTECT) {
        errno = -fs_protect((const char *)request.payload, request.payload_length);
        return errno == 0 ? 0 : complain("protected names");
    }
    if (request.operation == FS_MOUNTED) {
        int outcome = mounted_check_all((const char *)request.payload, request.payload_length);
        return outcome == 0 ? 0 : complain("the sandbox was changed while it was built");
    }
    if (!fs_execute(&request, &answer))
        return complain("memory");
    int outcome = write_all(fd, answer.bytes, answer.length);
    free(answer.bytes);
    return outcome < 0 ? complain("write") : 0;
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return; /* then the limit stays what it is */
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* 0 at the end of the socket, 1 to go on, -1 on failure, which has been printed. */
static int serve_one(int socket)
{
    uint8_t head[FS_REQUEST_HEAD];
    int outcome = read_all(socket, head, sizeof head);
    if (outcome <= 0)
        return outcome < 0 ? -complain("read") : 0;
    size_t length = sizeof head + fs_body_length(head);
    uint8_t *message = malloc(length);
    if (message == NULL)
        return -complain("memory");
    memcpy(message, head, sizeof head);
    if (length > sizeof head && read_all(socket, message + sizeof head, length - sizeof head) <= 0)
        return -complain("read");
    int failed = answer(socket, message, length);
    free(message);
    return failed ? -1 : 1;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no command may trace it or reach its file through /proc */
    int socket = argc == 2 ? atoi(argv[1]) : -1;
    if (socket < 3) {
        dprintf(2, "usage: fs-helper FD\n");
        return 2;
    }
    if (socket != 3 && dup2(socket, 3) < 0)
        return complain("socket");
    if (close_between(4, ~0U, 0) < 0)
        return complain("inherited descriptors");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that must not grow is an error of the request */
    raise_descriptor_limit();
    int outcome;
    do
        outcome = serve_one(3);
    while (outcome > 0);
    return outcome < 0;
}
