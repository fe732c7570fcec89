/* fs/walk: a tree breadth first, the names of each directory in the order of their bytes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "engine.h"

#define DEPTH_LIMIT 64
#define DIRECTORY_LIMIT 10000
#define ENTRY_LIMIT 50000
/* The answer is kept below this by an estimate: the length of each URI and 64 for what is around it. */
#define ANSWER_LIMIT 4194304
#define AROUND_URI 64

struct visit {
    char *path; /* below the root, "." for the root */
    unsigned depth;
    dev_t device; /* known when links are followed */
    ino_t inode;
};

struct walk {
    const struct fs_request *request;
    struct fs_answer *answer;
    struct fs_answer errors;
    struct visit *visits; /* a queue: those before `next` are done */
    size_t next;
    size_t count;
    size_t capacity;
    size_t entries;
    size_t examined;
    size_t estimate;
    uint32_t failures;
    int root;
    bool truncated;
    bool full;
};

/* Writes the URI of a path in the root directory, whose first component may look like a Windows drive. */
static void put_uri_below_root(struct fs_answer *to, const char *first, const char *second)
{
    char path[4096];
    int length = snprintf(path, sizeof path, second ? "/%s/%s" : "/%s", first, second);
    if (length < 0 || (size_t)length >= sizeof path || !fs_is_utf8(path)) {
        fs_puts(to, "file:///");
        fs_put_uri_rest(to, second ? second : first, true);
    } else {
        fs_put_uri(to, path);
    }
}

static void put_uri(struct walk *walk, struct fs_answer *to, const char *directory, const char *name)
{
    bool at_root = strcmp(directory, ".") == 0;
    if (walk->request->path[1] == '\0')
        return put_uri_below_root(to, at_root ? name : directory, at_root ? NULL : name);
    fs_put_uri(to, walk->request->path);
    fs_put(to, "/", 1);
    if (!at_root) {
        fs_put_uri_rest(to, directory, false);
        fs_put(to, "/", 1);
    }
    fs_put_uri_rest(to, name, true);
}

/* Whether an item whose URI was just written from `start` fits; removes it if not. */
static bool fits(struct walk *walk, struct fs_answer *to, size_t before, size_t start)
{
    size_t cost = to->length - start + AROUND_URI;
    if (walk->estimate + cost <= ANSWER_LIMIT) {
        walk->estimate += cost;
        return true;
    }
    to->length = before;
    walk->truncated = walk->full = true;
    return false;
}

static void put_entry(struct walk *walk, const char *directory, const char *name, const char *kind)
{
    struct fs_answer *answer = walk->answer;
    size_t before = answer->length;
    fs_puts(answer, walk->entries == 0 ? "{\"path\":\"" : ",{\"path\":\"");
    size_t start = answer->length;
    put_uri(walk, answer, directory, name);
    if (!fits(walk, answer, before, start))
        return;
    fs_putf(answer, "\",\"kind\":\"%s\"}", kind);
    walk->entries++;
}

/* The message is the errno, for which the receiver has the text. */
static void put_failure(struct walk *walk, const char *directory, const char *name, int number)
{
    struct fs_answer *errors = &walk->errors;
    size_t before = errors->length;
    fs_puts(errors, walk->failures == 0 ? "{\"path\":\"" : ",{\"path\":\"");
    size_t start = errors->length;
    if (name != NULL)
        put_uri(walk, errors, directory, name);
    else if (strcmp(directory, ".") == 0)
        fs_put_uri(errors, walk->request->path);
    else
        put_uri(walk, errors, ".", directory);
    if (!fits(walk, errors, before, start))
        return;
    fs_putf(errors, "\",\"message\":%d}", number);
    walk->failures++;
}

static bool seen(const struct walk *walk, const struct stat *status)
{
    for (size_t i = 0; i < walk->count; i++) {
        if (walk->visits[i].inode == status->st_ino && walk->visits[i].device == status->st_dev)
            return true;
    }
    return false;
}

/* Queues a directory to be entered; the path becomes the queue's. */
static bool enqueue(struct walk *walk, char *path, unsigned depth, const struct stat *status)
{
    if (walk->count == walk->capacity) {
        size_t capacity = walk->capacity == 0 ? 64 : 2 * walk->capacity;
        struct visit *visits = realloc(walk->visits, capacity * sizeof *visits);
        if (visits == NULL)
            return false;
        walk->visits = visits;
        walk->capacity = capacity;
    }
    walk->visits[walk->count++] = (struct visit){
        .path = path, .depth = depth, .device = status ? status->st_dev : 0, .inode = status ? status->st_ino : 0};
    return true;
}

static void consider(struct walk *walk, const struct visit *parent, int fd, const char *name)
{
    const struct fs_request *request = walk->request;
    struct stat status;
    bool follow = request->flags & FS_FOLLOW_DIRECTORIES;
    if (parent->depth >= request->numbers[0] || (request->flags & FS_PRUNE_HIDDEN && name[0] == '.'))
        return;
    if (follow && (fstatat(fd, name, &status, 0) < 0 || seen(walk, &status)))
        return;
    if (walk->count >= request->numbers[1]) {
        walk->truncated = true;
        return;
    }
    char *path = NULL;
    int length = strcmp(parent->path, ".") == 0 ? asprintf(&path, "%s", name) : asprintf(&path, "%s/%s", parent->path, name);
    if (length < 0 || !enqueue(walk, path, parent->depth + 1, follow ? &status : NULL))
        walk->answer->exhausted = true;
}

static void examine(struct walk *walk, const struct visit *parent, int fd, const struct directory_entry *entry)
{
    unsigned type = directory_type(fd, entry, true);
    bool is_link = entry->type == DT_LNK || (entry->type == DT_UNKNOWN && S_ISLNK(directory_type(fd, entry, false)));
    if (type == 0)
        return; /* a broken link, which does not count */
    if (walk->examined++ >= walk->request->numbers[2]) {
        walk->truncated = walk->full = true;
        return;
    }
    if (!fs_is_utf8(entry->name))
        return put_failure(walk, parent->path, entry->name, ENOENT); /* no client could send its name */
    if (is_link && !(walk->request->flags & FS_FOLLOW_DIRECTORIES))
        return;
    if (S_ISDIR(type)) {
        put_entry(walk, parent->path, entry->name, "directory");
        if (!walk->full)
            consider(walk, parent, fd, entry->name);
    } else if (S_ISREG(type) && !is_link) {
        put_entry(walk, parent->path, entry->name, "file");
    }
}

static int by_name(const void *left, const void *right)
{
    return strcmp((*(struct directory_entry *const *)left)->name, (*(struct directory_entry *const *)right)->name);
}

/* All entries of a directory, sorted; the array owns its entries. */
static int collect(int fd, struct directory_entry ***entries, size_t *count)
{
    struct directory_reader reader;
    const struct directory_entry *entry;
    size_t capacity = 0;
    int failure = 0;
    if (!directory_start(&reader, fd))
        return -ENOMEM;
    while (failure == 0 && (entry = directory_next(&reader, &failure)) != NULL) {
        if (*count == capacity) {
            capacity = capacity == 0 ? 128 : 2 * capacity;
            struct directory_entry **grown = realloc(*entries, capacity * sizeof *grown);
            if (grown == NULL) {
                failure = -ENOMEM;
                break;
            }
            *entries = grown;
        }
        struct directory_entry *copy = malloc(entry->length);
        if (copy == NULL)
            failure = -ENOMEM;
        else
            (*entries)[(*count)++] = memcpy(copy, entry, entry->length);
    }
    directory_finish(&reader);
    if (failure == 0 && *count > 1)
        qsort(*entries, *count, sizeof **entries, by_name);
    return failure;
}

static void enter(struct walk *walk, struct visit visit)
{
    bool through_links = walk->request->flags & FS_FOLLOW_DIRECTORIES;
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (through_links ? 0 : O_NOFOLLOW);
    int fd = openat(walk->root, visit.path, flags);
    int failure = fd < 0 ? -errno : fs_check_guard(walk->request, fd);
    struct directory_entry **entries = NULL;
    size_t count = 0;
    if (failure == 0)
        failure = collect(fd, &entries, &count);
    if (failure < 0)
        put_failure(walk, visit.path, NULL, -failure);
    for (size_t i = 0; i < count; i++) {
        if (!walk->full && failure == 0)
            examine(walk, &visit, fd, entries[i]);
        free(entries[i]);
    }
    free(entries);
    if (fd >= 0)
        close(fd);
}

static bool limits_hold(const struct fs_request *request, struct fs_answer *answer)
{
    const uint64_t *numbers = request->numbers;
    if (numbers[1] == 0 || numbers[2] == 0)
        fs_fail_text(answer, FS_INVALID, "filesystem walk limits must be greater than zero");
    else if (numbers[0] > DEPTH_LIMIT || numbers[1] > DIRECTORY_LIMIT || numbers[2] > ENTRY_LIMIT)
        fs_fail_text(answer, FS_INVALID, "filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000");
    else
        return true;
    return false;
}

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* numbers: depth, directories, entries */
void fs_walk(const struct fs_request *request, struct fs_answer *answer)
{
    struct walk walk = {.request = request, .answer = answer};
    struct stat status;
    bool follow = request->flags & FS_FOLLOW_DIRECTORIES;
    if (!limits_hold(request, answer))
        return;
    walk.root = fs_open_path(request, request->path, O_PATH, 0);
    if (walk.root < 0)
        return fs_fail_errno(answer, -walk.root);
    if (fstat(walk.root, &status) < 0 || (!follow && is_link(request->path)))
        status.st_mode = 0; /* not walked */
    fs_puts(answer, "{\"entries\":[");
    if (S_ISDIR(status.st_mode)) {
        char *root = strdup(".");
        if (root == NULL || !enqueue(&walk, root, 0, &status))
            answer->exhausted = true;
    }
    while (walk.next < walk.count && !walk.full && !answer->exhausted)
        enter(&walk, walk.visits[walk.next++]);
    fs_puts(answer, "],\"errors\":[");
    fs_put(answer, walk.errors.bytes, walk.errors.length);
    fs_puts(answer, walk.truncated ? "],\"truncated\":true}" : "],\"truncated\":false}");
    answer->exhausted |= walk.errors.exhausted;
    fs_set_status(answer, FS_OK, walk.failures);
    close(walk.root);
    for (size_t i = 0; i < walk.count; i++)
        free(walk.visits[i].path);
    free(walk.visits);
    free(walk.errors.bytes);
}
