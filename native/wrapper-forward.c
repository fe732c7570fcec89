/* Stands in for a command that runs elsewhere: its descriptors go there, signals follow, and its end is repeated here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "files.h"
#include "json.h"
#include "wrapper.h"

static const int forwarded_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGTSTP};

static int hand_over_descriptors(int stream, int except)
{
    struct bytes json = {0};
    int descriptors[FORWARDED_DESCRIPTORS];
    size_t count = 0;
    bytes_add_text(&json, "{\"fds\":[");
    for (int fd = 0; fd < FORWARDED_DESCRIPTORS; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (fd == stream || fd == except || flags < 0 || (flags & FD_CLOEXEC) != 0)
            continue;
        bytes_print(&json, "%s%d", count > 0 ? "," : "", fd);
        descriptors[count++] = fd;
    }
    bytes_add_text(&json, "]}");
    int outcome = send_frame(stream, &json, descriptors, count);
    bytes_free(&json);
    return outcome;
}

/* A descriptor that reads the signals to pass on. One the caller ignores or holds back does not reach the command either. */
static int catch_signals(void)
{
    sigset_t wanted, held;
    struct sigaction action;
    if (sigprocmask(SIG_SETMASK, NULL, &held) < 0)
        return -1;
    sigemptyset(&wanted);
    for (size_t i = 0; i < sizeof forwarded_signals / sizeof *forwarded_signals; i++) {
        int number = forwarded_signals[i];
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN && sigismember(&held, number) == 0)
            sigaddset(&wanted, number);
    }
    if (sigprocmask(SIG_BLOCK, &wanted, NULL) < 0)
        return -1;
    int fd = signalfd(-1, &wanted, SFD_CLOEXEC);
    return fd < 0 ? -1 : move_away(fd);
}

static int pass_signal_on(int stream, int signals)
{
    struct signalfd_siginfo info;
    if (read_retrying(signals, &info, sizeof info) != (ssize_t)sizeof info)
        return -1;
    struct bytes json = {0};
    bytes_print(&json, "{\"signal\":%u}", info.ssi_signo);
    int outcome = send_frame(stream, &json, NULL, 0);
    bytes_free(&json);
    if (outcome == 0 && info.ssi_signo == SIGTSTP)
        raise(SIGSTOP);
    return outcome;
}

/* Dies of the signal, so that the shell sees and says the same as of a command of its own. */
static void die_of(int number)
{
    struct rlimit none = {0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static int end_as_told(const struct bytes *frame)
{
    struct json root, member;
    long code, number;
    if (!json_parse(frame->start, frame->length, &root) || json_member(&root, "exit_code", &member) != 1 ||
        !json_integer(&member, -2147483648L, 2147483647L, &code)) {
        dprintf(2, "execve-wrapper: the server's report cannot be understood\n");
        return 126;
    }
    if (json_member(&root, "error", &member) == 1) {
        char *text = json_text(&member);
        if (text != NULL)
            dprintf(2, "%s\n", text);
        free(text);
    }
    if (json_member(&root, "signal", &member) == 1 && json_integer(&member, 1, 64, &number))
        die_of((int)number);
    return (int)(code & 0xFF);
}

static int complain(const char *what)
{
    dprintf(2, "execve-wrapper: %s: %s\n", what, errno == EPIPE ? "the server has gone" : strerror(errno));
    return 126;
}

int forward_command(int stream, int except)
{
    int signals = catch_signals();
    if (signals < 0)
        return complain("signals cannot be passed on");
    if (hand_over_descriptors(stream, except) < 0)
        return complain("descriptors cannot be handed over");
    for (;;) {
        struct pollfd ready[] = {{.fd = signals, .events = POLLIN}, {.fd = stream, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return complain("waiting failed");
        if ((ready[0].revents & POLLIN) != 0 && pass_signal_on(stream, signals) < 0 && errno != EPIPE)
            return complain("a signal cannot be passed on");
        if (ready[1].revents == 0)
            continue;
        struct bytes frame = {0};
        return receive_frame(stream, &frame) < 0 ? complain("the command's end is unknown") : end_as_told(&frame);
    }
}
