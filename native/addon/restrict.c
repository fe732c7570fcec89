/*
 * Limits, control group and user of a child. The child shares the memory of the parent (spawn.c), so its user is set by system calls:
 * the functions of libc would set that of every thread of the parent.
 */
#define _GNU_SOURCE
#include "restrict.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/files.h"

int restrict_join_group(const struct restrictions *restrictions)
{
    if (restrictions == NULL || restrictions->cgroup < 0)
        return 0;
    return write_retrying(restrictions->cgroup, "0", 1) < 0 ? -1 : 0; /* 0: the process that writes */
}

int restrict_file_size(const struct restrictions *restrictions)
{
    if (restrictions == NULL || restrictions->file_bytes < 0)
        return 0;
    struct rlimit limit = {.rlim_cur = (rlim_t)restrictions->file_bytes, .rlim_max = (rlim_t)restrictions->file_bytes};
    return prlimit(0, RLIMIT_FSIZE, &limit, NULL);
}

static bool has_user(const struct restrictions *restrictions)
{
    return restrictions != NULL && restrictions->uid >= 0;
}

int restrict_user(const struct restrictions *restrictions)
{
    if (!has_user(restrictions))
        return 0;
    uid_t uid = (uid_t)restrictions->uid;
    gid_t gid = (gid_t)restrictions->gid;
    if (syscall(SYS_setgroups, restrictions->group_count, restrictions->groups) < 0)
        return -1;
    if (syscall(SYS_setresgid, gid, gid, gid) < 0)
        return -1;
    return syscall(SYS_setresuid, uid, uid, uid) < 0 ? -1 : 0;
}

int restrict_give(const struct restrictions *restrictions, int fd, bool is_terminal)
{
    if (!has_user(restrictions))
        return 0;
    /* A terminal keeps its group, by which programs like wall may write to it. */
    return fchown(fd, (uid_t)restrictions->uid, is_terminal ? (gid_t)-1 : (gid_t)restrictions->gid);
}
