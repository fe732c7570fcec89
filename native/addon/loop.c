/*
 * The I/O thread: one epoll over the outputs, blocked inputs and pidfds of all children. Each turn takes what the
 * kernel reports and what JavaScript asked for, reads one round, and tells JavaScript once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../shared/files.h"
#include "io.h"
#include "thread.h"

#define THREAD_STACK (128 * 1024)
#define BATCH 64
#define SCRATCH_BYTES (CHUNK_BYTES + 64)

int loop_watch(struct loop *loop, int operation, int fd, uint32_t events, enum source source, uint32_t child)
{
    struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | child};
    return epoll_ctl(loop->epoll, operation, fd, &event);
}

static void wake(struct loop *loop)
{
    uint64_t one = 1;
    write_retrying(loop->wake, &one, sizeof one); /* a full counter wakes as well */
}

void loop_attend(struct loop *loop, struct child *child)
{
    if (child->attention)
        return;
    child->attention = true;
    child->next_attention = loop->attention;
    if (loop->attention == NULL)
        wake(loop);
    loop->attention = child;
}

/* Queues a child for release once it is reaped and its outputs have ended, and a connection also its input. */
void loop_release_settled(struct loop *loop, struct child *child)
{
    pthread_mutex_lock(&loop->lock);
    bool open = child->pidfd >= 0 || (child->input.socket && child->input.fd >= 0);
    pthread_mutex_unlock(&loop->lock);
    for (int i = 0; i < OUTPUTS; i++)
        open = open || child->outputs[i].fd >= 0;
    if (open || child->releasing)
        return;
    child->releasing = true;
    child->next_releasing = loop->releasing;
    loop->releasing = child;
}

/* At the end of a turn, when no list of the thread can hold the child any more: JavaScript may free it at once. */
static void release_settled(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    while (loop->releasing != NULL) {
        struct child *child = loop->releasing;
        loop->releasing = child->next_releasing;
        input_drop(&child->input);
        queue_post(loop, child, EVENT_RELEASED, 0, 0);
    }
    pthread_mutex_unlock(&loop->lock);
}

/* Queues the output that was printed before the exit, as far as the window allows, and then the exit. */
static void collect(struct loop *loop, struct child *child)
{
    if (child->pidfd < 0)
        return;
    output_drain(loop, child);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    pthread_mutex_lock(&loop->lock);
    if (waitid(WAIT_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
        child->reaped = true;
        close_open(&child->pidfd);
        queue_post(loop, child, info.si_code == CLD_EXITED ? EVENT_EXITED : EVENT_KILLED, 0, info.si_status);
    }
    pthread_mutex_unlock(&loop->lock);
    if (child->reaped && child->terminal && child->outputs[0].fd >= 0)
        output_ready(loop, &child->outputs[0]); /* its end counts from now on */
    loop_release_settled(loop, child);
}

/* NULL also for a child that is being released, because JavaScript may free it at any time. */
static struct child *find_locking(struct loop *loop, uint32_t id)
{
    pthread_mutex_lock(&loop->lock);
    struct child *child = loop_find(loop, id);
    if (child != NULL && child->releasing)
        child = NULL;
    pthread_mutex_unlock(&loop->lock);
    return child;
}

/* An event may be about a child that was freed, whose id belongs to another child now: that one is checked without effect. */
static void handle(struct loop *loop, const struct epoll_event *event)
{
    enum source source = (enum source)(event->data.u64 >> 32);
    if (source == SOURCE_WAKE) {
        uint64_t count;
        read_retrying(loop->wake, &count, sizeof count);
        return;
    }
    struct child *child = find_locking(loop, (uint32_t)event->data.u64);
    if (child == NULL)
        return;
    if (source == SOURCE_PROCESS) {
        collect(loop, child);
    } else if (source == SOURCE_INPUT) {
        pthread_mutex_lock(&loop->lock);
        if (child->connecting)
            connection_continue(loop, child);
        else
            input_continue(loop, child);
        connection_check(loop, child);
        pthread_mutex_unlock(&loop->lock);
        loop_release_settled(loop, child);
    } else {
        output_ready(loop, &child->outputs[source - SOURCE_OUTPUT]);
    }
}

/* The next child that JavaScript has asked about. Skips those being released, which have no output left. */
static struct child *take_attention(struct loop *loop, bool *closing)
{
    struct child *child;
    pthread_mutex_lock(&loop->lock);
    do {
        child = loop->attention;
        if (child != NULL) {
            loop->attention = child->next_attention;
            child->attention = false;
            *closing = child->closing;
        }
    } while (child != NULL && child->releasing);
    pthread_mutex_unlock(&loop->lock);
    return child;
}

static void drop_input(struct loop *loop, struct child *child)
{
    pthread_mutex_lock(&loop->lock);
    input_drop(&child->input);
    pthread_mutex_unlock(&loop->lock);
}

static void attend(struct loop *loop)
{
    bool closing;
    struct child *child;
    while ((child = take_attention(loop, &closing)) != NULL) {
        if (closing && child->input.socket)
            drop_input(loop, child);
        for (int i = 0; i < OUTPUTS; i++) {
            struct output *output = &child->outputs[i];
            if (output->fd >= 0 && closing)
                output_close(loop, output, 0);
            else if (output->fd >= 0)
                output_ready(loop, output);
        }
        loop_release_settled(loop, child);
    }
}

static bool is_stopping(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool stopping = loop->stopping;
    pthread_mutex_unlock(&loop->lock);
    return stopping;
}

static void *run(void *argument)
{
    struct loop *loop = argument;
    struct epoll_event events[BATCH];
    while (!is_stopping(loop)) {
        int count = epoll_wait(loop->epoll, events, BATCH, loop->ready != NULL ? 0 : -1);
        for (int i = 0; i < count; i++)
            handle(loop, &events[i]);
        attend(loop);
        output_round(loop);
        release_settled(loop);
        queue_flush(loop);
    }
    return NULL;
}

static int start_thread(struct loop *loop)
{
    errno = thread_start(&loop->thread, THREAD_STACK, JOINED, run, loop);
    return errno == 0 ? 0 : -1;
}

static void free_loop(struct loop *loop)
{
    close_open(&loop->epoll);
    close_open(&loop->wake);
    pthread_mutex_destroy(&loop->lock);
    free(loop->scratch);
    free(loop->children);
    free(loop);
}

struct loop *loop_start(size_t headroom, size_t tailroom, void (*notify)(void *), void *context)
{
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return NULL;
    pthread_mutex_init(&loop->lock, NULL);
    loop->headroom = headroom;
    loop->tailroom = tailroom;
    loop->notify = notify;
    loop->context = context;
    loop->scratch = malloc(SCRATCH_BYTES);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->scratch == NULL || loop->epoll < 0 || loop->wake < 0 ||
        loop_watch(loop, EPOLL_CTL_ADD, loop->wake, EPOLLIN, SOURCE_WAKE, 0) < 0 || start_thread(loop) < 0) {
        free_loop(loop);
        return NULL;
    }
    return loop;
}

void loop_stop(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    wake(loop);
    pthread_mutex_unlock(&loop->lock);
    pthread_join(loop->thread, NULL);
    loop_abandon(loop);
    free_loop(loop);
}
