/*
 * A broker between Node and a wrapper, both of which send anything. The first byte of an input says how much of the rest comes
 * from Node before, and how much after, the wrapper has sent its part. No process is started.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../broker/broker.h"
#include "../shared/files.h"

const struct seed seeds[] = {
    SEED("\x08run 1\ndeny 1 2\nno"),
    SEED("\x00\x02\0\0\0{}escalate 1 35\n/\0/bin/ls\0-\0-\0" "0\0" "1\0ls\0PATH=/bin\0"),
    SEED("\xffshell 43\n250\0watched\0/bin/bash\0" "0\0/\0/bin/sh\0" "1\0sh\0A=1\0"),
    SEED("\xffshell 36\n4\0bash\0/bin/bash\0" "0\0/\0/bin/sh\0" "1\0sh\0A=1\0"),
    SEED("\x20signal 15\nkill\ninspect 1\nallow-path 1\nleave\n"),
    SEED("\x10\x0b\0\0\0{\"fds\":[]}\x0d\0\0\0{\"signal\":9}"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

/* shell_path points into a block that lives as long as its broker, which here is a round. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* Complaints of the broker, of which every other round has one. */
int dprintf(int fd, const char *format, ...)
{
    (void)fd, (void)format;
    return 0;
}

pid_t start_child(const struct broker *broker, const struct start *start, int *report)
{
    (void)broker, (void)start, (void)report;
    errno = EAGAIN;
    return -1;
}

const char *start_outcome(int report)
{
    (void)report;
    return "exec";
}

int output_open(struct broker *broker, int index)
{
    (void)broker, (void)index;
    return -1;
}

int watch_add(struct broker *broker, struct watch *watch, int fd, uint32_t events)
{
    (void)broker, (void)events;
    watch->fd = fd;
    return 0;
}

void watch_change(struct watch *watch, uint32_t events)
{
    (void)watch, (void)events;
}

void watch_close(struct watch *watch)
{
    close_open(&watch->fd);
}

long now_ms(void)
{
    return 1;
}

void children_signal(const struct broker *broker, int number)
{
    (void)broker, (void)number;
}

unsigned children_kill(struct broker *broker, bool spare_detached)
{
    (void)broker, (void)spare_detached;
    return 0;
}

void listener_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)broker, (void)watch, (void)events;
}

void listener_arrived(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)broker, (void)watch, (void)events;
}

/* Sessions here come from wrappers: none has a caller that is blocked in the kernel. */
static void no_caller(void)
{
    fuzz_fail("a caller that does not exist");
}

void caller_run(struct broker *broker, struct session *session)
{
    (void)broker, (void)session;
    no_caller();
}

void caller_allow_path(struct broker *broker, struct session *session)
{
    (void)broker, (void)session;
    no_caller();
}

void caller_inspect(struct broker *broker, struct session *session)
{
    (void)broker, (void)session;
    no_caller();
}

void caller_deny(struct broker *broker, struct session *session, const char *reason, size_t length)
{
    (void)broker, (void)session, (void)reason, (void)length;
    no_caller();
}

void caller_escalate(struct broker *broker, struct session *session)
{
    (void)broker, (void)session;
    no_caller();
}

void caller_free(struct session *session)
{
    (void)session;
    no_caller();
}

/* What Node has sent; the end of it is not told, or the broker would end. */
static void receive_from_node(struct broker *broker, const uint8_t *bytes, size_t length)
{
    if (length == 0 || broker->ending)
        return;
    struct watch control = {.fd = fuzz_stream(bytes, length)};
    control_ready(broker, &control, POLLIN);
    close(control.fd);
}

static void receive_from_wrapper(struct broker *broker, const uint8_t *bytes, size_t length)
{
    struct session *session = session_find(broker, 1);
    if (session == NULL || broker->ending)
        return;
    watch_close(&session->stream);
    session->stream.fd = fuzz_stream(bytes, length);
    for (size_t steps = 0; steps < 8 && (session = session_find(broker, 1)) != NULL && session->stream.fd >= 0; steps++)
        session_read(broker, &session->stream, POLLIN);
}

void fuzz_one(const uint8_t *input, size_t length)
{
    static const struct watch closed = {.fd = -1};
    struct broker broker = {.handshake = closed, .listener = closed, .sources = closed};
    size_t first = length > 0 ? input[0] : 0, rest = length > 0 ? length - 1 : 0;
    const uint8_t *at = input + (length - rest);
    if (first > rest)
        first = rest;
    if (session_add(&broker, 1) == NULL)
        fuzz_fail("out of memory");
    receive_from_node(&broker, at, first);
    size_t half = (rest - first) / 2;
    receive_from_wrapper(&broker, at + first, half);
    receive_from_node(&broker, at + first + half, rest - first - half);
    receive_from_wrapper(&broker, at + first, half);
    while (broker.sessions != NULL)
        session_end(&broker, broker.sessions);
    if (broker.frame_bytes != 0 || broker.asked_bytes != 0)
        fuzz_fail("bytes of sessions that are gone are still counted");
    watch_close(&broker.handshake);
    bytes_free(&broker.received);
    bytes_free(&broker.unsent);
}
