/*
 * Writing inputs. Bytes go straight to the descriptor while it takes them; the rest is queued for the I/O thread, which
 * goes on whenever epoll reports room. While something is queued only that thread writes, so the order is the order of
 * the calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../shared/files.h"
#include "io.h"

/* Of a longer write to a socket the rest is left to the thread: a socket takes megabytes at once, and the sender does the receiver's work. */
#define DIRECT_BYTES (64 * 1024)

void input_drop(struct input *input)
{
    while (input->first != NULL) {
        struct piece *next = input->first->next;
        free(input->first);
        input->first = next;
    }
    input->last = NULL;
    input->queued = 0;
    if (input->socket && input->fd >= 0)
        shutdown(input->fd, SHUT_WR); /* closing one of two descriptors would not tell the other end */
    close_open(&input->fd);
}

static int enqueue(struct input *input, const uint8_t *bytes, size_t length)
{
    struct piece *piece = malloc(sizeof *piece + length);
    if (piece == NULL)
        return -1;
    piece->next = NULL;
    piece->length = length;
    piece->written = 0;
    memcpy(piece->bytes, bytes, length);
    if (input->last != NULL)
        input->last->next = piece;
    else
        input->first = piece;
    input->last = piece;
    input->queued += length;
    return 0;
}

/* Asking again re-arms the edge: epoll reports at once when there is room already. */
static int await_room(struct loop *loop, struct child *child)
{
    struct input *input = &child->input;
    int operation = input->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (loop_watch(loop, operation, input->fd, EPOLLOUT | EPOLLET, SOURCE_INPUT, child->id) < 0)
        return -1;
    input->watched = true;
    return 0;
}

long input_write(struct loop *loop, struct child *child, const uint8_t *bytes, size_t length)
{
    struct input *input = &child->input;
    if (input->fd < 0 || input->ending)
        return -EPIPE;
    size_t written = 0;
    bool full = input->first != NULL;
    size_t direct = input->socket && length > DIRECT_BYTES ? DIRECT_BYTES : length;
    while (!full && written < direct) {
        ssize_t count = write_retrying(input->fd, bytes + written, direct - written);
        if (count >= 0)
            written += (size_t)count;
        else if (errno == EAGAIN)
            full = true;
        else
            return -errno;
    }
    if (written == length)
        return (long)input->queued;
    if (!input->roomy && !child->terminal && !input->socket) {
        fcntl(input->fd, F_SETPIPE_SZ, ROOMY_PIPE_BYTES); /* may be refused; it works without */
        input->roomy = true;
    }
    bool first = input->first == NULL;
    if (enqueue(input, bytes + written, length - written) < 0 || (first && await_room(loop, child) < 0))
        return -errno;
    return (long)input->queued;
}

void input_end(struct input *input)
{
    input->ending = true;
    if (input->first == NULL)
        input_drop(input);
}

/* Fails the writers that wait for room; without any, the next write finds the closed descriptor. */
void input_fail(struct loop *loop, struct child *child, int error)
{
    bool waited = child->input.first != NULL;
    input_drop(&child->input);
    if (waited)
        queue_post(loop, child, EVENT_INPUT_FAILED, 0, error);
}

void input_continue(struct loop *loop, struct child *child)
{
    struct input *input = &child->input;
    if (input->fd < 0 || input->first == NULL)
        return;
    while (input->first != NULL) {
        struct piece *piece = input->first;
        /* No other thread writes, frees the piece or closes the descriptor while it is the first. */
        pthread_mutex_unlock(&loop->lock);
        ssize_t count = write_retrying(input->fd, piece->bytes + piece->written, piece->length - piece->written);
        int error = errno;
        pthread_mutex_lock(&loop->lock);
        if (count < 0) {
            if (error != EAGAIN)
                input_fail(loop, child, error);
            return;
        }
        piece->written += (size_t)count;
        input->queued -= (size_t)count;
        if (piece->written < piece->length)
            continue;
        input->first = piece->next;
        if (input->first == NULL)
            input->last = NULL;
        free(piece);
    }
    queue_post(loop, child, EVENT_DRAINED, 0, 0);
    if (input->ending)
        input_drop(input);
}
