/* Parses requests, dispatches operations, completes answers. */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) | (uint32_t)get16(at + 2) << 16;
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)get32(at) | (uint64_t)get32(at + 4) << 32;
}

uint32_t fs_body_length(const uint8_t head[FS_REQUEST_HEAD])
{
    return get32(head);
}

uint32_t fs_payload_length(const uint8_t head[FS_ROOM_BEFORE])
{
    return get32(head);
}

/* A string of the given length, its NUL counted, or none when the length is zero. */
static bool take_path(const char **path, const uint8_t **at, size_t *left, size_t length)
{
    *path = NULL;
    if (length == 0)
        return true;
    if (length > *left || memchr(*at, '\0', length) != *at + length - 1)
        return false;
    *path = (const char *)*at;
    *at += length;
    *left -= length;
    return true;
}

bool fs_parse(struct fs_request *request, const uint8_t *head, size_t length, const uint8_t *payload,
              size_t payload_length)
{
    if (length < FS_REQUEST_HEAD || get32(head) != length - FS_REQUEST_HEAD + payload_length)
        return false;
    request->id = get32(head + 4);
    request->operation = get16(head + 8);
    request->flags = get16(head + 10);
    for (int i = 0; i < 3; i++)
        request->numbers[i] = get64(head + 16 + 8 * i);
    const uint8_t *at = head + FS_REQUEST_HEAD;
    size_t left = length - FS_REQUEST_HEAD;
    if (!take_path(&request->path, &at, &left, get32(head + 12)) ||
        !take_path(&request->target, &at, &left, get32(head + 40)))
        return false;
    if (payload_length > 0 && left > 0)
        return false;
    request->payload = payload_length > 0 ? payload : at;
    request->payload_length = payload_length > 0 ? payload_length : left;
    return true;
}

void fs_close(const struct fs_request *request, struct fs_answer *answer)
{
    close((int)request->numbers[0]); /* whatever it says, the descriptor is gone */
    fs_puts(answer, "{}");
}

/* For operations that are carried out before a request comes here. */
void fs_elsewhere(const struct fs_request *request, struct fs_answer *answer)
{
    (void)request;
    fs_fail_errno(answer, EINVAL);
}

static const struct {
    const char *name;
    void (*run)(const struct fs_request *request, struct fs_answer *answer);
    int paths;
} operations[] = {
#define ENTRY(number, name, function, paths) [number] = {name, function, paths},
    FS_OPERATIONS(ENTRY)
#undef ENTRY
};

const char *fs_operation_name(unsigned number)
{
    return number < sizeof operations / sizeof *operations ? operations[number].name : NULL;
}

static bool acceptable(const struct fs_request *request)
{
    if (request->operation >= sizeof operations / sizeof *operations)
        return false;
    int paths = operations[request->operation].paths;
    return (paths < 1 || (request->path != NULL && request->path[0] == '/')) &&
           (paths < 2 || (request->target != NULL && request->target[0] == '/'));
}

/* The root is in no directory, from which it could be reached without following links. */
static bool names_no_entry(const struct fs_request *request)
{
    uint16_t operation = request->operation;
    return request->flags & FS_NO_FOLLOW && strcmp(request->path, "/") == 0 &&
           (operation == FS_READ_FILE || operation == FS_WRITE_FILE || operation == FS_REMOVE);
}

bool fs_execute(const struct fs_request *request, struct fs_answer *answer)
{
    if (!fs_begin(answer))
        return false;
    if (!acceptable(request))
        fs_fail_errno(answer, EINVAL);
    else if (names_no_entry(request))
        fs_fail_text(answer, FS_INVALID, "path must name an entry");
    else
        operations[request->operation].run(request, answer);
    fs_end(request, answer);
    return true;
}
