#ifndef EXEC_SEND_DESCRIPTORS_H
#define EXEC_SEND_DESCRIPTORS_H

#include <stddef.h>
#include <sys/types.h>

/* The most that the kernel takes with one message. */
#define MOST_SENT_DESCRIPTORS 253

/*
 * One sendmsg of bytes, with which the descriptors go; how many bytes were sent, or -1 with errno. Waits while the socket is full,
 * and up to 5 s while descriptors of this user that others have sent, and no process has received yet, leave no room for more.
 */
ssize_t send_descriptors(int socket, const void *content, size_t length, const int *descriptors, size_t count);

#endif
