/*
 * Finds the processes that hold sockets, by the descriptors that /proc shows.
 *
 * Processes that matter are looked at first: those with a mark of this product (family.c) and those in other namespaces than
 * ours. Everyone else is looked at only if asked for. A user's server may look into the sandboxes it made, also at processes
 * there that are not dumpable: their user namespace belongs to it.
 *
 * A process of a sandbox can hide a socket for a moment: by sending it to itself over a Unix socket, or by moving it between
 * processes while they are being searched. So a socket that is found nowhere is searched for again while a sandbox
 * shares our network, and counts as suspect if descriptors are on their way anywhere, or if no process is left that could
 * hold it.
 */
#define _GNU_SOURCE
#include "peers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files.h"

#define SEARCHES 3
#define GENERATIONS 64
#define LINK 64
#define MOST_DESCRIPTORS 65536
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

enum namespace { PID_NAMESPACE, USER_NAMESPACE, MOUNT_NAMESPACE, NETWORK_NAMESPACE, NAMESPACES };
static const char *const namespace_names[NAMESPACES] = {"pid", "user", "mnt", "net"};

struct namespaces {
    char link[NAMESPACES][LINK];
};

struct scan {
    struct peer_search *search;
    int proc;
    pid_t self;
    uint64_t inherited; /* the mark this process itself was given */
    struct namespaces own;
    pid_t *pids;
    size_t pid_count;
    bool hidden, sandboxed, in_flight;
};

typedef void visit(struct scan *scan, pid_t pid, int fds, const char *fd, const char *link, uint32_t bits);

static bool read_link(int directory, const char *path, char *room)
{
    ssize_t length = readlinkat(directory, path, room, LINK - 1);
    if (length < 0)
        return false;
    room[length] = '\0';
    return true;
}

static bool read_namespaces(struct scan *scan, pid_t pid, struct namespaces *into)
{
    char path[48];
    for (int i = 0; i < NAMESPACES; i++) {
        snprintf(path, sizeof path, "%d/ns/%s", (int)pid, namespace_names[i]);
        if (!read_link(scan->proc, path, into->link[i]))
            return false;
    }
    return true;
}

static ssize_t read_text(struct scan *scan, pid_t pid, const char *name, char *room, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    int fd = openat(scan->proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t length = read_retrying(fd, room, size - 1);
    close(fd);
    room[length > 0 ? length : 0] = '\0';
    return length;
}

static pid_t parent_of(struct scan *scan, pid_t pid)
{
    char text[512];
    int parent;
    if (read_text(scan, pid, "stat", text, sizeof text) <= 0)
        return 0;
    char *behind = strrchr(text, ')'); /* the name may hold anything */
    return behind != NULL && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool matches(const struct family *family, uint64_t mark)
{
    return (mark & family->mask) == (family->mark & family->mask);
}

struct marked {
    bool product, own;
};

static struct marked mark_of(struct scan *scan, pid_t pid)
{
    struct marked marked = {0};
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_RTTIME, NULL, &limit) < 0 || limit.rlim_max == scan->inherited)
        return marked;
    marked.product = matches(&scan->search->product, limit.rlim_max);
    for (size_t i = 0; i < scan->search->own_count && !marked.own; i++)
        marked.own = matches(&scan->search->own[i], limit.rlim_max);
    return marked;
}

/* A process can change its own mark, but not who started it: orphans of a sandbox fall to the first process in it. */
static struct marked descent_of(struct scan *scan, pid_t pid)
{
    struct marked marked = {0};
    for (int generation = 0; generation < GENERATIONS && pid > 1; generation++) {
        struct marked one = mark_of(scan, pid);
        marked.product |= one.product;
        marked.own |= one.own;
        if (marked.own)
            break;
        if (pid == scan->self)
            return marked; /* a client in the same process */
        pid = parent_of(scan, pid);
        /* Within a family children keep the mark they inherit: then all of ours count, and not only commands. */
        if (pid == scan->self && scan->inherited != RLIM_INFINITY)
            return (struct marked){.product = true, .own = true};
    }
    return marked;
}

static bool is_elsewhere(const struct scan *scan, const struct namespaces *its)
{
    return strcmp(its->link[PID_NAMESPACE], scan->own.link[PID_NAMESPACE]) != 0 ||
           strcmp(its->link[USER_NAMESPACE], scan->own.link[USER_NAMESPACE]) != 0;
}

static bool is_apart(const struct scan *scan, const struct namespaces *its)
{
    return is_elsewhere(scan, its) || strcmp(its->link[MOUNT_NAMESPACE], scan->own.link[MOUNT_NAMESPACE]) != 0;
}

/* Calls for every descriptor of one task; false if they cannot be seen. */
static bool each_descriptor(struct scan *scan, pid_t pid, const char *folder, uint32_t bits, visit *visit)
{
    char path[64], link[LINK];
    snprintf(path, sizeof path, "%d/%s", (int)pid, folder);
    int fds = openat(scan->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fds < 0 ? NULL : fdopendir(fds);
    if (directory == NULL) {
        if (fds >= 0)
            close(fds);
        return errno == ENOENT || errno == ESRCH; /* it has ended */
    }
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.' && read_link(fds, entry->d_name, link))
            visit(scan, pid, fds, entry->d_name, link, bits);
    closedir(directory);
    return true;
}

static long table_size(struct scan *scan, pid_t pid)
{
    char text[2048];
    long size;
    char *line = read_text(scan, pid, "status", text, sizeof text) > 0 ? strstr(text, "\nFDSize:") : NULL;
    return line != NULL && sscanf(line, "\nFDSize: %ld", &size) == 1 ? size : 0;
}

/*
 * The directory of a process that is not dumpable belongs to root, while the right to trace it, which is ours in a sandbox
 * we made, suffices to take copies of its descriptors.
 */
static bool each_copied_descriptor(struct scan *scan, pid_t pid, pid_t thread, uint32_t bits, visit *visit)
{
    char name[16], link[LINK];
    int pidfd = (int)syscall(SYS_pidfd_open, thread, thread == pid ? 0 : PIDFD_THREAD);
    if (pidfd < 0)
        return errno == ESRCH;
    bool seen = true;
    long size = table_size(scan, pid);
    for (long number = 0; number < size && number < MOST_DESCRIPTORS && seen; number++) {
        struct stat facts;
        int copy = (int)syscall(SYS_pidfd_getfd, pidfd, (int)number, 0);
        if (copy < 0) {
            seen = errno == EBADF || errno == ESRCH;
            continue;
        }
        snprintf(name, sizeof name, "%ld", number);
        if (fstat(copy, &facts) == 0 && S_ISSOCK(facts.st_mode)) {
            snprintf(link, sizeof link, "socket:[%llu]", (unsigned long long)facts.st_ino);
            visit(scan, pid, -1, name, link, bits);
        }
        close(copy);
    }
    close(pidfd);
    return seen;
}

/* Threads may have descriptors of their own, and outlive the one that their process is named after. */
static bool each_descriptor_of_threads(struct scan *scan, pid_t pid, uint32_t bits, visit *visit)
{
    char path[64];
    bool seen = each_descriptor(scan, pid, "fd", bits, visit) || each_copied_descriptor(scan, pid, pid, bits, visit);
    snprintf(path, sizeof path, "%d/task", (int)pid);
    int tasks = openat(scan->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = tasks < 0 ? NULL : fdopendir(tasks);
    if (directory == NULL) {
        if (tasks >= 0)
            close(tasks);
        return seen;
    }
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread <= 0 || thread == pid || syscall(SYS_kcmp, pid, thread, KCMP_FILES, 0, 0) == 0)
            continue;
        snprintf(path, sizeof path, "task/%d/fd", (int)thread);
        if (!each_descriptor(scan, pid, path, bits, visit))
            seen = each_copied_descriptor(scan, pid, thread, bits, visit) && seen;
    }
    closedir(directory);
    return seen;
}

static void match_inode(struct scan *scan, pid_t pid, int fds, const char *fd, const char *link, uint32_t bits)
{
    (void)fds;
    (void)fd;
    unsigned long long inode;
    if (sscanf(link, "socket:[%llu]", &inode) != 1)
        return;
    for (size_t i = 0; i < scan->search->count; i++) {
        struct peer *peer = &scan->search->peers[i];
        if (peer->inode != inode)
            continue;
        peer->holders |= bits | PEER_HELD;
        if ((bits & PEER_SANDBOX) == 0) {
            struct namespaces its;
            struct marked descent = descent_of(scan, pid);
            if (descent.own)
                peer->holders |= PEER_FAMILY;
            if (descent.product && read_namespaces(scan, pid, &its) && is_apart(scan, &its))
                peer->holders |= PEER_SANDBOX;
        }
    }
}

static void notice_flight(struct scan *scan, pid_t pid, int fds, const char *fd, const char *link, uint32_t bits)
{
    (void)fds;
    unsigned count;
    char name[32], text[512];
    if ((bits & PEER_SANDBOX) != 0 && strstr(link, "io_uring") != NULL)
        scan->in_flight = true; /* can hold descriptors that no table shows */
    if (strncmp(link, "socket:", 7) != 0)
        return;
    snprintf(name, sizeof name, "fdinfo/%.16s", fd);
    char *line = read_text(scan, pid, name, text, sizeof text) > 0 ? strstr(text, "scm_fds:") : NULL;
    if (line != NULL && sscanf(line, "scm_fds: %u", &count) == 1 && count > 0)
        scan->in_flight = true;
}

/* Whether a process that cannot be looked at runs as this user. */
static bool runs_as_us(struct scan *scan, pid_t pid)
{
    char text[2048];
    unsigned real, effective, saved, files, us = geteuid();
    char *line = read_text(scan, pid, "status", text, sizeof text) > 0 ? strstr(text, "\nUid:") : NULL;
    return line != NULL && sscanf(line, "\nUid: %u %u %u %u", &real, &effective, &saved, &files) == 4 &&
           (real == us || effective == us || saved == us || files == us);
}

static int list_pids(struct scan *scan)
{
    size_t capacity = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return -1;
    struct dirent *entry;
    scan->pid_count = 0;
    free(scan->pids);
    scan->pids = NULL;
    while ((entry = readdir(directory)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0)
            continue;
        if (scan->pid_count == capacity) {
            capacity = capacity ? capacity * 2 : 512;
            pid_t *larger = realloc(scan->pids, capacity * sizeof *larger);
            if (larger == NULL) {
                closedir(directory);
                return -1;
            }
            scan->pids = larger;
        }
        scan->pids[scan->pid_count++] = pid;
    }
    closedir(directory);
    return 0;
}

static bool is_missing(const struct peer *peer)
{
    return peer->inode != 0 && (peer->holders & PEER_HELD) == 0;
}

static bool any_missing(const struct peer_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (is_missing(&search->peers[i]))
            return true;
    return false;
}

/* Looks at marked processes and those in other namespaces; takes them off the list. */
static void search_apart(struct scan *scan)
{
    size_t left = 0;
    for (size_t i = 0; i < scan->pid_count; i++) {
        pid_t pid = scan->pids[i];
        struct namespaces its;
        struct marked marked = mark_of(scan, pid);
        bool known = read_namespaces(scan, pid, &its);
        bool apart = known && is_apart(scan, &its);
        if (!marked.product && !marked.own && !apart) {
            scan->pids[left++] = pid;
            continue;
        }
        uint32_t bits = (marked.own ? PEER_FAMILY : 0) | (known && is_elsewhere(scan, &its) ? PEER_ELSEWHERE : 0) |
                        ((marked.product || marked.own) && apart ? PEER_SANDBOX : 0);
        if ((bits & PEER_SANDBOX) != 0 && strcmp(its.link[NETWORK_NAMESPACE], scan->own.link[NETWORK_NAMESPACE]) == 0)
            scan->sandboxed = true;
        if (!each_descriptor_of_threads(scan, pid, bits, match_inode) && (bits & PEER_SANDBOX) != 0)
            scan->in_flight = true; /* could hold anything */
    }
    scan->pid_count = left;
}

/* Looks at the rest; clients tend to be young. */
static void search_rest(struct scan *scan)
{
    for (size_t i = scan->pid_count; i-- > 0 && any_missing(scan->search);)
        if (!each_descriptor(scan, scan->pids[i], "fd", 0, match_inode) && runs_as_us(scan, scan->pids[i]))
            scan->hidden = true;
}

/* But for what waits in queues of this process, which no other can take from them: each sandbox has sent a descriptor. */
static void search_flights(struct scan *scan)
{
    if (list_pids(scan) < 0)
        return;
    for (size_t i = 0; i < scan->pid_count && !scan->in_flight; i++) {
        if (scan->pids[i] == scan->self)
            continue;
        struct namespaces its;
        struct marked marked = mark_of(scan, scan->pids[i]);
        bool apart = read_namespaces(scan, scan->pids[i], &its) && is_apart(scan, &its);
        each_descriptor_of_threads(scan, scan->pids[i], marked.product && apart ? PEER_SANDBOX : 0, notice_flight);
    }
}

static int search_all(struct scan *scan)
{
    for (int searches = 0; searches < SEARCHES; searches++) {
        if (list_pids(scan) < 0)
            return -1;
        search_apart(scan);
        if (!scan->search->everyone)
            return 0;
        search_rest(scan);
        if (!any_missing(scan->search) || !scan->sandboxed)
            break;
    }
    if (any_missing(scan->search) && scan->sandboxed)
        search_flights(scan);
    for (size_t i = 0; i < scan->search->count; i++)
        if (is_missing(&scan->search->peers[i]))
            scan->search->peers[i].holders |= (scan->hidden ? PEER_HIDDEN : 0) |
                                              (scan->sandboxed && (scan->in_flight || !scan->hidden) ? PEER_SUSPECT : 0);
    return 0;
}

int peers_search(struct peer_search *search)
{
    struct rlimit limit;
    struct scan scan = {.search = search, .self = getpid(), .inherited = RLIM_INFINITY};
    if (getrlimit(RLIMIT_RTTIME, &limit) == 0)
        scan.inherited = limit.rlim_max;
    scan.proc = open_retrying("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scan.proc < 0)
        return -1;
    int outcome = read_namespaces(&scan, scan.self, &scan.own) ? search_all(&scan) : -1;
    int error = errno;
    close(scan.proc);
    free(scan.pids);
    errno = error;
    return outcome;
}
