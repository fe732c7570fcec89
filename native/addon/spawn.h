/* Starting one child process: see spawn.c. */
#ifndef EXEC_SPAWN_H
#define EXEC_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inherit.h"
#include "../shared/pin.h"

enum stdio { STDIO_NULL_INPUT, STDIO_OPEN_INPUT, STDIO_TERMINAL };
/* Added to those with pipes: stdout and stderr are one pipe. */
#define STDIO_MERGED 4U

/* What a child may not have; absent from most starts. */
struct restrictions {
    int64_t file_bytes; /* RLIMIT_FSIZE; -1: that of this process */
    int cgroup;         /* an open cgroup.procs, or -1 */
    int64_t uid, gid;   /* -1: those of this process */
    const gid_t *groups;
    size_t group_count;
};

struct spawn_request {
    char **files; /* tried in order, NULL-terminated */
    char **argv;
    char **envp;
    const char *cwd;
    struct pin workdir; /* the directory that cwd must lead to */
    enum stdio stdio;
    bool merged; /* stderr is the pipe of stdout */
    unsigned short rows, cols;
    uint64_t mark; /* 0: outside every family */
    bool dies_with_parent; /* the kernel kills it when the thread that spawned it ends */
    struct inherited *inherited; /* become the descriptors from 3 on */
    size_t inherited_count;
    const struct restrictions *restrictions; /* or NULL */
};

struct spawn_result {
    pid_t pid;
    int pidfd;
    int input;     /* -1: none */
    int output[2]; /* stdout and stderr; or the terminal, or both in one pipe, and -1 */
    int error;     /* errno of a failure */
    const char *step; /* what failed, NULL on success */
};

/* 0 on success, -1 with error and step set; every descriptor of the result is non-blocking and close-on-exec. */
int spawn_child(const struct spawn_request *request, struct spawn_result *result);

/*
 * Runs a function in a child that has this process's memory and open files, and waits until it has ended or executed a program. All
 * signals are blocked in it: no handler of the parent may run where it would see the parent's memory. The pid, or -1 with errno.
 */
pid_t spawn_sharing_memory(int (*child)(void *), void *argument, int *pidfd);

/* The name of the first system call this kernel lacks, or an empty string. */
const char *spawn_probe(void);

#endif
