/* One search, from its first slice to its last. */
#ifndef EXEC_SEARCH_STATE_H
#define EXEC_SEARCH_STATE_H

#include "search.h"

struct search {
    struct fs_request request; /* the one it began with; its path is owned */
    struct search_options options; /* their texts are owned */
    struct content content;
    struct program name_program;
    struct dfa *name;  /* NULL: any */
    bool name_is_path; /* the pattern has a slash, and is compared with the path below the root */
    struct walk walk;
    struct batch batch;
    bool walked;    /* the walk is at its end */
    bool truncated; /* a limit ended it; there may be more matches */
    bool exhausted; /* memory has run out */
    bool over;
    uint64_t matches, bytes;
    uint64_t searched, binary, unreadable, too_large, failures;
    /* Of the slice: */
    struct fs_answer errors;
    uint64_t slice_matches;
};

/* A search for a request; NULL when it is refused, and the answer says why (begin.c). */
struct search *search_new(const struct fs_request *request, struct fs_answer *answer);
void search_free(struct search *search);

/* Does some of it, and appends matches to the answer; begins nothing new after so many microseconds. */
void search_slice(struct search *search, struct fs_answer *answer, int64_t microseconds);
/* Notes that something below the root cannot be read. */
void search_fail(void *search, const char *path, int number);

#endif
