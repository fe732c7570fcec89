/* Installs a seccomp program with a listener for a command, and sends the listener to the supervisor. */
#define _GNU_SOURCE
#include "denials.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/send-descriptors.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { LISTENER, REPORTS, DESCRIPTORS };

static int install(const struct sock_fprog *program, unsigned long flags)
{
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
}

int install_listening(const struct sock_fprog *program)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    int listener = install(program, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL)
        listener = install(program, 0); /* before Linux 5.19 every signal interrupts the wait */
    /* Since Linux 6.6 both sides can take turns on one processor: an answer comes sooner. */
    if (listener >= 0)
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    return listener;
}

int watch_self(const struct sock_fprog *program, int channel, int reports, struct watch_options options)
{
    int listener = install_listening(program);
    if (listener < 0)
        return -1;
    int descriptors[DESCRIPTORS] = {[LISTENER] = listener, [REPORTS] = reports};
    ssize_t sent = send_descriptors(channel, &options, sizeof options, descriptors, DESCRIPTORS);
    return sent == (ssize_t)sizeof options ? 0 : -1;
}

union descriptors {
    struct cmsghdr header;
    char space[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
};

bool denials_receive(struct denials *denials, int channel)
{
    union descriptors control;
    int descriptors[DESCRIPTORS];
    struct iovec content = {.iov_base = &denials->options, .iov_len = sizeof denials->options};
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length;
    do
        length = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    struct cmsghdr *header = length == (ssize_t)sizeof denials->options ? CMSG_FIRSTHDR(&message) : NULL;
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
        header->cmsg_len != CMSG_LEN(sizeof descriptors))
        return false;
    memcpy(descriptors, CMSG_DATA(header), sizeof descriptors);
    denials->listener = descriptors[LISTENER];
    denials->reports = descriptors[REPORTS];
    return true;
}
