/*
 * The first process of a sandbox (pid 1 of its namespace). It reaps what the command leaves behind, ends with the command's
 * exit code, and takes everything in the namespace with it: the kernel kills the rest when pid 1 ends.
 *
 * It is not dumpable, so that no process of the sandbox can trace it, read or write its memory, or follow /proc/1/exe. It
 * handles no signal: the kernel drops what the namespace sends to a pid 1 without a handler, and all but SIGKILL and SIGSTOP of
 * what comes from outside.
 *
 * The leash is a socket whose other end the server holds and nobody else. It closes with the server, however that ends, and
 * when the process is over for the server. At the start the inode of the pid namespace is written to it as eight bytes: the
 * server then finds the sandbox even when its processes have changed their family marks.
 */
#define _GNU_SOURCE
#include "reaper.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

#define LOST_SERVER 1

struct reaper {
    pid_t command;
    int signals, leash;
};

/* A descriptor the loop waits for, and what happens when it is ready. */
struct source {
    struct pollfd poll;
    void (*ready)(struct reaper *reaper);
};

static void tell_namespace(int leash)
{
    struct stat status;
    uint64_t inode = stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
    write_retrying(leash, &inode, sizeof inode); /* a server that is gone is noticed by the loop */
}

static void collect(struct reaper *reaper)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;
    read_retrying(reaper->signals, &info, sizeof info); /* one note stands for any number of ends */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == reaper->command)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void end(struct reaper *reaper)
{
    (void)reaper;
    _exit(LOST_SERVER);
}

/* Polls for the hang-up of the leash alone: what is to read on it is for the server. */
static void run(struct reaper *reaper)
{
    struct source sources[] = {
        {{.fd = reaper->signals, .events = POLLIN}, collect},
        {{.fd = reaper->leash}, end},
    };
    enum { COUNT = sizeof sources / sizeof *sources };
    struct pollfd polled[COUNT];
    for (;;) {
        for (int i = 0; i < COUNT; i++)
            polled[i] = sources[i].poll;
        if (poll(polled, COUNT, -1) < 0 && errno != EINTR)
            _exit(LOST_SERVER);
        for (int i = 0; i < COUNT; i++)
            if (polled[i].revents != 0)
                sources[i].ready(reaper);
    }
}

/* Nothing of the command's stays open here: its pipes, its terminal, its request. */
static int close_others(const struct reaper *reaper)
{
    unsigned low = (unsigned)(reaper->signals < reaper->leash ? reaper->signals : reaper->leash);
    unsigned high = (unsigned)(reaper->signals < reaper->leash ? reaper->leash : reaper->signals);
    if (low > 0 && close_range(0, low - 1, 0) < 0)
        return -1;
    if (high - low > 1 && close_range(low + 1, high - 1, 0) < 0)
        return -1;
    return close_range(high + 1, ~0U, 0);
}

int reaper_fork(int leash)
{
    struct reaper reaper = {.leash = leash};
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || sigprocmask(SIG_BLOCK, &ends, &before) < 0)
        return -1;
    reaper.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    if (reaper.signals < 0)
        return -1;
    tell_namespace(leash);
    reaper.command = fork();
    if (reaper.command < 0)
        return -1;
    if (reaper.command == 0)
        return sigprocmask(SIG_SETMASK, &before, NULL);
    if (close_others(&reaper) < 0)
        _exit(LOST_SERVER);
    run(&reaper);
    return -1;
}
