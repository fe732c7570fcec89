/* The entries of a tree, depth first, the names of each directory in the order of their bytes. */
#ifndef EXEC_SEARCH_WALK_H
#define EXEC_SEARCH_WALK_H

#include <limits.h>

#include "../fs/engine.h"
#include "ignore.h"

/* Deeper directories are reported and not entered. */
#define WALK_DEPTH 128
/* Names of the directories on the way that are held; a directory that would go beyond is reported and not entered. */
#define WALK_NAMES (64 * 1024 * 1024)

struct level; /* a directory on the way */

struct walk {
    const struct fs_request *request; /* its path is the root's; its flags count */
    int root;                         /* a descriptor of the root */
    bool hidden, gitignore;
    /* Called with a directory that cannot be entered, by its path below the root, "" for the root. */
    void (*failed)(void *context, const char *path, int number);
    void *context;
    struct level *levels;
    size_t depth;
    size_t names; /* bytes that are held */
    char path[PATH_MAX];
    bool enter; /* the directory whose path this is comes next */
    /* The path of the root, below the top of its repository if it has one, precedes the paths that rules are about. */
    char *prefix;
    struct ignore *ignore; /* of directories above the root */
};

struct walk_entry {
    const char *path; /* below the root, until the next call */
    const char *name;
    unsigned type; /* the type bits of st_mode */
};

/* False when memory has run out. */
bool walk_start(struct walk *walk);
/* False at the end. */
bool walk_next(struct walk *walk, struct walk_entry *entry);
void walk_finish(struct walk *walk);
/* Whether a sandbox has covered an entry, as something in it is denied: such entries are not shown. */
bool walk_is_covered(const struct walk *walk, const char *path);

/* walk-ignore.c: false when memory has run out. */
bool walk_find_repository(struct walk *walk);
/* The rules in a directory below the root, on top of those above; in a repository of its own they are `fresh`, its own alone. */
struct ignore *walk_rules(struct walk *walk, struct ignore *above, const char *directory, bool *fresh);
bool walk_ignores(struct walk *walk, struct ignore *ignore, const char *path, bool is_directory);

#endif
