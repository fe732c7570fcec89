#define _GNU_SOURCE
#include "parallel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_LIMIT 4
/* With fewer names a thread costs more than it saves. */
#define NAMES_A_THREAD 8
/* Directories can be deep, and the default of some C libraries is small. */
#define STACK_SIZE (8 * 1024 * 1024)

static void *work_on(void *argument)
{
    struct parallel *parallel = argument;
    size_t at;
    while (atomic_load(&parallel->failure) == 0 && (at = atomic_fetch_add(&parallel->next, 1)) < parallel->count) {
        int outcome = parallel->work(parallel->context, parallel->names[at]);
        if (outcome < 0)
            atomic_store(&parallel->failure, outcome);
    }
    return NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int parallel_finish(struct parallel *parallel)
{
    pthread_t threads[THREADS_LIMIT];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = least(parallel->count / NAMES_A_THREAD, least(processors < 1 ? 1 : (size_t)processors, THREADS_LIMIT));
    size_t started = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    while (started + 1 < wanted && pthread_create(&threads[started], &attributes, work_on, parallel) == 0)
        started++;
    pthread_attr_destroy(&attributes);
    work_on(parallel);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < parallel->count; i++)
        free(parallel->names[i]);
    parallel->count = 0;
    atomic_store(&parallel->next, 0);
    return atomic_load(&parallel->failure);
}

int parallel_add(struct parallel *parallel, const char *name)
{
    char *kept = strdup(name);
    if (kept == NULL)
        return -ENOMEM;
    parallel->names[parallel->count++] = kept;
    return parallel->count == PARALLEL_NAMES ? parallel_finish(parallel) : 0;
}
