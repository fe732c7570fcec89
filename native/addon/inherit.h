/* Descriptors a child gets besides the standard ones: see inherit.c. */
#ifndef EXEC_INHERIT_H
#define EXEC_INHERIT_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor of this process, or bytes that the child reads from an unnamed file. */
struct inherited {
    int fd;            /* -1 until inherit_prepare when there are bytes */
    const void *bytes; /* NULL: the descriptor stays the caller's */
    size_t length;
    int moved; /* its number in the child while descriptors are moved */
};

/* Puts bytes into unnamed files; returns the highest descriptor, or -1. */
int inherit_prepare(struct inherited *list, size_t count);

/* Closes the unnamed files. */
void inherit_release(struct inherited *list, size_t count);

/* In the child: the list becomes the descriptors from 3 on, and nothing above them stays open. */
int inherit_place(struct inherited *list, size_t count);

#endif
