/* Visits the descriptors of a process, as far as they can be read. */
#define _GNU_SOURCE
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 65536
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

DIR *open_folder(struct scan *scan, pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "%d/%s", (int)pid, name);
    int fd = openat(scan->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL && fd >= 0)
        close(fd);
    return directory;
}

bool each_descriptor(struct scan *scan, pid_t pid, const char *folder, uint32_t bits, visit *visit)
{
    char link[LINK];
    DIR *directory = open_folder(scan, pid, folder);
    if (directory == NULL)
        return errno == ENOENT || errno == ESRCH; /* it has ended */
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.' && read_link(dirfd(directory), entry->d_name, link))
            visit(scan, pid, entry->d_name, link, bits);
    closedir(directory);
    return true;
}

static long table_size(struct scan *scan, pid_t pid)
{
    char text[2048];
    long size;
    char *line = read_text(scan, pid, "status", text, sizeof text) > 0 ? strstr(text, "\nFDSize:") : NULL;
    return line != NULL && sscanf(line, "\nFDSize: %ld", &size) == 1 ? size : 0;
}

/*
 * The /proc directory of a process that is not dumpable belongs to root. The permission to trace it, which this server has in its own
 * sandboxes, is enough to get copies of its descriptors.
 */
static bool each_copied_descriptor(struct scan *scan, pid_t pid, pid_t thread, uint32_t bits, visit *visit)
{
    char name[16], link[LINK];
    int pidfd = (int)syscall(SYS_pidfd_open, thread, thread == pid ? 0 : PIDFD_THREAD);
    if (pidfd < 0)
        return errno == ESRCH;
    bool seen = true;
    long size = table_size(scan, pid);
    for (long number = 0; number < size && number < MOST_DESCRIPTORS && seen; number++) {
        struct stat facts;
        int copy = (int)syscall(SYS_pidfd_getfd, pidfd, (int)number, 0);
        if (copy < 0) {
            seen = errno == EBADF || errno == ESRCH;
            continue;
        }
        snprintf(name, sizeof name, "%ld", number);
        if (fstat(copy, &facts) == 0 && S_ISSOCK(facts.st_mode)) {
            snprintf(link, sizeof link, "socket:[%llu]", (unsigned long long)facts.st_ino);
            visit(scan, pid, name, link, bits);
        }
        close(copy);
    }
    close(pidfd);
    return seen;
}

/* Threads may have descriptor tables of their own, and outlive the first thread of their process. */
bool each_descriptor_of_threads(struct scan *scan, pid_t pid, uint32_t bits, visit *visit)
{
    char path[64];
    bool seen = each_descriptor(scan, pid, "fd", bits, visit) || each_copied_descriptor(scan, pid, pid, bits, visit);
    DIR *directory = open_folder(scan, pid, "task");
    if (directory == NULL)
        return seen;
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread <= 0 || thread == pid || syscall(SYS_kcmp, pid, thread, KCMP_FILES, 0, 0) == 0)
            continue;
        snprintf(path, sizeof path, "task/%d/fd", (int)thread);
        if (!each_descriptor(scan, pid, path, bits, visit))
            seen = each_copied_descriptor(scan, pid, thread, bits, visit) && seen;
    }
    closedir(directory);
    return seen;
}
