/* Finds the descendants of this process in /proc. A subreaper's descendants are all it has ever started and still lives. */
#define _GNU_SOURCE
#include "descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/files.h"

static ssize_t read_file(pid_t pid, const char *name, char *room, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return read_text_at(AT_FDCWD, path, room, size);
}

static bool read_stat(pid_t pid, struct descendant *process)
{
    char text[1024], state;
    int parent, group, session;
    if (read_file(pid, "stat", text, sizeof text) <= 0)
        return false;
    char *behind = strrchr(text, ')'); /* the name may hold anything */
    if (behind == NULL || sscanf(behind + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                                 &state, &parent, &group, &session, &process->started) != 5)
        return false;
    process->pid = pid;
    process->parent = parent;
    process->session = session;
    process->dead = state == 'Z' || state == 'X';
    return true;
}

static ssize_t list_all(struct descendant **list)
{
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return -1;
    size_t count = 0, capacity = 0;
    struct dirent *entry;
    *list = NULL;
    while ((entry = readdir(directory)) != NULL) {
        struct descendant process;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || !read_stat(pid, &process))
            continue;
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 256;
            struct descendant *larger = realloc(*list, capacity * sizeof **list);
            if (larger == NULL)
                break;
            *list = larger;
        }
        (*list)[count++] = process;
    }
    closedir(directory);
    return (ssize_t)count;
}

ssize_t descendants_list(struct descendant **list)
{
    ssize_t count = list_all(list);
    if (count < 0)
        return -1;
    /* Those known to be descendants move to the front, until a pass finds no more. */
    ssize_t known = 0;
    pid_t self = getpid();
    for (bool more = true; more;) {
        more = false;
        for (ssize_t i = known; i < count; i++) {
            bool below = (*list)[i].parent == self;
            for (ssize_t k = 0; k < known && !below; k++)
                below = (*list)[i].parent == (*list)[k].pid;
            if (!below)
                continue;
            struct descendant found = (*list)[i];
            (*list)[i] = (*list)[known];
            (*list)[known++] = found;
            more = true;
        }
    }
    return known;
}

bool descendant_signal(const struct descendant *descendant, int number)
{
    struct descendant now;
    int pidfd = (int)syscall(SYS_pidfd_open, descendant->pid, 0);
    if (pidfd < 0)
        return false;
    bool same = read_stat(descendant->pid, &now) && now.started == descendant->started;
    bool sent = same && syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) == 0;
    close(pidfd);
    return sent;
}

/* The text behind a name in the status of a process; the room must be kept. */
static const char *status_line(pid_t pid, const char *name, char *room, size_t size)
{
    char *line = read_file(pid, "status", room, size) > 0 ? strstr(room, name) : NULL;
    return line != NULL ? line + strlen(name) : NULL;
}

bool descendant_is_nested(const struct descendant *descendant)
{
    char text[8192];
    int first, second;
    const char *line = status_line(descendant->pid, "\nNSpid:", text, sizeof text);
    if (line == NULL)
        return false;
    char *end = strchrnul(line, '\n');
    *end = '\0';
    return sscanf(line, "%d %d", &first, &second) == 2;
}

bool descendant_ignores(const struct descendant *descendant, int number)
{
    char text[8192];
    unsigned long long ignored;
    const char *line = status_line(descendant->pid, "\nSigIgn:", text, sizeof text);
    return line != NULL && sscanf(line, "%llx", &ignored) == 1 && (ignored >> (number - 1) & 1) != 0;
}
