/*
 * How connections are made and lost. The kernel reports a socket as writable when it is connected or cannot be; only then is it watched
 * for what arrives.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../shared/files.h"
#include "io.h"

int connection_watch(struct loop *loop, struct child *child)
{
    child->input.watched = true;
    return loop_watch(loop, EPOLL_CTL_ADD, child->input.fd, EPOLLOUT | EPOLLET, SOURCE_INPUT, child->id);
}

static int failure_of(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

static bool has_peer(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

void connection_continue(struct loop *loop, struct child *child)
{
    struct output *output = &child->outputs[0];
    if (child->input.fd < 0 || output->fd < 0)
        return;
    int error = failure_of(child->input.fd);
    if (error == 0 && !has_peer(child->input.fd))
        return; /* not decided yet */
    child->connecting = false;
    if (error == 0 && loop_watch(loop, EPOLL_CTL_ADD, output->fd, EPOLLIN | EPOLLET, SOURCE_OUTPUT, child->id) < 0)
        error = errno;
    queue_post(loop, child, EVENT_CONNECTED, 0, error);
    if (error == 0)
        return;
    input_drop(&child->input);
    close_open(&output->fd);
}

/* Both directions of the connection are over for the kernel: it has failed, or the other end has closed a Unix socket. */
static bool is_hung_up(int fd)
{
    struct pollfd state = {.fd = fd};
    return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

void connection_check(struct loop *loop, struct child *child)
{
    struct input *input = &child->input;
    if (!input->socket || input->fd < 0 || input->first != NULL || child->outputs[0].fd >= 0 || !is_hung_up(input->fd))
        return;
    int error = failure_of(input->fd);
    input_drop(input);
    if (error != 0)
        queue_post(loop, child, EVENT_INPUT_FAILED, 0, error);
}
