/* What .gitignore files say about the entries of a tree. */
#ifndef EXEC_SEARCH_IGNORE_H
#define EXEC_SEARCH_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

/* Rules that are in force at a time, of all files together; those of further files are left out, and reported. */
#define IGNORE_RULE_LIMIT 4096
#define IGNORE_FILE_LIMIT (1024 * 1024)

struct ignore_rule;

/* The rules of one file, and those that count less: of directories above. */
struct ignore {
    struct ignore *above;
    struct ignore_rule *rules;
    size_t count;
    size_t total;     /* with those above */
    size_t directory; /* the length of its directory's path; paths are relative to the same place */
};

/* Reads a file's text on top of `above`. NULL when memory has run out. The text must end with a NUL, and is changed. */
struct ignore *ignore_parse(struct ignore *above, size_t directory, char *text, size_t length);
/* Frees one, and gives the one above. */
struct ignore *ignore_free(struct ignore *ignore);
bool ignore_matches(const struct ignore *ignore, const char *path, bool is_directory);

#endif
