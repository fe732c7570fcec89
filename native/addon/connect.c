/*
 * connectTcp(address, port, socket) and connectUnix(path): the id of a connection that is being made, or a negative errno. The
 * loop delivers its outcome (connection.c), and everything after it as for a child.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../shared/files.h"
#include "addon.h"

union target {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un unix_path;
};

/* Takes the socket. */
static long begin(struct addon *addon, int fd, const union target *target, socklen_t size)
{
    int outcome;
    do
        outcome = connect(fd, &target->any, size);
    while (outcome < 0 && errno == EINTR);
    if (outcome < 0 && errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        return -error;
    }
    struct child *child = loop_add_connection(addon->loop, fd);
    return child == NULL ? -errno : (long)child->id;
}

static napi_value answer(napi_env env, struct addon *addon, int fd, const union target *target, socklen_t size)
{
    napi_value result;
    long id = fd < 0 ? -errno : begin(addon, fd, target, size);
    if (id >= 0)
        delivery_hold(env, addon);
    TRY(env, napi_create_int64(env, id, &result));
    return result;
}

/* The socket of the caller, which is taken, or a new one of this network. */
static int tcp_socket(int given, int family)
{
    int fd = given >= 0 ? given : socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* writes come in whole messages */
    return fd;
}

napi_value connect_tcp(napi_env env, napi_callback_info info)
{
    size_t count = 3, length;
    napi_value arguments[3];
    struct addon *addon;
    napi_typedarray_type type;
    void *address;
    uint32_t port;
    int32_t given;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, (void **)&addon));
    TRY(env, napi_get_typedarray_info(env, arguments[0], &type, &length, &address, NULL, NULL));
    TRY(env, napi_get_value_uint32(env, arguments[1], &port));
    TRY(env, napi_get_value_int32(env, arguments[2], &given));
    union target target;
    memset(&target, 0, sizeof target);
    if (addon->loop == NULL || type != napi_uint8_array || (length != 4 && length != 16))
        return addon_throw(env, "connectTcp: not started, or no address");
    if (length == 4) {
        target.four.sin_family = AF_INET;
        target.four.sin_port = htons((uint16_t)port);
        memcpy(&target.four.sin_addr, address, length);
    } else {
        target.six.sin6_family = AF_INET6;
        target.six.sin6_port = htons((uint16_t)port);
        memcpy(&target.six.sin6_addr, address, length);
    }
    socklen_t size = length == 4 ? sizeof target.four : sizeof target.six;
    return answer(env, addon, tcp_socket(given, target.any.sa_family), &target, size);
}

napi_value connect_unix(napi_env env, napi_callback_info info)
{
    size_t count = 1, length;
    napi_value path;
    struct addon *addon;
    union target target;
    memset(&target, 0, sizeof target);
    target.unix_path.sun_family = AF_UNIX;
    TRY(env, napi_get_cb_info(env, info, &count, &path, NULL, (void **)&addon));
    TRY(env, napi_get_value_string_utf8(env, path, target.unix_path.sun_path, sizeof target.unix_path.sun_path, &length));
    if (addon->loop == NULL)
        return addon_throw(env, "connectUnix: not started");
    return answer(env, addon, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), &target, sizeof target.unix_path);
}
