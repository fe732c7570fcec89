/*
 * Makes a caller that is blocked in execve execute the stub, which replaces a command run elsewhere.
 *
 * The stream and the stub's file are opened in the caller by the kernel, so neither the caller's view nor its descriptors matter.
 * The interrupt is pending before the call is answered: the caller stops on its way out of the call, and makes it again with other
 * arguments. All signals are blocked until the stub restores the mask, because the frame of a handler would overwrite the arguments,
 * which lie below the stack.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../shared/files.h"

#define RED_ZONE 256 /* what a function may use below its stack pointer, and more */

#if defined(__x86_64__)
#define STACK rsp
#elif defined(__aarch64__)
#define STACK sp
#endif

/* The arguments of the stub, in the caller's memory. */
struct plan {
    char path[8]; /* empty: the descriptor is the file */
    char name[24], stream[16], mask[24];
    uint64_t argv[4], environment[1];
};

static int plant(int listener, const struct caller *caller, int fd, int flags)
{
    struct seccomp_notif_addfd addition = {.id = caller->notification, .srcfd = (uint32_t)fd, .newfd_flags = (uint32_t)flags};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
}

static int refuse(int listener, const struct caller *caller)
{
    struct seccomp_notif_resp response = {.id = caller->notification, .error = -EPERM};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static int write_memory(pid_t thread, uint64_t to, const void *content, size_t length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)thread);
    int memory = open_retrying(path, O_RDWR | O_CLOEXEC);
    if (memory < 0)
        return -1;
    ssize_t written = pwrite(memory, content, length, (off_t)to);
    int error = written < 0 ? errno : EFAULT;
    close(memory);
    errno = error;
    return written == (ssize_t)length ? 0 : -1;
}

static int hold_signals(pid_t thread, uint64_t *before)
{
    uint64_t all = ~UINT64_C(0);
    if (ptrace(PTRACE_GETSIGMASK, thread, sizeof *before, before) < 0)
        return -1;
    return ptrace(PTRACE_SETSIGMASK, thread, sizeof all, &all) < 0 ? -1 : 0;
}

static void set_call(struct user_regs_struct *registers, int stub, uint64_t base)
{
    uint64_t path = base + offsetof(struct plan, path), argv = base + offsetof(struct plan, argv),
             environment = base + offsetof(struct plan, environment);
#if defined(__x86_64__)
    registers->rip -= 2; /* the length of the instruction that made the call */
    registers->rax = __NR_execveat;
    registers->orig_rax = ~0ULL; /* nothing to restart */
    registers->rdi = (unsigned)stub;
    registers->rsi = path;
    registers->rdx = argv;
    registers->r10 = environment;
    registers->r8 = AT_EMPTY_PATH;
#elif defined(__aarch64__)
    registers->pc -= 4;
    registers->regs[8] = __NR_execveat;
    registers->regs[0] = (unsigned)stub;
    registers->regs[1] = path;
    registers->regs[2] = argv;
    registers->regs[3] = environment;
    registers->regs[4] = AT_EMPTY_PATH;
#endif
}

static const char *rewrite(pid_t thread, int stub, int stream)
{
    struct user_regs_struct registers;
    struct iovec all = {.iov_base = &registers, .iov_len = sizeof registers};
    struct plan plan = {.name = "execve-wrapper"};
    uint64_t mask;
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &all) < 0)
        return "registers";
    if (hold_signals(thread, &mask) < 0)
        return "signals";
    uint64_t base = (registers.STACK - RED_ZONE - sizeof plan) & ~UINT64_C(15);
    snprintf(plan.stream, sizeof plan.stream, "%d", stream);
    snprintf(plan.mask, sizeof plan.mask, "%" PRIx64, mask);
    plan.argv[0] = base + offsetof(struct plan, name);
    plan.argv[1] = base + offsetof(struct plan, stream);
    plan.argv[2] = base + offsetof(struct plan, mask);
    set_call(&registers, stub, base);
    const char *step = write_memory(thread, base, &plan, sizeof plan) < 0                    ? "stack"
                       : ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &all) < 0 ? "registers"
                                                                                            : NULL;
    int error = errno;
    if (step != NULL)
        ptrace(PTRACE_SETSIGMASK, thread, sizeof mask, &mask);
    errno = error;
    return step;
}

/* Waits for the stop; returns the signal that came instead, if any. A death is reaped elsewhere, like any other. */
static int await_stop(pid_t thread)
{
    siginfo_t info;
    int status, outcome;
    do
        outcome = waitid(P_PID, (id_t)thread, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL);
    while (outcome < 0 && errno == EINTR);
    bool stopped = outcome == 0 && (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED);
    if (!stopped || waitpid(thread, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
        errno = ESRCH;
        return -1;
    }
    return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

static const char *redirect_seized(int listener, int stub, struct caller *caller, int stream, bool *answered)
{
    int planted_stream = plant(listener, caller, stream, 0);
    int planted_stub = planted_stream < 0 ? -1 : plant(listener, caller, stub, O_CLOEXEC);
    if (planted_stub < 0 || ptrace(PTRACE_INTERRUPT, caller->thread, 0, 0) < 0)
        return "planting";
    *answered = true;
    if (refuse(listener, caller) < 0)
        return "answering";
    int number = await_stop(caller->thread);
    if (number < 0)
        return "stopping";
    caller->planted_stub = planted_stub;
    const char *step = rewrite(caller->thread, planted_stub, planted_stream);
    int error = errno;
    if (number > 0)
        syscall(SYS_tkill, caller->thread, number); /* to be held until the stub is there */
    errno = error;
    return step;
}

/* Only a stopped thread can be detached; this one waits for its answer in the kernel. */
static void stop_and_detach(int listener, struct caller *caller)
{
    if (ptrace(PTRACE_INTERRUPT, caller->thread, 0, 0) == 0 && refuse(listener, caller) == 0)
        await_stop(caller->thread);
    ptrace(PTRACE_DETACH, caller->thread, 0, 0);
}

const char *caller_redirect(int listener, int stub, struct caller *caller, int stream, bool *answered)
{
    *answered = false;
    if (ptrace(PTRACE_SEIZE, caller->thread, 0, 0) < 0)
        return "tracing";
    const char *step = redirect_seized(listener, stub, caller, stream, answered);
    int error = errno;
    if (*answered)
        ptrace(PTRACE_DETACH, caller->thread, 0, 0); /* stopped by now, or dead */
    else
        stop_and_detach(listener, caller);
    *answered = true;
    errno = error;
    return step;
}
