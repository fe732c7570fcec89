/* Descriptors that are received from other processes, or shared with them: see src/host/os/addon.ts. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/xattr.h>

#include "addon.h"
#include "../shared/files.h"

#define MOST_DESCRIPTORS 64

struct task {
    napi_async_work work;
    napi_deferred deferred;
    int fd;
    size_t count;
    int descriptors[MOST_DESCRIPTORS];
};

/* Waits for one message; the end of the other side counts as a message without descriptors. */
static void receive(napi_env env, void *data)
{
    (void)env;
    struct task *task = data;
    char byte;
    struct iovec content = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof task->descriptors)];
    } control;
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length;
    do
        length = recvmsg(task->fd, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    close_open(&task->fd);
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return;
    task->count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(task->descriptors, CMSG_DATA(header), task->count * sizeof(int));
}

static void deliver(napi_env env, napi_status status, void *data)
{
    (void)status;
    struct task *task = data;
    napi_value list, number;
    if (napi_create_array_with_length(env, task->count, &list) == napi_ok) {
        for (size_t i = 0; i < task->count; i++)
            if (napi_create_int32(env, task->descriptors[i], &number) == napi_ok)
                napi_set_element(env, list, (uint32_t)i, number);
        napi_resolve_deferred(env, task->deferred, list);
    }
    napi_delete_async_work(env, task->work);
    free(task);
}

napi_value receive_descriptors(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, name, promise;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    struct task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return addon_throw(env, "receiveDescriptors: out of memory");
    if (napi_get_value_int32(env, argument, &task->fd) != napi_ok ||
        napi_create_string_utf8(env, "receive", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_promise(env, &task->deferred, &promise) != napi_ok ||
        napi_create_async_work(env, NULL, name, receive, deliver, task, &task->work) != napi_ok ||
        napi_queue_async_work(env, task->work) != napi_ok) {
        free(task);
        return addon_throw(env, "receiveDescriptors: cannot be queued");
    }
    return promise;
}

/*
 * receivedNumber(fd): eight bytes that have come on a socket, or undefined. They stay there, and so does a descriptor that came
 * with them.
 */
napi_value received_number(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, result;
    int32_t fd;
    uint64_t number;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_value_int32(env, argument, &fd));
    if (recv(fd, &number, sizeof number, MSG_DONTWAIT | MSG_PEEK) == (ssize_t)sizeof number)
        TRY(env, napi_create_bigint_uint64(env, number, &result));
    else
        TRY(env, napi_get_undefined(env, &result));
    return result;
}

/* unreadBytes(fd): how many bytes wait in a socket to be read, or a negative errno. */
napi_value unread_bytes(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, result;
    int32_t fd;
    int unread;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_value_int32(env, argument, &fd));
    if (ioctl(fd, FIONREAD, &unread) < 0)
        unread = -errno;
    TRY(env, napi_create_int32(env, unread, &result));
    return result;
}

/* lock(fd, alone): locks an open file or directory without waiting, exclusively or shared; whether it could. */
napi_value lock_file(napi_env env, napi_callback_info info)
{
    size_t count = 2;
    napi_value arguments[2], result;
    int32_t fd;
    bool alone;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_int32(env, arguments[0], &fd));
    TRY(env, napi_get_value_bool(env, arguments[1], &alone));
    bool locked = flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0;
    TRY(env, napi_get_boolean(env, locked || errno != EWOULDBLOCK, &result)); /* not every file system has locks */
    return result;
}

/* hangUp(fd): shuts a socket down for the other end; bytes and descriptors that have arrived here stay until it is closed. */
napi_value hang_up(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, nothing;
    int32_t fd;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_value_int32(env, argument, &fd));
    shutdown(fd, SHUT_RDWR);
    TRY(env, napi_get_undefined(env, &nothing));
    return nothing;
}

napi_value socket_pair(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    int ends[2];
    bool stream;
    napi_value argument, list, number;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_value_bool(env, argument, &stream));
    if (socketpair(AF_UNIX, (stream ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0, ends) < 0)
        return addon_throw(env, "socketpair");
    TRY(env, napi_create_array_with_length(env, 2, &list));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(env, napi_create_int32(env, ends[i], &number));
        TRY(env, napi_set_element(env, list, i, number));
    }
    return list;
}

/* hasAttribute(path and name): whether a file has an extended attribute that is 1. The strings are NUL-terminated. */
napi_value has_attribute(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, result;
    char value[2];
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    char **strings = addon_list(env, argument);
    if (strings == NULL || strings[0] == NULL || strings[1] == NULL) {
        free(strings);
        return addon_throw(env, "hasAttribute: expected a path and a name");
    }
    bool has = getxattr(strings[0], strings[1], value, sizeof value) == 1 && value[0] == '1';
    free(strings);
    TRY(env, napi_get_boolean(env, has, &result));
    return result;
}
