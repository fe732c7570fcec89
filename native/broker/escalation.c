/* A command that runs outside for a session: its start, signals for it, and its end. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker.h"
#include "../shared/json.h"

#define ABANDONED_TIMEOUT_MS 2000
#define CANNOT 126
#define NOT_FOUND 127

bool escalation_place(struct session *session, const struct json *root)
{
    struct json list, element;
    if (json_member(root, "fds", &list) != 1 || list.kind != JSON_ARRAY)
        return false;
    struct json_elements elements = json_elements(&list);
    struct placement *places = calloc(MOST_DESCRIPTORS, sizeof *places);
    struct start *start = &session->command->start;
    start->placements = places;
    size_t count = 0;
    long to;
    while (places != NULL && json_next(&elements, &element)) {
        if (count == session->descriptor_count || !json_integer(&element, 0, 65535, &to))
            return false;
        for (size_t i = 0; i < count; i++)
            if (places[i].to == to)
                return false;
        places[count] = (struct placement){.from = session->descriptors[count], .to = (int)to};
        count++;
    }
    start->placement_count = count;
    return places != NULL && count == session->descriptor_count;
}

static void report_failure(struct broker *broker, struct session *session, const char *step, int error)
{
    struct bytes json = {0}, text = {0};
    bool about_directory = strcmp(step, "chdir") == 0 || strcmp(step, "workdir") == 0;
    const struct start *start = &session->command->start;
    bytes_print(&text, "%s: %s", about_directory ? start->cwd : start->file, strerror(error));
    bytes_print(&json, "{\"exit_code\":%d,\"error\":", error == ENOENT && !about_directory ? NOT_FOUND : CANNOT);
    json_write_string(&json, text.start, text.length);
    bytes_add_text(&json, "}");
    session_send(session, &json);
    bytes_free(&json);
    bytes_free(&text);
    send_report(broker, "unstarted %llu %s %d", (unsigned long long)session->id, step, error);
    session_end(broker, session);
}

void escalation_start(struct broker *broker, struct session *session)
{
    int report;
    session->child = start_child(broker, &session->command->start, &report);
    const char *step = session->child < 0 ? "fork" : start_outcome(report);
    int error = errno;
    while (session->descriptor_count > 0)
        close(session->descriptors[--session->descriptor_count]);
    if (step != NULL) {
        session->child = 0; /* reaped like any orphan */
        report_failure(broker, session, step, error);
        return;
    }
    session->state = SESSION_RUNNING;
    command_free(session->command);
    session->command = NULL;
    send_report(broker, "running %llu %ld", (unsigned long long)session->id, (long)session->child);
}

void escalation_signal(struct session *session, int number)
{
    if (session->child > 0)
        kill(-session->child, number);
}

/* The stub of the command has ended, so no process waits for its result any more. */
void escalation_abandon(struct session *session)
{
    watch_close(&session->stream);
    escalation_signal(session, SIGHUP);
    escalation_signal(session, SIGTERM);
    escalation_signal(session, SIGCONT);
    session->deadline = now_ms() + ABANDONED_TIMEOUT_MS;
}

bool escalation_ended(struct broker *broker, pid_t pid, int status)
{
    struct session *session = broker->sessions;
    while (session != NULL && session->child != pid)
        session = session->next;
    if (session == NULL)
        return false;
    struct bytes json = {0};
    bool killed = WIFSIGNALED(status);
    int number = killed ? WTERMSIG(status) : WEXITSTATUS(status);
    if (killed)
        bytes_print(&json, "{\"exit_code\":%d,\"signal\":%d}", 128 + number, number);
    else
        bytes_print(&json, "{\"exit_code\":%d}", number);
    session_send(session, &json);
    bytes_free(&json);
    send_report(broker, "finished %llu %s %d", (unsigned long long)session->id, killed ? "killed" : "exited", number);
    session_end(broker, session);
    return true;
}
