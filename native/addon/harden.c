/*
 * Protects the memory of the server: no process of the same user may trace it or read its environment, and it
 * leaves no core file. Programs it executes start dumpable again by themselves; the limit of core files has to be
 * given back to them.
 */
#define _GNU_SOURCE
#include "harden.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static bool hardened;
static struct rlimit core_limit;
static rlim_t child_files; /* 0: that of the server */

/*
 * Everything this process opened itself closes on exec; what does not was inherited. (Node has marked the lowest
 * numbers it inherited as well: those stay open here, but no child gets them.)
 */
static int close_inherited(int keep)
{
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        return -1;
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        int fd = atoi(entry->d_name);
        int flags = fd > 2 && fd != keep && fd != dirfd(directory) ? fcntl(fd, F_GETFD) : -1;
        if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
            close(fd);
    }
    return closedir(directory);
}

int harden_process(int keep, unsigned files)
{
    child_files = files;
    if (close_inherited(keep) < 0 || getrlimit(RLIMIT_CORE, &core_limit) < 0)
        return -1;
    struct rlimit none = {.rlim_cur = 0, .rlim_max = core_limit.rlim_max};
    if (setrlimit(RLIMIT_CORE, &none) < 0)
        return -1;
    hardened = true;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Node raises its own limit of descriptors as far as it can; programs that use select or close all they might have suffer. */
static int limit_files(void)
{
    struct rlimit limit;
    if (child_files == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    limit.rlim_cur = child_files < limit.rlim_max ? child_files : limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

int harden_undo(void)
{
    if (!hardened)
        return 0;
    return setrlimit(RLIMIT_CORE, &core_limit) < 0 ? -1 : limit_files();
}
