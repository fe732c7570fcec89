/*
 * A seccomp program for this process and all its descendants: execve and execveat wait for an answer by the listener; those of
 * other calling conventions (32-bit programs, x32) are refused, since their arguments have another layout.
 */
#define _GNU_SOURCE
#include "exec-filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/send-descriptors.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define FOREIGN AUDIT_ARCH_I386
#define FOREIGN_EXECVE 11
#define FOREIGN_EXECVEAT 358
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define FOREIGN AUDIT_ARCH_ARM
#define FOREIGN_EXECVE 11
#define FOREIGN_EXECVEAT 387
#else
#error "no exec filter for this machine"
#endif

#define X32 0x40000000

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define WHEN(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE ANSWER(SECCOMP_RET_ERRNO | EPERM)

static struct sock_filter program[] = {
    LOAD(arch),
    WHEN(NATIVE, 6, 0),
    WHEN(FOREIGN, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    WHEN(FOREIGN_EXECVE, 1, 0),
    WHEN(FOREIGN_EXECVEAT, 0, 6),
    REFUSE,
    LOAD(nr),
#if defined(__x86_64__)
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
    ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
#else
    BPF_STMT(BPF_MISC | BPF_TAX, 0),
    BPF_STMT(BPF_MISC | BPF_TXA, 0),
#endif
    WHEN(__NR_execve, 2, 0),
    WHEN(__NR_execveat, 1, 0),
    ANSWER(SECCOMP_RET_ALLOW),
    ANSWER(SECCOMP_RET_USER_NOTIF),
};

static int install(unsigned long flags)
{
    struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
    int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    if (listener >= 0 || errno != EACCES)
        return listener;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

int exec_filter_install(int channel)
{
    int listener = install(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL)
        listener = install(0); /* before Linux 5.19 every signal interrupts the wait */
    return listener >= 0 && send_descriptors(channel, "", 1, &listener, 1) == 1 ? 0 : -1;
}
