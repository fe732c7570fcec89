/* fs/rename: moves an entry to another path, at once or not at all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine.h"
#include "protect.h"

/* 0 or a negative errno; -EXDEV across filesystems, -EEXIST when the destination exists and may not be replaced. */
static int rename_entry(int from, const char *from_name, int to, const char *to_name, bool replace)
{
    /* Not by the function of the same name, which older C libraries lack. */
    return syscall(SYS_renameat2, from, from_name, to, to_name, replace ? 0 : RENAME_NOREPLACE) < 0 ? -errno : 0;
}

/* Whether an entry may be moved or replaced: only a directory can hold protected entries. */
static int check_content(int parent, const char *name)
{
    int directory = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return errno == ENOTDIR || errno == ENOENT || errno == ELOOP ? 0 : -errno;
    int outcome = fs_check_move(directory);
    close(directory);
    return outcome;
}

static int rename_protecting(const char *path, const char *target, bool replace)
{
    char from_name[NAME_MAX + 1], to_name[NAME_MAX + 1];
    int from = fs_open_checked_parent(AT_FDCWD, path, from_name, sizeof from_name);
    if (from < 0)
        return from;
    int to = fs_open_checked_parent(AT_FDCWD, target, to_name, sizeof to_name);
    int outcome = to < 0 ? to : check_content(from, from_name);
    if (outcome == 0)
        outcome = check_content(to, to_name);
    if (outcome == 0)
        outcome = rename_entry(from, from_name, to, to_name, replace);
    if (to >= 0)
        close(to);
    close(from);
    return outcome;
}

void fs_rename(const struct fs_request *request, struct fs_answer *answer)
{
    bool replace = request->flags & FS_REPLACE;
    int outcome = fs_protects() ? rename_protecting(request->path, request->target, replace)
                                : rename_entry(AT_FDCWD, request->path, AT_FDCWD, request->target, replace);
    if (outcome < 0)
        fs_fail_errno(answer, -outcome);
    else
        fs_puts(answer, "{}");
}
