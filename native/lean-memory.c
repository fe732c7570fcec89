/* Memory for programs without a C library: a stack of blocks. Only the last one grows in place and is given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALIGNMENT 16
#define STEP 65536
#define LARGEST (1ul << 40)

struct block {
    size_t size;
    char content[] __attribute__((aligned(ALIGNMENT)));
};

static uintptr_t top, end; /* of what is in use, and of what the kernel has given */
static struct block *last;

static bool raise_top(uintptr_t wanted)
{
    if (wanted > end) {
        uintptr_t step = (wanted + STEP - 1) / STEP * STEP;
        end = (uintptr_t)syscall(SYS_brk, step);
        if (end < wanted) {
            errno = ENOMEM;
            return false;
        }
    }
    top = wanted;
    return true;
}

static size_t rounded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *malloc(size_t size)
{
    if (top == 0)
        top = end = rounded((uintptr_t)syscall(SYS_brk, 0L));
    struct block *block = (struct block *)top;
    if (size > LARGEST || !raise_top((uintptr_t)block->content + rounded(size)))
        return NULL;
    block->size = size;
    last = block;
    return block->content;
}

static struct block *block_of(void *content)
{
    return (struct block *)((char *)content - offsetof(struct block, content));
}

void free(void *content)
{
    if (content == NULL || block_of(content) != last)
        return;
    top = (uintptr_t)last;
    last = NULL;
}

void *realloc(void *content, size_t size)
{
    struct block *block = content != NULL ? block_of(content) : NULL;
    if (block != NULL && block == last) {
        if (size > LARGEST || !raise_top((uintptr_t)content + rounded(size)))
            return NULL;
        block->size = size;
        return content;
    }
    void *moved = malloc(size);
    if (moved != NULL && block != NULL)
        memcpy(moved, content, size < block->size ? size : block->size);
    return moved;
}

void *calloc(size_t count, size_t size)
{
    size_t length;
    void *content = __builtin_mul_overflow(count, size, &length) ? NULL : malloc(length);
    return content != NULL ? memset(content, 0, length) : NULL;
}
