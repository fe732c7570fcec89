/* One search for the processes that hold sockets. */
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
    uint64_t inherited; /* the mark this process itself was given */
    struct namespaces own;
    pid_t *pids;
    size_t pid_count;
    bool sandboxed; /* a sandbox shares our network */
    bool in_flight; /* a process of a sandbox could hold anything, or descriptors are on their way */
    pid_t holder;   /* whose bits are known, 0 if none: a client may hold many sockets */
    uint32_t holder_bits;
};

/* peer-process.c */

struct marked {
    bool product, own;
};

/* Where a process stands: bits of peers.h, and whether it shares our network. */
struct standing {
    uint32_t bits;
    bool apart, shares_network;
};

bool read_own_namespaces(struct scan *scan);
ssize_t read_text(struct scan *scan, pid_t pid, const char *name, char *room, size_t size);
bool read_link(int directory, const char *path, char *room);
/* By its own mark and those of its ancestors. */
struct marked descent_of(struct scan *scan, pid_t pid);
struct standing standing_of(struct scan *scan, pid_t pid);
/* The same at less expense: one without a mark that shares our mounts is in no sandbox, and not asked for more. */
struct standing likely_standing_of(struct scan *scan, pid_t pid);
/* Whether it is in a sandbox; also one whose namespaces cannot be read. */
bool is_sandboxed(struct scan *scan, pid_t pid);
bool runs_as_us(struct scan *scan, pid_t pid);
/* The letter of /proc/PID/stat; 0 if there is no such process. */
char state_of(struct scan *scan, pid_t pid);
pid_t parent_of(struct scan *scan, pid_t pid);

/* peer-descriptors.c */

typedef void visit(struct scan *scan, pid_t pid, const char *fd, const char *link, uint32_t bits);

/* A folder of a process in /proc; NULL with errno. */
DIR *open_folder(struct scan *scan, pid_t pid, const char *name);
/* Calls for every descriptor of a process; false if they cannot be seen. */
bool each_descriptor(struct scan *scan, pid_t pid, const char *folder, uint32_t bits, visit *visit);
/* The same with those that single threads have of their own, and for processes that are not dumpable. */
bool each_descriptor_of_threads(struct scan *scan, pid_t pid, uint32_t bits, visit *visit);

/* peer-freeze.c */

struct frozen_thread {
    pid_t thread;
    int signal; /* what it was about to be given */
    bool ours;  /* a process that this one has started, and waits for elsewhere */
    bool ended;
};

struct freeze {
    bool begun;
    pthread_t reaper;
    pthread_mutex_t lock; /* for what follows */
    bool over;
    struct frozen_thread *threads;
    size_t count, capacity;
};

/* Stops every thread of every sandbox, which notices nothing of it; false if one may go on. To be undone by the same thread. */
bool freeze_sandboxes(struct scan *scan, struct freeze *freeze);
void thaw_sandboxes(struct freeze *freeze);

/* peer-reap.c */

/* False if no thread can be started. */
bool start_reaping(struct freeze *freeze);
void stop_reaping(struct freeze *freeze);

#endif
