/*
 * Reading outputs. A descriptor is watched edge-triggered, so it is read until it has nothing left (EAGAIN), ends, or
 * the window is full; in the last case the grant that reopens the window starts the next read. A terminal ends with
 * EIO, after everything written to it has been read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

#include "../shared/files.h"
#include "io.h"

/* queue_output may write the bytes of an incomplete base64 group in front of what was read. */
#define FRONT 16

enum outcome { READ_ALL, READ_MORE, READ_STALLED, READ_ENDED };

/* Room in the window; without room the output is marked as stalled under the same lock, so that no grant is missed. */
static size_t room_or_stall(struct loop *loop, struct output *output)
{
    pthread_mutex_lock(&loop->lock);
    size_t room = output->outstanding < WINDOW_BYTES ? WINDOW_BYTES - output->outstanding : 0;
    if (room < LEAST_ROOM)
        room = 0;
    output->stalled = room == 0;
    pthread_mutex_unlock(&loop->lock);
    return room;
}

/* The default size of a pipe. */
#define PIPE_BYTES (64 * 1024)
/* A chunk of this size is sent at once. */
#define WORTH_SENDING (16 * 1024)
/* A stream that printed this recently is likely to print again before its chunk could be sent. */
#define STILL_PRINTING_NS 1000000
#define SECOND_LOOKS 16

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Without this, a program that prints line by line would cause a message for every line. */
static bool looks_again(const struct output *output, size_t length, int looks)
{
    return length > 0 && length < WORTH_SENDING && looks < SECOND_LOOKS && now() - output->posted_at < STILL_PRINTING_NS;
}

/* Reads one chunk. */
static enum outcome pump(struct loop *loop, struct output *output)
{
    size_t limit = room_or_stall(loop, output);
    if (limit == 0)
        return READ_STALLED;
    if (limit > CHUNK_BYTES)
        limit = CHUNK_BYTES;
    enum outcome outcome = READ_MORE;
    uint8_t *bytes = loop->scratch + FRONT;
    size_t length = 0;
    int looks = 0, error = 0;
    while (outcome == READ_MORE && length < limit) {
        ssize_t count = read_retrying(output->fd, bytes + length, limit - length);
        if (count > 0)
            length += (size_t)count;
        else if (count == 0 || errno != EAGAIN) {
            outcome = READ_ENDED;
            error = count < 0 ? errno : 0;
        }
        else if (looks_again(output, length, looks++))
            sched_yield();
        else
            outcome = READ_ALL;
        if (count >= PIPE_BYTES && !output->roomy) {
            fcntl(output->fd, F_SETPIPE_SZ, ROOMY_PIPE_BYTES); /* may be refused; it works without */
            output->roomy = true;
        }
    }
    if (length > 0) {
        queue_output(loop, output, bytes, length);
        output->posted_at = now();
    }
    if (outcome != READ_ENDED)
        return outcome;
    /* A terminal that no process has open has not ended while the child lives: closing it now would hang up on the child. */
    if (output->child->terminal && output->child->pidfd >= 0)
        return READ_ALL;
    output_close(loop, output, error);
    return READ_ENDED;
}

void output_ready(struct loop *loop, struct output *output)
{
    if (output->listed)
        return;
    output->listed = true;
    output->next_ready = loop->ready;
    loop->ready = output;
}

/* Reads one chunk of every ready output, so that a flood of one does not delay the others. */
void output_round(struct loop *loop)
{
    struct output *output = loop->ready;
    loop->ready = NULL;
    while (output != NULL) {
        struct output *next = output->next_ready;
        output->listed = false;
        if (output->fd >= 0 && pump(loop, output) == READ_MORE)
            output_ready(loop, output);
        output = next;
    }
}

void output_drain(struct loop *loop, struct child *child)
{
    for (int i = 0; i < OUTPUTS; i++)
        while (child->outputs[i].fd >= 0 && pump(loop, &child->outputs[i]) == READ_MORE)
            ;
}

void output_close(struct loop *loop, struct output *output, int error)
{
    struct child *child = output->child;
    pthread_mutex_lock(&loop->lock);
    loop_watch(loop, EPOLL_CTL_DEL, output->fd, 0, SOURCE_OUTPUT, child->id); /* closing would not: a terminal has two descriptors */
    close_open(&output->fd);
    if (child->terminal)
        input_fail(loop, child, EIO);
    queue_post(loop, child, EVENT_ENDED, (int)(output - child->outputs), error);
    connection_check(loop, child); /* what it looks for may have been reported already */
    pthread_mutex_unlock(&loop->lock);
    loop_release_settled(loop, child);
}

void output_grant(struct loop *loop, struct child *child, int stream, size_t bytes)
{
    struct output *output = &child->outputs[stream];
    size_t charge = bytes + CHUNK_OVERHEAD;
    output->outstanding -= charge < output->outstanding ? charge : output->outstanding;
    if (output->stalled && output->fd >= 0 && output->outstanding <= WINDOW_BYTES / 2)
        loop_attend(loop, child);
}
