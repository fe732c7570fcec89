/* Reads from a blocked caller which command it is about to execute. */
#define _GNU_SOURCE
#include "kernel.h"
#include "caller-memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../shared/files.h"
#include "../shared/limits.h"
#include "../shared/number.h"


/* The arguments of execve or execveat. */
struct arguments {
    int directory;
    uint64_t path, argv, environment;
    int flags;
};

static struct arguments arguments_of(const struct seccomp_data *data)
{
    const __u64 *args = data->args;
    if (data->nr == __NR_execve)
        return (struct arguments){.directory = AT_FDCWD, .path = args[0], .argv = args[1], .environment = args[2]};
    return (struct arguments){.directory = (int)args[0], .path = args[1], .argv = args[2], .environment = args[3], .flags = (int)args[4]};
}

bool caller_arguments(pid_t thread, const struct seccomp_data *data, struct bytes *words)
{
    struct arguments arguments = arguments_of(data);
    struct memory memory;
    memory_open(&memory, thread);
    return memory_read_string(&memory, arguments.path, PATH_MAX, words) == 0 &&
           memory_read_arguments(&memory, arguments.argv, words) > 0 && !words->failed;
}

char *caller_path(pid_t thread, const struct seccomp_data *data)
{
    struct bytes path = {0};
    struct memory memory;
    memory_open(&memory, thread);
    if (memory_read_string(&memory, arguments_of(data).path, PATH_MAX, &path) == 0)
        return path.start;
    int error = errno;
    bytes_free(&path);
    errno = error;
    return NULL;
}

static char *read_link(const char *format, pid_t thread, int fd)
{
    char link[64], target[PATH_MAX + 1];
    snprintf(link, sizeof link, format, (int)thread, fd);
    ssize_t length = readlink(link, target, PATH_MAX);
    if (length < 0)
        return NULL;
    target[length] = '\0';
    return strdup(target);
}

int caller_wanted(pid_t thread, const struct seccomp_data *data, struct wanted *wanted)
{
    struct arguments arguments = arguments_of(data);
    *wanted = (struct wanted){.path = caller_path(thread, data), .directory = read_link("/proc/%d/cwd", thread, 0)};
    if (wanted->path == NULL || wanted->directory == NULL)
        return -1;
    if (arguments.directory == AT_FDCWD || *wanted->path == '/')
        return 0;
    char *opened = read_link("/proc/%d/fd/%d", thread, arguments.directory), *joined = NULL;
    if (opened == NULL) {
        errno = EBADF;
        return -1;
    }
    wanted->by_descriptor = *wanted->path == '\0' && (arguments.flags & AT_EMPTY_PATH) != 0;
    if (!wanted->by_descriptor && asprintf(&joined, "%s/%s", opened, wanted->path) < 0)
        joined = NULL;
    free(wanted->path);
    wanted->path = wanted->by_descriptor ? opened : joined;
    if (!wanted->by_descriptor)
        free(opened);
    return wanted->path != NULL ? 0 : -1;
}

void wanted_free(struct wanted *wanted)
{
    free(wanted->path);
    free(wanted->directory);
    *wanted = (struct wanted){0};
}

static const char *after(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    return found != NULL ? found + strlen(name) : "";
}

void caller_status(pid_t thread, struct wanted *wanted)
{
    char path[64], text[PAGE];
    uint64_t number;
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    int fd = open_retrying(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read_retrying(fd, text, sizeof text - 1);
    close_open(&fd);
    text[length > 0 ? length : 0] = '\0';
    wanted->process = read_number(after(text, "\nTgid:\t"), 10, INT_MAX, &number) != NULL ? (pid_t)number : thread;
    wanted->umask = read_number(after(text, "\nUmask:\t"), 8, 07777, &number) != NULL ? (int)number : -1;
}

static void add_amount(struct bytes *block, rlim_t amount)
{
    bytes_add_text(block, " ");
    if (amount == RLIM_INFINITY)
        bytes_add_text(block, "unlimited");
    else
        bytes_add_number(block, amount);
}

static int add_limits(pid_t thread, struct bytes *block)
{
    bytes_print(block, "%zu", limit_count);
    bytes_add(block, "", 1);
    for (size_t i = 0; i < limit_count; i++) {
        struct rlimit limit;
        if (prlimit(thread, limit_names[i].resource, NULL, &limit) < 0)
            return -1;
        bytes_add_text(block, limit_names[i].name);
        add_amount(block, limit.rlim_cur);
        add_amount(block, limit.rlim_max);
        bytes_add(block, "", 1);
    }
    return 0;
}

int caller_command(pid_t thread, const struct seccomp_data *data, const struct wanted *wanted, struct bytes *block)
{
    struct arguments arguments = arguments_of(data);
    struct bytes argv = {0};
    struct memory memory;
    memory_open(&memory, thread);
    bytes_add_string(block, wanted->directory);
    bytes_add_string(block, wanted->path);
    bytes_print(block, "%o", (unsigned)wanted->umask);
    bytes_add(block, "", 1);
    bytes_add_string(block, "-");
    bytes_add_string(block, "-");
    long count = -1;
    if (wanted->umask >= 0 && add_limits(thread, block) == 0)
        count = memory_read_arguments(&memory, arguments.argv, &argv);
    bytes_print(block, "%ld", count);
    bytes_add(block, "", 1);
    bytes_add(block, argv.start, argv.length);
    bool failed = count < 0 || argv.failed || memory_read_strings(&memory, arguments.environment, block) < 0 || block->failed;
    int error = errno;
    bytes_free(&argv);
    errno = error;
    return failed ? -1 : 0;
}

/* Opens a relative path by the caller's directory, whose own path may be invalid after a chroot. */
static int open_below_directory(pid_t thread, const char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/cwd", (int)thread);
    int directory = open_retrying(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int file = directory < 0 ? -1 : openat(directory, path, O_PATH | O_CLOEXEC);
    int error = errno;
    close_open(&directory);
    errno = error;
    return file;
}

/* Looked up in the caller's own root. A path in /proc is taken to exist, as /proc/self means another process here. */
int caller_lookup(pid_t thread, struct wanted *wanted)
{
    char link[64], path[2 * PATH_MAX + 2];
    if (wanted->by_descriptor || strncmp(wanted->path, "/proc/", 6) == 0)
        return 0;
    if (*wanted->path == '\0')
        return ENOENT;
    snprintf(link, sizeof link, "/proc/%d/root", (int)thread);
    int root = open_retrying(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return 0;
    bool absolute = *wanted->path == '/';
    snprintf(path, sizeof path, "%s%s%s", absolute ? "" : wanted->directory, absolute ? "" : "/", wanted->path);
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int file = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (file < 0 && !absolute)
        file = open_below_directory(thread, wanted->path);
    int error = file < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) ? errno : 0;
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0) {
        wanted->device = status.st_dev;
        wanted->inode = status.st_ino;
        if (!S_ISREG(status.st_mode) || (status.st_mode & 0111) == 0)
            error = EACCES;
    }
    close_open(&file);
    close(root);
    return error;
}
