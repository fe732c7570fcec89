/*
 * A family has a mark: the RLIMIT_RTTIME that its first process was given. Every descendant inherits it over fork, exec, setsid and
 * reparenting, and prlimit reads it for any process of the user. A process can lower the limit; a process in a sandbox is found by
 * its pid namespace as well, which it cannot leave.
 *
 * A sweep reads /proc again until it finds no living member. A process that has been sent SIGKILL cannot fork any more, and /proc
 * lists processes in ascending order while new pids ascend, so a process that forks and exits to escape is overtaken. A sweep needs
 * one descriptor at a time for a process; if none is free, the process is signalled by its pid.
 */
#define _GNU_SOURCE
#include "family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../shared/files.h"

/* When to give up members that do not die although they are signalled, because they are stuck in the kernel. */
#define GIVE_UP_MS 2000
/* Between two passes, unless a signalled member dies earlier. */
#define PAUSE_MS 10
#define PIDS (1U << 22) /* the kernel has no more */

struct sweep {
    int proc;
    struct family *families;
    size_t count;
    bool by_namespace;
    uint8_t *signalled;  /* a bit for each number */
    int living, fresh;   /* members met in this pass; of them, those met for the first time */
    int last;            /* the pidfd of one of them, or -1 */
};

int family_create(pid_t pid, uint64_t mark)
{
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_RTTIME, NULL, &limit) < 0)
        return -1;
    if (limit.rlim_max != RLIM_INFINITY)
        return 0;
    limit.rlim_cur = limit.rlim_max = mark;
    return prlimit(pid, RLIMIT_RTTIME, &limit, NULL);
}

/* The limit as /proc shows it to every user: "Max realtime timeout", the soft and the hard one, which is a number in a family. */
static bool shown_mark_of(pid_t pid, uint64_t *mark)
{
    char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/%d/limits", pid);
    int fd = open_retrying(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read_retrying(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nMax realtime timeout");
    return line != NULL && sscanf(line, "\nMax realtime timeout %*s %" SCNu64, mark) == 1;
}

bool family_mark_of(pid_t pid, uint64_t *mark)
{
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_RTTIME, NULL, &limit) < 0) /* root in a container may often not ask about processes of other users */
        return errno == EPERM && geteuid() == 0 && shown_mark_of(pid, mark);
    *mark = limit.rlim_max;
    return true;
}

/* The inode of its pid namespace; 0 if it may not be read. */
static uint64_t namespace_of(int proc, pid_t pid)
{
    char path[32], target[64];
    snprintf(path, sizeof path, "%d/ns/pid", pid);
    ssize_t length = readlinkat(proc, path, target, sizeof target - 1);
    if (length <= 5)
        return 0;
    target[length] = '\0';
    return strtoull(target + 5, NULL, 10); /* pid:[4026531836] */
}

static struct family *family_of(const struct sweep *sweep, pid_t pid)
{
    uint64_t mark, namespace;
    if (!family_mark_of(pid, &mark))
        return NULL;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->families[i].mask != 0 && ((mark ^ sweep->families[i].mark) & sweep->families[i].mask) == 0)
            return &sweep->families[i];
    if (!sweep->by_namespace || (namespace = namespace_of(sweep->proc, pid)) == 0)
        return NULL;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->families[i].namespace == namespace)
            return &sweep->families[i];
    return NULL;
}

/* A pidfd is readable once the process is dead, reaped or not. */
static bool is_dead(int pidfd)
{
    struct pollfd ready = {.fd = pidfd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

/* Whether a process is dead, without a descriptor: a dead process has no program. An unreadable one is another error. */
static bool has_no_program(int proc, pid_t pid)
{
    char path[32], target[1];
    snprintf(path, sizeof path, "%d/exe", pid);
    return readlinkat(proc, path, target, sizeof target) < 0 && (errno == ENOENT || errno == ESRCH);
}

static void count_member(struct sweep *sweep, struct family *family, pid_t pid)
{
    uint8_t bit = (uint8_t)(1U << (pid % 8));
    sweep->living++;
    if ((uint32_t)pid >= PIDS || (sweep->signalled[pid / 8] & bit) != 0)
        return;
    sweep->signalled[pid / 8] |= bit;
    sweep->fresh++;
    family->killed++;
}

static void kill_by_pid(struct sweep *sweep, struct family *family, pid_t pid)
{
    bool living = !has_no_program(sweep->proc, pid);
    if (kill(pid, SIGKILL) == 0 && living)
        count_member(sweep, family, pid);
}

static void kill_member(struct sweep *sweep, pid_t pid)
{
    struct family *family = family_of(sweep, pid);
    if (family == NULL)
        return;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0 && errno != ESRCH)
        kill_by_pid(sweep, family, pid);
    if (pidfd < 0)
        return;
    /* Checked again with the descriptor open: the pid may belong to another process by now. */
    family = family_of(sweep, pid);
    if (family != NULL && !is_dead(pidfd) && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0) {
        count_member(sweep, family, pid);
        close_open(&sweep->last);
        sweep->last = pidfd;
    } else {
        close_open(&pidfd);
    }
}

static int pass(struct sweep *sweep)
{
    _Alignas(8) char entries[8192];
    pid_t self = getpid();
    sweep->living = sweep->fresh = 0;
    if (lseek(sweep->proc, 0, SEEK_SET) < 0)
        return -1;
    for (;;) {
        long filled = syscall(SYS_getdents64, sweep->proc, entries, sizeof entries);
        if (filled < 0 && errno == EINTR)
            continue;
        if (filled <= 0)
            return filled < 0 ? -1 : 0;
        for (long at = 0; at < filled;) {
            struct directory_entry *entry = (struct directory_entry *)(entries + at);
            at += entry->length;
            pid_t pid = (pid_t)strtol(entry->name, NULL, 10); /* 0 when it is not a number */
            if (pid > 1 && pid != self)
                kill_member(sweep, pid);
        }
    }
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until the member found last is dead, or for PAUSE_MS. */
static void pause_between(struct sweep *sweep)
{
    struct pollfd ready = {.fd = sweep->last, .events = POLLIN};
    poll(&ready, 1, PAUSE_MS);
    close_open(&sweep->last);
}

static int sweep_all(struct sweep *sweep, bool (*should_continue)(void *), void *context)
{
    long deadline = now_ms() + GIVE_UP_MS;
    for (;;) {
        if (pass(sweep) < 0)
            return -1;
        if (sweep->fresh > 0)
            deadline = now_ms() + GIVE_UP_MS;
        if (sweep->living == 0 || now_ms() > deadline || (should_continue != NULL && !should_continue(context)))
            return 0;
        pause_between(sweep);
    }
}

int family_sweep(int proc, struct family *families, size_t count, bool (*should_continue)(void *), void *context)
{
    struct sweep sweep = {.proc = proc, .families = families, .count = count, .last = -1};
    int killed = 0;
    uint64_t own = namespace_of(proc, getpid());
    for (size_t i = 0; i < count; i++) {
        if (families[i].namespace == own)
            families[i].namespace = 0; /* it would match every process */
        sweep.by_namespace = sweep.by_namespace || families[i].namespace != 0;
    }
    sweep.signalled = calloc(PIDS / 8, 1);
    if (sweep.signalled == NULL)
        return -1;
    int outcome = sweep_all(&sweep, should_continue, context);
    int error = errno;
    close_open(&sweep.last);
    free(sweep.signalled);
    for (size_t i = 0; i < count; i++)
        killed += (int)families[i].killed;
    errno = error;
    return outcome < 0 ? -1 : killed;
}

ssize_t family_marks(uint64_t mark, uint64_t mask, uint64_t *marks, size_t room)
{
    DIR *proc = opendir("/proc");
    if (proc == NULL)
        return -1;
    size_t count = 0;
    struct dirent *entry;
    while (count < room && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        uint64_t found;
        if (pid > 1 && family_mark_of(pid, &found) && ((found ^ mark) & mask) == 0)
            marks[count++] = found;
    }
    closedir(proc);
    return (ssize_t)count;
}
