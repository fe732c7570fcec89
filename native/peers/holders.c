/*
 * Finds the processes that have sockets open, by their descriptors in /proc.
 *
 * Processes with a mark of this product (family.c) and processes in other namespaces are searched first. All other processes are
 * searched only if asked for, or if a sandbox shares this network.
 *
 * A process of a sandbox can hide a socket by passing it to another process during the search, or by sending it to itself over a
 * Unix socket. So a socket that is not found is searched for once more while all sandboxes are stopped, and is suspect if any
 * descriptors are in flight then. Otherwise a socket that is not found is open in a process outside whose descriptors may not be read.
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
 * The pids of recent clients, which often connect again. They are only searched before others, so it does not matter if a pid
 * belongs to another process by now.
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

/* The bits of the process that has a socket open, found out once for all of its descriptors. */
static uint32_t bits_of_holder(struct scan *scan, pid_t pid, uint32_t known)
{
    if (scan->holder != pid) {
        scan->holder_bits = known != 0 ? known : relation_of(scan, pid).bits;
        if ((scan->holder_bits & PEER_SANDBOX) == 0 && ancestry_of(scan, pid).own)
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

static void note_in_flight(struct scan *scan, pid_t pid, const char *fd, const char *link, uint32_t bits)
{
    unsigned count;
    char name[32], text[512];
    if ((bits & PEER_SANDBOX) != 0 && strstr(link, "io_uring") != NULL)
        scan->in_flight = true; /* an io_uring can keep descriptors that /proc does not show */
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
    scan->holder = 0; /* its pid may belong to another process by now */
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

/* Searches marked processes and those in other namespaces, and removes them from the list. */
static void search_apart(struct scan *scan)
{
    size_t left = 0;
    for (size_t i = 0; i < scan->pid_count; i++) {
        pid_t pid = scan->pids[i];
        struct relation relation = quick_relation_of(scan, pid);
        if (relation.bits == 0 && !relation.apart) {
            scan->pids[left++] = pid;
            continue;
        }
        if ((relation.bits & PEER_SANDBOX) != 0 && relation.shares_network)
            scan->sandboxed = true;
        if (!each_descriptor_of_threads(scan, pid, relation.bits, match_inode) && (relation.bits & PEER_SANDBOX) != 0)
            scan->in_flight = true; /* it could have any socket open */
    }
    scan->pid_count = left;
}

/* Moves a process to the end of the list, if the list contains it. */
static void move_to_end(struct scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->pid_count; i++)
        if (scan->pids[i] == pid) {
            memmove(&scan->pids[i], &scan->pids[i + 1], (scan->pid_count - i - 1) * sizeof *scan->pids);
            scan->pids[scan->pid_count - 1] = pid;
            return;
        }
}

/* Searches the rest from the end of the list until all are found, as clients tend to be young; this process comes last. */
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

/* Searches for descriptors in flight. Not in sockets of this process: each sandbox has sent it some, which only it can receive. */
static void search_in_flight(struct scan *scan)
{
    for (size_t i = 0; i < scan->pid_count && !scan->in_flight; i++)
        if (scan->pids[i] != scan->self)
            each_descriptor_of_threads(scan, scan->pids[i], relation_of(scan, scan->pids[i]).bits, note_in_flight);
}

/* Searches again while all sandboxes are stopped. */
static int search_frozen(struct scan *scan)
{
    struct freeze freeze = {0};
    int outcome = -1;
    scan->in_flight = !freeze_sandboxes(scan, &freeze);
    if (list_pids(scan) == 0) {
        search_apart(scan);
        outcome = !any_missing(scan->search) ? 0 : list_pids(scan);
        if (outcome == 0 && any_missing(scan->search))
            search_in_flight(scan);
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
    if (!any_missing(scan->search) || (!scan->search->outside && !scan->sandboxed))
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
