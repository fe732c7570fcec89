/* Carries out the decision about a caller that is blocked in the kernel. */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../shared/files.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE (1UL << 0)
#endif

void notification_answer(const struct broker *broker, uint64_t notification, int error)
{
    struct seccomp_notif_resp response = {.id = notification, .error = -error};
    if (error == 0)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(broker->listener.fd, SECCOMP_IOCTL_NOTIF_SEND, &response); /* fails if the caller has ended */
}

bool notification_is_valid(const struct broker *broker, uint64_t notification)
{
    return ioctl(broker->listener.fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &notification) == 0;
}

void caller_run(struct broker *broker, struct session *session)
{
    notification_answer(broker, session->caller->notification, 0);
    session_end(broker, session);
}

void caller_allow_path(struct broker *broker, struct session *session)
{
    allowed_path_remember(broker, session->caller);
    caller_run(broker, session);
}

static void print_denial(struct broker *broker, const struct session *session, const char *reason, size_t length)
{
    struct bytes text = {0};
    bytes_add_text(&text, length > 0 ? "Execution denied: " : "Execution denied");
    bytes_add(&text, reason, length);
    bytes_add_text(&text, "\n");
    if (!text.failed && !caller_print(session->asker, text.start, text.length))
        send_report_block(broker, text.start, text.length, "output 2"); /* the shell's stderr is better than none */
    bytes_free(&text);
}

void caller_deny(struct broker *broker, struct session *session, const char *reason, size_t length)
{
    if (notification_is_valid(broker, session->caller->notification))
        print_denial(broker, session, reason, length);
    denied_file_remember(broker, session->caller);
    notification_answer(broker, session->caller->notification, EPERM);
    session_end(broker, session);
}

static void escalation_failed(struct broker *broker, struct session *session, const char *step, bool answered)
{
    struct bytes reason = {0};
    send_report(broker, "unstarted %llu %s %d", (unsigned long long)session->id, step, errno);
    bytes_print(&reason, "the command cannot be handed over: %s: %s", step, strerror(errno));
    if (answered) {
        print_denial(broker, session, reason.start, reason.length);
        session_end(broker, session);
    } else {
        caller_deny(broker, session, reason.start, reason.length);
    }
    bytes_free(&reason);
}

void caller_escalate(struct broker *broker, struct session *session)
{
    int ends[2];
    bool answered = false;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        escalation_failed(broker, session, "socket", answered);
        return;
    }
    const char *step = caller_redirect(broker->listener.fd, broker->stub, session->caller, ends[1], &answered);
    int error = errno;
    close(ends[1]);
    errno = error;
    if (step == NULL && watch_add(broker, &session->stream, ends[0], EPOLLIN) == 0) {
        watch_close(&session->caller->process); /* from now on the stream tells of the caller's end */
        session_await_descriptors(session);
        return;
    }
    session->stream.fd = -1;
    close(ends[0]);
    errno = error;
    escalation_failed(broker, session, step != NULL ? step : "watching", answered);
}
