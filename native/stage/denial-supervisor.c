/*
 * The supervisor of a command that runs in the namespaces of the host: a process of its own. It belongs to the family of the command
 * (by its mark) but neither to its session nor to its children, cannot be traced, and ends when the last process under the filter
 * has ended.
 */
#define _GNU_SOURCE
#include "denials.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/calls.h"

static void ignore_signals(void)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_IGN);
}

/* Closes all other descriptors, so that the command's streams can end. */
static void keep_only(int channel)
{
    dup2(channel, 0);
    close_between(1, ~0U, 0);
}

static void report_end(int reports)
{
    const unsigned char frame[8] = {REPORT_END};
    (void)!send(reports, frame, sizeof frame, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void supervise(int channel)
{
    struct denials denials = {.listener = -1};
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    setsid();
    ignore_signals();
    keep_only(channel);
    if (chdir("/") < 0 || !denials_receive(&denials, 0))
        _exit(1);
    close(0);
    struct pollfd ready = {.fd = denials.listener, .events = POLLIN};
    while ((ready.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0) {
        if (poll(&ready, 1, -1) < 0 && errno != EINTR)
            _exit(1);
        if ((ready.revents & POLLIN) != 0)
            denials_serve(&denials);
    }
    report_end(denials.reports);
    _exit(0);
}

/* Forks twice, so that the command has no child that it has not started. */
static int start(int channel)
{
    pid_t middle = fork();
    if (middle < 0)
        return -1;
    if (middle == 0) {
        pid_t last = fork();
        if (last == 0)
            supervise(channel);
        _exit(last < 0 ? errno : 0);
    }
    int status;
    while (waitpid(middle, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
    return errno == 0 ? 0 : -1;
}

int supervisor_start(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    int outcome = start(ends[1]), error = errno;
    close(ends[1]);
    if (outcome == 0)
        return ends[0];
    close(ends[0]);
    errno = error;
    return -1;
}
