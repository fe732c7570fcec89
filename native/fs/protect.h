/*
 * Entries that the engine refuses to create or change: names in directories. A helper in a sandbox is given those that must stay
 * missing, because a mount would need a mount point on the disk. In the addon there are none.
 */
#ifndef EXEC_FS_PROTECT_H
#define EXEC_FS_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Adds entries by their paths, each ended by NUL; 0 or a negative errno. To be called before other threads run. */
int fs_protect(const char *paths, size_t length);

/* Whether any entry is protected; otherwise the functions below do the same as the system calls. */
bool fs_protects(void);

/* 0, or -EROFS when the entry of the directory is protected. */
int fs_check_entry(int directory, const char *name);
/* 0, or -EROFS when the directory is a protected entry or lies below one. */
int fs_check_directory(int directory);
/* 0, or -EROFS if a protected entry lies in the directory or below it: such a directory must not be moved. */
int fs_check_move(int directory);

/*
 * Opens the directory of the last component of a path, and gives that component's name, after checking both; a descriptor or a
 * negative errno: -EROFS also for a path below a protected entry that is missing.
 */
int fs_open_checked_parent(int at, const char *path, char *name, size_t size);

/* Whether the directory of the last component of a path is missing. */
bool fs_parent_is_missing(int at, const char *path);

/*
 * A descriptor or a negative errno. Follows links at the end of a path one by one, so that the file that is checked is the one that
 * is opened. For a path without a slash, the directory must have been checked.
 */
int fs_open_for_writing(int at, const char *path, int flags, mode_t mode);
/* 0 or a negative errno. */
int fs_mkdir_at(int at, const char *path);
int fs_symlink_at(const char *target, int at, const char *path);

#endif
