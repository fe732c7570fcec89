/* Execs the kernel asks about: the parts around kernel.c. */
#ifndef EXEC_BROKER_KERNEL_H
#define EXEC_BROKER_KERNEL_H

#include <linux/seccomp.h>
#include <stdint.h>

#include "broker.h"

/* A thread that is blocked in execve or execveat. */
struct caller {
    struct watch process; /* first member; readable when it has died */
    struct session *session;
    uint64_t notification;
    pid_t thread;
    struct seccomp_data data; /* of its call */
    int planted_stub; /* the number of the stub's file in it, or -1 */
    dev_t device;     /* of the file it wants to execute */
    ino_t inode;
    char *seen_path; /* the path Node was told of, or NULL */
};

/* caller.c: the command that a caller wants to execute. */
struct wanted {
    char *path; /* as it is executed: relative ones belong to directory */
    char *directory;
    bool by_descriptor; /* executed by descriptor; the path is the one that it was opened by */
    dev_t device;       /* 0 if the file could not be opened */
    ino_t inode;
    pid_t process; /* the thread's */
    int umask;     /* -1: unknown */
};

/* The path argument alone; the caller frees it. */
char *caller_path(pid_t thread, const struct seccomp_data *data);
/* The strings of the path and of the arguments; false when they cannot be read. */
bool caller_arguments(pid_t thread, const struct seccomp_data *data, struct bytes *words);
/* 0, or -1 with errno. */
int caller_wanted(pid_t thread, const struct seccomp_data *data, struct wanted *wanted);
void wanted_free(struct wanted *wanted);
/* Finds out the process of a thread, and its umask. */
void caller_status(pid_t thread, struct wanted *wanted);
/* The strings of the whole command; 0, or -1 with errno. */
int caller_command(pid_t thread, const struct seccomp_data *data, const struct wanted *wanted, struct bytes *block);
/* Finds out which file it is; returns 0, or the error that the kernel would return because there is nothing to execute. */
int caller_lookup(pid_t thread, struct wanted *wanted);

/* verdicts.c */
/* Lets the call go on, or fail with an error. */
void notification_answer(const struct broker *broker, uint64_t notification, int error);
/* Whether the caller is still blocked. Otherwise its id may belong to another process, whose memory has been read. */
bool notification_is_valid(const struct broker *broker, uint64_t notification);

/* denied-files.c */
void denied_file_remember(struct broker *broker, const struct caller *caller);
/* Whether the thread was denied this file, or without one, any. */
bool is_denied_file(const struct broker *broker, pid_t thread, const struct wanted *wanted);

/* allowed-paths.c */
void allowed_path_remember(struct broker *broker, const struct caller *caller);
bool is_allowed_path(const struct broker *broker, const char *path);

/* redirect.c: NULL, or the step that failed with errno set; answered says whether the caller already has EPERM then. */
const char *caller_redirect(int listener, int stub, struct caller *caller, int stream, bool *answered);

/* caller-output.c: writes to its stderr; false when that cannot be done without waiting. */
bool caller_print(pid_t process, const char *text, size_t length);

#endif
