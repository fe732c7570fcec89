/*
 * Listening sockets inside a network namespace, handed to the server outside. A socket belongs to the namespace it was
 * made in, also in another process: the server accepts connections to the loopback of the sandbox.
 */
#define _GNU_SOURCE
#include "inner-listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "../shared/number.h"
#include "../shared/send-descriptors.h"

static int listener(const char *port)
{
    uint64_t number;
    if (read_number(port, 10, UINT16_MAX, &number) == NULL) {
        errno = EINVAL;
        return -1;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0)
        return -1;
    return fd;
}

int listen_for_server(int channel, char **ports, size_t count)
{
    int sockets[MOST_LISTENERS];
    if (count > MOST_LISTENERS) {
        errno = E2BIG;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        if ((sockets[i] = listener(ports[i])) < 0)
            return -1;
    return send_descriptors(channel, ".", 1, sockets, count) < 0 ? -1 : 0;
}
