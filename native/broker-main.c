/*
 * usage: exec-broker
 *
 * Starts one shell, answers for the programs it wants to execute what Node decides, and starts those that are to run
 * elsewhere. Orders come on standard input, reports go to standard output. When the orders end, so does everything.
 *
 * Exit codes: 0 told to end, or the orders ended; 1 anything else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"
#include "files.h"

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

static int watch_add_to(int set, struct watch *watch, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    watch->fd = fd;
    watch->set = set;
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

int watch_add(struct broker *broker, struct watch *watch, int fd, uint32_t events)
{
    return watch_add_to(broker->guests.fd, watch, fd, events);
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

void hold_guests(struct broker *broker)
{
    bool wait = is_congested(broker);
    if (wait != broker->guests_wait)
        watch_change(&broker->guests, wait ? 0 : EPOLLIN);
    broker->guests_wait = wait;
}

/* One event at a time: what it does may end what a second one is about. */
static int wait_for_one(struct broker *broker, int set, int timeout)
{
    struct epoll_event event;
    int count = epoll_wait(set, &event, 1, timeout);
    if (count > 0) {
        struct watch *watch = event.data.ptr;
        watch->ready(broker, watch, event.events);
    }
    return count;
}

static void guests_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)events;
    wait_for_one(broker, watch->fd, 0);
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
    setsid(); /* fails when it already leads a session, which is as good */
    prctl(PR_SET_PDEATHSIG, 0); /* the end of the orders says it too, and leaves time to end the rest */
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0 || sigprocmask(SIG_SETMASK, &caught, NULL) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || raise_file_limit(broker) < 0)
        return -1;
    broker->stub = open_stub();
    broker->epoll = epoll_create1(EPOLL_CLOEXEC);
    int signals = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
    int guests = epoll_create1(EPOLL_CLOEXEC);
    if (broker->stub < 0 || broker->epoll < 0 || guests < 0 || signals < 0 || fcntl(ORDERS, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(REPORTS, F_SETFL, O_NONBLOCK) < 0)
        return -1;
    broker->guests.ready = guests_ready;
    broker->orders.ready = orders_ready;
    broker->reports.ready = reports_ready;
    broker->signals.ready = signals_ready;
    if (watch_add_to(broker->epoll, &broker->guests, guests, EPOLLIN) < 0 ||
        watch_add_to(broker->epoll, &broker->orders, ORDERS, EPOLLIN) < 0 ||
        watch_add_to(broker->epoll, &broker->reports, REPORTS, 0) < 0 ||
        watch_add_to(broker->epoll, &broker->signals, signals, EPOLLIN) < 0)
        return -1;
    return 0;
}

static int timeout_of(const struct broker *broker)
{
    if (broker->due_count > 0 && !broker->guests_wait)
        return 0;
    long deadline = sessions_next_deadline(broker);
    if (deadline == 0)
        return -1;
    long left = deadline - now_ms();
    return left > 0 ? (int)left : 0;
}

static int loop(struct broker *broker)
{
    while (!broker->ending) {
        int count = wait_for_one(broker, broker->epoll, timeout_of(broker));
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
    struct broker broker = {
        .signals.fd = -1, .handshake.fd = -1, .listener.fd = -1, .outputs = {{.watch.fd = -1}, {.watch.fd = -1}}, .stub = -1};
    if (prepare(&broker) < 0)
        return complain("cannot start");
    tell(&broker, "ready");
    if (loop(&broker) < 0)
        return complain("waiting failed");
    return 0;
}
