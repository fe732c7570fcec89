/* One session per exec that is asked about: reads its frames until it is answered. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker.h"
#include "descriptors.h"
#include "../shared/files.h"
#include "../shared/json.h"

#define MOST_SESSIONS 1024
#define MOST_SURPLUS 1024 /* above this number handshakes wait in the socket */
#define MOST_FRAME_BYTES (256u << 20)
#define MOST_ASKED_BYTES (128u << 20)
#define HEADER 4
#define READ_STEP 65536

static const char too_many[] = "too many concurrent executions";

struct session *session_add(struct broker *broker, pid_t asker)
{
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    session->stream = (struct watch){.fd = -1, .ready = session_read};
    session->id = ++broker->last_id;
    session->asker = asker;
    session->expected = HEADER;
    session->surplus = broker->session_count >= MOST_SESSIONS;
    session->next = broker->sessions;
    broker->sessions = session;
    if (++broker->session_count >= MOST_SESSIONS + MOST_SURPLUS && broker->handshake.fd >= 0)
        watch_change(&broker->handshake, 0);
    return session;
}

bool session_may_ask(struct broker *broker, struct session *session, size_t length)
{
    size_t others = broker->asked_bytes - session->asked;
    if (session->surplus || others + length > MOST_ASKED_BYTES)
        return false;
    session->asked = length;
    broker->asked_bytes = others + length;
    return true;
}

struct session *session_find(struct broker *broker, uint64_t id)
{
    struct session *session = broker->sessions;
    while (session != NULL && session->id != id)
        session = session->next;
    return session;
}

static void forget_frame(struct broker *broker, struct session *session)
{
    broker->frame_bytes -= session->frame.capacity;
    bytes_free(&session->frame);
    session->expected = HEADER;
}

void session_end(struct broker *broker, struct session *session)
{
    struct session **link = &broker->sessions;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    if (--broker->session_count == MOST_SESSIONS + MOST_SURPLUS - 1 && broker->handshake.fd >= 0)
        watch_change(&broker->handshake, EPOLLIN);
    forget_frame(broker, session);
    broker->asked_bytes -= session->asked;
    watch_close(&session->stream);
    for (size_t i = 0; i < session->descriptor_count; i++)
        close(session->descriptors[i]);
    if (session->caller != NULL)
        caller_free(session);
    command_free(session->command);
    free(session);
}

static void drop(struct broker *broker, struct session *session, const char *why)
{
    if (why != NULL)
        send_report(broker, "noted session %llu dropped: %s", (unsigned long long)session->id, why);
    if (session->state == SESSION_RUNNING) {
        escalation_abandon(session);
        return;
    }
    if (session->state != SESSION_OPENING)
        send_report(broker, "gone %llu", (unsigned long long)session->id);
    session_end(broker, session);
}

/* Returns the number of bytes, 0 if there are none yet, -1 at the end. Keeps descriptors only if the frame may have some. */
static ssize_t receive(struct session *session, char *room, size_t length)
{
    int descriptors[MOST_DESCRIPTORS];
    union descriptor_space control;
    struct iovec part = {.iov_base = room, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(session->stream.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    int count = descriptors_take(&message, descriptors);
    bool wanted = session->state == SESSION_AWAITING_DESCRIPTORS && session->descriptor_count == 0 && session->frame.length < HEADER;
    for (int i = 0; i < count; i++) {
        if (wanted)
            session->descriptors[session->descriptor_count++] = descriptors[i];
        else
            close(descriptors[i]);
    }
    return received == 0 ? -1 : received;
}

static bool next_part(struct broker *broker, struct session *session)
{
    size_t missing = session->expected - session->frame.length;
    size_t step = missing < READ_STEP ? missing : READ_STEP, before = session->frame.capacity;
    char *room = bytes_reserve(&session->frame, step + 1); /* and a NUL behind the last byte */
    broker->frame_bytes += session->frame.capacity - before;
    if (room == NULL || broker->frame_bytes > MOST_FRAME_BYTES) {
        drop(broker, session, "too much memory is in use");
        return false;
    }
    ssize_t count = receive(session, room, step);
    if (count > 0) {
        session->frame.length += (size_t)count;
        room[count] = '\0';
        return true;
    }
    if (count < 0)
        drop(broker, session, NULL);
    return false;
}

static uint32_t length_of(const struct bytes *frame)
{
    const unsigned char *header = (const unsigned char *)frame->start;
    return header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 | (uint32_t)header[3] << 24;
}

static void ask(struct broker *broker, struct session *session, const char *json, size_t length)
{
    session->deadline = 0;
    if (!session_may_ask(broker, session, length)) {
        session_deny(broker, session, too_many, strlen(too_many));
        return;
    }
    session->state = SESSION_ASKED;
    watch_change(&session->stream, EPOLLRDHUP); /* until it is answered, only its end matters */
    send_report_block(broker, json, length, "asked %llu %ld wrapper", (unsigned long long)session->id, (long)session->asker);
    forget_frame(broker, session);
}

static void obey_frame(struct broker *broker, struct session *session, const char *json, size_t length)
{
    struct json root, member;
    long number;
    if (session->state == SESSION_OPENING) {
        ask(broker, session, json, length);
        return;
    }
    if (!json_parse(json, length, &root)) {
        drop(broker, session, "a frame is not JSON");
        return;
    }
    if (session->state == SESSION_RUNNING) {
        if (json_member(&root, "signal", &member) == 1 && json_integer(&member, 1, 64, &number))
            escalation_signal(session, (int)number);
        forget_frame(broker, session);
        return;
    }
    bool placed = escalation_place(session, &root);
    session->deadline = 0;
    forget_frame(broker, session);
    if (placed)
        escalation_start(broker, session);
    else
        drop(broker, session, "the descriptors do not fit their list");
}

void session_read(struct broker *broker, struct watch *watch, uint32_t events)
{
    (void)events;
    struct session *session = (struct session *)watch;
    if (session->state == SESSION_ASKED) {
        drop(broker, session, NULL);
        return;
    }
    if (!next_part(broker, session) || session->frame.length < session->expected)
        return;
    if (session->expected == HEADER) {
        size_t length = length_of(&session->frame);
        if (length > LARGEST_FRAME || length == 0) {
            drop(broker, session, "a frame is empty or too large");
            return;
        }
        session->expected += length;
        return;
    }
    obey_frame(broker, session, session->frame.start + HEADER, session->frame.length - HEADER);
}

void session_await_descriptors(struct session *session)
{
    session->state = SESSION_AWAITING_DESCRIPTORS;
    session->deadline = now_ms() + FRAME_TIMEOUT_MS;
    watch_change(&session->stream, EPOLLIN);
}

void sessions_check_deadlines(struct broker *broker)
{
    long now = now_ms();
    for (struct session *session = broker->sessions, *next; session != NULL; session = next) {
        next = session->next;
        if (session->deadline == 0 || session->deadline > now)
            continue;
        session->deadline = 0;
        if (session->state == SESSION_RUNNING)
            escalation_signal(session, 9);
        else
            drop(broker, session, "a frame did not come in time");
    }
}

long sessions_next_deadline(const struct broker *broker)
{
    long earliest = 0;
    for (const struct session *session = broker->sessions; session != NULL; session = session->next)
        if (session->deadline != 0 && (earliest == 0 || session->deadline < earliest))
            earliest = session->deadline;
    return earliest;
}
