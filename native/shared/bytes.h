/* A growing buffer of bytes, and lists of NUL-terminated strings in it. */
#ifndef EXEC_BYTES_H
#define EXEC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    char *start;
    size_t length, capacity;
    bool failed; /* out of memory: later bytes are dropped */
};

/* Room for `length` more bytes after the content, or NULL. */
char *bytes_reserve(struct bytes *bytes, size_t length);
void bytes_add(struct bytes *bytes, const void *content, size_t length);
void bytes_add_text(struct bytes *bytes, const char *text);
void bytes_add_number(struct bytes *bytes, uint64_t number);
__attribute__((format(printf, 2, 3))) void bytes_print(struct bytes *bytes, const char *format, ...);
/* A string with the NUL that ends it. */
void bytes_add_string(struct bytes *bytes, const char *text);
/* Removes bytes from the front. */
void bytes_drop(struct bytes *bytes, size_t length);
void bytes_free(struct bytes *bytes);

/* Reads strings from a list; after an error all strings are empty. */
struct strings {
    char *at, *end;
    bool failed;
};

char *strings_next(struct strings *strings);
long strings_next_number(struct strings *strings, long most);
/* `count` strings as a NULL-terminated list, which the caller frees; NULL after an error. */
char **strings_next_list(struct strings *strings, size_t count);
/* How many strings are left. */
size_t strings_left(const struct strings *strings);

#endif
