/* The functions of bytes.h that need stdio and lists of strings. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/bytes.h"

void bytes_print(struct bytes *bytes, const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        bytes->failed = true;
        return;
    }
    bytes_add(bytes, text, (size_t)length);
    free(text);
}

char *strings_next(struct strings *strings)
{
    char *text = strings->at;
    size_t left = (size_t)(strings->end - text);
    char *end = left > 0 ? memchr(text, '\0', left) : NULL;
    if (end == NULL) {
        strings->failed = true;
        strings->at = strings->end;
        return "";
    }
    strings->at = end + 1;
    return text;
}

long strings_next_number(struct strings *strings, long most)
{
    char *text = strings_next(strings), *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < -1 || number > most) {
        strings->failed = true;
        return 0;
    }
    return number;
}

char **strings_next_list(struct strings *strings, size_t count)
{
    char **list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++)
        list[i] = strings_next(strings);
    if (list != NULL && strings->failed) {
        free(list);
        return NULL;
    }
    return list;
}

size_t strings_left(const struct strings *strings)
{
    size_t count = 0;
    for (char *at = strings->at; at < strings->end; at++)
        count += *at == '\0';
    return count;
}
