/* Several threads for the directories of one directory, each of which has a lock of its own in the kernel. */
#ifndef EXEC_FS_PARALLEL_H
#define EXEC_FS_PARALLEL_H

#include <stdatomic.h>
#include <stddef.h>

#define PARALLEL_NAMES 1024

struct parallel {
    /* Called with any of the names on any thread; 0 or a negative errno, after which no more are begun. */
    int (*work)(void *context, const char *name);
    void *context;
    char *names[PARALLEL_NAMES];
    size_t count;
    atomic_size_t next;
    atomic_int failure;
};

/* Queues a name; works on all queued names when there are enough. 0 or a negative errno. */
int parallel_add(struct parallel *parallel, const char *name);
/* Returns when the work on all names has ended: 0, or the negative errno of one that failed. */
int parallel_finish(struct parallel *parallel);

#endif
