/*
 * Reads the output of the shell and its children, from both pipes in the order of arrival. Each pipe holds one packet, so a process
 * that writes to both in turn waits until the first packet is read; and edge-triggered events come in the order in which the pipes
 * became readable.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "broker.h"
#include "../shared/files.h"

#define ONE_PACKET 4096
#define LARGEST_READ 65536

static int index_of(const struct broker *broker, const struct output *output)
{
    return (int)(output - broker->outputs);
}

/* Queues an output to be read again after all outputs that epoll reports as ready, which were written earlier. */
static void mark_due(struct broker *broker, struct output *output)
{
    if (output->due)
        return;
    output->due = true;
    broker->due[broker->due_count++] = index_of(broker, output);
}

/* Reads once; whether there were bytes. */
static bool read_once(struct broker *broker, struct output *output)
{
    char chunk[LARGEST_READ];
    int index = index_of(broker, output);
    ssize_t count = read_retrying(output->watch.fd, chunk, sizeof chunk);
    if (count > 0)
        send_report_block(broker, chunk, (size_t)count, "output %d", index + 1);
    if (count == 0 || (count < 0 && errno != EAGAIN)) {
        watch_close(&output->watch);
        send_report(broker, "ended %d", index + 1);
    }
    return count > 0;
}

/* Whether there may be bytes that no event will report: pipes that a program has enlarged hold more than one packet. */
static bool has_silent_bytes(int fd)
{
    int left;
    return ioctl(fd, FIONREAD, &left) == 0 && left > 0 && fcntl(fd, F_GETPIPE_SZ) > ONE_PACKET;
}

/*
 * EPOLLHUP comes once, with bytes or without. Otherwise bytes are read only after their event: an event for bytes that were read
 * early would come later, for bytes that may have been written after those of the other pipe.
 */
static void output_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    struct output *output = (struct output *)watch;
    if (read_once(broker, output) && ((events & EPOLLHUP) != 0 || has_silent_bytes(watch->fd)))
        mark_due(broker, output);
}

void output_read_due(struct broker *broker)
{
    if (broker->due_count == 0 || is_congested(broker))
        return;
    struct output *output = &broker->outputs[broker->due[0]];
    broker->due[0] = broker->due[1];
    broker->due_count--;
    output->due = false;
    if (output->watch.fd >= 0)
        output_ready(broker, &output->watch, EPOLLHUP);
}

int output_open(struct broker *broker, int index)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_DIRECT) < 0)
        return -1;
    struct output *output = &broker->outputs[index];
    output->watch.ready = output_ready;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 || fcntl(ends[1], F_SETPIPE_SZ, ONE_PACKET) < 0 ||
        watch_add(broker, &output->watch, ends[0], EPOLLIN | EPOLLET) < 0) {
        close(ends[0]);
        close(ends[1]);
        output->watch.fd = -1;
        return -1;
    }
    return ends[1];
}
