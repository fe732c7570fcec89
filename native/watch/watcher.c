/* One watched path. */
#define _GNU_SOURCE
#include "watcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool watcher_entry(const char *base, const struct node *node, const char *name, char path[PATH_MAX])
{
    if (!tree_path(node, base, path, PATH_MAX))
        return false;
    size_t length = strlen(path), added = strlen(name);
    length -= length == 1; /* the root of the file system ends in a slash already */
    if (length + 1 + added >= PATH_MAX)
        return false;
    path[length] = '/';
    memcpy(path + length + 1, name, added + 1);
    return true;
}

/* The directories above the watched one: when one is renamed, the path leads there no more. What may not be read cannot be watched. */
static void watch_ancestors(struct watcher *watcher)
{
    char path[PATH_MAX];
    strcpy(path, watcher->real);
    watcher->ancestor_count = 0;
    for (char *slash = strrchr(path, '/'); slash != path && slash != NULL; slash = strrchr(path, '/')) {
        *slash = '\0';
        int wd = inotify_add_watch(watcher->tree.inotify, path, IN_MOVE_SELF | IN_ONLYDIR);
        if (wd >= 0 && watcher->ancestor_count < MOST_ANCESTORS)
            watcher->ancestors[watcher->ancestor_count++] = wd;
    }
}

static bool begin(struct watcher *watcher)
{
    int outcome = tree_open(&watcher->tree);
    if (outcome < 0) {
        watcher_fail(watcher, outcome == -EMFILE ? FAILED_INSTANCES : FAILED_ERRNO, -outcome);
        return false;
    }
    watch_ancestors(watcher);
    struct node *root = tree_add(&watcher->tree, NULL, "");
    if (root == NULL) {
        watcher_fail(watcher, FAILED_ERRNO, ENOMEM);
        return false;
    }
    scan_later(watcher, root, false);
    return true;
}

/* The real path, and for a file that of its directory and its name. 0 or a negative errno. */
static int find_root(struct watcher *watcher, const char *path)
{
    struct stat status;
    if (strlen(path) >= sizeof watcher->base)
        return -ENAMETOOLONG;
    strcpy(watcher->base, path);
    if (realpath(path, watcher->real) == NULL || stat(watcher->real, &status) < 0)
        return -errno;
    if (!S_ISDIR(status.st_mode)) {
        char *slash = strrchr(watcher->real, '/');
        strcpy(watcher->only, slash + 1);
        slash[slash == watcher->real] = '\0';
        if (stat(watcher->real, &status) < 0)
            return -errno;
    }
    watcher->device = status.st_dev;
    watcher->inode = status.st_ino;
    return 0;
}

bool watcher_open(struct watcher *watcher, const char *path, bool recursive, size_t most_directories)
{
    memset(watcher, 0, sizeof *watcher);
    watcher->most_directories = most_directories;
    int outcome = changes_open(&watcher->changes) ? find_root(watcher, path) : -ENOMEM;
    watcher->recursive = recursive && watcher->only[0] == '\0';
    if (outcome < 0)
        watcher_fail(watcher, FAILED_ERRNO, -outcome);
    return outcome == 0 && begin(watcher);
}

bool watcher_restart(struct watcher *watcher)
{
    changes_overflow(&watcher->changes);
    scan_clear(watcher);
    for (size_t i = 0; i < watcher->pending_count; i++)
        if (watcher->pending[i].node != NULL)
            tree_remove(&watcher->tree, watcher->pending[i].node);
    watcher->pending_count = 0;
    tree_close(&watcher->tree);
    return begin(watcher);
}

bool watcher_read(struct watcher *watcher, int64_t now)
{
    char buffer[64 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t length = read(watcher->tree.inotify, buffer, sizeof buffer);
    if (length < 0 && errno != EAGAIN && errno != EINTR)
        watcher_fail(watcher, FAILED_ERRNO, errno);
    for (const char *at = buffer; at < buffer + length && watcher->failure == FAILED_NOT;) {
        const struct inotify_event *event = (const void *)at;
        if (event->mask & IN_Q_OVERFLOW) {
            watcher_restart(watcher); /* directories may have appeared */
            return true;
        }
        watcher_handle(watcher, event, now);
        at += sizeof *event + event->len;
    }
    return length > 0;
}

/* Whether the path leads to what is watched. */
static bool is_there(const struct watcher *watcher)
{
    char path[PATH_MAX];
    struct stat status;
    if (lstat(watcher->real, &status) < 0 || status.st_dev != watcher->device || status.st_ino != watcher->inode)
        return false;
    if (watcher->only[0] == '\0')
        return true;
    return watcher_entry(watcher->real, watcher->tree.root, watcher->only, path) && lstat(path, &status) == 0;
}

void watcher_tick(struct watcher *watcher, int64_t now)
{
    for (size_t i = watcher->pending_count; i > 0; i--) {
        struct pending *pending = &watcher->pending[i - 1];
        if (pending->since + PAIR_MS > now)
            continue;
        if (pending->node != NULL)
            tree_remove(&watcher->tree, pending->node);
        *pending = watcher->pending[--watcher->pending_count];
    }
    int64_t wait = watcher->only[0] == '\0' ? 0 : BATCH_MS;
    if (watcher->suspect == 0 || watcher->suspect + wait > now)
        return;
    watcher->suspect = 0;
    watcher->ended |= !is_there(watcher);
}

int64_t watcher_due(const struct watcher *watcher)
{
    int64_t due = watcher->suspect == 0 ? 0 : watcher->suspect + BATCH_MS;
    for (size_t i = 0; i < watcher->pending_count; i++)
        if (due == 0 || watcher->pending[i].since + PAIR_MS < due)
            due = watcher->pending[i].since + PAIR_MS;
    return due;
}
