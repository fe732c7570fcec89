/*
 * The first process of a sandbox (pid 1 of its namespace). It reaps what the command leaves behind, ends with the command's
 * exit code, and takes everything in the namespace with it: the kernel kills the rest when pid 1 ends.
 *
 * It is not dumpable, so that no process of the sandbox can trace it, read or write its memory, or follow /proc/1/exe. It
 * handles no signal: the kernel drops what the namespace sends to a pid 1 without a handler, and all but SIGKILL and SIGSTOP of
 * what comes from outside.
 *
 * The leash is a socket whose other end only the server holds. It closes with the server, however that ends, and
 * when the process is over for the server. Each byte that comes on it is the number of a signal for the process group of the
 * command: those that the server sends to the group of its own child meet bubblewrap, which would end without a word to the
 * command. At the start the inode of the pid namespace is written to it as eight bytes: the
 * server then finds the sandbox even when its processes have changed their family marks. A descriptor of the namespace comes
 * with it and stays in the socket: the kernel gives the number of a namespace that is gone to the next one, a stranger's perhaps.
 * A descriptor of the mount namespace comes as well: the kernel takes the mounts down when nothing holds them any more, and would
 * keep the end of this process to itself until that is done. The server lets go once it knows of the end.
 * In the pid namespace of the host it is no pid 1 and writes nothing; it then takes the command with it by a signal, and what
 * the command left behind stays.
 *
 * Where the refusals of the sandbox are to be told, it is the supervisor of the command as well (native/stage/denials.h): it sees the
 * disk as the command does, and the command cannot end it.
 */
#define _GNU_SOURCE
#include "reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "denials.h"
#include "../shared/files.h"

#define LOST_SERVER 1

struct reaper {
    pid_t command;
    pid_t group; /* for kill: our own, whose signals a pid 1 does not get, or the command's */
    int signals, leash, requests; /* the last: to be the supervisor */
    struct denials denials;
};

/* A descriptor the loop waits for, and what happens when it is ready. */
struct source {
    struct pollfd poll;
    void (*ready)(struct reaper *reaper);
};

/* Nothing is told where the pid namespace cannot be held: its number alone may come to mean another one. */
static void tell_namespace(int leash)
{
    struct stat status;
    int held[] = {-1, -1}; /* the pid namespace and the mount namespace */
    if (getpid() == 1)
        held[0] = open_retrying("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    if (held[0] < 0)
        return;
    held[1] = open_retrying("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    size_t size = held[1] < 0 ? sizeof *held : sizeof held;
    uint64_t inode = fstat(held[0], &status) == 0 ? status.st_ino : 0;
    struct iovec content = {.iov_base = &inode, .iov_len = sizeof inode};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof held)];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)}};
    memcpy(CMSG_DATA(&control.header), held, size);
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
    sendmsg(leash, &message, MSG_NOSIGNAL); /* a server that is gone is noticed by the loop */
    close_open(&held[0]);
    close_open(&held[1]);
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

/* Once: then the child has closed its end, whether it wanted something or not. */
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

static void obey(struct reaper *reaper)
{
    unsigned char signals[64];
    ssize_t count = recv(reaper->leash, signals, sizeof signals, MSG_DONTWAIT);
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
            {{.fd = reaper->leash, .events = POLLIN}, obey},
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

/* Nothing of the command's stays open here: its pipes, its terminal, its request. */
static int close_others(struct reaper *reaper)
{
    int *kept[] = {&reaper->signals, &reaper->leash, &reaper->requests};
    enum { COUNT = sizeof kept / sizeof *kept };
    for (int i = 0; i < COUNT; i++) {
        if (dup2(*kept[i], i) < 0)
            return -1;
        *kept[i] = i;
    }
    return close_between(COUNT, ~0U, 0);
}

int reaper_fork(int leash, int *supervisor)
{
    struct reaper reaper = {.leash = leash, .denials.listener = -1};
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
    tell_namespace(leash);
    bool first = getpid() == 1;
    reaper.command = fork();
    if (reaper.command < 0)
        return -1;
    if (!first)
        setpgid(reaper.command, reaper.command); /* both do: neither knows whether the other has */
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
