/*
 * Reaps stopped threads that are killed, while their tracer may be waiting for one that is not stopped yet.
 *
 * When a thread executes a program, the kernel kills the other threads of its process, and the exec waits until they have been reaped.
 * Traced threads have to be reaped by the tracer's process, but the tracer itself waits for the end of that exec in PTRACE_SEIZE.
 * So another thread reaps them.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <time.h>

#include "scan.h"
#include "../addon/thread.h"

#define STACK (64 * 1024)
#define PAUSE_NS 1000000

/* Does not consume the state: the tracer waits for stops. */
static bool is_dead(pid_t thread)
{
    siginfo_t state = {0};
    return waitid(P_PID, (id_t)thread, &state, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && state.si_pid != 0 &&
           (state.si_code == CLD_EXITED || state.si_code == CLD_KILLED || state.si_code == CLD_DUMPED);
}

/* Reaps each thread once, as its id may belong to a child of this process afterwards, which is reaped elsewhere. */
static void reap_ended(struct freeze *freeze)
{
    for (size_t i = 0; i < freeze->count; i++) {
        struct frozen_thread *frozen = &freeze->threads[i];
        siginfo_t end;
        if (frozen->ended || frozen->ours || !is_dead(frozen->thread))
            continue;
        waitid(P_PID, (id_t)frozen->thread, &end, WEXITED | WNOHANG | __WALL);
        frozen->ended = true;
    }
}

static void *run(void *data)
{
    struct freeze *freeze = data;
    pthread_mutex_lock(&freeze->lock);
    while (!freeze->over) {
        reap_ended(freeze);
        pthread_mutex_unlock(&freeze->lock);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        pthread_mutex_lock(&freeze->lock);
    }
    pthread_mutex_unlock(&freeze->lock);
    return NULL;
}

bool start_reaping(struct freeze *freeze)
{
    pthread_mutex_init(&freeze->lock, NULL);
    return thread_start(&freeze->reaper, STACK, JOINED, run, freeze) == 0;
}

void stop_reaping(struct freeze *freeze)
{
    pthread_mutex_lock(&freeze->lock);
    freeze->over = true;
    pthread_mutex_unlock(&freeze->lock);
    pthread_join(freeze->reaper, NULL);
    pthread_mutex_destroy(&freeze->lock);
}
