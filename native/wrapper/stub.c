/*
 * usage: escalation-stub STREAM SIGNALS
 *
 * A caller whose command runs elsewhere is made to execute this program instead, which replaces the command, by the stream that the
 * broker has opened in the caller. SIGNALS is the signal mask, in hexadecimal, which is restored first.
 *
 * Exit codes: those of the command; 126 when its end is unknown, 2 usage.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/number.h"
#include "wrapper.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        print_stderr("usage: escalation-stub STREAM SIGNALS");
        return 2;
    }
    uint64_t number, mask;
    if (read_number(argv[1], 10, INT_MAX, &number) == NULL || read_number(argv[2], 16, UINT64_MAX, &mask) == NULL)
        return complain("invalid arguments");
    int stream = move_away((int)number);
    if (stream < 0)
        return complain("the server cannot be reached");
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    return forward_command(stream, -1);
}
