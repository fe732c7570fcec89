/* Execs that the kernel asks about: each becomes a session like those of the wrappers. */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/files.h"

static void caller_died(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)events;
    struct session *session = ((struct caller *)watch)->session;
    send_report(broker, "gone %llu", (unsigned long long)session->id);
    session_end(broker, session);
}

static int watch_process(struct broker *broker, struct caller *caller, pid_t process)
{
    int pidfd = (int)syscall(SYS_pidfd_open, process, 0);
    caller->process.ready = caller_died;
    if (pidfd < 0 || watch_add(broker, &caller->process, pidfd, EPOLLIN) < 0) {
        close_open(&pidfd);
        caller->process.fd = -1;
        return -1;
    }
    return 0;
}

static struct session *add_session(struct broker *broker, const struct seccomp_notif *notification)
{
    struct session *session = session_add(broker, (pid_t)notification->pid);
    struct caller *caller = session != NULL ? calloc(1, sizeof *caller) : NULL;
    if (caller == NULL) {
        if (session != NULL)
            session_end(broker, session);
        return NULL;
    }
    *caller = (struct caller){.process.fd = -1, .session = session, .notification = notification->id,
                              .thread = (pid_t)notification->pid, .data = notification->data, .planted_stub = -1};
    session->caller = caller;
    session->state = SESSION_SEEN;
    return session;
}

void caller_free(struct session *session)
{
    watch_close(&session->caller->process);
    free(session->caller->seen_path);
    free(session->caller);
    session->caller = NULL;
}

/* Whether this is the exec of the shell itself or of a program that makes its sandbox: they run without a question. */
static bool is_launch(struct broker *broker, const struct seccomp_notif *notification)
{
    if (!broker->launching)
        return false;
    char *path = caller_path((pid_t)notification->pid, &notification->data);
    if (path != NULL && strcmp(path, broker->shell_path) == 0)
        broker->launching = false;
    free(path);
    return true;
}

/* Whether this is the exec of the stub in a redirected caller. */
static bool is_stub(const struct broker *broker, const struct seccomp_notif *notification)
{
    const struct seccomp_data *data = &notification->data;
    if (data->nr != __NR_execveat || (data->args[4] & AT_EMPTY_PATH) == 0)
        return false;
    const struct session *session = broker->sessions;
    while (session != NULL && (session->caller == NULL || session->caller->thread != (pid_t)notification->pid ||
                               session->caller->planted_stub != (int)data->args[0]))
        session = session->next;
    if (session == NULL)
        return false;
    char *path = caller_path((pid_t)notification->pid, data);
    bool is_file = path != NULL && *path == '\0';
    free(path);
    return is_file;
}

static void refuse(struct broker *broker, struct session *session, int error)
{
    notification_answer(broker, session->caller->notification, error);
    session_end(broker, session);
}

/* A caller whose arguments cannot be read is refused, unless the kernel will not be able to either. */
static void ask(struct broker *broker, struct session *session, struct wanted *wanted)
{
    static const char unreadable[] = "the arguments cannot be read", too_many[] = "too many concurrent executions";
    struct caller *caller = session->caller;
    struct bytes block = {0};
    caller_status(caller->thread, wanted);
    int outcome = caller_command(caller->thread, &caller->data, wanted, &block), error = errno;
    session->asker = wanted->process;
    session->state = SESSION_ASKED;
    caller->device = wanted->device;
    caller->inode = wanted->inode;
    if (!notification_is_valid(broker, caller->notification))
        session_end(broker, session);
    else if (outcome < 0 && (error == EFAULT || error == E2BIG))
        refuse(broker, session, error);
    else if (outcome < 0)
        session_deny(broker, session, unreadable, strlen(unreadable));
    else if (!session_may_ask(broker, session, block.length))
        session_deny(broker, session, too_many, strlen(too_many));
    else {
        watch_process(broker, caller, wanted->process);
        send_report_block(broker, block.start, block.length, "asked %llu %ld kernel", (unsigned long long)session->id,
                   (long)session->asker);
    }
    bytes_free(&block);
}

void caller_inspect(struct broker *broker, struct session *session)
{
    const struct caller *caller = session->caller;
    struct wanted wanted;
    int error = 0;
    if (caller_wanted(caller->thread, &caller->data, &wanted) < 0)
        error = errno == EFAULT || errno == EBADF ? errno : EPERM;
    else
        error = caller_lookup(caller->thread, &wanted); /* programs search PATH by trying */
    if (error == 0 && is_denied_file(broker, caller->thread, &wanted))
        error = EPERM;
    if (error != 0)
        refuse(broker, session, error);
    else
        ask(broker, session, &wanted);
    wanted_free(&wanted);
}

/*
 * Reports the path and the arguments to Node without reading /proc, whose entries cost more than the rest of an interception.
 * False if the arguments alone do not tell the program: for a relative path, or after a denial.
 */
static bool report_seen(struct broker *broker, struct session *session)
{
    struct caller *caller = session->caller;
    struct bytes arguments = {0};
    bool enough = !is_denied_file(broker, caller->thread, NULL) && caller_arguments(caller->thread, &caller->data, &arguments) &&
                  *arguments.start == '/' && notification_is_valid(broker, caller->notification) &&
                  session_may_ask(broker, session, arguments.length);
    if (enough) {
        caller->seen_path = strdup(arguments.start);
        send_report_block(broker, arguments.start, arguments.length, "seen %llu", (unsigned long long)session->id);
    }
    bytes_free(&arguments);
    return enough;
}

/* Whether a program runs without asking Node, which has allowed it before with any arguments. */
static bool runs_unasked(const struct broker *broker, const struct seccomp_notif *notification)
{
    if (broker->allowed_path_count == 0 || is_denied_file(broker, (pid_t)notification->pid, NULL))
        return false;
    char *path = caller_path((pid_t)notification->pid, &notification->data);
    bool known = path != NULL && is_allowed_path(broker, path);
    free(path);
    return known;
}

static void consider(struct broker *broker, const struct seccomp_notif *notification)
{
    struct session *session;
    if (is_launch(broker, notification) || is_stub(broker, notification) || runs_unasked(broker, notification))
        notification_answer(broker, notification->id, 0);
    else if ((session = add_session(broker, notification)) == NULL)
        notification_answer(broker, notification->id, ENOMEM);
    else if (!report_seen(broker, session))
        caller_inspect(broker, session);
}

/* The stage of a sandbox has installed a filter that asks about execs and refusals, and has sent its listener. */
void listener_arrived(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)events;
    if (denials_receive(&broker->refusals, watch->fd))
        broker->listener = (struct watch){.fd = broker->refusals.listener, .ready = listener_ready};
    watch_close(watch);
}

static bool is_exec(const struct seccomp_notif *notification)
{
    return notification->data.nr == __NR_execve || notification->data.nr == __NR_execveat;
}

/* Answers without root's capabilities to access files, as commands in a sandbox have no capabilities. */
static void answer_denial(struct broker *broker, const struct seccomp_notif *notification)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3], fewer[_LINUX_CAPABILITY_U32S_3];
    bool reduced = geteuid() == 0 && syscall(SYS_capget, &header, own) == 0;
    if (reduced) {
        memcpy(fewer, own, sizeof fewer);
        fewer[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
        reduced = syscall(SYS_capset, &header, fewer) == 0;
    }
    denials_answer(&broker->refusals, notification);
    if (reduced)
        syscall(SYS_capset, &header, own);
}

void listener_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    if ((events & EPOLLIN) == 0) {
        close_open(&watch->fd); /* no process has the filter any more */
        return;
    }
    union {
        struct seccomp_notif notification;
        char space[1024]; /* the kernel's may be larger than the headers know */
    } room;
    memset(&room, 0, sizeof room);
    if (ioctl(watch->fd, SECCOMP_IOCTL_NOTIF_RECV, &room) != 0)
        return;
    if (is_exec(&room.notification))
        consider(broker, &room.notification);
    else
        answer_denial(broker, &room.notification);
}
