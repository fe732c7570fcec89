/* Entering a network namespace, for which the user namespace that owns it has to be entered first: only there may an ordinary user. */
#ifndef EXEC_ENTER_NETWORK_H
#define EXEC_ENTER_NETWORK_H

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
    int entered = setns(owner, CLONE_NEWUSER);
    close(owner);
    return entered < 0 ? -1 : setns(network, CLONE_NEWNET);
}

#endif
