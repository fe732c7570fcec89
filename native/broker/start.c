/* Starts a child with the descriptors, directory, limits and signals of a request, and no others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker.h"
#include "../shared/calls.h"
#include "../shared/exec.h"
#include "exec-filter.h"
#include "../shared/files.h"
#include "../shared/script.h"

struct failure {
    int error;
    char step[16];
};

static int highest_place(const struct start *start)
{
    int highest = 2;
    for (size_t i = 0; i < start->placement_count; i++)
        if (start->placements[i].to > highest)
            highest = start->placements[i].to;
    return highest;
}

static bool is_place(const struct start *start, int fd)
{
    for (size_t i = 0; i < start->placement_count; i++)
        if (start->placements[i].to == fd)
            return true;
    return false;
}

/* Every descriptor first moves above the final places, so that none is overwritten before its turn. */
static int place_descriptors(const struct start *start, int *report, int *channel)
{
    int free = highest_place(start) + 1;
    int *moved = calloc(start->placement_count + 1, sizeof *moved);
    if (moved == NULL || (*report = fcntl(*report, F_DUPFD_CLOEXEC, free)) < 0)
        return -1;
    if (*channel >= 0 && (*channel = fcntl(*channel, F_DUPFD_CLOEXEC, free)) < 0)
        return -1;
    for (size_t i = 0; i < start->placement_count; i++)
        if ((moved[i] = fcntl(start->placements[i].from, F_DUPFD_CLOEXEC, free)) < 0)
            return -1;
    for (size_t i = 0; i < start->placement_count; i++)
        if (dup2(moved[i], start->placements[i].to) < 0)
            return -1;
    for (int fd = 0; fd < free; fd++)
        if (!is_place(start, fd))
            close(fd);
    return close_between((unsigned)free, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int leave_group(const struct start *start)
{
    return start->own_session ? setsid() : setpgid(0, 0);
}

/* Sets the caller's limits, but none above those of this process. */
static int set_limits(const struct broker *broker, const struct start *start)
{
    if (setrlimit(RLIMIT_NOFILE, &broker->files) < 0)
        return -1;
    for (size_t i = 0; i < start->limit_count; i++) {
        struct rlimit wanted = start->limits[i].limit, own;
        if (getrlimit(start->limits[i].resource, &own) < 0)
            return -1;
        if (wanted.rlim_max > own.rlim_max)
            wanted.rlim_max = own.rlim_max;
        if (wanted.rlim_cur > wanted.rlim_max)
            wanted.rlim_cur = wanted.rlim_max;
        if (setrlimit(start->limits[i].resource, &wanted) < 0)
            return -1;
    }
    return 0;
}

static const char *become(const struct broker *broker, const struct start *start, pid_t parent, int *report)
{
    int channel = start->listener_channel;
    if (place_descriptors(start, report, &channel) < 0)
        return "descriptors";
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return "pdeathsig";
    if (getppid() != parent)
        _exit(127);
    if (leave_group(start) < 0)
        return "group";
    if (start->umask >= 0)
        umask((mode_t)start->umask);
    if (chdir(start->cwd) < 0)
        return "chdir";
    if (pin_check(&start->workdir, ".") < 0)
        return "workdir";
    default_signals();
    if (set_limits(broker, start) < 0)
        return "limits";
    if (pin_check(&start->program, start->file) < 0)
        return "identity";
    if (channel >= 0 && exec_filter_install(channel) < 0)
        return "filter";
    execute_file(start->file, start->argv, start->environment, "/bin/sh");
    return "exec";
}

pid_t start_child(const struct broker *broker, const struct start *start, int *report)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        struct failure failure = {0};
        strcpy(failure.step, become(broker, start, parent, &ends[1]));
        failure.error = errno;
        write_retrying(ends[1], &failure, sizeof failure);
        _exit(127);
    }
    int error = errno;
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    else
        *report = ends[0];
    errno = error;
    return pid;
}

const char *start_outcome(int report)
{
    static struct failure failure;
    ssize_t count = read_retrying(report, &failure, sizeof failure);
    close(report);
    if (count == 0)
        return NULL;
    errno = count == (ssize_t)sizeof failure ? failure.error : EIO;
    return count == (ssize_t)sizeof failure ? failure.step : "report";
}
