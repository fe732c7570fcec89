/* Replaces a command that runs elsewhere: sends its descriptors and signals there, and ends as the command ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/exec.h"
#include "../shared/files.h"
#include "../shared/json.h"
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
        bytes_add_text(&json, count > 0 ? "," : "");
        bytes_add_number(&json, (uint64_t)fd);
        descriptors[count++] = fd;
    }
    bytes_add_text(&json, "]}");
    int outcome = send_frame(stream, &json, descriptors, count);
    bytes_free(&json);
    return outcome;
}

static uint64_t bit_of(int number)
{
    return 1ull << (number - 1);
}

/* A descriptor for the signals to forward: those that the caller ignores or blocks do not reach the command either. */
static int catch_signals(void)
{
    uint64_t wanted = 0, held;
    struct kernel_sigaction action;
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &held, sizeof held) < 0)
        return -1;
    for (size_t i = 0; i < sizeof forwarded_signals / sizeof *forwarded_signals; i++) {
        int number = forwarded_signals[i];
        if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) == 0 && action.handler != SIG_IGN &&
            (held & bit_of(number)) == 0)
            wanted |= bit_of(number);
    }
    if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &wanted, NULL, sizeof wanted) < 0)
        return -1;
    int fd = (int)syscall(SYS_signalfd4, -1, &wanted, sizeof wanted, SFD_CLOEXEC);
    return fd < 0 ? -1 : move_away(fd);
}

static int pass_signal_on(int stream, int signals)
{
    struct signalfd_siginfo info;
    if (read_retrying(signals, &info, sizeof info) != (ssize_t)sizeof info)
        return -1;
    struct bytes json = {0};
    bytes_add_text(&json, "{\"signal\":");
    bytes_add_number(&json, info.ssi_signo);
    bytes_add_text(&json, "}");
    int outcome = send_frame(stream, &json, NULL, 0);
    bytes_free(&json);
    if (outcome == 0 && info.ssi_signo == SIGTSTP)
        raise(SIGSTOP);
    return outcome;
}

/* Dies of the signal, so that the shell reports the same as for a command of its own. */
static void die_of(int number)
{
    struct rlimit none = {0};
    struct kernel_sigaction usual = {0};
    uint64_t only = bit_of(number);
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
    syscall(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
    syscall(SYS_rt_sigaction, number, &usual, NULL, sizeof usual.mask);
    raise(number);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, sizeof only);
}

static int end_as_told(const struct bytes *frame)
{
    struct json root, member;
    long code, number;
    if (!json_parse(frame->start, frame->length, &root) || json_member(&root, "exit_code", &member) != 1 ||
        !json_integer(&member, -2147483648L, 2147483647L, &code)) {
        print_stderr("execve-wrapper: invalid report from the server");
        return 126;
    }
    if (json_member(&root, "error", &member) == 1) {
        char *text = json_text(&member);
        if (text != NULL)
            print_stderr(text);
        free(text);
    }
    if (json_member(&root, "signal", &member) == 1 && json_integer(&member, 1, 64, &number))
        die_of((int)number);
    return (int)(code & 0xFF);
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
