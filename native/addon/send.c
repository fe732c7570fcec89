/* Sends and receives on a connected socket without waiting. */
#include "addon.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A full socket or system, where a later attempt can succeed; after other errors the socket is of no use. */
static bool is_temporary(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

/* send(fd, bytes, more): the number of bytes sent, 0 if the socket is full, -1 if it is closed. */
napi_value send_bytes(napi_env env, napi_callback_info info)
{
    size_t count = 3;
    napi_value arguments[3], result;
    int32_t fd;
    bool more;
    struct iovec parts[2] = {0};
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_int32(env, arguments[0], &fd));
    TRY(env, napi_get_buffer_info(env, arguments[1], &parts[0].iov_base, &parts[0].iov_len));
    TRY(env, napi_is_buffer(env, arguments[2], &more));
    if (more)
        TRY(env, napi_get_buffer_info(env, arguments[2], &parts[1].iov_base, &parts[1].iov_len));
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = more ? 2 : 1};
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    TRY(env, napi_create_int64(env, sent >= 0 ? sent : is_temporary(errno) ? 0 : -1, &result));
    return result;
}

/* receive(fd, room): the number of bytes received, 0 if none has come yet, -1 at the end. */
napi_value receive_bytes(napi_env env, napi_callback_info info)
{
    size_t count = 2, length;
    napi_value arguments[2], result;
    int32_t fd;
    void *room;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_int32(env, arguments[0], &fd));
    TRY(env, napi_get_buffer_info(env, arguments[1], &room, &length));
    ssize_t received;
    do
        received = recv(fd, room, length, MSG_DONTWAIT);
    while (received < 0 && errno == EINTR);
    TRY(env, napi_create_int64(env, received == 0 ? -1 : received < 0 ? 0 : received, &result));
    return result;
}
