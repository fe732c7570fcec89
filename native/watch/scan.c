/* Finds the directories of a tree and watches each, before it lists what is in it: so nothing that appears is missed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "watcher.h"

#define EVENTS \
    (IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | \
     IN_EXCL_UNLINK | IN_ONLYDIR)

void watcher_fail(struct watcher *watcher, enum failure failure, int number)
{
    if (watcher->failure != FAILED_NOT)
        return;
    watcher->failure = failure;
    watcher->number = number;
}

void scan_later(struct watcher *watcher, struct node *node, bool reports)
{
    if (node->queued)
        return;
    node->queued = true;
    node->reports = reports;
    watcher->quiet += !reports;
    if (watcher->scan_last != NULL)
        watcher->scan_last->next_scan = node;
    else
        watcher->scan_first = node;
    watcher->scan_last = node;
}

/* The next one; it may be dead, and is then freed by the caller. */
static struct node *take_scan(struct watcher *watcher)
{
    struct node *node = watcher->scan_first;
    if (node == NULL)
        return NULL;
    watcher->scan_first = node->next_scan;
    if (watcher->scan_first == NULL)
        watcher->scan_last = NULL;
    node->next_scan = NULL;
    node->queued = false;
    watcher->quiet -= !node->reports;
    return node;
}

static void free_dead(struct node *node)
{
    free(node->name);
    free(node);
}

void scan_clear(struct watcher *watcher)
{
    for (struct node *node = take_scan(watcher); node != NULL; node = take_scan(watcher))
        if (node->dead)
            free_dead(node);
}

void scan_new(struct watcher *watcher, struct node *parent, const char *name, bool reports)
{
    if (tree_child(&watcher->tree, parent, name) != NULL)
        return;
    if (watcher->tree.count >= watcher->most_directories)
        return watcher_fail(watcher, FAILED_DIRECTORIES, 0);
    struct node *node = tree_add(&watcher->tree, parent, name);
    if (node == NULL)
        return watcher_fail(watcher, FAILED_ERRNO, ENOMEM);
    scan_later(watcher, node, reports);
}

void watcher_forget(struct watcher *watcher, struct node *node)
{
    for (size_t i = 0; i < watcher->pending_count; i++)
        if (watcher->pending[i].node == node)
            watcher->pending[i].node = NULL;
    tree_remove(&watcher->tree, node);
}

/* Links on the way would lead out of the tree; they can appear there at any time. */
static int open_directory(const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd < 0 && errno == ENOSYS)
        fd = open(path, (int)how.flags);
    return fd < 0 ? -errno : (int)fd;
}

/* Whether the file system has no events for changes that the kernel makes itself. */
static bool is_silent(int fd)
{
    struct statfs filesystem;
    if (fstatfs(fd, &filesystem) < 0)
        return false;
    switch ((unsigned long)filesystem.f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
        return true;
    }
    return false;
}

static bool is_above(const struct node *other, const struct node *node)
{
    for (; node != NULL; node = node->parent)
        if (node == other)
            return true;
    return false;
}

/* Watches an open directory; false when it is not to be listed. */
static bool watch(struct watcher *watcher, struct node *node, int fd)
{
    struct tree *tree = &watcher->tree;
    /* By the working directory, because a path may lead elsewhere by now, and a view may have no procfs. */
    int wd = fchdir(fd) == 0 ? inotify_add_watch(tree->inotify, ".", EVENTS) : -1;
    int failure = errno;
    if (chdir("/") < 0)
        watcher_fail(watcher, FAILED_ERRNO, errno); /* it would keep the directory from going away */
    if (wd < 0 && failure == ENOSPC)
        watcher_fail(watcher, FAILED_WATCHES, 0);
    else if (wd < 0 && failure != ENOENT && failure != EACCES)
        watcher_fail(watcher, FAILED_ERRNO, failure);
    if (wd < 0)
        return false;
    struct node *other = tree_by_wd(tree, wd);
    if (other != NULL && is_above(other, node) && other != node)
        return false; /* mounted inside itself */
    if (other != NULL && other != node) {
        tree_set_wd(tree, other, -1); /* was there before it was renamed; its event is still to be read */
        watcher_forget(watcher, other);
    }
    tree_set_wd(tree, node, wd);
    return true;
}

static bool is_directory(int fd, const struct dirent *entry)
{
    struct stat status;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static void list(struct watcher *watcher, struct node *node, DIR *directory)
{
    char path[PATH_MAX];
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL && watcher->failure == FAILED_NOT) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (node->reports && watcher_entry(watcher->base, node, name, path))
            changes_note(&watcher->changes, path, EVENT_CREATED);
        if (watcher->recursive && is_directory(dirfd(directory), entry))
            scan_new(watcher, node, name, node->reports);
    }
}

static void scan(struct watcher *watcher, struct node *node)
{
    char path[PATH_MAX];
    bool is_root = node == watcher->tree.root;
    if (!is_root && !tree_is_attached(&watcher->tree, node))
        return watcher_forget(watcher, node);
    int fd = tree_path(node, watcher->real, path, sizeof path) ? open_directory(path) : -ENAMETOOLONG;
    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || (is_root && fd < 0))
        watcher_fail(watcher, FAILED_ERRNO, -fd);
    if (fd >= 0 && is_root && is_silent(fd))
        watcher_fail(watcher, FAILED_SILENT, 0);
    bool is_watched = fd >= 0 && watcher->failure == FAILED_NOT && !is_silent(fd) && watch(watcher, node, fd);
    DIR *directory = is_watched && watcher->only[0] == '\0' ? fdopendir(fd) : NULL;
    if (directory != NULL)
        list(watcher, node, directory);
    if (directory != NULL)
        closedir(directory);
    else if (fd >= 0)
        close(fd);
    if (is_root && !is_watched)
        watcher_fail(watcher, FAILED_ERRNO, EACCES);
    else if (!is_watched)
        watcher_forget(watcher, node); /* gone, or this user may not read it */
}

bool watcher_scan(struct watcher *watcher)
{
    for (int i = 0; i < SCANNED_AT_ONCE && watcher->failure == FAILED_NOT; i++) {
        struct node *node = take_scan(watcher);
        if (node == NULL)
            return false;
        if (node->dead)
            free_dead(node);
        else
            scan(watcher, node);
    }
    return watcher->scan_first != NULL;
}
