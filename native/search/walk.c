#define _GNU_SOURCE
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../fs/directory.h"
#include "../shared/calls.h"

struct name {
    uint32_t at; /* in the level's text */
    uint32_t type;
};

struct level {
    char *text;
    struct name *names;
    size_t text_length, text_capacity, count, capacity, next;
    size_t path_length; /* of the directory */
    dev_t device;
    struct ignore *ignore; /* in force in the directory */
    struct ignore *above;  /* those of the directories above, if they count here */
};

/* File systems of the kernel's own, whose files are no text, and may have an effect when they are read. */
static bool is_kernels(int fd)
{
    struct statfs filesystem;
    switch (fstatfs(fd, &filesystem) == 0 ? (unsigned long)filesystem.f_type : 0) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case BPF_FS_MAGIC:
    case PSTOREFS_MAGIC:
        return true;
    }
    return false;
}

static bool make_room(void **elements, size_t *capacity, size_t wanted, size_t size)
{
    if (wanted <= *capacity)
        return true;
    size_t more = 2 * *capacity > wanted ? 2 * *capacity : wanted + 64;
    void *grown = realloc(*elements, more * size);
    if (grown == NULL)
        return false;
    *elements = grown;
    *capacity = more;
    return true;
}

static int add_name(struct walk *walk, struct level *level, int fd, const struct directory_entry *entry)
{
    size_t length = strlen(entry->name) + 1;
    void *text = level->text, *names = level->names;
    bool room = make_room(&text, &level->text_capacity, level->text_length + length, 1);
    level->text = text;
    room = room && make_room(&names, &level->capacity, level->count + 1, sizeof *level->names);
    level->names = names;
    walk->names += length + sizeof *level->names;
    if (!room || walk->names > WALK_NAMES)
        return -ENOMEM;
    memcpy(level->text + level->text_length, entry->name, length);
    level->names[level->count++] = (struct name){(uint32_t)level->text_length, directory_type(fd, entry, false)};
    level->text_length += length;
    return 0;
}

static int by_name(const void *left, const void *right, void *text)
{
    const char *names = text;
    return strcmp(names + ((const struct name *)left)->at, names + ((const struct name *)right)->at);
}

static int read_names(struct walk *walk, struct level *level, int fd)
{
    struct directory_reader reader;
    const struct directory_entry *entry;
    int failure = 0;
    if (!directory_start(&reader, fd))
        return -ENOMEM;
    while (failure == 0 && (entry = directory_next(&reader, &failure)) != NULL) {
        if (walk->hidden || entry->name[0] != '.')
            failure = add_name(walk, level, fd, entry);
    }
    directory_finish(&reader);
    if (level->count > 1)
        qsort_r(level->names, level->count, sizeof *level->names, by_name, level->text);
    return failure;
}

static void leave(struct walk *walk)
{
    struct level *level = &walk->levels[--walk->depth];
    walk->names -= level->text_length + level->count * sizeof *level->names;
    free(level->text);
    free(level->names);
    while (level->ignore != level->above)
        level->ignore = ignore_free(level->ignore);
}

/* Opens the directory of walk->path and reads its names; 0, 1 if it is left out, or a negative errno. */
static int fill(struct walk *walk, struct level *level)
{
    struct stat status;
    const char *path = walk->path[0] != '\0' ? walk->path : ".";
    int fd = fs_open_below(walk->request, walk->root, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fd;
    int outcome = fstat(fd, &status) < 0 ? -errno : 0;
    level->device = status.st_dev;
    bool same = walk->depth == 0 || walk->levels[walk->depth - 1].device == status.st_dev;
    if (outcome == 0 && !same && is_kernels(fd))
        outcome = 1;
    if (outcome == 0)
        outcome = read_names(walk, level, fd);
    close(fd);
    return outcome;
}

bool walk_is_covered(const struct walk *walk, const char *path)
{
    struct statx status;
    long outcome = syscall(SYS_statx, walk->root, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_MODE, &status);
    return outcome == 0 && status.stx_attributes & STATX_ATTR_MOUNT_ROOT && (status.stx_mode & 0444) == 0;
}

static void enter(struct walk *walk)
{
    struct ignore *above = walk->depth > 0 ? walk->levels[walk->depth - 1].ignore : walk->ignore;
    struct level *level = &walk->levels[walk->depth];
    *level = (struct level){.path_length = strlen(walk->path)};
    size_t names = walk->names;
    int outcome = walk->depth == WALK_DEPTH ? -ELOOP : fill(walk, level);
    if (outcome == 0) {
        bool fresh = false;
        level->ignore = walk->gitignore ? walk_rules(walk, above, walk->path, &fresh) : NULL;
        level->above = fresh ? NULL : above;
        walk->depth++;
        return;
    }
    walk->names = names;
    free(level->text);
    free(level->names);
    if (outcome < 0)
        walk->failed(walk->context, walk->path, -outcome);
}

/* Makes walk->path that of an entry; false if it is too long. */
static bool name_entry(struct walk *walk, const struct level *level, const char *name)
{
    size_t at = level->path_length, length = strlen(name);
    if (at + 1 + length >= sizeof walk->path)
        return false;
    if (at > 0)
        walk->path[at++] = '/';
    memcpy(walk->path + at, name, length + 1);
    return true;
}

bool walk_next(struct walk *walk, struct walk_entry *entry)
{
    if (walk->enter)
        enter(walk);
    walk->enter = false;
    while (walk->depth > 0) {
        struct level *level = &walk->levels[walk->depth - 1];
        if (level->next == level->count) {
            leave(walk);
            continue;
        }
        struct name *next = &level->names[level->next++];
        const char *name = level->text + next->at;
        bool is_directory = S_ISDIR(next->type);
        if (!name_entry(walk, level, name)) {
            walk->path[level->path_length] = '\0';
            walk->failed(walk->context, walk->path, ENAMETOOLONG);
            continue;
        }
        if (walk->gitignore && walk_ignores(walk, level->ignore, walk->path, is_directory))
            continue;
        walk->enter = is_directory;
        *entry = (struct walk_entry){.path = walk->path, .name = name, .type = next->type};
        return true;
    }
    return false;
}

bool walk_start(struct walk *walk)
{
    walk->levels = calloc(WALK_DEPTH + 1, sizeof *walk->levels);
    walk->path[0] = '\0';
    walk->enter = true;
    return walk->levels != NULL && (!walk->gitignore || walk_find_repository(walk));
}

void walk_finish(struct walk *walk)
{
    while (walk->levels != NULL && walk->depth > 0)
        leave(walk);
    free(walk->levels);
    while (walk->ignore != NULL)
        walk->ignore = ignore_free(walk->ignore);
    free(walk->prefix);
}
