/* The last steps of a child before its program runs. Nothing here allocates: a child may share its parent's memory. */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All signals of the kernel; glibc uses two itself. */
#define KERNEL_SIGNALS 64

struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* Restores the default action of all signals, and blocks none; also of the two that glibc hides from sigaction. */
static inline void default_signals(void)
{
    struct kernel_sigaction action;
    memset(&action, 0, sizeof action);
    for (int number = 1; number <= KERNEL_SIGNALS; number++)
        if (number != SIGKILL && number != SIGSTOP)
            syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
    uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

/*
 * Executes the first of the files that exists and may be executed. Returns only on failure, with errno: the file that
 * cannot be executed, or NULL when all are missing (ENOENT, ENOTDIR) or some are refused (EACCES).
 */
static inline const char *exec_first(char *const *files, char *const *arguments, char *const *environment)
{
    bool refused = false;
    errno = ENOENT;
    for (; *files != NULL; files++) {
        execve(*files, arguments, environment);
        if (errno == EACCES)
            refused = true;
        else if (errno != ENOENT && errno != ENOTDIR)
            return *files;
    }
    if (refused)
        errno = EACCES;
    return NULL;
}

#endif
