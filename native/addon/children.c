/* The table of children: a child is added by JavaScript's spawn and removed when JavaScript has seen its last event. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "../shared/files.h"
#include "io.h"

#define KILLED_MS 1000

static int claim_id(struct loop *loop, struct child *child)
{
    uint32_t id = 0;
    while (id < loop->capacity && loop->children[id] != NULL)
        id++;
    if (id == loop->capacity) {
        uint32_t capacity = loop->capacity ? loop->capacity * 2 : 64;
        struct child **children = realloc(loop->children, capacity * sizeof *children);
        if (children == NULL)
            return -1;
        for (uint32_t i = loop->capacity; i < capacity; i++)
            children[i] = NULL;
        loop->children = children;
        loop->capacity = capacity;
    }
    child->id = id;
    loop->children[id] = child;
    return 0;
}

struct child *loop_find(struct loop *loop, uint32_t id)
{
    return id < loop->capacity ? loop->children[id] : NULL;
}

/*
 * The pidfd of a dead child that is traced is readable, but the child cannot be reaped; the kernel reports it again when the tracer
 * detaches.
 */
static int watch(struct loop *loop, struct child *child)
{
    if (child->connecting)
        return connection_watch(loop, child);
    for (int i = 0; i < OUTPUTS; i++)
        if (child->outputs[i].fd >= 0 &&
            loop_watch(loop, EPOLL_CTL_ADD, child->outputs[i].fd, EPOLLIN | EPOLLET, SOURCE_OUTPUT + (unsigned)i, child->id) < 0)
            return -1;
    return loop_watch(loop, EPOLL_CTL_ADD, child->pidfd, EPOLLIN | EPOLLET, SOURCE_PROCESS, child->id);
}

static void close_all(struct child *child)
{
    input_drop(&child->input);
    for (int i = 0; i < OUTPUTS; i++)
        close_open(&child->outputs[i].fd);
    close_open(&child->pidfd);
}

static void kill_and_reap(struct child *child)
{
    struct pollfd ready = {.fd = child->pidfd, .events = POLLIN};
    kill(-child->pid, SIGKILL);
    if (poll(&ready, 1, KILLED_MS) > 0)
        reap(child->pidfd, NULL);
}

static struct child *child_of(const struct spawn_result *result)
{
    struct child *child = calloc(1, sizeof *child);
    if (child == NULL)
        return NULL;
    child->pid = result->pid;
    child->pidfd = result->pidfd;
    child->input.fd = result->input;
    child->generation = UINT64_MAX;
    for (int i = 0; i < OUTPUTS; i++) {
        child->outputs[i].fd = result->output[i];
        child->outputs[i].child = child;
    }
    return child;
}

/* NULL if there is no memory to do so; the child is gone then. */
static struct child *enlist(struct loop *loop, struct child *child)
{
    pthread_mutex_lock(&loop->lock);
    bool claimed = claim_id(loop, child) == 0;
    bool watched = claimed && watch(loop, child) == 0;
    if (claimed && !watched)
        loop->children[child->id] = NULL;
    pthread_mutex_unlock(&loop->lock);
    if (watched)
        return child;
    int error = errno;
    if (!child->reaped)
        kill_and_reap(child);
    close_all(child);
    free(child);
    errno = error;
    return NULL;
}

struct child *loop_add(struct loop *loop, const struct spawn_result *result, bool terminal)
{
    struct child *child = child_of(result);
    if (child == NULL)
        return NULL;
    child->terminal = terminal;
    return enlist(loop, child);
}

/* Two descriptors, as of a terminal: the thread closes one while the other is in use. */
struct child *loop_add_connection(struct loop *loop, int fd)
{
    const struct spawn_result ends = {.pidfd = -1, .input = fcntl(fd, F_DUPFD_CLOEXEC, 3), .output = {fd, -1}};
    struct child *child = ends.input < 0 ? NULL : child_of(&ends);
    if (child == NULL) {
        int error = errno;
        if (ends.input >= 0)
            close(ends.input);
        close(fd);
        errno = error;
        return NULL;
    }
    child->reaped = child->connecting = child->input.socket = true;
    return enlist(loop, child);
}

void loop_remove(struct loop *loop, struct child *child)
{
    struct child **link = &loop->attention;
    while (*link != NULL && *link != child)
        link = &(*link)->next_attention;
    if (*link != NULL)
        *link = child->next_attention;
    loop->children[child->id] = NULL;
    free(child);
}

/* To be called when the thread has stopped, so that no lock is needed. */
void loop_abandon(struct loop *loop)
{
    for (uint32_t id = 0; id < loop->capacity; id++) {
        struct child *child = loop->children[id];
        if (child == NULL)
            continue;
        if (!child->reaped && !child->background)
            kill_and_reap(child);
        close_all(child);
        free(child);
    }
    for (struct event *event = queue_take(loop); event != NULL;) {
        struct event *next = event->next;
        event_free(event);
        event = next;
    }
}
