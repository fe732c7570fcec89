#define _GNU_SOURCE
#include "parallel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_LIMIT 4
/* For fewer a thread is not worth its start. */
#define NAMES_A_THREAD 8
/* Directories can be deep, and some C libraries give threads little. */
#define STACK_SIZE (8 * 1024 * 1024)

static void *work_on(void *argument)
{
    struct crew *crew = argument;
    size_t at;
    while (atomic_load(&crew->failure) == 0 && (at = atomic_fetch_add(&crew->next, 1)) < crew->count) {
        int outcome = crew->work(crew->context, crew->names[at]);
        if (outcome < 0)
            atomic_store(&crew->failure, outcome);
    }
    return NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

int crew_finish(struct crew *crew)
{
    pthread_t threads[THREADS_LIMIT];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = least(crew->count / NAMES_A_THREAD, least(processors < 1 ? 1 : (size_t)processors, THREADS_LIMIT));
    size_t started = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    while (started + 1 < wanted && pthread_create(&threads[started], &attributes, work_on, crew) == 0)
        started++;
    pthread_attr_destroy(&attributes);
    work_on(crew);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < crew->count; i++)
        free(crew->names[i]);
    crew->count = 0;
    atomic_store(&crew->next, 0);
    return atomic_load(&crew->failure);
}

int crew_add(struct crew *crew, const char *name)
{
    char *kept = strdup(name);
    if (kept == NULL)
        return -ENOMEM;
    crew->names[crew->count++] = kept;
    return crew->count == CREW_NAMES ? crew_finish(crew) : 0;
}
