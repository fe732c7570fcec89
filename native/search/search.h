/*
 * fs/search. A search is done in slices, each a request of its own that ends after some milliseconds: between them other requests are
 * answered, and a search that is not continued is cancelled. The files of a slice are read by several threads; what they find is
 * given in the order of the walk.
 */
#ifndef EXEC_SEARCH_H
#define EXEC_SEARCH_H

#include <stdatomic.h>

#include "dfa.h"
#include "walk.h"

enum search_flag { SEARCH_REGEX = 1, SEARCH_FOLD = 2, SEARCH_GITIGNORE = 4, SEARCH_HIDDEN = 8 };

struct search_options {
    uint64_t flags;
    uint64_t most_matches, most_in_file, most_file_bytes;
    uint64_t most_bytes; /* of all matches, as JSON */
    const char *name;    /* "" for any */
    const char *content; /* "" for none */
};

/* What is looked for in files; the same for all threads. */
struct content {
    bool wanted;
    struct literal required; /* of length 0 if there is no text in all matches */
    bool only_literal;       /* then there are no programs */
    struct program forward, backward;
};

enum file_end { FILE_SEARCHED, FILE_BINARY, FILE_UNREADABLE, FILE_TOO_LARGE };

/* One file, or an entry that was found by its name. */
struct job {
    char *path; /* below the root, "" for the root */
    bool done;
    enum file_end end;
    int failure; /* errno, of a file that is unreadable */
    /* Matches, each the length of its JSON in four bytes and the JSON. */
    struct fs_answer found;
    size_t given; /* of found */
    uint64_t matches, matches_given;
};

/* What every thread of a slice knows. */
struct slice {
    const struct fs_request *request; /* its path and flags count */
    int root;
    const struct search_options *options;
    const struct content *content;
    uint64_t matches_left; /* that may be given, besides those that have been */
    int64_t deadline; /* CLOCK_MONOTONIC, in microseconds */
};

int64_t search_clock(void);

/* scanner.c: reads files, one after the other, for one thread. */
struct scanner;
/* NULL when memory has run out. */
struct scanner *scanner_new(const struct content *content);
void scanner_free(struct scanner *scanner);
/* The file that is not done yet. */
struct job *scanner_job(const struct scanner *scanner);
/* Goes on with its file, or begins the one given, until it is done or the slice is over. */
void scanner_work(struct scanner *scanner, struct job *job, const struct slice *slice);

/* match.c */
/* What is known of a match in a line. */
struct line_match {
    const uint8_t *line, *end;
    const uint8_t *start; /* of the match; NULL if finding it takes too long */
    uint64_t number;      /* of the line */
};
void match_put(struct job *job, const char *root, const struct line_match *match);
void match_put_entry(struct job *job, const char *root, const char *kind);
void match_put_path(struct fs_answer *to, const char *root, const char *path);

/* batch.c: the files that are being read. */
#define BATCH_LIMIT 256
#define SCANNER_LIMIT 4

struct batch {
    struct job *jobs[BATCH_LIMIT];
    size_t count, room; /* room: how many are taken before they are read, at most */
    size_t given;       /* jobs whose matches have been given */
    atomic_size_t next;
    atomic_size_t last; /* jobs behind it are not begun: the ones up to it have all matches that are wanted */
    atomic_size_t pending; /* bytes that were found and not given */
    struct scanner *scanners[SCANNER_LIMIT];
};

/* NULL when memory has run out; the job is in the batch. */
struct job *batch_add(struct batch *batch, const char *path);
/* Reads files until the slice is over or all are done. False when memory has run out. */
bool batch_run(struct batch *batch, const struct slice *slice);
/* Forgets jobs that are done and given; true when none is left. */
bool batch_renew(struct batch *batch);
void batch_free(struct batch *batch);

#endif
