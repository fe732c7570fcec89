/* Sends the decisions of Node to the programs that asked. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "broker.h"
#include "../shared/json.h"

#define LONGEST_REASON 16384 /* with every byte escaped it still fits into an empty socket buffer */

/* An answer fits into the buffer of the stream: if there is no room, the reader has ended. */
void session_send(struct session *session, const struct bytes *json)
{
    struct bytes frame = {0};
    uint32_t length = (uint32_t)json->length;
    const unsigned char header[4] = {length & 0xFF, length >> 8 & 0xFF, length >> 16 & 0xFF, length >> 24};
    bytes_add(&frame, header, sizeof header);
    bytes_add(&frame, json->start, json->length);
    ssize_t sent;
    if (session->stream.fd >= 0 && !frame.failed && !json->failed)
        do
            sent = send(session->stream.fd, frame.start, frame.length, MSG_DONTWAIT | MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
    bytes_free(&frame);
}

static void send_text(struct session *session, const char *text)
{
    struct bytes json = {0};
    bytes_add_text(&json, text);
    session_send(session, &json);
    bytes_free(&json);
}

void session_deny(struct broker *broker, struct session *session, const char *reason, size_t length)
{
    if (length > LONGEST_REASON)
        length = LONGEST_REASON;
    if (session->caller != NULL) {
        caller_deny(broker, session, reason, length);
        return;
    }
    struct bytes json = {0};
    bytes_add_text(&json, "{\"action\":{\"Deny\":{\"reason\":");
    if (length == 0)
        bytes_add_text(&json, "null");
    else
        json_write_string(&json, reason, length);
    bytes_add_text(&json, "}}}");
    session_send(session, &json);
    bytes_free(&json);
    session_end(broker, session);
}

static struct session *in_state(struct broker *broker, uint64_t id, enum session_state state)
{
    struct session *session = session_find(broker, id);
    return session != NULL && session->state == state ? session : NULL;
}

static struct session *asked(struct broker *broker, uint64_t id)
{
    return in_state(broker, id, SESSION_ASKED);
}

void answer_run(struct broker *broker, uint64_t id)
{
    struct session *seen = in_state(broker, id, SESSION_SEEN);
    struct session *session = seen != NULL ? seen : asked(broker, id);
    if (session == NULL)
        return;
    if (session->caller != NULL) {
        caller_run(broker, session);
        return;
    }
    send_text(session, "{\"action\":\"Run\"}");
    session_end(broker, session);
}

void answer_allow_path(struct broker *broker, uint64_t id)
{
    struct session *session = in_state(broker, id, SESSION_SEEN);
    if (session != NULL)
        caller_allow_path(broker, session);
}

void answer_inspect(struct broker *broker, uint64_t id)
{
    struct session *session = in_state(broker, id, SESSION_SEEN);
    if (session != NULL)
        caller_inspect(broker, session);
}

void answer_deny(struct broker *broker, uint64_t id, const char *reason, size_t length)
{
    struct session *session = asked(broker, id);
    if (session != NULL)
        session_deny(broker, session, reason, length);
}

void answer_escalate(struct broker *broker, uint64_t id, struct bytes *block)
{
    static const char malformed[] = "the command cannot be started";
    struct session *session = asked(broker, id);
    if (session == NULL)
        return;
    session->command = command_parse(block);
    if (session->command == NULL) {
        send_report(broker, "unstarted %llu command %d", (unsigned long long)id, EINVAL);
        session_deny(broker, session, malformed, strlen(malformed));
        return;
    }
    if (session->caller != NULL) {
        caller_escalate(broker, session);
        return;
    }
    send_text(session, "{\"action\":\"Escalate\"}");
    session_await_descriptors(session);
}
