/* fs/setPermissions: changes the permission bits of the file that a path leads to. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "protect.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6; the same number on every architecture that this program is built for */
#endif

/* No bit that gives those who run a program the rights of its owner or group. */
#define SETTABLE (S_IRWXU | S_IRWXG | S_IRWXO | S_ISVTX)

/* The last component by its checked directory, so that a link that takes its place is found out. */
static int open_unlinked(const struct fs_request *request)
{
    const char *name;
    int parent = fs_open_parent(request, request->path, &name);
    if (parent < 0)
        return parent;
    int outcome = fs_check_directory(parent);
    if (outcome == 0)
        outcome = fs_check_entry(parent, name);
    int fd = outcome < 0 ? outcome : openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (outcome == 0 && fd < 0)
        fd = -errno;
    close(parent);
    return fd;
}

static int open_file(const struct fs_request *request)
{
    if (request->flags & FS_NO_FOLLOW)
        return open_unlinked(request);
    if (fs_protects())
        return fs_open_for_writing(AT_FDCWD, request->path, O_PATH, 0);
    return fs_open_path(request, request->path, O_PATH, 0);
}

/* 0 or a negative errno. Kernels before 6.6 change a file that is only named by a descriptor through procfs. */
static int change_mode(int fd, mode_t mode)
{
    char path[32];
    if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != ENOSYS)
        return -errno;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return chmod(path, mode) == 0 ? 0 : -errno;
}

/* numbers: the mode */
void fs_set_permissions(const struct fs_request *request, struct fs_answer *answer)
{
    struct stat status;
    mode_t mode = (mode_t)request->numbers[0];
    int fd = request->numbers[0] & ~(uint64_t)SETTABLE ? -EINVAL : open_file(request);
    if (fd < 0)
        return fs_fail_errno(answer, -fd);
    int outcome = fstat(fd, &status) < 0 ? -errno : 0;
    bool is_link = outcome == 0 && S_ISLNK(status.st_mode);
    /* What is created in a directory goes on to belong to its group. */
    mode_t kept = outcome == 0 && S_ISDIR(status.st_mode) ? status.st_mode & (S_ISUID | S_ISGID) : 0;
    if (outcome == 0 && !is_link)
        outcome = change_mode(fd, mode | kept);
    close(fd);
    if (is_link)
        fs_fail_text(answer, FS_INVALID, "path contains a symbolic link");
    else if (outcome < 0)
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}
