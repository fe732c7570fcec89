/*
 * usage: escalation-stub STREAM SIGNALS
 *
 * A caller whose exec is answered elsewhere is turned into this program: it stands in for the command, over the stream that
 * was planted in it. SIGNALS is the mask of held signals, in hexadecimal, to be put back before anything else.
 *
 * Exit codes: those of the command; 126 when its end is unknown, 2 usage.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <signal.h>
#include <unistd.h>

#include "wrapper.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        dprintf(2, "usage: escalation-stub STREAM SIGNALS\n");
        return 2;
    }
    int stream = move_away(atoi(argv[1]));
    if (stream < 0) {
        perror("execve-wrapper");
        return 126;
    }
    uint64_t mask = strtoull(argv[2], NULL, 16);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    return forward_command(stream, -1);
}
