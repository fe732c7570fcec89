/*
 * Entries that the engine refuses to create or change: names in directories. A helper in a sandbox is told of those that
 * must stay missing, for which the kernel would need something on the disk to mount on. In the addon there are none.
 */
#ifndef EXEC_FS_PROTECT_H
#define EXEC_FS_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Takes paths, each ended by NUL; 0 or a negative errno. To be called before other threads are at work. */
int fs_protect(const char *paths, size_t length);

/* Whether there is any: without, the calls below do what the kernel's of the same name do. */
bool fs_protects(void);

/* 0, or -EROFS when the entry of the directory is protected. */
int fs_check_entry(int directory, const char *name);
/* 0, or -EROFS when the directory is a protected entry or lies below one. */
int fs_check_directory(int directory);
/* 0, or -EROFS when a protected entry lies in the directory or below it: such a directory stays where it is. */
int fs_check_move(int directory);

/*
 * The directory that holds the last component of a path, and its name, both checked; a descriptor or a negative errno. What
 * is missing below a protected entry is -EROFS.
 */
int fs_open_place(int at, const char *path, char *name, size_t size);

/* Whether the directory that should hold the last component of a path is missing. */
bool fs_lies_nowhere(int at, const char *path);

/*
 * Descriptors or a negative errno; links at the end of a path are followed by hand, so that what is checked is what is
 * opened. A path without a slash is taken to lie in a directory that has been checked.
 */
int fs_open_for_writing(int at, const char *path, int flags, mode_t mode);
/* 0 or a negative errno. */
int fs_mkdir_at(int at, const char *path);
int fs_symlink_at(const char *target, int at, const char *path);

#endif
