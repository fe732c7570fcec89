/* One search for the processes that have sockets open. */
#ifndef EXEC_PEER_SCAN_H
#define EXEC_PEER_SCAN_H

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "peers.h"

#define LINK 64

enum namespace { PID_NAMESPACE, USER_NAMESPACE, MOUNT_NAMESPACE, NETWORK_NAMESPACE, NAMESPACES };

struct namespaces {
    char link[NAMESPACES][LINK];
};

struct scan {
    struct peer_search *search;
    int proc;
    pid_t self;
    uint64_t inherited; /* the mark of this process itself */
    struct namespaces own;
    pid_t *pids;
    size_t pid_count;
    bool sandboxed; /* a sandbox shares our network */
    bool in_flight; /* descriptors are in flight, or those of a process of a sandbox cannot be read */
    pid_t holder;   /* the process that holder_bits are about, 0 if none: a client may have many sockets */
    uint32_t holder_bits;
};

/* process.c */

struct marked {
    bool product, own;
};

/* How a process is related to this one: bits of peers.h, whether its namespaces differ, and whether it shares this network. */
struct relation {
    uint32_t bits;
    bool apart, shares_network;
};

bool read_own_namespaces(struct scan *scan);
ssize_t read_text(struct scan *scan, pid_t pid, const char *name, char *room, size_t size);
bool read_link(int directory, const char *path, char *room);
/* By its own mark and those of its ancestors. */
struct marked ancestry_of(struct scan *scan, pid_t pid);
struct relation relation_of(struct scan *scan, pid_t pid);
/* relation_of in less time: a process without a mark in this mount namespace is in no sandbox, and not inspected further. */
struct relation quick_relation_of(struct scan *scan, pid_t pid);
/* Whether a process is in a sandbox, even if its namespaces cannot be read. */
bool is_sandboxed(struct scan *scan, pid_t pid);
bool runs_as_us(struct scan *scan, pid_t pid);
/* The letter of /proc/PID/stat; 0 if there is no such process. */
char state_of(struct scan *scan, pid_t pid);
pid_t parent_of(struct scan *scan, pid_t pid);

/* descriptors.c */

typedef void visit(struct scan *scan, pid_t pid, const char *fd, const char *link, uint32_t bits);

/* A folder of a process in /proc; NULL with errno. */
DIR *open_folder(struct scan *scan, pid_t pid, const char *name);
/* Calls `visit` for every descriptor of a process; false if they cannot be read. */
bool each_descriptor(struct scan *scan, pid_t pid, const char *folder, uint32_t bits, visit *visit);
/* each_descriptor for all threads, which may have tables of their own, and also for processes that are not dumpable. */
bool each_descriptor_of_threads(struct scan *scan, pid_t pid, uint32_t bits, visit *visit);

/* freeze.c */

struct frozen_thread {
    pid_t thread;
    int signal; /* the signal whose delivery has stopped it, or 0 */
    bool ours;  /* a child of this process, which is reaped elsewhere */
    bool ended;
};

struct freeze {
    bool begun;
    pthread_t reaper;
    pthread_mutex_t lock; /* guards the members below */
    bool over;
    struct frozen_thread *threads;
    size_t count, capacity;
};

/* Stops every thread of every sandbox; false if a thread may still run. To be undone by the same thread. */
bool freeze_sandboxes(struct scan *scan, struct freeze *freeze);
void thaw_sandboxes(struct freeze *freeze);

/* reap.c */

/* False if no thread can be started. */
bool start_reaping(struct freeze *freeze);
void stop_reaping(struct freeze *freeze);

#endif
