/* All processes of the call: signals them, reaps them, and kills those that are left. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"
#include "../family/descendants.h"
#include "../shared/files.h"

#define GIVE_UP_MS 2000

void children_reap(struct broker *broker)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != broker->shell) {
            escalation_ended(broker, pid, status);
            continue;
        }
        broker->shell = -1;
        if (WIFSIGNALED(status))
            send_report(broker, "killed %d", WTERMSIG(status));
        else
            send_report(broker, "exited %d", WEXITSTATUS(status));
    }
}

void signals_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)events;
    struct signalfd_siginfo info;
    while (read_retrying(watch->fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM)
            broker->ending = true;
    if (broker->ending)
        children_kill(broker, false);
    else
        children_reap(broker);
}

static const struct descendant *find(const struct descendant *list, ssize_t count, pid_t pid)
{
    for (ssize_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

static bool is_below(const struct descendant *list, ssize_t count, const struct descendant *process, pid_t ancestor)
{
    for (ssize_t steps = 0; process != NULL && steps <= count; steps++) {
        if (process->pid == ancestor)
            return true;
        process = find(list, count, process->parent);
    }
    return false;
}

/* Signals all processes; of a shell in a pid namespace only those inside, as a signal to its launcher would end the namespace. */
void children_signal(const struct broker *broker, int number)
{
    struct descendant *list = NULL;
    ssize_t count = descendants_list(&list);
    bool launched = false;
    for (ssize_t i = 0; i < count && !launched; i++)
        launched = is_below(list, count, &list[i], broker->shell) && descendant_is_nested(&list[i]);
    for (ssize_t i = 0; i < count; i++) {
        bool launcher = launched && is_below(list, count, &list[i], broker->shell) && !descendant_is_nested(&list[i]);
        if (!list[i].dead && !launcher)
            descendant_signal(&list[i], number);
    }
    free(list);
}

static bool is_detached(const struct descendant *process, pid_t shell_session)
{
    return (process->session != shell_session && process->session != getsid(0)) || descendant_ignores(process, SIGHUP);
}

/* Kills all living processes; how many there were. */
static unsigned kill_living(bool spare_detached, pid_t shell_session)
{
    struct descendant *list = NULL;
    ssize_t count = descendants_list(&list);
    unsigned alive = 0;
    for (ssize_t i = 0; i < count; i++)
        if (!list[i].dead && !(spare_detached && is_detached(&list[i], shell_session)) && descendant_signal(&list[i], SIGKILL))
            alive++;
    free(list);
    return alive;
}

static void await_child(void)
{
    sigset_t child;
    struct timespec timeout = {.tv_nsec = 10000000};
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &timeout);
}

/* A process that was sent SIGKILL cannot fork any more: when a pass finds no living process, none is left. */
unsigned children_kill(struct broker *broker, bool spare_detached)
{
    unsigned total = 0, alive;
    long deadline = now_ms() + GIVE_UP_MS;
    while ((alive = kill_living(spare_detached, broker->shell_session)) > 0 && now_ms() < deadline) {
        if (total < alive)
            total = alive;
        await_child();
        children_reap(broker);
    }
    children_reap(broker);
    return total;
}
