/* Answers the calls that a watched command asks about, and reports the refused ones to the server. */
#define _GNU_SOURCE
#include "denials.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif

enum question { OPEN, MAKE, REMOVE, WRITE, CHANGE };

#define NONE (-1)
#define FCHMODAT2 452 /* older headers lack it */

/* A call that names a file to change: the arguments with its directory, which may be missing, and its path. */
struct file_call {
    int number;
    enum question question;
    int directory, path;
};

static const struct file_call file_calls[] = {
    {__NR_openat, OPEN, 0, 1},
    {__NR_openat2, OPEN, 0, 1},
    {__NR_mkdirat, MAKE, 0, 1},
    {__NR_mknodat, MAKE, 0, 1},
    {__NR_linkat, MAKE, 2, 3},
    {__NR_symlinkat, MAKE, 1, 2},
    {__NR_unlinkat, REMOVE, 0, 1},
    {__NR_renameat2, REMOVE, 0, 1},
    {__NR_renameat2, MAKE, 2, 3},
    {__NR_truncate, WRITE, NONE, 0},
    {__NR_fchmodat, CHANGE, 0, 1},
    {__NR_fchownat, CHANGE, 0, 1},
    {FCHMODAT2, CHANGE, 0, 1},
    {__NR_utimensat, CHANGE, 0, 1},
#ifdef __NR_renameat
    {__NR_renameat, REMOVE, 0, 1},
    {__NR_renameat, MAKE, 2, 3},
#endif
#ifdef __NR_open
    {__NR_open, OPEN, NONE, 0},
    {__NR_creat, OPEN, NONE, 0},
    {__NR_mkdir, MAKE, NONE, 0},
    {__NR_mknod, MAKE, NONE, 0},
    {__NR_link, MAKE, NONE, 1},
    {__NR_symlink, MAKE, NONE, 1},
    {__NR_unlink, REMOVE, NONE, 0},
    {__NR_rmdir, REMOVE, NONE, 0},
    {__NR_rename, REMOVE, NONE, 0},
    {__NR_rename, MAKE, NONE, 1},
    {__NR_chmod, CHANGE, NONE, 0},
    {__NR_chown, CHANGE, NONE, 0},
    {__NR_lchown, CHANGE, NONE, 0},
    {__NR_utime, CHANGE, NONE, 0},
    {__NR_utimes, CHANGE, NONE, 0},
    {__NR_futimesat, CHANGE, 0, 1},
#endif
};

#define FILE_CALLS (sizeof file_calls / sizeof *file_calls)

static void respond(const struct denials *denials, uint64_t id, int error)
{
    struct seccomp_notif_resp response = {.id = id, .error = -error};
    if (error == 0)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_SEND, &response); /* fails if the caller has ended */
}

static uint64_t hash(uint64_t sum, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return sum;
}

static bool is_new(struct denials *denials, uint64_t sum)
{
    unsigned count = denials->reported + denials->missed;
    for (unsigned i = 0; i < count; i++)
        if (denials->seen[i] == sum)
            return false;
    denials->seen[count] = sum;
    return true;
}

/* Refused calls and missing paths have separate bounds, so that a program that searches many directories hides no refusal. */
static void report(struct denials *denials, const struct seccomp_notif *notification, struct report_header header,
                 const char *subject)
{
    unsigned *count = header.missing ? &denials->missed : &denials->reported;
    char frame[sizeof header + LONGEST_SUBJECT + LONGEST_PROGRAM];
    if (*count == MOST_REPORTS)
        return;
    header.subject = (uint16_t)strlen(subject);
    memcpy(frame + sizeof header, subject, header.subject);
    header.program = (uint16_t)program_name((pid_t)notification->pid, frame + sizeof header + header.subject);
    memcpy(frame, &header, sizeof header);
    size_t length = sizeof header + header.subject + header.program;
    /* If the caller has ended, its number may belong to another process, whose memory was read. */
    if (ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &notification->id) < 0 ||
        !is_new(denials, hash(0xcbf29ce484222325u, frame, length)))
        return;
    (*count)++;
    /* Without waiting: a report for which there is no room is lost. After a part of one the frames would be invalid. */
    if (send(denials->reports, frame, length, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)length)
        denials->reported = denials->missed = MOST_REPORTS;
}

/* Whether a path means another file in every process. */
static bool is_own_file(const char *path)
{
    static const char *const starts[] = {"/proc/self", "/proc/thread-self", "/dev/fd", "/dev/std"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(path, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static bool open_flags(const struct seccomp_notif *notification, uint64_t *flags)
{
    const struct seccomp_data *data = &notification->data;
#ifdef __NR_open
    if (data->nr == __NR_creat)
        return *flags = O_CREAT | O_WRONLY | O_TRUNC, true;
    if (data->nr == __NR_open)
        return *flags = data->args[1], true;
#endif
    if (data->nr == __NR_openat)
        return *flags = data->args[2], true;
    return read_remote((pid_t)notification->pid, data->args[2], flags, sizeof *flags) == (ssize_t)sizeof *flags &&
           ((*flags & (O_ACCMODE | O_CREAT | O_TRUNC)) != 0);
}

static enum forecast forecast(const struct denials *denials, const struct seccomp_notif *notification,
                              const struct file_call *call, const char *path)
{
    struct view view = {.other_root = denials->options.other_view, .thread = (pid_t)notification->pid};
    uint64_t flags;
    switch (call->question) {
    case OPEN:
        return open_flags(notification, &flags) ? forecast_open(&view, path, flags) : GOES_ON;
    case MAKE:
        return forecast_make(&view, path);
    case REMOVE:
        return forecast_remove(&view, path);
    case WRITE:
        return forecast_write(&view, path);
    default:
        return forecast_change(&view, path);
    }
}

static void consider_file(struct denials *denials, const struct seccomp_notif *notification, const struct file_call *call)
{
    const struct seccomp_data *data = &notification->data;
    char path[LONGEST_SUBJECT];
    int directory = call->directory == NONE ? AT_FDCWD : (int)data->args[call->directory];
    if (read_remote_string((pid_t)notification->pid, data->args[call->path], path) <= 0 ||
        strcmp(path, "/dev/null") == 0 || is_own_file(path) ||
        !make_absolute((pid_t)notification->pid, directory, path))
        return;
    enum forecast outcome = forecast(denials, notification, call, path);
    if (outcome == REFUSED || (outcome == MISSING && denials->options.partial_view))
        report(denials, notification, (struct report_header){.kind = REPORT_WRITE, .missing = outcome == MISSING}, path);
}

/* Whether the call was one of those that name a file. */
static bool consider_files(struct denials *denials, const struct seccomp_notif *notification)
{
    bool found = false;
    for (size_t i = 0; i < FILE_CALLS; i++)
        if (file_calls[i].number == notification->data.nr) {
            consider_file(denials, notification, &file_calls[i]);
            found = true;
        }
    return found;
}

/* The argument with the address of a peer, and the one with its length. */
static int address_argument(const struct seccomp_data *data)
{
    if (data->nr == __NR_connect || data->nr == __NR_bind)
        return 1;
    return data->nr == __NR_sendto ? 4 : NONE;
}

static bool is_network_call(int number)
{
    return number == __NR_socket || number == __NR_socketpair || number == __NR_connect || number == __NR_bind ||
           number == __NR_sendto || number == __NR_sendmmsg;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET)
        return (ntohl(four->sin_addr.s_addr) >> 24) == 127 || four->sin_addr.s_addr == INADDR_ANY;
    if (address->ss_family != AF_INET6)
        return true;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

/* Whether a Unix socket is missing: C libraries try to connect to daemons that most machines do not have, which is no refusal. */
static bool misses_socket(const struct denials *denials, pid_t thread, const struct sockaddr_storage *address)
{
    char path[sizeof(struct sockaddr_un) + 1] = "";
    struct view view = {.other_root = denials->options.other_view, .thread = thread};
    memcpy(path, ((const struct sockaddr_un *)address)->sun_path, sizeof((struct sockaddr_un *)0)->sun_path);
    return address->ss_family == AF_UNIX && *path == '/' && !is_socket(&view, path);
}

static void consider_network(struct denials *denials, const struct seccomp_notif *notification)
{
    const struct seccomp_data *data = &notification->data;
    pid_t thread = (pid_t)notification->pid;
    struct sockaddr_storage address = {0};
    char text[256] = "";
    int argument = address_argument(data);
    if (argument != NONE) {
        size_t length = data->args[argument + 1] < sizeof address ? (size_t)data->args[argument + 1] : sizeof address;
        if (length > 0 && read_remote(thread, data->args[argument], &address, length) == (ssize_t)length)
            print_address(&address, length, text, sizeof text);
    }
    if (denials->options.own_network && is_loopback(&address))
        return;
    if (data->nr == __NR_connect && misses_socket(denials, thread, &address))
        return;
    report(denials, notification, (struct report_header){.kind = REPORT_NETWORK}, text);
}

/* The error of a call that names no file: none for connect in a network of the sandbox's own, which the policy allows. */
static int refusal_of(const struct denials *denials, int number)
{
    return denials->options.own_network && number == __NR_connect ? 0 : EPERM;
}

void denials_answer(struct denials *denials, const struct seccomp_notif *notification)
{
    int number = notification->data.nr, error = 0;
    if (!consider_files(denials, notification)) {
        error = refusal_of(denials, number);
        if (is_network_call(number))
            consider_network(denials, notification);
        else
            report(denials, notification, (struct report_header){.kind = REPORT_SYSCALL}, "");
    }
    respond(denials, notification->id, error);
}

void denials_serve(struct denials *denials)
{
    union {
        struct seccomp_notif notification;
        char space[1024]; /* the kernel's may be larger than the headers know */
    } room;
    memset(&room, 0, sizeof room);
    if (ioctl(denials->listener, SECCOMP_IOCTL_NOTIF_RECV, &room) == 0)
        denials_answer(denials, &room.notification);
}
