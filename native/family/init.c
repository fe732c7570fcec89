/*
 * usage: init PROGRAM [ARG...]     (PROGRAM is an absolute path)
 *
 * The first process of a container whose program is a server: it starts the server as its child, reaps the orphans that the
 * kernel hands to the first process, passes signals on, and ends with the server's exit code. The kernel then kills what is left.
 * Elsewhere, as under a benchmark, it asks for the orphans of the server.
 *
 * The server cannot do it itself: Node waits for its own children by pid, and would never learn of the end of a child that
 * another thread has reaped.
 *
 * Exit codes: those of the server, 128 + N when signal N ended it; 127 it could not be started, 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_START 127

static int complain(const char *what)
{
    dprintf(2, "init: %s: %s\n", what, strerror(errno));
    return CANNOT_START;
}

static int start(char **argv, const sigset_t *mask)
{
    signal(SIGPIPE, SIG_DFL); /* Node, which executed this program, ignored it */
    if (sigprocmask(SIG_SETMASK, mask, NULL) < 0)
        return complain("sigprocmask");
    execv(argv[0], argv);
    return complain(argv[0]);
}

static void reap_all(pid_t server)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == server)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* A signal from a terminal (SI_KERNEL) has reached the server as well: both are in one process group. */
static void run(pid_t server, const sigset_t *all)
{
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(all, &info);
        if (number == SIGCHLD)
            reap_all(server);
        else if (number > 0 && info.si_code != SI_KERNEL)
            kill(server, number);
    }
}

int main(int argc, char **argv)
{
    sigset_t all, before;
    if (argc < 2) {
        dprintf(2, "usage: init PROGRAM [ARG...]\n");
        return 2;
    }
    sigfillset(&all);
    /* The environment may hold secrets, as that of the server does. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ||
        sigprocmask(SIG_SETMASK, &all, &before) < 0)
        return complain("prctl");
    pid_t server = fork();
    if (server < 0)
        return complain("fork");
    if (server == 0)
        return start(argv + 1, &before);
    run(server, &all);
}
