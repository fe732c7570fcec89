/* Finding and killing the processes of a family: see family.c. */
#ifndef EXEC_FAMILY_H
#define EXEC_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The processes whose mark agrees with `mark` in the bits of `mask`, and those in a pid namespace; a mask or inode of 0 selects none. */
struct family {
    uint64_t mark, mask;
    uint64_t namespace;  /* the inode of a pid namespace */
    uint32_t killed; /* out */
};

/*
 * Kills every living process of the families, until none is found any more; those that do not die are given up after two seconds.
 * `proc` is an open /proc. `should_continue`, if not NULL, is called between passes. Returns the number of processes killed, or -1
 * with errno if /proc cannot be read.
 */
int family_sweep(int proc, struct family *families, size_t count, bool (*should_continue)(void *), void *context);

/* The marks of all visible processes that agree with `mark` in the bits of `mask`; how many, at most `room`, or -1. */
ssize_t family_marks(uint64_t mark, uint64_t mask, uint64_t *marks, size_t room);

/* The limit that is the mark of a process in a family; false if it has ended, or belongs to a user that may not be asked about. */
bool family_mark_of(pid_t pid, uint64_t *mark);

/* Makes a process, or the calling one if `pid` is 0, the first of a family. A process that is in a family already stays there. */
int family_create(pid_t pid, uint64_t mark);

#endif
