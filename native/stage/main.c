/*
 * usage: sandbox-stage init CONTROL FD [EXTRA]   stays as the first process of a sandbox; its child does the same as:
 *        sandbox-stage run FD [EXTRA]          becomes the command described in FD, which inherits the descriptor EXTRA
 *        sandbox-stage refuse FD              prints the text in FD to stderr
 *        sandbox-stage probe                  exits with 0 if the calls of a command can be watched
 *        sandbox-stage network CHANNEL        sends its network namespace over CHANNEL
 *        sandbox-stage join FD LAUNCHER ...   becomes a launcher of sandboxes, in the network namespace FD
 *
 * The last step before a sandboxed command: runs inside the sandbox, where bubblewrap has left it. FD holds strings,
 * each ended by NUL: how many bytes follow, without all of which nothing is run; the descriptor of a seccomp program or
 * -1, how its refusals are watched (see watch()), the descriptor of a channel to the server and the number of ports to listen on for it and the ports, the
 * number of strings about mounts and for each mount its path and what must be there (see mounted.h), the working
 * directory and what it must be (see pin.h), the number of files to try and the files, the number of arguments and the arguments, and the environment.
 *
 * Exit codes: those of the command; 127 not found, 126 cannot be executed, 1 anything else, 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../shared/bytes.h"
#include "../shared/calls.h"
#include "denials.h"
#include "../shared/exec.h"
#include "../shared/files.h"
#include "inner-listeners.h"
#include "mounted.h"
#include "network.h"
#include "../shared/number.h"
#include "../shared/pin.h"
#include "reaper.h"
#include "../shared/print-stderr.h"

/* The start of this program's messages, by which src/host/sandbox/denial.ts tells them from a command's. */
#define PREFIX "exec-server: "

struct reader {
    char *at, *end;
};

static int complain(int code, const char *what, const char *name)
{
    print_stderr(PREFIX, what, " ", name, ": ", strerror(errno));
    return code;
}

static int read_whole(int fd, struct reader *reader)
{
    struct bytes content = {0};
    char part[4096];
    ssize_t count;
    while ((count = read_retrying(fd, part, sizeof part)) > 0)
        bytes_add(&content, part, (size_t)count);
    bytes_add(&content, "", 1);
    if (count < 0 || content.failed)
        return -1;
    reader->at = content.start;
    reader->end = content.start + content.length - 1;
    return 0;
}

/* -1 for a text that is not a number. */
static int number_in(const char *text)
{
    uint64_t number;
    return read_number(text, 10, INT_MAX, &number) != NULL ? (int)number : -1;
}

static char *next_string(struct reader *reader)
{
    if (reader->at >= reader->end)
        return "";
    char *text = reader->at;
    reader->at += strlen(text) + 1;
    return text;
}

/* So many strings as a NULL-terminated list. */
static char **next_strings(struct reader *reader, size_t count)
{
    char **list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++)
        list[i] = next_string(reader);
    return list;
}

static size_t remaining(const struct reader *reader)
{
    size_t count = 0;
    for (char *at = reader->at; at < reader->end; at++)
        count += *at == '\0';
    return count;
}

/* A list that announces its length; NULL when there are fewer strings than that. */
static char **next_list(struct reader *reader, size_t *count)
{
    int number = number_in(next_string(reader));
    *count = number > 0 ? (size_t)number : 0;
    return *count <= remaining(reader) ? next_strings(reader, *count) : NULL;
}

static int install_filter(int fd)
{
    struct reader program;
    if (read_whole(fd, &program) < 0)
        return -1;
    struct sock_fprog filter = {
        .len = (unsigned short)((size_t)(program.end - program.at) / sizeof(struct sock_filter)),
        .filter = (struct sock_filter *)program.at,
    };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

#define MOST_INSTRUCTIONS 4096

/* A seccomp program written as hexadecimal digits. */
static bool decode_program(const char *digits, struct sock_fprog *program)
{
    static struct sock_filter instructions[MOST_INSTRUCTIONS];
    unsigned char *bytes = (unsigned char *)instructions;
    size_t length = strlen(digits) / 2;
    if (length == 0 || length % sizeof *instructions != 0 || length > sizeof instructions)
        return false;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(digit_of(digits[2 * i]) << 4 | digit_of(digits[2 * i + 1]));
    *program = (struct sock_fprog){.len = (unsigned short)(length / sizeof *instructions), .filter = instructions};
    return true;
}

struct watch {
    int reports;    /* the descriptor for reports of refusals; -1: none */
    int supervisor; /* the channel to a supervisor outside the sandbox; -1: none */
    struct watch_options options;
    const char *program;
};

/*
 * A descriptor or -1; then a word with the letters n for a network of its own, p for a partial view and o for a supervisor with
 * another root directory, the descriptor of a channel to that or -1, and the program.
 */
static struct watch next_watch(struct reader *request)
{
    struct watch watch = {.reports = number_in(next_string(request))};
    const char *letters = watch.reports < 0 ? "" : next_string(request);
    watch.options.own_network = strchr(letters, 'n') != NULL;
    watch.options.partial_view = strchr(letters, 'p') != NULL;
    watch.options.other_view = strchr(letters, 'o') != NULL;
    watch.supervisor = watch.reports < 0 ? -1 : number_in(next_string(request));
    watch.program = watch.reports < 0 ? "" : next_string(request);
    return watch;
}

static int install_watched(const struct watch *watch, int supervisor)
{
    struct sock_fprog program;
    errno = EINVAL;
    if (!decode_program(watch->program, &program))
        return -1;
    return watch_self(&program, supervisor, watch->reports, watch->options);
}

static int run_first(char **files, char **arguments, char **environment)
{
    const char *failed = exec_first(files, arguments, environment);
    bool missing = errno == ENOENT || errno == ENOTDIR;
    return complain(missing ? 127 : 126, "cannot run", failed != NULL ? failed : arguments[0]);
}

/* Closes all descriptors except the standard streams and `extra`. */
static int close_others(int extra)
{
    if (extra < 3)
        return close_between(3, ~0U, 0);
    if (extra > 3 && close_between(3, (unsigned)extra - 1, 0) < 0)
        return -1;
    return close_between((unsigned)extra + 1, ~0U, 0);
}

/* Whether the request is complete: its sender may have been killed, and a part of a command would be another command. */
static bool is_complete(struct reader *request)
{
    int length = number_in(next_string(request));
    errno = EPIPE;
    return request->end - request->at == length;
}

/* Paths and pins in turn; returns the path of a mount that is missing or another one, else NULL. */
static const char *misplaced(char **mounts, size_t count)
{
    struct pin pin;
    for (size_t i = 0; i + 1 < count; i += 2)
        if (!pin_read(mounts[i + 1], &pin) || mounted_check(mounts[i], &pin) < 0)
            return mounts[i];
    return NULL;
}

/* `supervisor` is the channel to the first process of the sandbox; -1 without one: a process of its own is started then. */
static int run(int fd, int extra, int supervisor)
{
    struct reader request;
    if (read_whole(fd, &request) < 0 || !is_complete(&request))
        return complain(1, "cannot read", "the request");
    int filter = number_in(next_string(&request));
    struct watch watch = next_watch(&request);
    int channel = number_in(next_string(&request));
    size_t port_count, mount_count, count;
    char **ports = next_list(&request, &port_count);
    char **mounts = next_list(&request, &mount_count);
    const char *directory = next_string(&request);
    struct pin workdir;
    bool is_pinned = pin_read(next_string(&request), &workdir);
    char **files = next_list(&request, &count);
    char **arguments = next_list(&request, &count);
    char **environment = next_strings(&request, remaining(&request));
    if (ports == NULL || mounts == NULL || files == NULL || arguments == NULL || environment == NULL || !is_pinned)
        return complain(1, "cannot read", "the request");
    const char *moved = misplaced(mounts, mount_count);
    if (moved != NULL)
        return complain(1, "the sandbox was changed while it was built at", moved);
    if (port_count > 0 && listen_for_server(channel, ports, port_count) < 0)
        return complain(1, "cannot listen for", "the proxies");
    if (chdir(directory) < 0 || pin_check(&workdir, ".") < 0)
        return complain(1, "cannot enter the working directory", directory);
    if (filter >= 0 && install_filter(filter) < 0)
        return complain(1, "cannot install", "the seccomp program");
    if (watch.supervisor >= 0)
        supervisor = watch.supervisor;
    if (watch.reports >= 0 && supervisor < 0)
        supervisor = supervisor_start();
    if (watch.reports >= 0 && (supervisor < 0 || install_watched(&watch, supervisor) < 0))
        return complain(1, "cannot watch", "the command");
    if (close_others(extra) < 0)
        return complain(1, "cannot close", "inherited descriptors");
    return run_first(files, arguments, environment);
}

static int run_below(int control, int fd, int extra)
{
    int supervisor;
    if (reaper_fork(control, &supervisor) < 0)
        return complain(1, "cannot start", "the first process");
    return run(fd, extra, supervisor);
}

static int refuse(int fd)
{
    struct reader text;
    if (read_whole(fd, &text) < 0)
        return complain(1, "cannot read", "the refusal");
    print_stderr(PREFIX, text.at);
    return 1;
}

static int probe(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    return install_listening(&program) < 0;
}

int main(int argc, char **argv)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* until the command is executed, which is dumpable again */
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "init") == 0)
        return run_below(number_in(argv[2]), number_in(argv[3]), argc == 5 ? number_in(argv[4]) : -1);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "run") == 0)
        return run(number_in(argv[2]), argc == 4 ? number_in(argv[3]) : -1, -1);
    if (argc == 3 && strcmp(argv[1], "refuse") == 0)
        return refuse(number_in(argv[2]));
    if (argc == 2 && strcmp(argv[1], "probe") == 0)
        return probe();
    if (argc == 3 && strcmp(argv[1], "network") == 0)
        return send_network(number_in(argv[2])) < 0 ? complain(1, "cannot send", "the network") : 0;
    if (argc >= 4 && strcmp(argv[1], "join") == 0 && launch_in_network(number_in(argv[2]), argv + 3) < 0)
        return complain(1, "cannot enter the network of the session for", argv[3]);
    print_stderr("usage: sandbox-stage init CONTROL FD [EXTRA] | run FD [EXTRA] | refuse FD | probe | network CHANNEL | join FD LAUNCHER ...");
    return 2;
}
