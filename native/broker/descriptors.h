/* Descriptors that come along with a message. */
#ifndef EXEC_BROKER_DESCRIPTORS_H
#define EXEC_BROKER_DESCRIPTORS_H

#include <sys/socket.h>

#include "broker.h"

union descriptor_space {
    struct cmsghdr header;
    char space[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
};

/* Takes the descriptors of a message into an array of MOST_DESCRIPTORS; how many they are. */
int descriptors_take(struct msghdr *message, int *descriptors);

#endif
