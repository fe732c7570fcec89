/* Reads strings out of the memory of another process. */
#define _GNU_SOURCE
#include "caller-memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define MOST_COMMAND_BYTES (16u << 20)
#define MOST_STRINGS (1u << 20)
#define LONGEST_STRING (128u << 10) /* of one argument, by the kernel */

void memory_open(struct memory *memory, pid_t thread)
{
    memory->thread = thread;
    memory->oldest = 0;
    memory->pages[0].start = memory->pages[1].start = 0;
}

/* The bytes at an address, up to the end of its page, as the next page may be missing; NULL if this one is. */
static const char *memory_at(struct memory *memory, uint64_t from, size_t *length)
{
    uint64_t offset = from % PAGE, start = from - offset;
    int place = memory->pages[0].start == start ? 0 : 1;
    if (memory->pages[place].start != start || start == 0) {
        place = memory->oldest;
        struct iovec local = {.iov_base = memory->pages[place].bytes, .iov_len = PAGE};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)start, .iov_len = PAGE};
        memory->pages[place].start = 0;
        if (process_vm_readv(memory->thread, &local, 1, &remote, 1, 0) != PAGE)
            return NULL;
        memory->pages[place].start = start;
    }
    memory->oldest = 1 - place;
    *length = PAGE - offset;
    return memory->pages[place].bytes + offset;
}

int memory_read_string(struct memory *memory, uint64_t from, size_t longest, struct bytes *bytes)
{
    for (size_t read = 0, step; read <= longest && bytes->length < MOST_COMMAND_BYTES; read += step) {
        const char *text = memory_at(memory, from + read, &step);
        if (text == NULL)
            return -1;
        const char *end = memchr(text, '\0', step);
        if (end != NULL)
            step = (size_t)(end - text) + 1;
        bytes_add(bytes, text, step);
        if (bytes->failed) {
            errno = ENOMEM;
            return -1;
        }
        if (end != NULL)
            return 0;
    }
    errno = E2BIG;
    return -1;
}

/* A pointer may lie across two pages. */
static bool read_pointer(struct memory *memory, uint64_t from, uint64_t *pointer)
{
    for (size_t read = 0, step; read < sizeof *pointer; read += step) {
        const char *bytes = memory_at(memory, from + read, &step);
        if (bytes == NULL)
            return false;
        if (step > sizeof *pointer - read)
            step = sizeof *pointer - read;
        memcpy((char *)pointer + read, bytes, step);
    }
    return true;
}

long memory_read_strings(struct memory *memory, uint64_t from, struct bytes *bytes)
{
    uint64_t pointer;
    for (long count = 0; from != 0 && count < (long)MOST_STRINGS; count++) {
        if (!read_pointer(memory, from + (uint64_t)count * sizeof pointer, &pointer))
            return -1;
        if (pointer == 0)
            return count;
        if (memory_read_string(memory, pointer, LONGEST_STRING, bytes) < 0)
            return -1;
    }
    if (from == 0)
        return 0;
    errno = E2BIG;
    return -1;
}

long memory_read_arguments(struct memory *memory, uint64_t from, struct bytes *bytes)
{
    long count = memory_read_strings(memory, from, bytes);
    if (count != 0)
        return count;
    bytes_add(bytes, "", 1);
    return 1;
}
