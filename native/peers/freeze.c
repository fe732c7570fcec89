/*
 * Stops all processes of sandboxes for a moment, so that a socket cannot pass from one to another during a search.
 *
 * Parents notice SIGSTOP, but not tracing (PTRACE_SEIZE), which ends with the tracing thread in any case. A traced thread that is
 * killed meanwhile is reaped by reap.c.
 *
 * /proc lists processes in ascending order while new pids ascend, so a process that forks and exits to escape is overtaken, unless
 * pids start again from the lowest. Then it leaves a dead process, which its stopped parent cannot reap. So passes are repeated
 * until one finds no running thread, and the same processes, living and dead, as the pass before.
 */
#define _GNU_SOURCE
#include "../shared/files.h"
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 1000
#define KERNEL_WAIT_MS 20
#define PAUSE_NS 50000
#define STOPPED_BY_US 128 /* PTRACE_EVENT_STOP; headers disagree about where it is defined */

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/*
 * Whether a thread is traced by this thread. A list of thread ids would not do: a thread that executes a program gets the id of the
 * first thread of its process.
 */
static bool is_frozen(struct scan *scan, pid_t thread)
{
    char text[2048];
    int tracer;
    char *line = read_text(scan, thread, "status", text, sizeof text) > 0 ? strstr(text, "\nTracerPid:") : NULL;
    return line != NULL && sscanf(line, "\nTracerPid: %d", &tracer) == 1 && tracer == gettid();
}

static bool is_over(char state)
{
    return state == 0 || state == 'Z' || state == 'X';
}

static bool has_ended(struct scan *scan, pid_t thread)
{
    return is_over(state_of(scan, thread));
}

/*
 * Waits until a thread has stopped, or waits in the kernel, from which it cannot return before it is detached. Consumes only a
 * stop: the thread's end is for reap.c, or for its parent, which may be this process.
 */
static bool wait_for_stop(struct scan *scan, struct freeze *freeze, size_t index, long deadline)
{
    pid_t thread = freeze->threads[index].thread;
    siginfo_t stop = {0};
    int found;
    long limit = now_ms() + KERNEL_WAIT_MS;
    while ((found = waitid(P_PID, (id_t)thread, &stop, WSTOPPED | WNOHANG | __WALL)) == 0 && stop.si_pid == 0) {
        char state = state_of(scan, thread);
        if (is_over(state) || (now_ms() > limit && state == 'D'))
            return true;
        if (now_ms() > deadline)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    pthread_mutex_lock(&freeze->lock);
    struct frozen_thread *frozen = &freeze->threads[index];
    if (found < 0)
        frozen->ended = state_of(scan, thread) == 0; /* a dead thread has no stop to consume */
    else if (stop.si_status >> 8 != STOPPED_BY_US)
        frozen->signal = stop.si_status & 0xff;
    pthread_mutex_unlock(&freeze->lock);
    return true;
}

/* The index of a new entry, or -1. */
static ssize_t note_thread(struct freeze *freeze, pid_t thread, bool ours)
{
    ssize_t index = -1;
    pthread_mutex_lock(&freeze->lock);
    if (freeze->count == freeze->capacity) {
        size_t capacity = freeze->capacity ? freeze->capacity * 2 : 64;
        struct frozen_thread *larger = realloc(freeze->threads, capacity * sizeof *larger);
        if (larger != NULL) {
            freeze->threads = larger;
            freeze->capacity = capacity;
        }
    }
    if (freeze->count < freeze->capacity) {
        index = (ssize_t)freeze->count++;
        freeze->threads[index] = (struct frozen_thread){.thread = thread, .ours = ours};
    }
    pthread_mutex_unlock(&freeze->lock);
    return index;
}

static bool freeze_thread(struct scan *scan, struct freeze *freeze, pid_t thread, bool ours, long deadline)
{
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0)
        return errno == ESRCH || has_ended(scan, thread);
    ssize_t index = note_thread(freeze, thread, ours);
    if (index < 0)
        return false; /* detached when this thread ends */
    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
    return wait_for_stop(scan, freeze, (size_t)index, deadline);
}

/* The number of threads that were running still, or -1 if one cannot be stopped. */
static int freeze_process(struct scan *scan, struct freeze *freeze, pid_t pid, long deadline)
{
    int fresh = 0;
    bool ours = parent_of(scan, pid) == scan->self;
    DIR *directory = open_folder(scan, pid, "task");
    if (directory == NULL)
        return has_ended(scan, pid) ? 0 : -1;
    struct dirent *entry;
    while (fresh >= 0 && (entry = readdir(directory)) != NULL) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread <= 0 || has_ended(scan, thread) || is_frozen(scan, thread))
            continue;
        fresh = freeze_thread(scan, freeze, thread, ours && thread == pid, deadline) ? fresh + 1 : -1;
    }
    closedir(directory);
    return fresh;
}

/* A hash of a pid. The sum over a pass identifies the set of processes that the pass has found, living and dead. */
static uint64_t hash_of(pid_t pid)
{
    uint64_t value = (uint64_t)pid * 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
}

/*
 * Freezes every process of a sandbox once: the number of threads that were running still, or -1. Reads one entry of /proc at a time,
 * so that the list is as current as possible.
 */
static int freeze_pass(struct scan *scan, struct freeze *freeze, long deadline, uint64_t *met)
{
    _Alignas(8) char room[64];
    int frozen = 0;
    *met = 0;
    if (lseek(scan->proc, 0, SEEK_SET) < 0)
        return -1;
    for (;;) {
        long filled = syscall(SYS_getdents64, scan->proc, room, sizeof room);
        if (filled <= 0)
            return filled < 0 ? -1 : frozen;
        for (long at = 0; at < filled;) {
            struct directory_entry *entry = (struct directory_entry *)(room + at);
            at += entry->length;
            pid_t pid = (pid_t)strtol(entry->name, NULL, 10);
            if (pid <= 1 || pid == scan->self || !is_sandboxed(scan, pid))
                continue;
            int fresh = freeze_process(scan, freeze, pid, deadline);
            if (fresh < 0 || now_ms() > deadline)
                return -1;
            frozen += fresh;
            *met += hash_of(pid);
        }
    }
}

bool freeze_sandboxes(struct scan *scan, struct freeze *freeze)
{
    long deadline = now_ms() + DEADLINE_MS;
    uint64_t met = 0, met_before;
    int fresh;
    freeze->begun = start_reaping(freeze);
    if (!freeze->begun)
        return false;
    do {
        met_before = met;
        fresh = freeze_pass(scan, freeze, deadline, &met);
    } while (fresh > 0 || (fresh == 0 && met != met_before));
    return fresh == 0;
}

void thaw_sandboxes(struct freeze *freeze)
{
    if (freeze->begun)
        stop_reaping(freeze);
    for (size_t i = 0; i < freeze->count; i++)
        ptrace(PTRACE_DETACH, freeze->threads[i].thread, NULL, (void *)(long)freeze->threads[i].signal);
    free(freeze->threads);
    *freeze = (struct freeze){0};
}
