/* JSON for the frames between a wrapper and its server: see json-read.c and json-write.c. */
#ifndef EXEC_JSON_H
#define EXEC_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "bytes.h"

enum json_kind { JSON_NULL, JSON_BOOLEAN, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* A value, as a part of the text. */
struct json {
    enum json_kind kind;
    const char *start, *end;
};

/* True when the text is one valid value and nothing else. */
bool json_parse(const char *text, size_t length, struct json *value);

/* The elements of an array, one after the other. */
struct json_elements {
    const char *at, *end;
};

struct json_elements json_elements(const struct json *array);
bool json_next(struct json_elements *elements, struct json *element);

/* The number of members of an object with this name; the value is that of the last one. */
int json_member(const struct json *object, const char *name, struct json *value);
int json_member_count(const struct json *object);

/* The text of a string, ended by NUL; the caller frees it. NULL for anything else. */
char *json_text(const struct json *string);
bool json_is(const struct json *value, const char *text);
bool json_integer(const struct json *value, long least, long most, long *number);

/* Writes a quoted string; bytes that are not UTF-8 become U+FFFD. */
void json_write_string(struct bytes *bytes, const char *text, size_t length);
bool json_is_utf8(const char *text, size_t length);

#endif
