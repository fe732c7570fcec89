/*
 * usage: guardian MARK MASK        (64-bit numbers in hexadecimal)
 *
 * Kills the processes of a server when the server dies. The server has the other end of standard input: if that closes without
 * a byte, the server has died, and every process of the family is killed. A byte on standard input dismisses the guardian.
 * Prints one line when it is ready.
 *
 * Exit codes: 0 family killed or dismissed, 1 the family could not be killed, 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "family.h"
#include "../shared/files.h"

static int complain(const char *what)
{
    dprintf(2, "guardian: %s: %s\n", what, strerror(errno));
    return 1;
}

static int parse(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 16);
    return errno != 0 || end == text || *end != '\0' ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct family family = {0};
    if (argc != 3 || parse(argv[1], &family.mark) < 0 || parse(argv[2], &family.mask) < 0 || family.mask == 0) {
        dprintf(2, "usage: guardian MARK MASK\n");
        return 2;
    }
    setsid(); /* fails if it leads a session already, which is enough */
    prctl(PR_SET_NAME, "exec-guardian");
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    if (write_retrying(1, "on guard\n", 9) < 0)
        return complain("write");

    char byte;
    ssize_t count = read_retrying(0, &byte, 1);
    if (count > 0)
        return 0;
    if (count < 0)
        complain("read");
    int killed = 0;
    int proc = open_retrying("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0)
        killed = family_sweep(proc, &family, 1, NULL, NULL); /* repeats itself until a pass finds no process */
    return proc < 0 || killed < 0 ? complain("/proc") : 0;
}
