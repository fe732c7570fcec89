/*
 * Entering a network namespace. The user namespace that owns it is entered first, where an ordinary user has the rights for it. One
 * that belongs to the caller's own (EINVAL) only root can enter.
 */
#ifndef EXEC_ENTER_NETWORK_H
#define EXEC_ENTER_NETWORK_H

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* 0, or -1 with errno. Allocates nothing: the caller may share the memory of its parent. */
static inline int enter_network(int network)
{
    int owner = ioctl(network, NS_GET_USERNS);
    if (owner < 0)
        return -1;
    int entered = setns(owner, CLONE_NEWUSER), error = errno;
    close(owner);
    errno = error;
    if (entered < 0 && errno != EINVAL)
        return -1;
    return setns(network, CLONE_NEWNET);
}

#endif
