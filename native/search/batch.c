/* Files that several threads read at a time. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../addon/thread.h"
#include "search.h"

/* With fewer files a thread costs more than it saves. */
#define FILES_A_THREAD 4
/* The compiled pattern is elsewhere; a thread keeps a path or two here. */
#define STACK_SIZE (256 * 1024)
/* The first batch is small, so that the first matches are given early. */
#define FIRST_ROOM 16

/* What was found and not given: no file is begun above it. */
#define PENDING_LIMIT (4 * 1024 * 1024)

struct worker {
    pthread_t thread;
    struct scanner *scanner;
    struct batch *batch;
    const struct slice *slice;
};

struct job *batch_add(struct batch *batch, const char *path)
{
    struct job *job = calloc(1, sizeof *job);
    if (job == NULL || (job->path = strdup(path)) == NULL) {
        free(job);
        return NULL;
    }
    return batch->jobs[batch->count++] = job;
}

static void free_job(struct job *job)
{
    free(job->path);
    free(job->found.bytes);
    free(job);
}

/* The next file that is to be read; NULL if there is none. */
static struct job *take_job(struct batch *batch)
{
    for (;;) {
        size_t at = atomic_fetch_add(&batch->next, 1);
        if (at >= batch->count || at > atomic_load(&batch->last))
            return NULL;
        if (!batch->jobs[at]->done)
            return batch->jobs[at];
    }
}

/* When a file alone has all matches that are wanted, none behind it is needed. */
static void note_enough(struct batch *batch, const struct job *job, const struct slice *slice)
{
    if (job->matches - job->matches_given < slice->matches_left)
        return;
    for (size_t at = 0; at < batch->count; at++) {
        if (batch->jobs[at] == job && at < atomic_load(&batch->last))
            atomic_store(&batch->last, at); /* two threads may do this at a time: either value is right */
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    do {
        struct job *job = scanner_job(worker->scanner);
        if (job == NULL && atomic_load(&worker->batch->pending) < PENDING_LIMIT)
            job = take_job(worker->batch);
        if (job == NULL)
            break;
        size_t before = job->found.length;
        scanner_work(worker->scanner, job, worker->slice);
        atomic_fetch_add(&worker->batch->pending, job->found.length - before);
        if (!job->done)
            break;
        note_enough(worker->batch, job, worker->slice);
    } while (search_clock() < worker->slice->deadline);
    return NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many scanners are to run: those that are in the middle of a file, and others where there is enough to do. */
static size_t count_workers(const struct batch *batch)
{
    size_t next = atomic_load(&batch->next), left = next < batch->count ? batch->count - next : 0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = least(left / FILES_A_THREAD, least(processors < 1 ? 1 : (size_t)processors, SCANNER_LIMIT));
    for (size_t i = 0; i < SCANNER_LIMIT; i++) {
        if (batch->scanners[i] != NULL && scanner_job(batch->scanners[i]) != NULL && wanted <= i)
            wanted = i + 1;
    }
    return wanted == 0 ? 1 : wanted;
}

bool batch_run(struct batch *batch, const struct slice *slice)
{
    struct worker workers[SCANNER_LIMIT];
    size_t wanted = count_workers(batch), started = 0;
    for (size_t i = 0; i < wanted; i++) {
        if (batch->scanners[i] == NULL)
            batch->scanners[i] = scanner_new(slice->content);
        if (batch->scanners[i] == NULL)
            wanted = i; /* those that there are do all */
        else
            workers[i] = (struct worker){.scanner = batch->scanners[i], .batch = batch, .slice = slice};
    }
    if (wanted == 0)
        return false;
    while (started + 1 < wanted &&
           thread_start(&workers[started + 1].thread, STACK_SIZE, JOINED, work, &workers[started + 1]) == 0)
        started++;
    work(&workers[0]);
    for (size_t i = started + 1; i < wanted; i++)
        work(&workers[i]); /* whose threads could not be started */
    for (size_t i = 1; i <= started; i++)
        pthread_join(workers[i].thread, NULL);
    return true;
}

bool batch_renew(struct batch *batch)
{
    if (batch->given < batch->count)
        return false;
    for (size_t i = 0; i < batch->count; i++)
        free_job(batch->jobs[i]);
    size_t room = batch->room == 0 ? FIRST_ROOM : least(4 * batch->room, BATCH_LIMIT);
    batch->room = room;
    batch->count = batch->given = 0;
    atomic_store(&batch->next, 0);
    atomic_store(&batch->last, SIZE_MAX);
    return true;
}

void batch_free(struct batch *batch)
{
    for (size_t i = 0; i < SCANNER_LIMIT; i++)
        scanner_free(batch->scanners[i]);
    for (size_t i = 0; i < batch->count; i++)
        free_job(batch->jobs[i]);
}
