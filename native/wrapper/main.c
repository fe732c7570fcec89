/*
 * usage: execve-wrapper FILE ARGV0 [ARG...]
 *
 * A patched shell starts this in place of a program. It asks the server by the socket that CODEX_ESCALATE_SOCKET names, and then
 * executes the program, replaces it while it runs elsewhere, or refuses. Nothing after FILE is an option.
 *
 * Exit codes: those of the program; 1 refused, 127 not found, 126 cannot be executed or the broker could not be asked, 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../shared/files.h"
#include "../shared/json.h"
#include "../shared/number.h"
#include "../shared/script.h"
#include "wrapper.h"

#define NOT_FOUND 127

extern char **environ;

static int handshake_socket(void)
{
    const char *text = getenv("CODEX_ESCALATE_SOCKET");
    uint64_t fd;
    const char *end = text != NULL ? read_number(text, 10, INT_MAX, &fd) : NULL;
    return end == NULL || *end != '\0' ? -1 : (int)fd;
}

/* Opens a stream, and sends its other end to the server. */
static int open_session(int handshake)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    /* If standard descriptors are closed, the ends may have got their numbers. */
    int own = move_away(ends[0]), other = move_away(ends[1]);
    int outcome = own < 0 || other < 0 ? -1 : send_with_descriptors(handshake, "", 1, &other, 1);
    int error = errno;
    close_open(&other);
    if (outcome < 0)
        close_open(&own);
    errno = error;
    return own;
}

static int run(const char *file, char **argv)
{
    const char *shell = getenv("CODEX_ESCALATE_SHELL");
    const char *failure = execute_file(file, argv, environ, shell != NULL && *shell == '/' ? shell : "/bin/sh");
    int code = errno == ENOENT ? NOT_FOUND : CANNOT;
    print_stderr(file, ": ", failure);
    return code;
}

static int refuse(const struct json *reason)
{
    char *text = reason != NULL ? json_text(reason) : NULL;
    if (text != NULL)
        print_stderr("Execution denied: ", text);
    else
        print_stderr("Execution denied");
    free(text);
    return 1;
}

/* Accepts only the three answers, exactly as they are specified. */
static int obey(const struct bytes *frame, int stream, int handshake, char **argv)
{
    struct json root, action, denial, reason;
    if (json_parse(frame->start, frame->length, &root) && json_member(&root, "action", &action) == 1) {
        if (json_is(&action, "Run"))
            return run(argv[1], argv + 2);
        if (json_is(&action, "Escalate"))
            return forward_command(stream, handshake);
        if (json_member(&action, "Deny", &denial) == 1 && json_member_count(&action) == 1 && denial.kind == JSON_OBJECT) {
            int reasons = json_member(&denial, "reason", &reason);
            if (reasons == 0 || (reasons == 1 && reason.kind == JSON_NULL))
                return refuse(NULL);
            if (reasons == 1 && reason.kind == JSON_STRING)
                return refuse(&reason);
        }
    }
    print_stderr("execve-wrapper: invalid answer from the server");
    return CANNOT;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        print_stderr("usage: execve-wrapper FILE ARGV0 [ARG...]");
        return 2;
    }
    int handshake = handshake_socket();
    if (handshake < 0) {
        print_stderr("execve-wrapper: CODEX_ESCALATE_SOCKET names no descriptor");
        return CANNOT;
    }
    int stream = open_session(handshake);
    if (stream < 0)
        return complain("the server cannot be reached");
    struct bytes request = {0}, answer = {0};
    if (write_request(&request, argv[1], argv + 2, environ) < 0 || send_frame(stream, &request, NULL, 0) < 0)
        return complain("the server cannot be asked");
    bytes_free(&request);
    if (receive_frame(stream, &answer) < 0)
        return complain("there is no answer");
    return obey(&answer, stream, handshake, argv);
}
