/* Finding and killing the processes of a family: see family.c. */
#ifndef EXEC_FAMILY_H
#define EXEC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The processes with the mark, as far as the mask tells, and those in a pid namespace; a mask or an inode of 0 selects none. */
struct family {
    uint64_t mark, mask;
    uint64_t space;  /* the inode of a pid namespace */
    uint32_t killed; /* out */
};

/*
 * Kills every living process that belongs to one of the families, until none is met any more; those that do not die are
 * given up after two seconds. `proc` is an open /proc. `goes_on`, if not NULL, is asked between passes. Returns the number of processes killed, or
 * -1 with errno when /proc cannot be read.
 */
int family_sweep(int proc, struct family *families, size_t count, bool (*goes_on)(void *), void *context);

/* The marks of all processes in sight that agree with `mark` in the bits of `mask`; how many, at most `room`, or -1. */
ssize_t family_marks(uint64_t mark, uint64_t mask, uint64_t *marks, size_t room);

/* Makes a process, the calling one if it is 0, the first of a family. A process that is in a family already stays there. */
int family_create(pid_t pid, uint64_t mark);

#endif
