/* Reads one file after the other, a piece at a time that ends with a line, and finds the lines that match. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../shared/files.h"
#include "byte-set.h"
#include "search.h"

/* Stays in the processor's second cache. */
#define PIECE (256 * 1024)
/* A longer line is taken for several. */
#define LINE_LIMIT (8 * 1024 * 1024)
/* A file with a NUL this near to its beginning is binary. */
#define BINARY_PREFIX (32 * 1024)
/* What is found and not yet given; a file waits then. */
#define FOUND_LIMIT (512 * 1024)
/* The states of one automaton; there are two for each thread. */
#define DFA_MEMORY (2 * 1024 * 1024)
/* Visits of instructions between two looks at the clock: a few milliseconds. */
#define DFA_WORK 1000000
/* For finding where the match in a line begins. */
#define LEFTMOST_WORK 1000000

struct scanner {
    const struct content *content;
    struct dfa *forward, *backward;
    struct job *job;
    int fd;
    uint8_t *buffer;
    size_t capacity;
    size_t filled;
    size_t whole;   /* bytes up to the end of the last whole line */
    size_t at;      /* the line that is searched next, or in which the automaton is */
    size_t counted; /* line ends up to here are in `lines` */
    uint64_t lines;
    uint64_t left;  /* of the file, by its size; 0 also if that is unknown */
    struct dfa_place place; /* place.at: NULL between lines */
    bool begun, ended;      /* of the file */
};

int64_t search_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

struct scanner *scanner_new(const struct content *content)
{
    struct scanner *scanner = calloc(1, sizeof *scanner);
    if (scanner == NULL)
        return NULL;
    *scanner = (struct scanner){.content = content, .fd = -1, .capacity = PIECE, .buffer = malloc(PIECE)};
    bool ok = scanner->buffer != NULL;
    if (ok && !content->only_literal) {
        scanner->forward = dfa_new(&content->forward, DFA_MEMORY);
        scanner->backward = dfa_new(&content->backward, DFA_MEMORY);
        ok = scanner->forward != NULL && scanner->backward != NULL;
    }
    if (ok)
        return scanner;
    scanner_free(scanner);
    return NULL;
}

void scanner_free(struct scanner *scanner)
{
    if (scanner == NULL)
        return;
    close_open(&scanner->fd);
    dfa_free(scanner->forward);
    dfa_free(scanner->backward);
    free(scanner->buffer);
    free(scanner);
}

struct job *scanner_job(const struct scanner *scanner)
{
    return scanner->job;
}

static void finish(struct scanner *scanner, enum file_end end, int failure)
{
    close_open(&scanner->fd);
    scanner->job->end = end;
    scanner->job->failure = failure;
    scanner->job->done = true;
    scanner->job = NULL;
}

static void begin(struct scanner *scanner, struct job *job, const struct slice *slice)
{
    struct stat status;
    scanner->job = job;
    scanner->filled = scanner->whole = scanner->at = scanner->counted = 0;
    scanner->lines = 0;
    scanner->place.at = NULL;
    scanner->begun = scanner->ended = false;
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    scanner->fd = job->path[0] != '\0' ? fs_open_below(slice->request, slice->root, job->path, flags)
                                       : fs_open_path(slice->request, slice->request->path, flags, 0);
    if (scanner->fd < 0)
        finish(scanner, FILE_UNREADABLE, -scanner->fd);
    else if (fstat(scanner->fd, &status) < 0)
        finish(scanner, FILE_UNREADABLE, errno);
    else if (!S_ISREG(status.st_mode))
        finish(scanner, FILE_UNREADABLE, ENXIO);
    else if ((uint64_t)status.st_size > slice->options->most_file_bytes)
        finish(scanner, FILE_TOO_LARGE, 0);
    else
        scanner->left = (uint64_t)status.st_size;
}

/* Room for a line that is longer than the buffer. */
static bool widen(struct scanner *scanner)
{
    uint8_t *wider = scanner->capacity < LINE_LIMIT ? realloc(scanner->buffer, 2 * scanner->capacity) : NULL;
    if (wider == NULL)
        return false; /* it is cut here */
    scanner->buffer = wider;
    scanner->capacity *= 2;
    return true;
}

/* Forgets what has been searched, and counts its lines. */
static void shift(struct scanner *scanner)
{
    scanner->lines += count_lines(scanner->buffer + scanner->counted, scanner->buffer + scanner->whole);
    memmove(scanner->buffer, scanner->buffer + scanner->whole, scanner->filled - scanner->whole);
    scanner->filled -= scanner->whole;
    scanner->whole = scanner->at = scanner->counted = 0;
}

/* Reads on until there is a whole line, or the file has ended. Returns 0 or a negative errno. */
static int read_piece(struct scanner *scanner)
{
    shift(scanner);
    while (!scanner->ended && scanner->whole == 0) {
        if (scanner->filled == scanner->capacity && !widen(scanner)) {
            scanner->whole = scanner->filled;
            return 0;
        }
        ssize_t count = read_retrying(scanner->fd, scanner->buffer + scanner->filled, scanner->capacity - scanner->filled);
        if (count < 0)
            return -errno;
        /* What is added to the file meanwhile is not searched. */
        scanner->ended = count == 0 || scanner->left == (uint64_t)count;
        scanner->left -= scanner->left < (uint64_t)count ? scanner->left : (uint64_t)count;
        const uint8_t *read = scanner->buffer + scanner->filled;
        const uint8_t *feed = count == 0 ? NULL : memrchr(read, '\n', (size_t)count);
        scanner->filled += (size_t)count;
        if (feed != NULL)
            scanner->whole = (size_t)(feed - scanner->buffer) + 1;
    }
    if (scanner->ended)
        scanner->whole = scanner->filled;
    return 0;
}

/* Reports the line around a place, and goes on behind it. */
static void report(struct scanner *scanner, const uint8_t *place, const uint8_t *start, const struct slice *slice)
{
    uint8_t *buffer = scanner->buffer, *end = buffer + scanner->whole;
    const uint8_t *before = memrchr(buffer + scanner->at, '\n', (size_t)(place - buffer) - scanner->at);
    const uint8_t *feed = byte_find(place, end, '\n');
    struct line_match match = {
        .line = before != NULL ? before + 1 : buffer + scanner->at, .end = feed != NULL ? feed : end, .start = start};
    if (start == NULL)
        dfa_leftmost(scanner->backward, match.line, match.end, LEFTMOST_WORK, &match.start);
    scanner->lines += count_lines(buffer + scanner->counted, match.line);
    scanner->counted = (size_t)(match.line - buffer);
    match.number = scanner->lines + 1;
    match_put(scanner->job, slice->request->path, &match);
    scanner->at = feed != NULL ? (size_t)(feed - buffer) + 1 : scanner->whole;
    scanner->place.at = NULL;
}

/* Runs the automaton from the line at scanner->at, up to an end or until it pauses. */
static void run(struct scanner *scanner, const uint8_t *end, const struct slice *slice)
{
    if (scanner->place.at == NULL)
        scanner->place = (struct dfa_place){0, scanner->buffer + scanner->at};
    dfa_refill(scanner->forward, DFA_WORK);
    enum dfa_outcome outcome = dfa_run(scanner->forward, &scanner->place, end);
    if (outcome == DFA_PAUSED)
        return;
    bool at_end = outcome == DFA_END && end > scanner->buffer && end[-1] != '\n' && dfa_accepts_end(scanner->forward, &scanner->place);
    if (outcome == DFA_MATCH || at_end)
        report(scanner, scanner->place.at, NULL, slice);
    else
        scanner->at = (size_t)(end - scanner->buffer);
    scanner->place.at = NULL;
}

/* Searches up to the next match, or for a few milliseconds. */
static void search_on(struct scanner *scanner, const struct slice *slice)
{
    const struct content *content = scanner->content;
    uint8_t *buffer = scanner->buffer, *end = buffer + scanner->whole;
    if (content->required.length == 0)
        return run(scanner, end, slice);
    if (scanner->place.at == NULL) {
        const uint8_t *found = literal_find(&content->required, buffer + scanner->at, end);
        if (found == NULL) {
            scanner->at = scanner->whole;
            return;
        }
        if (content->only_literal)
            return report(scanner, found, found, slice);
        const uint8_t *feed = memrchr(buffer + scanner->at, '\n', (size_t)(found - buffer) - scanner->at);
        scanner->at = feed != NULL ? (size_t)(feed - buffer) + 1 : scanner->at;
    }
    const uint8_t *feed = byte_find(buffer + scanner->at, end, '\n');
    return run(scanner, feed != NULL ? feed + 1 : end, slice);
}

static bool is_binary(const struct scanner *scanner)
{
    size_t length = scanner->filled < BINARY_PREFIX ? scanner->filled : BINARY_PREFIX;
    return byte_find(scanner->buffer, scanner->buffer + length, '\0') != NULL;
}

static bool has_enough(const struct scanner *scanner, const struct slice *slice)
{
    const struct job *job = scanner->job;
    return job->matches >= slice->options->most_in_file || job->matches - job->matches_given >= slice->matches_left;
}

/* The next piece of the file; the job is no longer the scanner's when there is none to be searched. */
static void take_piece(struct scanner *scanner)
{
    int failure = read_piece(scanner);
    if (failure < 0)
        return finish(scanner, FILE_UNREADABLE, -failure);
    if (!scanner->begun && is_binary(scanner))
        return finish(scanner, FILE_BINARY, 0);
    scanner->begun = true;
}

void scanner_work(struct scanner *scanner, struct job *job, const struct slice *slice)
{
    if (scanner->job == NULL)
        begin(scanner, job, slice);
    while (scanner->job != NULL) {
        if (has_enough(scanner, slice) || scanner->job->found.exhausted) {
            finish(scanner, FILE_SEARCHED, 0);
        } else if (scanner->at < scanner->whole) {
            search_on(scanner, slice);
            if (search_clock() >= slice->deadline || scanner->job->found.length - scanner->job->given >= FOUND_LIMIT)
                return;
        } else if (scanner->ended) {
            finish(scanner, FILE_SEARCHED, 0);
        } else {
            if (scanner->begun && search_clock() >= slice->deadline)
                return;
            take_piece(scanner);
        }
    }
}
