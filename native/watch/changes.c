/* Changes that are not told yet. */
#include "changes.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"

#define BUCKETS 16384

static size_t *bucket(const struct changes *changes, const char *path)
{
    uint64_t hash = 14695981039346656037U;
    for (; *path != '\0'; path++)
        hash = (hash ^ (uint8_t)*path) * 0x100000001b3U;
    return &changes->index[(hash ^ hash >> 32) % BUCKETS];
}

bool changes_open(struct changes *changes)
{
    *changes = (struct changes){.index = calloc(BUCKETS, sizeof *changes->index)};
    return changes->index != NULL;
}

static void enter(struct changes *changes, size_t at)
{
    size_t *chain = bucket(changes, changes->list[at].path);
    changes->list[at].same_path = *chain;
    *chain = at + 1;
}

/* The change that a later one of the path joins, if any. */
static struct change *find(const struct changes *changes, const char *path)
{
    for (size_t at = *bucket(changes, path); at > changes->barrier; at = changes->list[at - 1].same_path) {
        struct change *change = &changes->list[at - 1];
        /* The newest is first; a rename and a removal that may be one are joined by none. */
        if (strcmp(change->path, path) == 0)
            return change->from != NULL || change->since != 0 || change->dropped ? NULL : change;
    }
    return NULL;
}

void changes_overflow(struct changes *changes)
{
    for (size_t at = 0; at < changes->count; at++) {
        free(changes->list[at].path);
        free(changes->list[at].from);
    }
    memset(changes->index, 0, BUCKETS * sizeof *changes->index);
    changes->count = changes->barrier = changes->bytes = 0;
    changes->overflow = true;
}

/* Rebuilds the index after positions have changed. */
static void reindex(struct changes *changes)
{
    memset(changes->index, 0, BUCKETS * sizeof *changes->index);
    for (size_t at = 0; at < changes->count; at++)
        enter(changes, at);
}

static void release(struct changes *changes, struct change *change)
{
    changes->bytes -= strlen(change->path) + (change->from != NULL ? strlen(change->from) : 0);
    free(change->path);
    free(change->from);
}

/* Leaves out what is not to be told, such as changes of a file that was renamed since. */
static void compact(struct changes *changes)
{
    size_t kept = 0, barrier = 0;
    for (size_t at = 0; at < changes->count; at++) {
        struct change *change = &changes->list[at];
        barrier = at == changes->barrier ? kept : barrier;
        if (change_kind(change) == NULL && change->since == 0)
            release(changes, change);
        else
            changes->list[kept++] = *change;
    }
    changes->barrier = changes->barrier == changes->count ? kept : barrier;
    changes->count = kept;
    reindex(changes);
}

static char *copied(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* A new change at the end; NULL when there is no room: all are lost then. */
static struct change *append(struct changes *changes, const char *path)
{
    size_t length = strlen(path);
    if (changes->count == MOST_CHANGES) {
        compact(changes);
        if (changes->count > MOST_CHANGES / 2)
            changes_overflow(changes); /* rather than compact again and again for little room */
    }
    bool has_room = changes->count < MOST_CHANGES && changes->bytes + length <= MOST_CHANGE_BYTES;
    if (has_room && changes->count == changes->capacity) {
        size_t capacity = changes->capacity == 0 ? 256 : 2 * changes->capacity;
        struct change *list = realloc(changes->list, capacity * sizeof *list);
        has_room = list != NULL;
        changes->list = has_room ? list : changes->list;
        changes->capacity = has_room ? capacity : changes->capacity;
    }
    char *copy = has_room ? copied(path) : NULL;
    if (copy == NULL) {
        changes_overflow(changes);
        return NULL;
    }
    struct change *change = &changes->list[changes->count++];
    *change = (struct change){.path = copy};
    changes->bytes += length;
    enter(changes, changes->count - 1);
    return change;
}

void changes_note(struct changes *changes, const char *path, enum event event)
{
    struct change *change = find(changes, path);
    if (change == NULL) {
        change = append(changes, path);
        if (change == NULL)
            return;
        change->existed = event != EVENT_CREATED;
    }
    change->exists = event != EVENT_REMOVED;
}

void changes_leave(struct changes *changes, const char *path, bool is_directory, uint32_t cookie, int64_t now)
{
    struct change *before = find(changes, path);
    bool modified = !is_directory && before != NULL;
    if (is_directory)
        changes->barrier = changes->count; /* changes below it are told by its old path */
    else if (before != NULL)
        before->dropped = true;
    struct change *change = append(changes, path);
    if (change == NULL)
        return;
    change->existed = true;
    change->modified = modified;
    change->cookie = cookie;
    change->since = now;
}

/* Nearly always the last is meant; one that left so many changes ago counts as gone. */
static struct change *leaving(const struct changes *changes, uint32_t cookie)
{
    size_t end = changes->count > MOST_BETWEEN ? changes->count - MOST_BETWEEN : 0;
    for (size_t at = changes->count; at > end; at--) {
        struct change *change = &changes->list[at - 1];
        if (change->since != 0 && change->cookie == cookie)
            return change;
    }
    return NULL;
}

bool changes_arrive(struct changes *changes, const char *path, bool is_directory, uint32_t cookie)
{
    struct change *change = leaving(changes, cookie);
    if (change == NULL)
        return false;
    struct change *replaced = find(changes, path);
    bool was_modified = change->modified;
    change->since = 0;
    if (replaced != NULL)
        replaced->dropped = true;
    change->dropped = true;
    char *from = copied(change->path);
    struct change *target = append(changes, path); /* may move or forget the others */
    if (target == NULL || from == NULL) {
        free(from);
        changes_overflow(changes);
        return true;
    }
    target->from = from;
    target->exists = true;
    changes->bytes += strlen(from);
    if (is_directory)
        changes->barrier = changes->count;
    else if (was_modified)
        changes_note(changes, path, EVENT_MODIFIED);
    return true;
}

const char *changes_renamed_from(const struct changes *changes, const char *path)
{
    const struct change *last = changes->count > 0 ? &changes->list[changes->count - 1] : NULL;
    return last != NULL && !last->dropped && last->from != NULL && strcmp(last->path, path) == 0 ? last->from : NULL;
}

void changes_exchange(struct changes *changes)
{
    struct change *last = &changes->list[changes->count - 1];
    char *one = last->path, *other = last->from;
    changes->count--; /* the last one has no index entry that a later one is chained to */
    changes->bytes -= strlen(one) + strlen(other);
    reindex(changes);
    if (changes->barrier > changes->count)
        changes->barrier = changes->count;
    changes_note(changes, one, EVENT_MODIFIED);
    changes_note(changes, other, EVENT_MODIFIED);
    free(one);
    free(other);
}

size_t changes_ready(const struct changes *changes, int64_t now)
{
    for (size_t at = 0; at < changes->count; at++)
        if (changes->list[at].since != 0 && changes->list[at].since + PAIR_MS > now)
            return at;
    return changes->count;
}

int64_t changes_ready_at(const struct changes *changes)
{
    for (size_t at = 0; at < changes->count; at++)
        if (changes->list[at].since != 0)
            return changes->list[at].since + PAIR_MS;
    return 0;
}

const char *change_kind(const struct change *change)
{
    if (change->dropped)
        return NULL;
    if (change->from != NULL)
        return "renamed";
    if (!change->exists)
        return "removed";
    return change->existed ? "modified" : "created";
}

void changes_shift(struct changes *changes, size_t count)
{
    if (count == 0)
        return;
    for (size_t at = 0; at < count; at++)
        release(changes, &changes->list[at]);
    changes->count -= count;
    changes->barrier = changes->barrier > count ? changes->barrier - count : 0;
    memmove(changes->list, changes->list + count, changes->count * sizeof *changes->list);
    reindex(changes);
}
