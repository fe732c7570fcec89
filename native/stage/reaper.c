/*
 * The first process of a sandbox (pid 1 of its namespace). It reaps the orphans of the command, and ends with the command's
 * exit code; the kernel then kills all other processes of the namespace.
 *
 * It is not dumpable, so that no process of the sandbox can trace it, read or write its memory, or follow /proc/1/exe. It
 * handles no signal: to a pid 1 without handlers the kernel delivers no signal from its namespace, and only SIGKILL and SIGSTOP
 * from outside.
 *
 * The control socket's other end is open in the server alone, so it closes when the server dies or disposes of the process: then
 * this process kills the command and ends. Each byte from the server is the number of a signal for the process group of the
 * command: a signal to the group of the server's own child would end bubblewrap without reaching the command. At the start this
 * process sends the inode of the pid namespace as eight bytes, by which the server finds the sandbox even if its processes have
 * changed their family marks, and two descriptors, which stay in the socket until the server closes it: one of the pid namespace,
 * so that the kernel cannot give its inode to another namespace, and one of the mount namespace, because the kernel would report the
 * end of this process only after it has unmounted everything. In the pid namespace of the host this process sends nothing; it then
 * kills the command alone, and orphans of the command stay.
 *
 * If refusals are reported, it is the supervisor of the command as well (native/stage/denials.h): it sees the disk as the command
 * does, and the command cannot end it.
 */
#define _GNU_SOURCE
#include "reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "../shared/files.h"
#include "../shared/send-descriptors.h"
#include "denials.h"

#define LOST_SERVER 1

struct reaper {
    pid_t command;
    pid_t group; /* for kill: our own, whose signals a pid 1 does not get, or the command's */
    int signals, control, requests; /* the last: a socket by which the child asks this process to be the supervisor */
    struct denials denials;
};

/* A descriptor the loop waits for, and what happens when it is ready. */
struct source {
    struct pollfd poll;
    void (*ready)(struct reaper *reaper);
};

/* Sends nothing if the pid namespace cannot be opened: without a descriptor its inode may become that of another namespace. */
static void send_namespaces(int control)
{
    struct stat status;
    int held[] = {-1, -1}; /* the pid namespace and the mount namespace */
    if (getpid() == 1)
        held[0] = open_retrying("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (held[0] < 0)
        return;
    held[1] = open_retrying("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    uint64_t inode = fstat(held[0], &status) == 0 ? status.st_ino : 0;
    send_descriptors(control, &inode, sizeof inode, held, held[1] < 0 ? 1 : 2); /* the loop notices the end of the server */
    close_open(&held[0]);
    close_open(&held[1]);
}

static void collect(struct reaper *reaper)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;
    read_retrying(reaper->signals, &info, sizeof info); /* one SIGCHLD may stand for several children */
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == reaper->command)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Called once: the child has sent its request, or closed its end without one. */
static void take_request(struct reaper *reaper)
{
    if (!denials_receive(&reaper->denials, reaper->requests))
        reaper->denials.listener = -1;
    close_open(&reaper->requests);
}

static void answer(struct reaper *reaper)
{
    denials_serve(&reaper->denials);
}

static void handle_control(struct reaper *reaper)
{
    unsigned char signals[64];
    ssize_t count = recv(reaper->control, signals, sizeof signals, MSG_DONTWAIT);
    for (ssize_t i = 0; i < count; i++)
        kill(reaper->group, signals[i]);
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    kill(reaper->command, SIGKILL); /* pid 1 takes everything with it anyway */
    _exit(LOST_SERVER);
}

static void run(struct reaper *reaper)
{
    enum { COUNT = 4 };
    struct pollfd polled[COUNT];
    for (;;) {
        const struct source sources[COUNT] = {
            {{.fd = reaper->denials.listener, .events = POLLIN}, answer},
            {{.fd = reaper->signals, .events = POLLIN}, collect},
            {{.fd = reaper->control, .events = POLLIN}, handle_control},
            {{.fd = reaper->requests, .events = POLLIN}, take_request},
        };
        for (int i = 0; i < COUNT; i++)
            polled[i] = sources[i].poll;
        if (poll(polled, COUNT, -1) < 0 && errno != EINTR)
            _exit(LOST_SERVER);
        for (int i = 0; i < COUNT; i++)
            if (polled[i].revents != 0)
                sources[i].ready(reaper);
    }
}

/* Closes the command's descriptors in this process: its pipes, its terminal, its request. */
static int close_others(struct reaper *reaper)
{
    int *kept[] = {&reaper->signals, &reaper->control, &reaper->requests};
    enum { COUNT = sizeof kept / sizeof *kept };
    for (int i = 0; i < COUNT; i++) {
        if (dup2(*kept[i], i) < 0)
            return -1;
        *kept[i] = i;
    }
    return close_between(COUNT, ~0U, 0);
}

int reaper_fork(int control, int *supervisor)
{
    struct reaper reaper = {.control = control, .denials.listener = -1};
    int channel[2];
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || sigprocmask(SIG_BLOCK, &ends, &before) < 0)
        return -1;
    reaper.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    if (reaper.signals < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0)
        return -1;
    *supervisor = channel[0];
    reaper.requests = channel[1];
    send_namespaces(control);
    bool first = getpid() == 1;
    reaper.command = fork();
    if (reaper.command < 0)
        return -1;
    if (!first)
        setpgid(reaper.command, reaper.command); /* parent and child both do, as neither knows which runs first */
    reaper.group = first ? 0 : -reaper.command;
    if (reaper.command == 0 && !first && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        _exit(LOST_SERVER);
    if (reaper.command == 0)
        return sigprocmask(SIG_SETMASK, &before, NULL);
    if (close_others(&reaper) < 0)
        _exit(LOST_SERVER);
    run(&reaper);
    return -1;
}
