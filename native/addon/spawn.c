/*
 * Starts a child with clone(VM|VFORK|PIDFD|FILES): no page tables and no descriptor table are copied, so the cost
 * depends neither on the memory nor on the open files of the server.
 *
 * The descriptor table is shared until the child unshares it with close_range, which copies only the entries below
 * the closed range. The child's three descriptors therefore sit in slots with low numbers, reserved at the first spawn.
 *
 * The child's memory is the parent's: it only writes to its own stack and to struct job, and calls nothing that
 * allocates or locks.
 */
#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "../shared/exec.h"
#include "../family/family.h"
#include "../shared/files.h"
#include "harden.h"
#include "restrict.h"

#define CHILD_STACK (16 * 1024)

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static int slots[3] = {-1, -1, -1};
static int null_device = -1;

struct job {
    const struct spawn_request *request;
    pid_t parent;
    int highest; /* of the descriptors the child needs */
    volatile int error;
    const char *volatile step;
};

static int give_up(struct job *job, const char *step)
{
    job->error = errno;
    job->step = step;
    _exit(127);
}

static int place_stdio(const struct spawn_request *request)
{
    bool terminal = request->stdio == STDIO_TERMINAL;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(slots[terminal ? 0 : fd], fd) < 0)
            return -1;
    return inherit_place(request->inherited, request->inherited_count);
}

static int child_main(void *argument)
{
    struct job *job = argument;
    const struct spawn_request *request = job->request;
    if (close_between((unsigned)job->highest + 1, ~0U, CLOSE_RANGE_UNSHARE) < 0)
        return give_up(job, "unshare");
    if (setsid() < 0)
        return give_up(job, "setsid");
    if (restrict_join_group(request->restrictions) < 0)
        return give_up(job, "cgroup");
    if (place_stdio(request) < 0)
        return give_up(job, "stdio");
    if (request->stdio == STDIO_TERMINAL && ioctl(0, TIOCSCTTY, 0) < 0)
        return give_up(job, "terminal");
    if (request->mark != 0 && family_create(0, request->mark) < 0)
        return give_up(job, "mark");
    if (harden_undo() < 0 || restrict_file_size(request->restrictions) < 0)
        return give_up(job, "limits");
    if (restrict_user(request->restrictions) < 0)
        return give_up(job, "user");
    if (request->dies_with_parent) { /* after the user: a change of it undoes this */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
            return give_up(job, "pdeathsig");
        if (getppid() != job->parent)
            _exit(127);
    }
    if (chdir(request->cwd) < 0)
        return give_up(job, "chdir");
    if (pin_check(&request->workdir, ".") < 0)
        return give_up(job, "workdir");
    default_signals();
    exec_first(request->files, request->argv, request->envp);
    return give_up(job, "exec");
}

static int reserve_slots(void)
{
    if (null_device < 0)
        null_device = open_retrying("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_device < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        if (slots[i] < 0 && (slots[i] = fcntl(null_device, F_DUPFD_CLOEXEC, 3)) < 0)
            return -1;
    return 0;
}

/* Moves a descriptor into a slot; the slot then holds the only copy. */
static int fill_slot(int slot, int fd)
{
    int moved = dup3(fd, slots[slot], O_CLOEXEC);
    close(fd);
    return moved < 0 ? -1 : 0;
}

static void clear_slots(void)
{
    for (int i = 0; i < 3; i++)
        if (slots[i] >= 0)
            dup3(null_device, slots[i], O_CLOEXEC);
}

static int make_pipe(const struct spawn_request *request, int slot, bool child_reads, int *ours)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    *ours = ends[child_reads ? 1 : 0];
    if (fill_slot(slot, ends[child_reads ? 0 : 1]) < 0 || restrict_give(request->restrictions, *ours, false) < 0)
        return -1;
    return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int make_terminal(const struct spawn_request *request, struct spawn_result *result)
{
    int master = open_retrying("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0)
        return -1;
    result->output[0] = master;
    /* Input has a descriptor of its own, so that waiting for room and waiting for output stay apart. */
    result->input = fcntl(master, F_DUPFD_CLOEXEC, 3);
    if (result->input < 0)
        return -1;
    int locked = 0;
    struct winsize size = {.ws_row = request->rows, .ws_col = request->cols};
    if (ioctl(master, TIOCSPTLCK, &locked) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
        return -1;
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || restrict_give(request->restrictions, slave, true) < 0)
        return close_open(&slave), -1;
    return fill_slot(0, slave);
}

static int make_stdio(const struct spawn_request *request, struct spawn_result *result)
{
    if (request->stdio == STDIO_TERMINAL)
        return make_terminal(request, result);
    if (request->stdio == STDIO_OPEN_INPUT && make_pipe(request, 0, true, &result->input) < 0)
        return -1;
    if (make_pipe(request, 1, false, &result->output[0]) < 0)
        return -1;
    if (request->merged)
        return dup3(slots[1], slots[2], O_CLOEXEC) < 0 ? -1 : 0;
    return make_pipe(request, 2, false, &result->output[1]);
}

pid_t spawn_sharing_memory(int (*child)(void *), void *argument, int *pidfd)
{
    _Alignas(16) char stack[CHILD_STACK];
    uint64_t all = ~UINT64_C(0), before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_FILES | SIGCHLD, argument,
                      pidfd);
    int error = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    errno = error;
    return pid;
}

static int launch(const struct spawn_request *request, struct spawn_result *result)
{
    if (reserve_slots() < 0 || make_stdio(request, result) < 0) {
        result->error = errno;
        result->step = request->stdio == STDIO_TERMINAL ? "pty" : "pipe";
        return -1;
    }
    struct job job = {.request = request, .parent = getpid()};
    job.highest = inherit_prepare(request->inherited, request->inherited_count);
    if (job.highest < 0) {
        result->error = errno;
        result->step = "inherit";
        return -1;
    }
    for (int i = 0; i < 3; i++)
        if (slots[i] > job.highest)
            job.highest = slots[i];
    if (request->restrictions != NULL && request->restrictions->cgroup > job.highest)
        job.highest = request->restrictions->cgroup;
    result->pid = spawn_sharing_memory(child_main, &job, &result->pidfd);
    if (result->pid < 0) {
        result->error = errno;
        result->step = "clone";
        return -1;
    }
    if (job.step == NULL)
        return 0;
    result->error = job.error;
    result->step = job.step;
    reap(result->pidfd, NULL);
    return -1;
}

int spawn_child(const struct spawn_request *request, struct spawn_result *result)
{
    *result = (struct spawn_result){.pid = -1, .pidfd = -1, .input = -1, .output = {-1, -1}};
    pthread_mutex_lock(&slots_lock);
    int outcome = launch(request, result);
    clear_slots();
    inherit_release(request->inherited, request->inherited_count);
    pthread_mutex_unlock(&slots_lock);
    if (outcome < 0) {
        close_open(&result->pidfd);
        close_open(&result->input);
        close_open(&result->output[0]);
        close_open(&result->output[1]);
    }
    return outcome;
}

const char *spawn_probe(void)
{
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (pidfd < 0)
        return "pidfd_open";
    close(pidfd);
    if (close_between(~0U, ~0U, 0) < 0)
        return "close_range";
    return "";
}
