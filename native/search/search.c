/* The operations of a search: it is begun, continued until it is over, or ended before. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

#include "state.h"

/* Searches that are not over, of all clients of a process. */
#define SEARCH_LIMIT 256
/* Of the first slice, which keeps a thread of the pool, or a helper, from other requests. */
#define FIRST_SLICE 20000
#define LONGEST_SLICE 1000000

static struct search *searches[SEARCH_LIMIT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The number of a search that will be continued; 0 if there are too many. */
static unsigned keep(struct search *search)
{
    unsigned number = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SEARCH_LIMIT && number == 0; i++) {
        if (searches[i] == NULL) {
            searches[i] = search;
            number = i + 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static struct search *take(uint64_t number)
{
    struct search *search = NULL;
    pthread_mutex_lock(&lock);
    if (number > 0 && number <= SEARCH_LIMIT) {
        search = searches[number - 1];
        searches[number - 1] = NULL;
    }
    pthread_mutex_unlock(&lock);
    return search;
}

static void put_counts(const struct search *search, struct fs_answer *answer)
{
    fs_putf(answer, "],\"filesSearched\":%llu,\"truncated\":%s", (unsigned long long)search->searched,
            search->truncated ? "true" : "false");
    fs_putf(answer, ",\"skipped\":{\"binary\":%llu,\"unreadable\":%llu,\"tooLarge\":%llu}",
            (unsigned long long)search->binary, (unsigned long long)search->unreadable, (unsigned long long)search->too_large);
}

static void go_on(struct search *search, struct fs_answer *answer, int64_t microseconds)
{
    fs_puts(answer, "{\"matches\":[");
    search_slice(search, answer, microseconds);
    unsigned failures = search->errors.length > 0;
    fs_puts(answer, "],\"errors\":[");
    fs_put(answer, search->errors.bytes, search->errors.length);
    put_counts(search, answer);
    unsigned number = search->over ? 0 : keep(search);
    fs_putf(answer, ",\"search\":%u}", number);
    fs_set_status(answer, FS_OK, failures);
    if (search->exhausted || search->errors.exhausted)
        fs_fail_errno(answer, ENOMEM);
    else if (!search->over && number == 0)
        fs_fail_text(answer, FS_FAILED, "too many searches at a time");
    if (number == 0)
        search_free(search);
}

/* The path, and the payload of begin.c; answers matches, errors, counts, and the number with which it goes on, 0 if it is over. */
void fs_search(const struct fs_request *request, struct fs_answer *answer)
{
    struct search *search = search_new(request, answer);
    if (search != NULL)
        go_on(search, answer, FIRST_SLICE);
}

/* numbers: the search, the microseconds of the slice */
void fs_search_on(const struct fs_request *request, struct fs_answer *answer)
{
    struct search *search = take(request->numbers[0]);
    if (search == NULL)
        return fs_fail_errno(answer, EINVAL);
    uint64_t microseconds = request->numbers[1];
    go_on(search, answer, microseconds < LONGEST_SLICE ? (int64_t)microseconds : LONGEST_SLICE);
}

/* numbers: the search */
void fs_search_end(const struct fs_request *request, struct fs_answer *answer)
{
    struct search *search = take(request->numbers[0]);
    if (search != NULL)
        search_free(search);
    fs_puts(answer, "{}");
}
