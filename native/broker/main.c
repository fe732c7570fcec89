/*
 * usage: exec-broker
 *
 * Starts one shell, asks Node about the programs that the shell wants to execute, and starts those that run elsewhere. Orders from
 * Node and reports to it go through descriptor 3, a stream socket. When the socket closes, all processes are killed.
 *
 * Exit codes: 0 ended by an order, by SIGTERM or by the end of the socket; 1 anything else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"
#include "../shared/calls.h"
#include "../shared/files.h"

static int complain(const char *what)
{
    dprintf(2, "exec-broker: %s: %s\n", what, strerror(errno));
    return 1;
}

long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int watch_add(struct broker *broker, struct watch *watch, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    watch->fd = fd;
    watch->set = broker->sources.fd;
    return epoll_ctl(watch->set, EPOLL_CTL_ADD, fd, &event);
}

void watch_change(struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    epoll_ctl(watch->set, EPOLL_CTL_MOD, watch->fd, &event);
}

void watch_close(struct watch *watch)
{
    if (watch->fd < 0)
        return;
    epoll_ctl(watch->set, EPOLL_CTL_DEL, watch->fd, NULL); /* other processes may hold it open */
    close_open(&watch->fd);
}

/* Handles one event at a time, as its handler may close the source of another. */
static void sources_ready(struct broker *broker, struct watch *sources, uint32_t events)
{
    struct epoll_event event;
    (void)events;
    if (epoll_wait(sources->fd, &event, 1, 0) <= 0)
        return;
    struct watch *watch = event.data.ptr;
    watch->ready(broker, watch, event.events);
}

static int raise_file_limit(struct broker *broker)
{
    if (getrlimit(RLIMIT_NOFILE, &broker->files) < 0)
        return -1;
    struct rlimit most = {.rlim_cur = broker->files.rlim_max, .rlim_max = broker->files.rlim_max};
    return setrlimit(RLIMIT_NOFILE, &most);
}

/* The program beside this one. */
static int open_stub(void)
{
    char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (length < 0)
        return -1;
    path[length] = '\0';
    strcpy(strrchr(path, '/'), "/escalation-stub");
    return open_retrying(path, O_RDONLY | O_CLOEXEC);
}

static int prepare(struct broker *broker)
{
    sigset_t caught;
    sigemptyset(&caught);
    sigaddset(&caught, SIGCHLD);
    sigaddset(&caught, SIGTERM);
    const int ignored[] = {SIGPIPE, SIGINT, SIGHUP, SIGQUIT, SIGTSTP};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    setsid(); /* fails if it leads a session already, which is enough */
    prctl(PR_SET_PDEATHSIG, 0); /* the end of the socket tells of Node's death as well, and leaves time to kill the rest */
    if (close_between(CONTROL, ~0U, CLOSE_RANGE_CLOEXEC) < 0 || sigprocmask(SIG_SETMASK, &caught, NULL) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || raise_file_limit(broker) < 0)
        return -1;
    broker->stub = open_stub();
    broker->control = (struct watch){.fd = CONTROL, .ready = control_ready};
    broker->signals = (struct watch){.fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signals_ready};
    broker->sources = (struct watch){.fd = epoll_create1(EPOLL_CLOEXEC), .ready = sources_ready};
    return broker->stub < 0 || broker->signals.fd < 0 || broker->sources.fd < 0 ? -1 : fcntl(CONTROL, F_SETFL, O_NONBLOCK);
}

static int timeout_of(const struct broker *broker)
{
    if (broker->due_count > 0 && !is_congested(broker))
        return 0;
    long deadline = sessions_next_deadline(broker);
    if (deadline == 0)
        return -1;
    long left = deadline - now_ms();
    return left > 0 ? (int)left : 0;
}

/* Waits for events and handles them; returns how many watches were ready. */
static int wait_for_some(struct broker *broker)
{
    struct watch *watches[] = {&broker->control, &broker->signals, &broker->listener, &broker->sources};
    struct pollfd ready[sizeof watches / sizeof *watches];
    size_t polled = is_congested(broker) ? 2 : 4;
    for (size_t i = 0; i < polled; i++)
        ready[i] = (struct pollfd){.fd = watches[i]->fd, .events = POLLIN};
    if (is_waiting(broker))
        ready[0].events |= POLLOUT;
    int count = poll(ready, polled, timeout_of(broker));
    for (size_t i = 0; count > 0 && i < polled && !broker->ending; i++)
        if (ready[i].revents != 0)
            watches[i]->ready(broker, watches[i], (uint32_t)ready[i].revents);
    return count;
}

static int loop(struct broker *broker)
{
    while (!broker->ending) {
        int count = wait_for_some(broker);
        if (count < 0 && errno != EINTR)
            return -1;
        if (count == 0)
            output_read_due(broker);
        sessions_check_deadlines(broker);
    }
    return 0;
}

int main(void)
{
    struct broker broker = {.handshake.fd = -1, .arrival.fd = -1, .listener.fd = -1, .outputs = {{.watch.fd = -1}, {.watch.fd = -1}}};
    if (prepare(&broker) < 0)
        return complain("cannot start");
    send_report(&broker, "ready");
    if (loop(&broker) < 0)
        return complain("waiting failed");
    return 0;
}
