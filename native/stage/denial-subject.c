/* Reads the subject of a call, a path or an address, from the process that makes the call. */
#define _GNU_SOURCE
#include "denials.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define PAGE 4096u
#define USUAL_PATH 256u

ssize_t read_remote(pid_t thread, uint64_t address, void *room, size_t length)
{
    /* The page after the string's may be missing: each page is a vector of its own. */
    size_t first = PAGE - (size_t)(address % PAGE);
    if (first > length)
        first = length;
    struct iovec local = {.iov_base = room, .iov_len = length};
    struct iovec remote[2] = {{.iov_base = (void *)(uintptr_t)address, .iov_len = first},
                              {.iov_base = (void *)(uintptr_t)(address + first), .iov_len = length - first}};
    return process_vm_readv(thread, &local, 1, remote, length > first ? 2 : 1, 0);
}

ssize_t read_remote_string(pid_t thread, uint64_t address, char *room)
{
    if (address == 0)
        return -1;
    size_t tries[] = {USUAL_PATH, LONGEST_SUBJECT};
    for (size_t i = 0; i < 2; i++) {
        ssize_t count = read_remote(thread, address, room, tries[i]);
        if (count <= 0)
            return -1;
        size_t length = strnlen(room, (size_t)count);
        if (length < (size_t)count)
            return (ssize_t)length;
    }
    return -1;
}

bool make_absolute(pid_t thread, int directory, char *path)
{
    char link[64], start[LONGEST_SUBJECT];
    if (*path == '/')
        return true;
    if (directory == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/%d/cwd", (int)thread);
    else
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)thread, directory);
    ssize_t length = readlink(link, start, sizeof start);
    size_t rest = strlen(path);
    if (length <= 0 || *start != '/' || (size_t)length + rest + 2 > LONGEST_SUBJECT)
        return false;
    memmove(path + length + 1, path, rest + 1);
    memcpy(path, start, (size_t)length);
    path[length] = '/';
    return true;
}

bool print_address(const void *address, size_t length, char *text, size_t room)
{
    union {
        sa_family_t family;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
        struct sockaddr_un local;
    } socket;
    char host[INET6_ADDRSTRLEN];
    memset(&socket, 0, sizeof socket);
    memcpy(&socket, address, length < sizeof socket ? length : sizeof socket);
    if (socket.family == AF_INET && length >= sizeof socket.four) {
        inet_ntop(AF_INET, &socket.four.sin_addr, host, sizeof host);
        snprintf(text, room, "%s:%u", host, ntohs(socket.four.sin_port));
    } else if (socket.family == AF_INET6 && length >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
        inet_ntop(AF_INET6, &socket.six.sin6_addr, host, sizeof host);
        snprintf(text, room, "[%s]:%u", host, ntohs(socket.six.sin6_port));
    } else if (socket.family == AF_UNIX && length > sizeof(sa_family_t)) {
        bool is_abstract = socket.local.sun_path[0] == '\0';
        size_t most = sizeof socket.local.sun_path - is_abstract;
        snprintf(text, room, "unix:%s%.*s", is_abstract ? "@" : "", (int)most, socket.local.sun_path + is_abstract);
    } else {
        return false;
    }
    return true;
}

size_t program_name(pid_t thread, char *name)
{
    char link[64], target[LONGEST_SUBJECT];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)thread);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return 0;
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    const char *start = slash != NULL ? slash + 1 : target;
    size_t kept = strnlen(start, LONGEST_PROGRAM);
    memcpy(name, start, kept);
    return kept;
}
