/*
 * peer-probe MODE PORT [TOKEN]: asks the server on 127.0.0.1:PORT for a WebSocket and prints the status line, then the body
 * of a refusal. Modes: plain; undumpable (no process of the same user may look at it); in-flight (the socket is on its way over
 * a Unix socket while the server decides); thread (only a second thread, with descriptors of its own, has the socket); relay (the
 * socket passes from parent to child until an answer comes); ping-pong (it passes between two processes over a Unix socket);
 * stay (asks nothing: an undumpable process, until its input ends); execs (asks nothing: one of many threads executes the program
 * again and again); notice (asks nothing: says "told" for every input and "interrupted" when it was stopped meanwhile).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int port;
static const char *token;

static int ask(void)
{
    char request[1024];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int length = snprintf(request, sizeof request,
                          "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                          "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s%s%s\r\n",
                          token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 || write(fd, request, length) != length) {
        perror("connect");
        exit(1);
    }
    return fd;
}

static void tell(int fd)
{
    char answer[4096];
    size_t length = 0;
    ssize_t count;
    while (length < sizeof answer - 1 && (count = read(fd, answer + length, sizeof answer - 1 - length)) > 0) {
        length += count;
        answer[length] = '\0';
        if (strstr(answer, "\r\n\r\n") && strncmp(answer, "HTTP/1.1 101", 12) == 0)
            break; /* stays open */
    }
    char *body = strstr(answer, "\r\n\r\n");
    printf("%.*s\n%s\n", (int)strcspn(answer, "\r"), answer, body ? body + 4 : "");
    fflush(stdout);
}

static int pass(int over, int fd, int send)
{
    char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
    struct iovec content = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (send) {
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
        return sendmsg(over, &message, 0) < 0;
    }
    recvmsg(over, &message, 0);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static int is_answered(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

/* Ends when the last of them has closed `over`. */
static void relay(int over)
{
    int fd = ask();
    while (!is_answered(fd))
        if (fork() > 0)
            _exit(0);
    tell(fd);
    close(over);
}

static void ping_pong(int ends[2])
{
    int first = fork() > 0, over = ends[first], fd;
    close(ends[!first]);
    fd = first ? ask() : pass(over, -1, 0);
    while (!is_answered(fd)) {
        pass(over, fd, 1);
        close(fd);
        fd = pass(over, -1, 0);
    }
    tell(fd);
    kill(0, SIGKILL);
}

static void *alone(void *unused)
{
    unshare(CLONE_FILES);
    tell(ask());
    return unused;
}

static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void *execute_again(void *arguments)
{
    usleep(300 + getpid() % 500);
    execv("/proc/self/exe", arguments);
    return NULL;
}

static void execute_for_ever(char **arguments)
{
    pthread_t thread;
    for (int i = 0; i < 20; i++)
        pthread_create(&thread, NULL, idle, NULL);
    pthread_create(&thread, NULL, execute_again, arguments);
    idle(NULL);
}

/* Of the calls that wait this is one that a stop ends with EINTR, also without a handler. */
static void notice_stops(void)
{
    char room[64];
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
    puts("here");
    fflush(stdout);
    for (;;) {
        int count = epoll_wait(epoll, &event, 1, -1);
        if (count > 0 && read(0, room, sizeof room) <= 0)
            return;
        puts(count > 0 ? "told" : "interrupted");
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    port = argc > 2 ? atoi(argv[2]) : 0;
    token = argc > 3 ? argv[3] : NULL;
    if (strcmp(mode, "in-flight") == 0) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
            return 1;
        int fd = ask();
        pass(ends[0], fd, 1);
        close(fd);
        sleep(1);
        tell(pass(ends[1], -1, 0));
    } else if (strcmp(mode, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, alone, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(mode, "relay") == 0) {
        int ends[2];
        char byte;
        if (pipe(ends) < 0)
            return 1;
        if (fork() == 0) {
            close(ends[0]);
            relay(ends[1]);
            return 0;
        }
        close(ends[1]);
        return read(ends[0], &byte, 1) != 0;
    } else if (strcmp(mode, "ping-pong") == 0) {
        int one[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, one) < 0)
            return 1;
        if (fork() == 0) {
            setpgid(0, 0);
            ping_pong(one);
        }
        wait(NULL);
    } else if (strcmp(mode, "execs") == 0) {
        execute_for_ever(argv);
    } else if (strcmp(mode, "notice") == 0) {
        notice_stops();
    } else if (strcmp(mode, "stay") == 0) {
        char byte;
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        puts("here");
        fflush(stdout);
        return read(0, &byte, 1) != 0;
    } else {
        if (strcmp(mode, "undumpable") == 0)
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        tell(ask());
    }
    return 0;
}
