/*
 * Reports of refused calls: the seccomp program of a watched command asks a supervisor about every call that it refuses, and about
 * every call that names a file to change. The supervisor answers the first kind with the error of the refusal, and leaves the
 * second to the kernel, after it has found out whether the kernel will refuse the call. It permits nothing.
 */
#ifndef EXEC_DENIALS_H
#define EXEC_DENIALS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOST_REPORTS 32
#define LONGEST_SUBJECT 4096
#define LONGEST_PROGRAM 255

/*
 * A report to the server (src/host/sandbox/denial-frames.ts): this header, the subject, the program's name. Numbers are in host
 * order.
 */
struct report_header {
    uint8_t kind;    /* enum report_kind */
    uint8_t missing; /* the path is missing in this view: the server decides whether the sandbox is the reason */
    uint16_t subject, program;
    uint16_t reserved;
};

/* A supervisor in a process of its own sends REPORT_END after the end of its command; without it reports may be missing. */
enum report_kind { REPORT_WRITE = 1, REPORT_NETWORK = 2, REPORT_SYSCALL = 3, REPORT_END = 255 };

/* The facts about the sandbox that a supervisor needs. */
struct watch_options {
    bool own_network;  /* connect is not refused, but only the loopback of the sandbox's own network can be reached */
    bool partial_view; /* paths of the host may be missing */
    bool other_view;   /* commands have another root directory than the supervisor */
};

struct denials {
    int listener;
    int reports; /* a stream socket to the server */
    struct watch_options options;
    unsigned reported, missed; /* refusals, and paths that are missing */
    uint64_t seen[2 * MOST_REPORTS];
};

/* Receives one notification from the listener, and answers it. */
void denials_serve(struct denials *denials);

/* Answers a notification that has been received already. */
void denials_answer(struct denials *denials, const struct seccomp_notif *notification);

/* denial-subject.c */

/* A string of another process: its length, or -1. The room is LONGEST_SUBJECT bytes. */
ssize_t read_remote_string(pid_t thread, uint64_t address, char *room);
ssize_t read_remote(pid_t thread, uint64_t address, void *room, size_t length);
/* Makes a path absolute as its process would; false when it cannot be known or is too long. */
bool make_absolute(pid_t thread, int directory, char *path);
/* Writes a socket address as text; false when it is of no kind that has one. */
bool print_address(const void *address, size_t length, char *text, size_t room);
/* The file name of the program a thread executes; its length. */
size_t program_name(pid_t thread, char *name);

/* denial-forecast.c */
enum forecast { GOES_ON, REFUSED, MISSING };

struct view {
    bool other_root;  /* paths start at the root directory of the thread */
    pid_t thread;
};

enum forecast forecast_open(const struct view *view, const char *path, uint64_t flags);
enum forecast forecast_make(const struct view *view, const char *path);
enum forecast forecast_remove(const struct view *view, const char *path);
enum forecast forecast_write(const struct view *view, const char *path);
enum forecast forecast_change(const struct view *view, const char *path);
/* Whether a Unix socket could be connected to if it were allowed. */
bool is_socket(const struct view *view, const char *path);

/* denial-filter.c */

/* Installs a program for this process and its descendants; its listener, or -1. */
int install_listening(const struct sock_fprog *program);
/* Installs a program for this process and its descendants, and sends its listener to the supervisor at the other end of a channel. */
int watch_self(const struct sock_fprog *program, int channel, int reports, struct watch_options options);
/* Receives the message of watch_self; false if nothing is to be watched. */
bool denials_receive(struct denials *denials, int channel);

/* denial-supervisor.c */

/* Starts a supervisor; the channel to it, or -1. */
int supervisor_start(void);

#endif
