/* Builds an answer in a buffer that grows. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/base64.h"
#include "engine.h"

static void put32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

bool fs_reserve(struct fs_answer *answer, size_t more)
{
    size_t needed = answer->length + more + FS_ROOM_AFTER;
    if (answer->exhausted)
        return false;
    if (needed <= answer->capacity)
        return true;
    size_t capacity = needed > 2 * answer->capacity ? needed : 2 * answer->capacity;
    uint8_t *bytes = realloc(answer->bytes, capacity);
    if (bytes == NULL) {
        answer->exhausted = true;
        return false;
    }
    answer->bytes = bytes;
    answer->capacity = capacity;
    return true;
}

void fs_put(struct fs_answer *answer, const void *bytes, size_t length)
{
    if (length == 0 || !fs_reserve(answer, length))
        return;
    memcpy(answer->bytes + answer->length, bytes, length);
    answer->length += length;
}

void fs_puts(struct fs_answer *answer, const char *text)
{
    fs_put(answer, text, strlen(text));
}

void fs_putf(struct fs_answer *answer, const char *format, ...)
{
    char text[512]; /* numbers and fixed words only */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fs_put(answer, text, length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void fs_put_base64(struct fs_answer *answer, const uint8_t *bytes, size_t length)
{
    size_t encoded = (length + 2) / 3 * 4;
    if (!fs_reserve(answer, encoded))
        return;
    base64_encode(answer->bytes + answer->length, bytes, length);
    answer->length += encoded;
}

void fs_fail_errno(struct fs_answer *answer, int number)
{
    answer->exhausted = false;
    answer->length = FS_ROOM_BEFORE;
    fs_set_status(answer, number == EAGAIN ? FS_LATER : FS_ERRNO, (uint32_t)number);
}

void fs_fail_text(struct fs_answer *answer, enum fs_status status, const char *text)
{
    answer->length = FS_ROOM_BEFORE;
    fs_puts(answer, text);
    fs_set_status(answer, status, 0);
}

bool fs_begin(struct fs_answer *answer)
{
    *answer = (struct fs_answer){0};
    if (!fs_reserve(answer, FS_ROOM_BEFORE + 256))
        return false;
    memset(answer->bytes, 0, FS_ROOM_BEFORE);
    answer->length = FS_ROOM_BEFORE;
    return true;
}

void fs_end(const struct fs_request *request, struct fs_answer *answer)
{
    if (answer->exhausted)
        fs_fail_errno(answer, ENOMEM);
    put32(answer->bytes, (uint32_t)(answer->length - FS_ROOM_BEFORE));
    put32(answer->bytes + 4, request->id);
}

void fs_set_status(struct fs_answer *answer, enum fs_status status, uint32_t number)
{
    put32(answer->bytes + 8, status);
    put32(answer->bytes + 12, number);
}
