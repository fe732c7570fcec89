/* The resource limits that a command inherits, by name. */
#ifndef EXEC_LIMITS_H
#define EXEC_LIMITS_H

#include <stddef.h>

struct limit_name {
    const char *name;
    int resource;
};

/* Without RLIMIT_RTTIME, which marks the family of a process. */
extern const struct limit_name limit_names[];
extern const size_t limit_count;

#endif
