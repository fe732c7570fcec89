/* Parses the request of a server. */
#include "request.h"

#include <string.h>

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

size_t request_body_length(const uint8_t head[REQUEST_HEAD])
{
    uint32_t length = get32(head);
    return length <= REQUEST_BODY ? length : 0;
}

bool request_parse(struct request *request, const uint8_t head[REQUEST_HEAD], const char *body)
{
    size_t length = request_body_length(head), mounts = get32(head + 4);
    if (length == 0 || mounts >= length || get32(head + 8) > REQUEST_RECURSIVE)
        return false;
    *request = (struct request){
        .path = body + mounts,
        .mounts = body,
        .mounts_length = mounts,
        .most_directories = get32(head + 12),
        .recursive = get32(head + 8) & REQUEST_RECURSIVE,
    };
    bool ends = memchr(request->path, '\0', length - mounts) == body + length - 1;
    return ends && request->path[0] == '/' && (mounts == 0 || body[mounts - 1] == '\0');
}
