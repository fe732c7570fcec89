/* The processes below this one: see descendants.c. */
#ifndef EXEC_DESCENDANTS_H
#define EXEC_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct descendant {
    pid_t pid, parent, session;
    unsigned long long started; /* with the pid, its identity */
    bool dead;                  /* a zombie */
};

/* Living and dead descendants of this process; the caller frees the list. The count, or -1 with errno. */
ssize_t descendants_list(struct descendant **list);
/* Signals the very process that was listed; false when it is no more. */
bool descendant_signal(const struct descendant *descendant, int number);
/* Whether it lives in a process namespace below this one. */
bool descendant_is_nested(const struct descendant *descendant);
bool descendant_ignores(const struct descendant *descendant, int number);

#endif
