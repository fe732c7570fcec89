/* One slice of a search: entries of the walk become files to read, and what is found there becomes the answer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

/* Of the answer of a slice, roughly. */
#define SLICE_BYTES (256 * 1024)
/* Directories and files that cannot be read are counted; so many are named. */
#define FAILURE_LIMIT 100
/* Entries between two looks at the clock. */
#define ENTRIES_A_LOOK 64

static const char *kind_of(unsigned type)
{
    return S_ISDIR(type) ? "directory" : S_ISREG(type) ? "file" : S_ISLNK(type) ? "link" : "other";
}

void search_fail(void *context, const char *path, int number)
{
    struct search *search = context;
    if (number == ENOENT || (number == EACCES && walk_is_covered(&search->walk, path)))
        return; /* gone in the meantime, hidden, or denied */
    search->unreadable++;
    if (search->failures++ >= FAILURE_LIMIT)
        return;
    struct fs_answer *errors = &search->errors;
    fs_puts(errors, errors->length == 0 ? "{\"path\":\"" : ",{\"path\":\"");
    match_put_path(errors, search->request.path, path);
    fs_putf(errors, "\",\"message\":%d}", number);
}

static bool has_name(struct search *search, const struct walk_entry *entry)
{
    if (search->name == NULL)
        return true;
    return dfa_matches(search->name, search->name_is_path ? entry->path : entry->name);
}

/* Whether an entry that was found by its name may be shown. */
static bool is_shown(struct search *search, const char *path)
{
    if (walk_is_covered(&search->walk, path))
        return false;
    if (!(search->request.flags & FS_GUARDED))
        return true;
    int fd = fs_open_below(&search->request, search->walk.root, path, O_PATH);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void consider(struct search *search, const struct walk_entry *entry)
{
    if ((search->content.wanted && !S_ISREG(entry->type)) || !has_name(search, entry))
        return;
    if (!search->content.wanted && !is_shown(search, entry->path))
        return;
    struct job *job = batch_add(&search->batch, entry->path);
    if (job == NULL) {
        search->exhausted = true;
        return;
    }
    if (search->content.wanted)
        return;
    match_put_entry(job, search->request.path, kind_of(entry->type));
    job->done = true;
}

/* Takes entries of the walk until there are enough files to read. */
static void fill(struct search *search, int64_t deadline)
{
    struct walk_entry entry;
    for (unsigned entries = 1; search->batch.count < search->batch.room && !search->exhausted; entries++) {
        if (!walk_next(&search->walk, &entry)) {
            search->walked = true;
            return;
        }
        consider(search, &entry);
        if (entries % ENTRIES_A_LOOK == 0 && search_clock() >= deadline)
            return;
    }
}

static void count_file(struct search *search, const struct job *job)
{
    search->exhausted |= job->found.exhausted;
    if (!search->content.wanted)
        return;
    if (job->end == FILE_SEARCHED)
        search->searched++;
    else if (job->end == FILE_BINARY)
        search->binary++;
    else if (job->end == FILE_TOO_LARGE)
        search->too_large++;
    else
        search_fail(search, job->path, job->failure);
}

/* Moves matches of a file into the answer. False when that is full, or the search has all that it may give. */
static bool give_matches(struct search *search, struct job *job, struct fs_answer *answer)
{
    while (job->given < job->found.length && !search->truncated) {
        uint32_t length;
        memcpy(&length, job->found.bytes + job->given, sizeof length);
        if (search->bytes + length > search->options.most_bytes) {
            search->truncated = true;
            break;
        }
        if (answer->length > FS_ROOM_BEFORE + SLICE_BYTES)
            return false;
        if (search->slice_matches++ > 0)
            fs_puts(answer, ",");
        fs_put(answer, job->found.bytes + job->given + 4, length);
        job->given += 4 + length;
        job->matches_given++;
        search->bytes += length + 1;
        search->truncated = ++search->matches >= search->options.most_matches;
    }
    return !search->truncated;
}

/* Gives what was found, in the order of the walk, up to a file that is not done. False when no more can be given now. */
static bool give(struct search *search, struct fs_answer *answer)
{
    struct batch *batch = &search->batch;
    for (; batch->given < batch->count; batch->given++) {
        struct job *job = batch->jobs[batch->given];
        size_t before = job->given;
        bool more = give_matches(search, job, answer);
        atomic_fetch_sub(&batch->pending, search->content.wanted ? job->given - before : 0);
        if (!more)
            return false;
        if (!job->done) {
            /* All of it is given; the next answer may use its room. */
            job->given = job->found.length = 0;
            return true;
        }
        count_file(search, job);
    }
    return true;
}

static bool is_over(struct search *search)
{
    search->exhausted |= search->errors.exhausted;
    return search->truncated || search->exhausted || (search->walked && search->batch.given == search->batch.count);
}

void search_slice(struct search *search, struct fs_answer *answer, int64_t microseconds)
{
    struct slice slice = {.request = &search->request,
                          .root = search->walk.root,
                          .options = &search->options,
                          .content = &search->content,
                          .deadline = search_clock() + microseconds};
    search->slice_matches = 0;
    search->errors.length = 0;
    do {
        if (batch_renew(&search->batch) && !search->walked)
            fill(search, slice.deadline);
        slice.matches_left = search->options.most_matches - search->matches;
        if (search->content.wanted && !batch_run(&search->batch, &slice))
            search->exhausted = true;
        if (!give(search, answer))
            break;
    } while (!is_over(search) && search_clock() < slice.deadline);
    search->over = is_over(search);
}
