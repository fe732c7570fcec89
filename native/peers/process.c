/*
 * Reads the namespaces, the mark, the ancestors and the user of a process from /proc.
 *
 * A server may inspect the processes of its sandboxes, even if they are not dumpable, because it owns their user namespace. A process
 * there can change its mark and those of others, but not its ancestors: orphans become children of the first process of the
 * sandbox, and that is a child of a marked process outside.
 */
#define _GNU_SOURCE
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../shared/files.h"

#define GENERATIONS 64

static const char *const namespace_names[NAMESPACES] = {"pid", "user", "mnt", "net"};

bool read_link(int directory, const char *path, char *room)
{
    ssize_t length = readlinkat(directory, path, room, LINK - 1);
    if (length < 0)
        return false;
    room[length] = '\0';
    return true;
}

static bool read_namespace(struct scan *scan, pid_t pid, enum namespace kind, struct namespaces *into)
{
    char path[48];
    snprintf(path, sizeof path, "%d/ns/%s", (int)pid, namespace_names[kind]);
    return read_link(scan->proc, path, into->link[kind]);
}

bool read_own_namespaces(struct scan *scan)
{
    for (enum namespace kind = 0; kind < NAMESPACES; kind++)
        if (!read_namespace(scan, scan->self, kind, &scan->own))
            return false;
    return true;
}

ssize_t read_text(struct scan *scan, pid_t pid, const char *name, char *room, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    return read_text_at(scan->proc, path, room, size);
}

static bool read_stat(struct scan *scan, pid_t pid, char *state, int *parent)
{
    char text[512];
    if (read_text(scan, pid, "stat", text, sizeof text) <= 0)
        return false;
    char *behind = strrchr(text, ')'); /* the name may hold anything */
    return behind != NULL && sscanf(behind + 1, " %c %d", state, parent) == 2;
}

char state_of(struct scan *scan, pid_t pid)
{
    char state;
    int parent;
    return read_stat(scan, pid, &state, &parent) ? state : 0;
}

pid_t parent_of(struct scan *scan, pid_t pid)
{
    char state;
    int parent;
    return read_stat(scan, pid, &state, &parent) ? parent : 0;
}

static bool matches(const struct family *family, uint64_t mark)
{
    return (mark & family->mask) == (family->mark & family->mask);
}

/* Root in a container often may not use prlimit on processes of other users (CAP_SYS_RESOURCE); it may read their limits in /proc. */
static bool read_limit(struct scan *scan, pid_t pid, uint64_t *mark)
{
    struct rlimit limit;
    char text[2048];
    unsigned long long hard;
    if (prlimit(pid, RLIMIT_RTTIME, NULL, &limit) == 0) {
        *mark = limit.rlim_max;
        return true;
    }
    if (errno != EPERM || geteuid() != 0 || read_text(scan, pid, "limits", text, sizeof text) <= 0)
        return false;
    char *line = strstr(text, "\nMax realtime timeout");
    if (line == NULL || sscanf(line, "\nMax realtime timeout %*s %llu", &hard) != 1)
        return false;
    *mark = hard;
    return true;
}

static struct marked mark_of(struct scan *scan, pid_t pid)
{
    struct marked marked = {0};
    uint64_t mark;
    if (!read_limit(scan, pid, &mark) || mark == scan->inherited)
        return marked;
    marked.product = matches(&scan->search->product, mark);
    for (size_t i = 0; i < scan->search->own_count && !marked.own; i++)
        marked.own = matches(&scan->search->own[i], mark);
    return marked;
}

struct marked ancestry_of(struct scan *scan, pid_t pid)
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
        /* In a server that is itself in a family, commands get no mark of their own: then every child counts. */
        if (pid == scan->self && scan->inherited != RLIM_INFINITY)
            return (struct marked){.product = true, .own = true};
    }
    return marked;
}

static bool differs(const struct scan *scan, const struct namespaces *its, enum namespace kind)
{
    return strcmp(its->link[kind], scan->own.link[kind]) != 0;
}

/* False if its namespaces cannot be read. */
static bool find_relation(struct scan *scan, pid_t pid, struct relation *relation)
{
    struct namespaces its;
    *relation = (struct relation){0};
    if (!read_namespace(scan, pid, PID_NAMESPACE, &its) || !read_namespace(scan, pid, USER_NAMESPACE, &its) ||
        !read_namespace(scan, pid, MOUNT_NAMESPACE, &its))
        return false;
    bool elsewhere = differs(scan, &its, PID_NAMESPACE) || differs(scan, &its, USER_NAMESPACE);
    relation->apart = elsewhere || differs(scan, &its, MOUNT_NAMESPACE);
    if (!relation->apart)
        return true;
    if (!read_namespace(scan, pid, NETWORK_NAMESPACE, &its))
        return false;
    relation->shares_network = !differs(scan, &its, NETWORK_NAMESPACE);
    struct marked marked = ancestry_of(scan, pid);
    relation->bits = (marked.own ? PEER_FAMILY : 0) | (elsewhere ? PEER_ELSEWHERE : 0) |
                     (marked.product || marked.own ? PEER_SANDBOX : 0);
    return true;
}

struct relation relation_of(struct scan *scan, pid_t pid)
{
    struct relation relation;
    if (!find_relation(scan, pid, &relation) || !relation.apart)
        relation = (struct relation){.bits = mark_of(scan, pid).own ? PEER_FAMILY : 0};
    return relation;
}

struct relation quick_relation_of(struct scan *scan, pid_t pid)
{
    struct namespaces its;
    struct marked marked = mark_of(scan, pid);
    if (!marked.product && !marked.own && read_namespace(scan, pid, MOUNT_NAMESPACE, &its) &&
        !differs(scan, &its, MOUNT_NAMESPACE))
        return (struct relation){0};
    return relation_of(scan, pid);
}

/* The namespaces of a process whose program is not readable cannot be read: its ancestors are checked instead. */
bool is_sandboxed(struct scan *scan, pid_t pid)
{
    struct relation relation;
    for (int generation = 0; generation < GENERATIONS && pid > 1; generation++) {
        if (find_relation(scan, pid, &relation))
            return (relation.bits & PEER_SANDBOX) != 0;
        if (!runs_as_us(scan, pid))
            return false;
        pid = parent_of(scan, pid);
    }
    return false;
}

bool runs_as_us(struct scan *scan, pid_t pid)
{
    char text[2048];
    unsigned real, effective, saved, files, us = geteuid();
    char *line = read_text(scan, pid, "status", text, sizeof text) > 0 ? strstr(text, "\nUid:") : NULL;
    return line != NULL && sscanf(line, "\nUid: %u %u %u %u", &real, &effective, &saved, &files) == 4 &&
           (real == us || effective == us || saved == us || files == us);
}
