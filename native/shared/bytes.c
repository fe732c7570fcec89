/* See bytes.h. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

char *bytes_reserve(struct bytes *bytes, size_t length)
{
    if (bytes->failed)
        return NULL;
    if (bytes->capacity - bytes->length < length) {
        size_t capacity = bytes->capacity * 2;
        if (capacity < bytes->length + length)
            capacity = bytes->length + length;
        char *start = realloc(bytes->start, capacity);
        if (start == NULL) {
            bytes->failed = true;
            return NULL;
        }
        bytes->start = start;
        bytes->capacity = capacity;
    }
    return bytes->start + bytes->length;
}

void bytes_add(struct bytes *bytes, const void *content, size_t length)
{
    char *room = bytes_reserve(bytes, length);
    if (room == NULL || length == 0)
        return;
    memcpy(room, content, length);
    bytes->length += length;
}

void bytes_add_text(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, text, strlen(text));
}

void bytes_add_number(struct bytes *bytes, uint64_t number)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    bytes_add(bytes, first, (size_t)(digits + sizeof digits - first));
}

void bytes_add_string(struct bytes *bytes, const char *text)
{
    bytes_add(bytes, text, strlen(text) + 1);
}

void bytes_drop(struct bytes *bytes, size_t length)
{
    bytes->length -= length;
    if (bytes->length > 0)
        memmove(bytes->start, bytes->start + length, bytes->length);
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->start);
    *bytes = (struct bytes){0};
}
