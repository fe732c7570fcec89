/* Finding and killing the processes of a family: see family.c. */
#ifndef EXEC_FAMILY_H
#define EXEC_FAMILY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct family {
    uint64_t mark, mask;
    uint32_t killed; /* out */
};

/*
 * Kills every living process that belongs to one of the families and waits, for two seconds at most, until they are
 * dead. Returns the number of processes killed, or -1 with errno when /proc cannot be read.
 */
int family_sweep(struct family *families, size_t count);

/* Makes a process, the calling one if it is 0, the first of a family. Whoever is in another's already stays there. */
int family_found(pid_t pid, uint64_t mark);

#endif
