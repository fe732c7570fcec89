/*
 * usage: escalation-stub STREAM SIGNALS
 *
 * A caller whose exec is answered elsewhere is turned into this program: it stands in for the command, over the stream that
 * was planted in it. SIGNALS is the mask of held signals, in hexadecimal, to be put back before anything else.
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
        return complain("its arguments cannot be understood");
    int stream = move_away((int)number);
    if (stream < 0)
        return complain("the server cannot be reached");
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    return forward_command(stream, -1);
}
