/* Starts the shell of the call, or the launcher of its sandbox. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker.h"
#include "../shared/files.h"

#define MOST_INHERITED 4096
#define HIGHEST_SOCKET 65535
#define MOST_ARGUMENTS 4000000L

struct request {
    struct start start;
    struct placement *placements;
    int socket; /* its number in the shell, or -1 */
    bool all;     /* execs are intercepted by the kernel */
    bool watched; /* and by a filter that the sandbox installs, whose listener comes by the socket */
    size_t inherited;
};

static bool parse(struct bytes *block, struct request *request, struct broker *broker)
{
    struct strings strings = {.at = block->start, .end = block->start + block->length};
    struct start *start = &request->start;
    request->socket = (int)strings_next_number(&strings, HIGHEST_SOCKET);
    const char *mode = strings_next(&strings);
    request->watched = strcmp(mode, "watched") == 0;
    request->all = request->watched || strcmp(mode, "all") == 0;
    broker->shell_path = strings_next(&strings);
    long inherited = strings_next_number(&strings, MOST_INHERITED);
    start->cwd = strings_next(&strings);
    start->file = strings_next(&strings);
    long count = strings_next_number(&strings, MOST_ARGUMENTS);
    if (strings.failed || inherited < 0 || count < 1 || (!request->all && strcmp(mode, "bash") != 0) || (request->watched && request->socket < 0) ||
        (request->socket >= 0 && request->socket < 3 + inherited))
        return false;
    request->inherited = (size_t)inherited;
    start->argv = strings_next_list(&strings, (size_t)count);
    start->environment = strings_next_list(&strings, strings_left(&strings));
    request->placements = calloc((size_t)inherited + 4, sizeof *request->placements);
    return start->argv != NULL && start->environment != NULL && request->placements != NULL;
}

static void place(struct request *request, int from, int to)
{
    request->placements[request->start.placement_count++] = (struct placement){.from = from, .to = to};
}

/*
 * Opens the socket on which wrappers send their streams; returns the shell's end. It preserves message boundaries like a datagram
 * socket, but can send only to its other end, whatever address a command gives.
 */
static int open_handshake(struct broker *broker)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    broker->handshake.ready = handshake_ready;
    if (watch_add(broker, &broker->handshake, ends[0], EPOLLIN) < 0)
        close_open(&ends[1]);
    return ends[1];
}

static int receive_listener(int channel)
{
    char byte;
    int listener = -1;
    struct iovec content = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof listener)];
    } control;
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length;
    do
        length = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    while (length < 0 && errno == EINTR);
    struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header != NULL && header->cmsg_type == SCM_RIGHTS)
        memcpy(&listener, CMSG_DATA(header), sizeof listener);
    return listener;
}

/* Waits for the start; answers the child's own execs meanwhile, if they are intercepted. */
static const char *await_start(struct broker *broker, int report, int channel)
{
    int listener = channel >= 0 ? receive_listener(channel) : -1;
    if (listener < 0)
        return start_outcome(report);
    broker->listener = (struct watch){.fd = listener, .ready = listener_ready};
    for (;;) {
        struct pollfd ready[] = {{.fd = report, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return "poll";
        if (ready[0].revents != 0)
            return start_outcome(report);
        if ((ready[1].revents & POLLIN) != 0)
            listener_ready(broker, &broker->listener, EPOLLIN);
    }
}

/* Waits for the start; the listener is received later, when the sandbox has been made, if that succeeds. */
static const char *await_watched(struct broker *broker, int report, int channel[2])
{
    broker->arrival.ready = listener_arrived;
    if (watch_add(broker, &broker->arrival, channel[0], EPOLLIN) < 0)
        return "watch";
    channel[0] = -1;
    return start_outcome(report);
}

/* NULL, or the step that failed. */
static const char *launch(struct broker *broker, struct request *request, int own[4], int channel[2])
{
    own[0] = open_retrying("/dev/null", O_RDONLY | O_CLOEXEC);
    own[1] = output_open(broker, 0);
    own[2] = output_open(broker, 1);
    for (int i = 0; i < 3; i++) {
        if (own[i] < 0)
            return "stdio";
        place(request, own[i], i);
    }
    for (size_t i = 0; i < request->inherited; i++)
        place(request, FIRST_INHERITED + (int)i, 3 + (int)i);
    if (request->socket >= 0 && !request->watched) {
        int handshake = open_handshake(broker);
        if (handshake < 0)
            return "socket";
        own[3] = handshake;
        place(request, handshake, request->socket);
    }
    if (request->all && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0)
        return "socket";
    if (request->watched)
        place(request, channel[1], request->socket);
    request->start.listener_channel = request->watched ? -1 : channel[1];
    request->start.placements = request->placements;
    request->start.own_session = true;
    request->start.umask = -1;
    int report;
    broker->launching = request->all;
    broker->shell = start_child(broker, &request->start, &report);
    if (broker->shell < 0)
        return "fork";
    broker->shell_session = broker->shell;
    close_open(&channel[1]);
    return request->watched ? await_watched(broker, report, channel) : await_start(broker, report, channel[0]);
}

bool shell_start(struct broker *broker, struct bytes *block)
{
    struct request request = {0};
    if (broker->shell != 0 || !parse(block, &request, broker))
        return false;
    *block = (struct bytes){0}; /* shell_path points into it as long as there is a broker */
    int own[4] = {-1, -1, -1, -1}, channel[2] = {-1, -1};
    const char *step = launch(broker, &request, own, channel);
    if (step == NULL)
        send_report(broker, "started %ld", (long)broker->shell);
    else
        send_report(broker, "failed %s %d", step, errno);
    if (step != NULL)
        broker->shell = -1;
    for (int i = 0; i < 4; i++)
        close_open(&own[i]);
    for (size_t i = 0; i < request.inherited; i++)
        close(FIRST_INHERITED + (int)i);
    close_open(&channel[0]);
    close_open(&channel[1]);
    free(request.placements);
    free(request.start.argv);
    free(request.start.environment);
    return true;
}
