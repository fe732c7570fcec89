/* One watched path: scans its directories, follows their events, and collects the changes. */
#ifndef EXEC_WATCH_WATCHER_H
#define EXEC_WATCH_WATCHER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/types.h>

#include "changes.h"
#include "limits.h"
#include "tree.h"

enum failure {
    FAILED_NOT,
    FAILED_ERRNO,       /* watcher.number */
    FAILED_INSTANCES,   /* fs.inotify.max_user_instances */
    FAILED_WATCHES,     /* fs.inotify.max_user_watches */
    FAILED_DIRECTORIES, /* more than most_directories */
    FAILED_SILENT,      /* the file system tells of no changes */
};

/* A directory that has left its path and is not at another yet. */
struct pending {
    struct node *node;
    int64_t since;
    uint32_t cookie;
    bool touched; /* something changed in it meanwhile, at a path that is not known */
};

struct watcher {
    struct tree tree;
    struct changes changes;
    char base[PATH_MAX]; /* the path as it was given, by which changes are told */
    char real[PATH_MAX]; /* without links, of the directory that is the root of the tree */
    char only[NAME_MAX + 1]; /* the name of a watched file in there; empty for a directory */
    bool recursive;
    size_t most_directories;
    dev_t device; /* of the root */
    ino_t inode;
    struct node *scan_first, *scan_last;
    size_t quiet; /* of those that are to be scanned, what is in them is not told */
    struct pending pending[MOST_PENDING];
    size_t pending_count;
    int ancestors[MOST_ANCESTORS];
    size_t ancestor_count;
    int64_t suspect; /* since when the watched path may be gone; 0 for not */
    bool ended;
    enum failure failure;
    int number;
};

/* Begins; false with a failure. */
bool watcher_open(struct watcher *watcher, const char *path, bool recursive, size_t most_directories);
/* Reads what the kernel has to tell; false when that is nothing. */
bool watcher_read(struct watcher *watcher, int64_t now);
/* Scans some of the directories that wait for it; false when none does. */
bool watcher_scan(struct watcher *watcher);
/* Gives up waiting for halves of renames, and looks whether the watched path is still there. */
void watcher_tick(struct watcher *watcher, int64_t now);
/* When to call that next; 0 for no time. */
int64_t watcher_due(const struct watcher *watcher);

/* scan.c */
void scan_later(struct watcher *watcher, struct node *node, bool reports);
/* A directory that has appeared in another. */
void scan_new(struct watcher *watcher, struct node *parent, const char *name, bool reports);
void scan_clear(struct watcher *watcher);
/* Ends the watches of a directory and of all below. */
void watcher_forget(struct watcher *watcher, struct node *node);
void watcher_fail(struct watcher *watcher, enum failure failure, int number);
/* Begins anew after events were lost. */
bool watcher_restart(struct watcher *watcher);
/* The path by which an entry is told, or with the real base where it is; false if it is too long for one. */
bool watcher_entry(const char *base, const struct node *node, const char *name, char path[PATH_MAX]);
/* events.c */
void watcher_handle(struct watcher *watcher, const struct inotify_event *event, int64_t now);

#endif
