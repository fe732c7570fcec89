/*
 * What the server asks for, once: 20 bytes of numbers (u32) and a body.
 *    0 length of the body   4 length of the mounts   8 flags   12 directories at most   16 zero
 * The body is the mounts that the view must have (paths and pins in turn, each ended by NUL: mounted.h) and the path, ended by NUL.
 */
#ifndef EXEC_WATCH_REQUEST_H
#define EXEC_WATCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_HEAD 20
/* More than the mounts of any view. */
#define REQUEST_BODY (16 * 1024 * 1024)
#define REQUEST_RECURSIVE 1

struct request {
    const char *path;
    const char *mounts;
    size_t mounts_length;
    size_t most_directories;
    bool recursive;
};

/* The length of the body, or 0 if that is none of a request. */
size_t request_body_length(const uint8_t head[REQUEST_HEAD]);
/* False when head and body contradict each other. */
bool request_parse(struct request *request, const uint8_t head[REQUEST_HEAD], const char *body);

#endif
