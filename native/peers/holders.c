/*
 * Finds the processes that hold sockets, by the descriptors that /proc shows.
 *
 * Processes that matter are looked at first: those with a mark of this product (family.c) and those in other namespaces than
 * ours. Everyone else is looked at only if asked for, or if a sandbox shares our network.
 *
 * A process of a sandbox can hide a socket: by passing it on to another while they are being searched, or by sending it to itself
 * over a Unix socket. So a socket that is found nowhere is searched for once more while all sandboxes stand still, and counts as
 * suspect if descriptors are on their way anywhere. Then a socket that is not found is held outside, by a process that
 * cannot be looked at.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../shared/files.h"
#include "scan.h"

#define CLIENTS 8

/*
 * Processes that held sockets which were looked for lately: a client connects again. They are only looked at before others, so
 * that it does not matter if a number is another process's by now.
 */
static _Atomic(pid_t) clients[CLIENTS];

static void remember_client(pid_t pid)
{
    static atomic_uint next;
    for (size_t i = 0; i < CLIENTS; i++)
        if (clients[i] == pid)
            return;
    clients[atomic_fetch_add(&next, 1) % CLIENTS] = pid;
}

/* The relation of a socket's holder to us, asked once for all of its descriptors. */
static uint32_t bits_of_holder(struct scan *scan, pid_t pid, uint32_t known)
{
    if (scan->holder != pid) {
        scan->holder_bits = known != 0 ? known : standing_of(scan, pid).bits;
        if ((scan->holder_bits & PEER_SANDBOX) == 0 && descent_of(scan, pid).own)
            scan->holder_bits |= PEER_FAMILY;
        scan->holder = pid;
    }
    return scan->holder_bits;
}

static void match_inode(struct scan *scan, pid_t pid, const char *fd, const char *link, uint32_t bits)
{
    (void)fd;
    unsigned long long inode;
    if (sscanf(link, "socket:[%llu]", &inode) != 1)
        return;
    for (size_t i = 0; i < scan->search->count; i++) {
        struct peer *peer = &scan->search->peers[i];
        if (peer->inode != inode)
            continue;
        peer->holders |= bits_of_holder(scan, pid, bits) | PEER_HELD;
        if (bits == 0)
            remember_client(pid);
    }
}

static void notice_flight(struct scan *scan, pid_t pid, const char *fd, const char *link, uint32_t bits)
{
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

static int list_pids(struct scan *scan)
{
    size_t capacity = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return -1;
    struct dirent *entry;
    scan->holder = 0; /* numbers are used again */
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
        struct standing standing = likely_standing_of(scan, pid);
        if (standing.bits == 0 && !standing.apart) {
            scan->pids[left++] = pid;
            continue;
        }
        if ((standing.bits & PEER_SANDBOX) != 0 && standing.shares_network)
            scan->sandboxed = true;
        if (!each_descriptor_of_threads(scan, pid, standing.bits, match_inode) && (standing.bits & PEER_SANDBOX) != 0)
            scan->in_flight = true; /* could hold anything */
    }
    scan->pid_count = left;
}

/* Puts a process at the end of the list, if it is there. */
static void move_to_end(struct scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->pid_count; i++)
        if (scan->pids[i] == pid) {
            memmove(&scan->pids[i], &scan->pids[i + 1], (scan->pid_count - i - 1) * sizeof *scan->pids);
            scan->pids[scan->pid_count - 1] = pid;
            return;
        }
}

/* Looks at the rest from the end of the list until all are found: clients tend to be young; we ourselves come last. */
static void search_rest(struct scan *scan)
{
    for (size_t i = 0; i < CLIENTS; i++)
        move_to_end(scan, clients[i]);
    for (size_t i = scan->pid_count; i-- > 0 && any_missing(scan->search);)
        if (scan->pids[i] != scan->self)
            each_descriptor(scan, scan->pids[i], "fd", 0, match_inode);
    if (any_missing(scan->search))
        each_descriptor(scan, scan->self, "fd", 0, match_inode);
}

/* But for what waits in queues of this process, which no other can take from them: each sandbox has sent a descriptor. */
static void search_flights(struct scan *scan)
{
    for (size_t i = 0; i < scan->pid_count && !scan->in_flight; i++)
        if (scan->pids[i] != scan->self)
            each_descriptor_of_threads(scan, scan->pids[i], standing_of(scan, scan->pids[i]).bits, notice_flight);
}

/* Looks again at sandboxes that stand still. */
static int search_frozen(struct scan *scan)
{
    struct freeze freeze = {0};
    int outcome = -1;
    scan->in_flight = !freeze_sandboxes(scan, &freeze);
    if (list_pids(scan) == 0) {
        search_apart(scan);
        outcome = !any_missing(scan->search) ? 0 : list_pids(scan);
        if (outcome == 0 && any_missing(scan->search))
            search_flights(scan);
    }
    int error = errno;
    thaw_sandboxes(&freeze);
    errno = error;
    return outcome;
}

static int search_all(struct scan *scan)
{
    if (list_pids(scan) < 0)
        return -1;
    search_apart(scan);
    if (!any_missing(scan->search) || (!scan->search->everyone && !scan->sandboxed))
        return 0;
    search_rest(scan);
    if (!any_missing(scan->search) || !scan->sandboxed)
        return 0;
    for (size_t i = 0; i < scan->search->count; i++)
        if (is_missing(&scan->search->peers[i]))
            scan->search->peers[i].holders |= PEER_FROZE;
    if (search_frozen(scan) < 0)
        return -1;
    for (size_t i = 0; i < scan->search->count; i++)
        if (is_missing(&scan->search->peers[i]) && scan->in_flight)
            scan->search->peers[i].holders |= PEER_SUSPECT;
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
    int outcome = read_own_namespaces(&scan) ? search_all(&scan) : -1;
    int error = errno;
    close(scan.proc);
    free(scan.pids);
    errno = error;
    return outcome;
}
