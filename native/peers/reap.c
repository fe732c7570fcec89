/*
 * Reaps stopped threads that are killed, while their tracer may be waiting for one that is not stopped yet.
 *
 * A thread that executes a program has the others of its process killed and waits until they are gone. Those that are traced stay
 * until the tracer's process has reaped them, and the tracer cannot: it waits for the end of that exec in PTRACE_SEIZE. So another
 * thread does.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <time.h>

#include "scan.h"
#include "../addon/thread.h"

#define STACK (64 * 1024)
#define PAUSE_NS 1000000

/* Only looks: a stop, which the tracer waits for, would be taken from it. */
static bool is_dead(pid_t thread)
{
    siginfo_t state = {0};
    return waitid(P_PID, (id_t)thread, &state, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && state.si_pid != 0 &&
           (state.si_code == CLD_EXITED || state.si_code == CLD_KILLED || state.si_code == CLD_DUMPED);
}

/* Each thread once: its number may belong to a child of this process afterwards. The end of such a child is not for here. */
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
