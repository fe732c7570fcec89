/* Receives the streams on which wrappers will ask. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker.h"
#include "descriptors.h"

#define LARGEST_PACKET 8192

int descriptors_take(struct msghdr *message, int *descriptors)
{
    int count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        int added = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(descriptors + count, CMSG_DATA(header), (size_t)added * sizeof(int));
        count += added;
    }
    return count;
}

/* Whether a descriptor is a Unix stream, and the process that made it. */
static bool is_stream(int fd, pid_t *maker)
{
    int domain, type;
    socklen_t size = sizeof domain;
    struct ucred peer;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain != AF_UNIX)
        return false;
    size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM)
        return false;
    size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    *maker = peer.pid;
    return true;
}

/* Whether the other side has closed: an empty packet reads as 0 bytes, too. */
static bool is_over(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLRDHUP};
    return poll(&state, 1, 0) == 1 && (state.revents & (POLLRDHUP | POLLHUP)) != 0;
}

void handshake_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)events;
    char content[LARGEST_PACKET];
    int descriptors[MOST_DESCRIPTORS];
    union descriptor_space control;
    struct iovec part = {.iov_base = content, .iov_len = sizeof content};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(watch->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0 || (received == 0 && is_over(watch->fd))) {
        if (received == 0 || (errno != EAGAIN && errno != EINTR))
            watch_close(watch);
        return;
    }
    int count = descriptors_take(&message, descriptors);
    pid_t asker;
    struct session *session = NULL;
    if (count == 1 && is_stream(descriptors[0], &asker) && (session = session_add(broker, asker)) != NULL &&
        watch_add(broker, &session->stream, descriptors[0], EPOLLIN) == 0) {
        session->deadline = now_ms() + FRAME_TIMEOUT_MS;
        return;
    }
    send_report(broker, "noted a packet with %d descriptors dropped", count);
    for (int i = 0; i < count; i++)
        close(descriptors[i]);
    if (session != NULL) {
        session->stream.fd = -1;
        session_end(broker, session);
    }
}
