/*
 * usage: fs-watch FD
 *
 * Watches one path, which is asked for through the socket FD (request.h), and tells what changes there (message.h). The server sends a
 * byte for each message of changes that it is ready for; until then changes are joined, and beyond a limit given up with a word about
 * it. Ends with the socket, or when the path is gone. Runs inside a sandbox if the client has one, and sees what that may read.
 *
 * Exit codes: 0 it ended, 1 it failed (one line on stderr), 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../shared/calls.h"
#include "../shared/files.h"
#include "../stage/mounted.h"
#include "message.h"
#include "request.h"

struct server {
    int socket;
    bool has_asked;
    bool has_watching; /* it knows that the watch has begun */
    int64_t since;     /* of the first change that is not told; 0 for none */
};

static int complain(const char *what)
{
    dprintf(2, "fs-watch: %s: %s\n", what, strerror(errno));
    return 1;
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000 + 1;
}

static bool read_all(int fd, void *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        ssize_t count = read_retrying(fd, (char *)bytes + at, length - at);
        if (count <= 0)
            return false;
        at += (size_t)count;
    }
    return true;
}

static bool tell(struct server *server, struct watcher *watcher, int64_t now)
{
    bool is_over = watcher->ended || watcher->failure != FAILED_NOT;
    struct changes *changes = &watcher->changes;
    size_t ready = is_over ? changes->count : changes_ready(changes, now);
    bool has_news = ready > 0 || changes->overflow || is_over;
    if (server->since == 0 && (changes->count > 0 || changes->overflow))
        server->since = now;
    bool is_due = is_over || changes->overflow || now >= server->since + BATCH_MS;
    if (!server->has_asked || watcher->quiet > 0 || !has_news || !is_due)
        return true;
    server->has_asked = false;
    bool sent = message_changes(server->socket, watcher, ready);
    if (changes->count == 0)
        server->since = 0;
    return sent;
}

/* How long to wait for the kernel or the server: until something is due, or for good (-1). */
static int waiting_time(const struct server *server, const struct watcher *watcher, int64_t now)
{
    int64_t due = watcher_due(watcher);
    int64_t ready = changes_ready_at(&watcher->changes);
    bool can_tell = server->has_asked && server->since != 0;
    int64_t batch = can_tell ? server->since + BATCH_MS : 0;
    if (can_tell && ready != 0 && changes_ready(&watcher->changes, now) == 0)
        batch = ready > batch ? ready : batch;
    if (due == 0 || (batch != 0 && batch < due))
        due = batch;
    return due == 0 ? -1 : due <= now ? 0 : (int)(due - now);
}

/* Lets the server ask for the next message; false when it has closed the socket. */
static bool hear(struct server *server)
{
    char byte;
    if (read_retrying(server->socket, &byte, 1) != 1)
        return false;
    server->has_asked = true;
    return true;
}

static int serve(struct server *server, struct watcher *watcher)
{
    bool scans = true;
    for (;;) {
        struct pollfd ready[] = {{.fd = watcher->tree.inotify, .events = POLLIN}, {.fd = server->socket, .events = POLLIN}};
        int64_t now = milliseconds();
        if (poll(ready, 2, scans ? 0 : waiting_time(server, watcher, now)) < 0 && errno != EINTR)
            return complain("poll");
        now = milliseconds();
        if (ready[1].revents != 0 && !hear(server))
            return 0;
        if (ready[0].revents == 0 || !watcher_read(watcher, now))
            watcher_scan(watcher);
        scans = watcher->scan_first != NULL;
        watcher_tick(watcher, now);
        if (!server->has_watching && watcher->failure != FAILED_NOT)
            return message_refused(server->socket, watcher) ? 0 : 1;
        if (!server->has_watching && watcher->quiet == 0) {
            server->has_watching = true;
            if (!message_watching(server->socket, watcher))
                return 1;
        }
        if (!tell(server, watcher, now))
            return 0;
        bool is_over = watcher->ended || watcher->failure != FAILED_NOT;
        if (is_over && watcher->changes.count == 0 && !server->has_asked)
            return 0;
    }
}

int main(int argc, char **argv)
{
    static struct watcher watcher;
    struct request request;
    uint8_t head[REQUEST_HEAD];
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no command may trace it or reach its file through /proc */
    int fd = argc == 2 ? atoi(argv[1]) : -1;
    if (fd < 3) {
        dprintf(2, "usage: fs-watch FD\n");
        return 2;
    }
    if (fd != 3 && dup2(fd, 3) < 0)
        return complain("socket");
    if (close_between(4, ~0U, 0) < 0)
        return complain("inherited descriptors");
    signal(SIGPIPE, SIG_IGN);
    struct server server = {.socket = 3};
    size_t length = read_all(3, head, sizeof head) ? request_body_length(head) : 0;
    char *body = length > 0 ? malloc(length) : NULL;
    if (body == NULL || !read_all(3, body, length) || !request_parse(&request, head, body)) {
        errno = EINVAL;
        return complain("request");
    }
    if (request.mounts_length > 0 && mounted_check_all(request.mounts, request.mounts_length) < 0)
        return complain("the sandbox was changed while it was built");
    bool is_open = watcher_open(&watcher, request.path, request.recursive, request.most_directories);
    free(body);
    if (!is_open)
        return message_refused(3, &watcher) ? 0 : 1;
    return serve(&server, &watcher);
}
