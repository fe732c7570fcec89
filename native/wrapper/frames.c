/* Frames on a stream. Only sendmsg and read are used: a sandbox may refuse send and getsockopt. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "../shared/files.h"
#include "../shared/send-descriptors.h"
#include "wrapper.h"

#define LARGEST_FRAME (64u << 20)

static void await(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};
    poll(&ready, 1, -1);
}

int send_with_descriptors(int fd, const void *content, size_t length, const int *descriptors, size_t count)
{
    const char *at = content;
    while (length > 0) {
        ssize_t sent = send_descriptors(fd, at, length, descriptors, count);
        if (sent < 0)
            return -1;
        at += sent;
        length -= (size_t)sent;
        count = 0;
    }
    return 0;
}

int send_frame(int stream, const struct bytes *json, const int *descriptors, size_t count)
{
    if (json->failed || json->length > LARGEST_FRAME) {
        errno = json->failed ? ENOMEM : EMSGSIZE;
        return -1;
    }
    uint32_t length = (uint32_t)json->length;
    const unsigned char header[4] = {length & 0xFF, length >> 8 & 0xFF, length >> 16 & 0xFF, length >> 24};
    if (send_with_descriptors(stream, header, sizeof header, descriptors, count) < 0)
        return -1;
    return send_with_descriptors(stream, json->start, json->length, NULL, 0);
}

static int read_exactly(int fd, void *room, size_t length)
{
    char *at = room;
    while (length > 0) {
        ssize_t count = read_retrying(fd, at, length);
        if (count < 0 && errno == EAGAIN) {
            await(fd, POLLIN);
            continue;
        }
        if (count <= 0) {
            if (count == 0)
                errno = EPIPE;
            return -1;
        }
        at += count;
        length -= (size_t)count;
    }
    return 0;
}

int receive_frame(int stream, struct bytes *json)
{
    unsigned char header[4];
    if (read_exactly(stream, header, sizeof header) < 0)
        return -1;
    uint32_t length = header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 | (uint32_t)header[3] << 24;
    if (length > LARGEST_FRAME) {
        errno = EMSGSIZE;
        return -1;
    }
    char *room = bytes_reserve(json, (size_t)length + 1);
    if (room == NULL) {
        errno = ENOMEM;
        return -1;
    }
    if (read_exactly(stream, room, length) < 0)
        return -1;
    room[length] = '\0';
    json->length += length;
    return 0;
}

int move_away(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FORWARDED_DESCRIPTORS);
    if (moved < 0 && errno == EINVAL)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* the limit of open files is that low */
    int error = errno;
    close(fd);
    errno = error;
    return moved;
}
