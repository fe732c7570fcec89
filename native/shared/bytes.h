/* A growing run of bytes, and the lists of NUL-ended strings that travel in it. */
#ifndef EXEC_BYTES_H
#define EXEC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    char *start;
    size_t length, capacity;
    bool failed; /* out of memory: what follows is dropped */
};

/* Room for so many more bytes behind the content, or NULL. */
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

/* Takes strings off a list; every fault is remembered, and then nothing but empty strings come. */
struct strings {
    char *at, *end;
    bool failed;
};

char *strings_next(struct strings *strings);
long strings_next_number(struct strings *strings, long most);
/* So many strings as a NULL-terminated list the caller frees; NULL on a fault. */
char **strings_next_list(struct strings *strings, size_t count);
/* How many strings are left. */
size_t strings_left(const struct strings *strings);

#endif
