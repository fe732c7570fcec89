/* The memory of a blocked caller, whose strings say what it is about to execute. */
#ifndef EXEC_BROKER_CALLER_MEMORY_H
#define EXEC_BROKER_CALLER_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "../shared/bytes.h"

#define PAGE 4096

/* The two pages read last: strings lie side by side, and so do the pointers to them. */
struct memory {
    pid_t thread;
    struct {
        uint64_t start; /* 0: none */
        char bytes[PAGE];
    } pages[2];
    int oldest;
};

void memory_open(struct memory *memory, pid_t thread);
/* Appends a string with its NUL; 0, or -1 with errno. */
int memory_read_string(struct memory *memory, uint64_t from, size_t longest, struct bytes *bytes);
/* Appends the strings of a vector; their number, or -1 with errno. */
long memory_read_strings(struct memory *memory, uint64_t from, struct bytes *bytes);
/* The same for arguments: the kernel makes one empty argument of none, too. */
long memory_read_arguments(struct memory *memory, uint64_t from, struct bytes *bytes);

#endif
