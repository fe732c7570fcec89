/* Threads of the addon: small stacks, and no signals, which are Node's to handle. */
#ifndef EXEC_THREAD_H
#define EXEC_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

enum thread_end { JOINED = PTHREAD_CREATE_JOINABLE, DETACHED = PTHREAD_CREATE_DETACHED };

/* Returns 0 or an error number. */
static inline int thread_start(pthread_t *thread, size_t stack, enum thread_end end, void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attributes, stack);
    pthread_attr_setdetachstate(&attributes, (int)end);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

#endif
