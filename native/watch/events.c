/* What the kernel tells about the watched directories. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "watcher.h"

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static struct pending *pending_of(struct watcher *watcher, uint32_t cookie)
{
    for (size_t i = 0; i < watcher->pending_count; i++)
        if (watcher->pending[i].cookie == cookie)
            return &watcher->pending[i];
    return NULL;
}

/* A directory has left its path: it keeps its watches until it is known whether it is at another. */
static void wait_for_other_half(struct watcher *watcher, struct node *child, uint32_t cookie, int64_t now)
{
    if (watcher->pending_count == MOST_PENDING)
        return watcher_forget(watcher, child);
    tree_detach(&watcher->tree, child);
    watcher->pending[watcher->pending_count++] = (struct pending){.node = child, .cookie = cookie, .since = now};
}

/* Whether a rename is half of an exchange: then entries are at both paths. */
static bool is_exchange(const struct watcher *watcher, const char *path)
{
    const char *other = changes_renamed_from(&watcher->changes, path);
    char real[PATH_MAX];
    size_t base = strlen(watcher->base), rest;
    if (other == NULL || watcher->only[0] != '\0')
        return false;
    base -= strcmp(watcher->base, "/") == 0;
    for (int i = 0; i < 2; i++) {
        const char *below = (i == 0 ? path : other) + base;
        size_t length = strcmp(watcher->real, "/") == 0 ? 0 : strlen(watcher->real);
        rest = strlen(below);
        if (length + rest >= sizeof real)
            return false;
        memcpy(real, watcher->real, length);
        memcpy(real + length, below, rest + 1);
        if (!exists(real))
            return false;
    }
    return true;
}

static void on_leaving(struct watcher *watcher, struct node *node, const struct inotify_event *event, const char *path,
                       int64_t now)
{
    bool is_directory = event->mask & IN_ISDIR;
    struct node *child = is_directory ? tree_child(&watcher->tree, node, event->name) : NULL;
    if (is_exchange(watcher, path))
        return changes_exchange(&watcher->changes);
    if (child != NULL)
        wait_for_other_half(watcher, child, event->cookie, now);
    changes_leave(&watcher->changes, path, is_directory, event->cookie, now);
}

/* Puts a renamed directory to its new place in the tree. */
static void settle(struct watcher *watcher, struct node *node, const struct inotify_event *event)
{
    struct pending *pending = pending_of(watcher, event->cookie);
    struct node *moved = pending != NULL ? pending->node : NULL;
    struct node *known = tree_child(&watcher->tree, node, event->name);
    if (moved != NULL && known != NULL)
        watcher_forget(watcher, known); /* an empty directory that it has replaced */
    if (moved != NULL && !tree_attach(&watcher->tree, moved, node, event->name))
        watcher_fail(watcher, FAILED_ERRNO, ENOMEM);
    if (moved == NULL)
        scan_new(watcher, node, event->name, true);
    if (pending == NULL)
        return;
    if (pending->touched)
        changes_overflow(&watcher->changes);
    *pending = watcher->pending[--watcher->pending_count];
}

static void on_arriving(struct watcher *watcher, struct node *node, const struct inotify_event *event, const char *path)
{
    bool is_directory = event->mask & IN_ISDIR;
    if (!changes_arrive(&watcher->changes, path, is_directory, event->cookie))
        changes_note(&watcher->changes, path, EVENT_CREATED);
    if (is_directory && watcher->recursive)
        settle(watcher, node, event);
}

static void on_entry(struct watcher *watcher, struct node *node, const struct inotify_event *event, int64_t now)
{
    char path[PATH_MAX];
    bool is_directory = event->mask & IN_ISDIR;
    struct node *child = NULL;
    if (!watcher_entry(watcher->base, node, event->name, path))
        return; /* longer than any path that could be asked about */
    switch (event->mask & IN_ALL_EVENTS) {
    case IN_CREATE:
        changes_note(&watcher->changes, path, EVENT_CREATED);
        if (is_directory && watcher->recursive)
            scan_new(watcher, node, event->name, true);
        break;
    case IN_DELETE:
        changes_note(&watcher->changes, path, EVENT_REMOVED);
        child = is_directory ? tree_child(&watcher->tree, node, event->name) : NULL;
        if (child != NULL)
            watcher_forget(watcher, child);
        break;
    case IN_MODIFY:
    case IN_ATTRIB:
        changes_note(&watcher->changes, path, EVENT_MODIFIED);
        if (is_directory && watcher->recursive)
            scan_new(watcher, node, event->name, true); /* one that could not be read before */
        break;
    case IN_MOVED_FROM:
        on_leaving(watcher, node, event, path, now);
        break;
    case IN_MOVED_TO:
        on_arriving(watcher, node, event, path);
        break;
    }
}

/* In the directory of a watched file. */
static void on_watched_file(struct watcher *watcher, const struct inotify_event *event, int64_t now)
{
    if (strcmp(event->name, watcher->only) != 0)
        return;
    if (event->mask & (IN_DELETE | IN_MOVED_FROM))
        watcher->suspect = now; /* programs that replace a file may remove it first */
    else
        changes_note(&watcher->changes, watcher->base,
                     event->mask & (IN_CREATE | IN_MOVED_TO) ? EVENT_CREATED : EVENT_MODIFIED);
}

/* About a watched directory itself. Of those below the root, the directory around them tells. */
static void on_itself(struct watcher *watcher, struct node *node, const struct inotify_event *event, int64_t now)
{
    bool is_root = node == watcher->tree.root;
    if (event->mask & IN_IGNORED) {
        tree_set_wd(&watcher->tree, node, -1);
        if (!is_root)
            return watcher_forget(watcher, node);
    }
    if (is_root && event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT))
        watcher->suspect = now;
    if (is_root && event->mask & IN_ATTRIB && watcher->only[0] == '\0')
        changes_note(&watcher->changes, watcher->base, EVENT_MODIFIED);
}

static void touch(struct watcher *watcher, const struct node *node)
{
    while (node->parent != NULL)
        node = node->parent;
    for (size_t i = 0; i < watcher->pending_count; i++)
        watcher->pending[i].touched |= watcher->pending[i].node == node;
}

void watcher_handle(struct watcher *watcher, const struct inotify_event *event, int64_t now)
{
    struct node *node = tree_by_wd(&watcher->tree, event->wd);
    for (size_t i = 0; i < watcher->ancestor_count; i++)
        if (watcher->ancestors[i] == event->wd)
            watcher->suspect = now;
    if (node == NULL)
        return;
    if (event->len == 0 || event->mask & IN_IGNORED)
        on_itself(watcher, node, event, now);
    else if (!tree_is_attached(&watcher->tree, node))
        touch(watcher, node);
    else if (watcher->only[0] != '\0')
        on_watched_file(watcher, event, now);
    else
        on_entry(watcher, node, event, now);
}
