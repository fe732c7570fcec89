/* Tells a service manager how this process is: one datagram to the socket that NOTIFY_SOCKET names, as sd_notify(3) sends it. */
#include "addon.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int send_datagram(const struct sockaddr_un *address, socklen_t length, const void *text, size_t bytes)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    /* Not waited for: a manager that does not read must not hold up the server. */
    ssize_t sent = sendto(fd, text, bytes, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)address, length);
    int error = sent < 0 ? errno : 0;
    close(fd);
    return error;
}

/* notify(path, text): 0 or an error number. The path of an abstract socket begins with a NUL. */
napi_value notify_manager(napi_env env, napi_callback_info info)
{
    size_t count = 2, path_length, length;
    napi_value arguments[2], result;
    void *path, *text;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_buffer_info(env, arguments[0], &path, &path_length));
    TRY(env, napi_get_buffer_info(env, arguments[1], &text, &length));
    int error = ENAMETOOLONG;
    if (path_length < sizeof address.sun_path) {
        memcpy(address.sun_path, path, path_length);
        error = send_datagram(&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_length), text, length);
    }
    TRY(env, napi_create_int32(env, error, &result));
    return result;
}
