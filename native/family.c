/*
 * A family is known by its mark: the limit of real-time CPU (RLIMIT_RTTIME) its first process was given. Every
 * descendant inherits it over fork, exec, setsid and reparenting, and prlimit reads it of any process of the user.
 *
 * A process that has been sent SIGKILL cannot fork any more, so a pass over /proc that meets no living member which was not
 * signalled before has met them all. /proc lists processes in ascending order and new numbers ascend, so a process
 * that forks and exits to run away is overtaken.
 */
#define _GNU_SOURCE
#include "family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "files.h"

#define MAX_PASSES 64
#define PATIENCE_MS 2000

struct directory_entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

struct victim {
    pid_t pid;
    int pidfd;
};

struct victims {
    struct victim *list;
    size_t count, capacity;
};

int family_found(pid_t pid, uint64_t mark)
{
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_RTTIME, NULL, &limit) < 0)
        return -1;
    if (limit.rlim_max != RLIM_INFINITY)
        return 0;
    limit.rlim_cur = limit.rlim_max = mark;
    return prlimit(pid, RLIMIT_RTTIME, &limit, NULL);
}

static struct family *family_of(pid_t pid, struct family *families, size_t count)
{
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_RTTIME, NULL, &limit) < 0)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if ((limit.rlim_max & families[i].mask) == (families[i].mark & families[i].mask))
            return &families[i];
    return NULL;
}

/* A pidfd is readable once the process is dead, reaped or not. */
static bool is_dead(int pidfd)
{
    struct pollfd ready = {.fd = pidfd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

static bool is_known(const struct victims *victims, pid_t pid)
{
    for (size_t i = 0; i < victims->count; i++)
        if (victims->list[i].pid == pid && !is_dead(victims->list[i].pidfd))
            return true;
    return false;
}

static int remember(struct victims *victims, pid_t pid, int pidfd)
{
    if (victims->count == victims->capacity) {
        size_t capacity = victims->capacity ? victims->capacity * 2 : 64;
        struct victim *list = realloc(victims->list, capacity * sizeof *list);
        if (list == NULL)
            return -1;
        victims->list = list;
        victims->capacity = capacity;
    }
    victims->list[victims->count++] = (struct victim){.pid = pid, .pidfd = pidfd};
    return 0;
}

/* True when the process was a living member not met before, so that it may have children not met either. */
static bool strike(pid_t pid, struct family *families, size_t count, struct victims *victims)
{
    if (family_of(pid, families, count) == NULL || is_known(victims, pid))
        return false;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return errno == ESRCH;
    /* Asked again with the descriptor in hand: the number may have passed to a stranger. */
    struct family *family = family_of(pid, families, count);
    if (family == NULL || is_dead(pidfd)) {
        close(pidfd);
        return false;
    }
    if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0) {
        bool vanished = errno == ESRCH;
        close(pidfd);
        return vanished;
    }
    family->killed++;
    if (remember(victims, pid, pidfd) < 0)
        close(pidfd);
    return true;
}

/* The number of living members met for the first time, or -1. */
static int pass(int proc, struct family *families, size_t count, struct victims *victims)
{
    _Alignas(8) char entries[8192];
    int fresh = 0;
    pid_t self = getpid();
    if (lseek(proc, 0, SEEK_SET) < 0)
        return -1;
    for (;;) {
        long filled = syscall(SYS_getdents64, proc, entries, sizeof entries);
        if (filled < 0 && errno == EINTR)
            continue;
        if (filled <= 0)
            return filled < 0 ? -1 : fresh;
        for (long at = 0; at < filled;) {
            struct directory_entry *entry = (struct directory_entry *)(entries + at);
            at += entry->length;
            pid_t pid = (pid_t)strtol(entry->name, NULL, 10); /* 0 when it is not a number */
            if (pid > 1 && pid != self && strike(pid, families, count, victims))
                fresh++;
        }
    }
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void await_deaths(struct victims *victims)
{
    long deadline = now_ms() + PATIENCE_MS;
    for (size_t i = 0; i < victims->count; i++) {
        struct pollfd ready = {.fd = victims->list[i].pidfd, .events = POLLIN};
        long left;
        while ((left = deadline - now_ms()) > 0)
            if (poll(&ready, 1, (int)left) >= 0 || errno != EINTR)
                break;
        close(victims->list[i].pidfd);
    }
    free(victims->list);
}

int family_sweep(struct family *families, size_t count)
{
    int proc = open_retrying("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return -1;
    struct victims victims = {0};
    int fresh = 1;
    for (int passes = 0; fresh > 0 && passes < MAX_PASSES; passes++)
        fresh = pass(proc, families, count, &victims);
    int error = errno;
    int killed = (int)victims.count;
    close(proc);
    await_deaths(&victims);
    errno = error;
    return fresh < 0 ? -1 : killed;
}
