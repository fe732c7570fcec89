/* Asks the kernel (NETLINK_SOCK_DIAG) for the user and the inode of the socket at the other end of a connection. */
#define _GNU_SOURCE
#include "peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct inet_request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 inet;
};

struct unix_request {
    struct nlmsghdr head;
    struct unix_diag_req local;
};

/*
 * Opened for the first question and kept, as opening one takes almost as long as a question. Closed after a failure, because the
 * answer could come later and be taken for that to another question.
 */
static struct {
    pthread_mutex_t lock;
    int fd;
} kernel = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static int open_kernel(void)
{
    struct timeval timeout = {.tv_sec = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static ssize_t ask_kernel(const struct nlmsghdr *request, char *answer, size_t room)
{
    if (kernel.fd < 0)
        kernel.fd = open_kernel();
    if (kernel.fd < 0 || send(kernel.fd, request, request->nlmsg_len, 0) != (ssize_t)request->nlmsg_len)
        return -1;
    ssize_t length;
    do
        length = recv(kernel.fd, answer, room, 0);
    while (length < 0 && errno == EINTR);
    return length;
}

/* Sends a request of `size` bytes; the length of the payload of the answer, or -1 with errno. */
static ssize_t exchange(struct nlmsghdr *request, size_t size, void *answer, size_t room)
{
    _Alignas(8) char bytes[4096];
    request->nlmsg_len = (uint32_t)size;
    request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request->nlmsg_flags = NLM_F_REQUEST;
    pthread_mutex_lock(&kernel.lock);
    ssize_t length = ask_kernel(request, bytes, sizeof bytes);
    if (length < 0 && kernel.fd >= 0) {
        int error = errno;
        close(kernel.fd);
        kernel.fd = -1;
        errno = error;
    }
    pthread_mutex_unlock(&kernel.lock);
    if (length < 0)
        return -1;
    struct nlmsghdr *head = (struct nlmsghdr *)bytes;
    if (!NLMSG_OK(head, (size_t)length)) {
        errno = EPROTO;
        return -1;
    }
    size_t payload = head->nlmsg_len - NLMSG_HDRLEN;
    if (head->nlmsg_type == NLMSG_ERROR) {
        errno = payload >= sizeof(struct nlmsgerr) ? -((struct nlmsgerr *)NLMSG_DATA(head))->error : EPROTO;
        return -1;
    }
    if (payload > room)
        payload = room;
    memcpy(answer, NLMSG_DATA(head), payload);
    return (ssize_t)payload;
}

int peer_of_tcp(size_t address_length, struct tcp_end peer, struct tcp_end local, struct peer_socket *found)
{
    struct inet_diag_msg answer = {0};
    struct inet_request request = {.inet = {
                                    .sdiag_family = address_length == 4 ? AF_INET : AF_INET6,
                                    .sdiag_protocol = IPPROTO_TCP,
                                    .idiag_states = ~0U,
                                    .id = {.idiag_sport = htons(peer.port),
                                           .idiag_dport = htons(local.port),
                                           .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
                                }};
    memcpy(request.inet.id.idiag_src, peer.address, address_length);
    memcpy(request.inet.id.idiag_dst, local.address, address_length);
    ssize_t length = exchange(&request.head, sizeof request, &answer, sizeof answer);
    if (length < 0)
        return -1;
    /* Without such a connection the kernel answers with a listener on that port, if there is one. */
    if ((size_t)length < sizeof answer || answer.id.idiag_sport != htons(peer.port) ||
        answer.id.idiag_dport != htons(local.port)) {
        errno = ENOENT;
        return -1;
    }
    *found = (struct peer_socket){.uid = answer.idiag_uid, .inode = answer.idiag_inode};
    return 0;
}

/* The inode of the socket at the other end, from the attributes of an answer; 0 if that end is closed. */
static uint64_t peer_inode(const char *attributes, size_t length)
{
    const struct rtattr *attribute = (const struct rtattr *)attributes;
    for (; RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length))
        if (attribute->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(attribute) >= sizeof(uint32_t)) {
            uint32_t inode;
            memcpy(&inode, RTA_DATA(attribute), sizeof inode);
            return inode;
        }
    return 0;
}

int peer_of_unix(int fd, struct peer_socket *found)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    struct stat facts;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0 || fstat(fd, &facts) < 0)
        return -1;
    _Alignas(8) char answer[512];
    struct unix_request request = {.local = {
                                         .sdiag_family = AF_UNIX,
                                         .udiag_states = ~0U,
                                         .udiag_ino = (uint32_t)facts.st_ino,
                                         .udiag_show = UDIAG_SHOW_PEER,
                                         .udiag_cookie = {~0U, ~0U},
                                     }};
    ssize_t length = exchange(&request.head, sizeof request, answer, sizeof answer);
    if (length < 0)
        return -1;
    size_t head = NLMSG_ALIGN(sizeof(struct unix_diag_msg));
    if ((size_t)length < head) {
        errno = EPROTO;
        return -1;
    }
    *found = (struct peer_socket){.uid = credentials.uid, .inode = peer_inode(answer + head, (size_t)length - head)};
    return 0;
}
