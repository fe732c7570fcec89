/*
 * What has changed and is not told yet: a list in order, in which several changes of one path become one final state. A reader who
 * applies the changes one after the other knows the state of the tree, also one who has listed it meanwhile: so what was made and
 * removed again is told as removed.
 */
#ifndef EXEC_WATCH_CHANGES_H
#define EXEC_WATCH_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event {
    EVENT_CREATED,
    EVENT_MODIFIED,
    EVENT_REMOVED,
};

struct change {
    char *path;
    char *from;       /* of a rename */
    int64_t since;    /* of a removal that may turn out to be half of a rename; 0 for others */
    uint32_t cookie;
    size_t same_path; /* chain of the index, 1 more than the position; 0 at its end */
    bool existed;     /* before the change */
    bool exists;      /* after it */
    bool modified;    /* of one that leaves: before that */
    bool dropped;     /* nothing is to be told */
};

struct changes {
    struct change *list;
    size_t count, capacity;
    size_t *index; /* by path, of changes that later ones of the path may join */
    size_t barrier; /* earlier changes are joined by none: a directory was renamed since */
    size_t bytes;
    bool overflow; /* some are lost */
};

bool changes_open(struct changes *changes);
void changes_note(struct changes *changes, const char *path, enum event event);
/* An entry left its path; where it is will be known within PAIR_MS, or it is gone. */
void changes_leave(struct changes *changes, const char *path, bool is_directory, uint32_t cookie, int64_t now);
/* The entry with the cookie is at another path now; false when none with it is waited for. */
bool changes_arrive(struct changes *changes, const char *path, bool is_directory, uint32_t cookie);
/*
 * Before an entry leaves its path: whether the last change renamed another one to that path. Gives the path where that one was;
 * if entries are at both paths now, the two were exchanged.
 */
const char *changes_renamed_from(const struct changes *changes, const char *path);
/* Tells an exchange of two entries in place of the rename that is its first half. */
void changes_exchange(struct changes *changes);
/* Forgets all, and tells that they are lost. */
void changes_overflow(struct changes *changes);

/* How many of the first may be told now: up to a removal that may be half of a rename. */
size_t changes_ready(const struct changes *changes, int64_t now);
/* When more will be ready; 0 if that depends on nothing but later changes. */
int64_t changes_ready_at(const struct changes *changes);
/* Created, modified, removed or renamed; NULL when nothing is to be told. */
const char *change_kind(const struct change *change);
/* Forgets the first ones. */
void changes_shift(struct changes *changes, size_t count);

#endif
