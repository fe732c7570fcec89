/* Asks the kernel (NETLINK_SOCK_DIAG) for the user and the inode of the socket at the other end of a TCP connection. */
#define _GNU_SOURCE
#include "peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 inet;
};

/* One question, one answer; the length of its payload, or -1. */
static ssize_t ask(struct question *question, void *answer, size_t room)
{
    _Alignas(8) char bytes[4096];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -1;
    struct timeval timeout = {.tv_sec = 1};
    question->head.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + sizeof question->inet);
    question->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question->head.nlmsg_flags = NLM_F_REQUEST;
    ssize_t length = -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
        send(fd, question, question->head.nlmsg_len, 0) == (ssize_t)question->head.nlmsg_len)
        do
            length = recv(fd, bytes, sizeof bytes, 0);
        while (length < 0 && errno == EINTR);
    int error = errno;
    close(fd);
    errno = error;
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
    struct question question = {.inet = {
                                    .sdiag_family = address_length == 4 ? AF_INET : AF_INET6,
                                    .sdiag_protocol = IPPROTO_TCP,
                                    .idiag_states = ~0U,
                                    .id = {.idiag_sport = htons(peer.port),
                                           .idiag_dport = htons(local.port),
                                           .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
                                }};
    memcpy(question.inet.id.idiag_src, peer.address, address_length);
    memcpy(question.inet.id.idiag_dst, local.address, address_length);
    ssize_t length = ask(&question, &answer, sizeof answer);
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
