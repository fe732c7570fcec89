/*
 * Sends open descriptors to another process. The kernel counts, for each user, those that are sent and not yet received; more than
 * the sender may have open are refused with ETOOMANYREFS (root outside of a user namespace is exempt). Other programs of the user
 * count too, so that a message is refused for what they do, and goes through as soon as they receive theirs.
 */
#define _GNU_SOURCE
#include "send-descriptors.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static bool wait_until_writable(int socket)
{
    struct pollfd ready = {.fd = socket, .events = POLLOUT};
    return poll(&ready, 1, -1) >= 0 || errno == EINTR;
}

/* Sleeps 1, 2, 4 … 256 ms, then 256 ms each; false after 5 s in all. */
static bool pause_for_room(int attempt)
{
    int milliseconds = 1 << (attempt < 8 ? attempt : 8);
    struct timespec pause = {.tv_nsec = milliseconds * 1000000L};
    if (attempt >= 26)
        return false;
    nanosleep(&pause, NULL);
    return true;
}

ssize_t send_descriptors(int socket, const void *content, size_t length, const int *descriptors, size_t count)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(MOST_SENT_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = {.iov_base = (void *)content, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > MOST_SENT_DESCRIPTORS) {
        errno = E2BIG;
        return -1;
    }
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
    }
    for (int attempt = 0;;) {
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent >= 0)
            return sent;
        bool again = errno == EINTR || (errno == EAGAIN && wait_until_writable(socket)) ||
                     (errno == ETOOMANYREFS && pause_for_room(attempt++));
        if (!again)
            return -1;
    }
}
