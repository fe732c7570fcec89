/*
 * The I/O thread and what it shares with JavaScript.
 *
 * The thread alone reads, reaps and closes outputs. Fields marked (L) are guarded by loop->lock; the others of a child
 * belong to the thread. A child lives from loop_add until JavaScript has got its EVENT_RELEASED. A connection is a child without a
 * process: its socket is both its first output and its input.
 */
#ifndef EXEC_IO_H
#define EXEC_IO_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "spawn.h"

#define OUTPUTS 2

/* Raw bytes in one chunk: enough to make the cost per chunk negligible, few enough to start sending early. */
#define CHUNK_BYTES (128 * 1024)
/* The most raw bytes of one stream that JavaScript has not consumed; then the child waits. */
#define WINDOW_BYTES (256 * 1024)
/* The size of a pipe with much traffic: a fourth of the switches between its ends. */
#define ROOMY_PIPE_BYTES (256 * 1024)
/* Nothing is read into less room than this, as it would cut the output into small chunks. */
#define LEAST_ROOM (32 * 1024)
/* The overhead of a chunk, which counts in the window, so that a window of one-byte chunks stays small, too. */
#define CHUNK_OVERHEAD 512

enum event_kind {
    EVENT_OUTPUT,
    EVENT_ENDED,
    EVENT_EXITED,
    EVENT_KILLED,
    EVENT_DRAINED,
    EVENT_INPUT_FAILED,
    EVENT_RELEASED,
    EVENT_CONNECTED,
};

struct event {
    struct event *next;
    uint32_t child;
    enum event_kind kind;
    int stream;
    int value;       /* exit code, signal or errno, of an ended connection too; raw bytes of an output */
    uint8_t *buffer; /* outputs: headroom, base64 text, tailroom */
    size_t capacity;
    uint8_t carry[2]; /* the raw bytes of an incomplete last group */
};

struct output {
    int fd; /* -1: ended */
    size_t outstanding; /* (L) */
    bool stalled;       /* (L) not read, because the window is full */
    bool listed;        /* in loop->ready */
    bool roomy;         /* the pipe has been enlarged */
    uint64_t posted_at; /* when the last chunk was queued, in nanoseconds */
    struct child *child;
    struct output *next_ready;
};

struct piece {
    struct piece *next;
    size_t length, written;
    uint8_t bytes[];
};

/* All (L). */
struct input {
    int fd; /* -1: none or closed */
    struct piece *first, *last;
    size_t queued;
    bool ending, watched;
    bool socket; /* its end is announced to the other side */
    bool roomy; /* the pipe has been enlarged */
};

struct child {
    uint32_t id;
    pid_t pid;
    int pidfd;
    bool terminal;      /* outputs[0] and input are one terminal */
    bool connecting;    /* (L) a connection that is not made yet */
    bool background;    /* (L) does not keep the process alive */
    bool reaped;        /* (L) or it never had a process */
    bool closing;       /* (L) outputs are to be closed */
    bool attention;     /* (L) in loop->attention */
    bool releasing;     /* in loop->releasing, or EVENT_RELEASED queued */
    struct event *last; /* (L) valid while generation is the loop's */
    uint64_t generation;
    struct output outputs[OUTPUTS];
    struct input input;
    struct child *next_attention;
    struct child *next_releasing;
};

struct loop {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll, wake;
    size_t headroom, tailroom;
    void (*notify)(void *context);
    void *context;

    struct child **children; /* (L) by id */
    uint32_t capacity;       /* (L) */
    struct event *first, *last; /* (L) */
    uint64_t generation;        /* (L) grows whenever JavaScript takes the queue */
    bool notified;              /* (L) */
    bool stopping;              /* (L) */
    struct child *attention;    /* (L) */

    struct output *ready; /* outputs with more to read at once */
    struct child *releasing;
    uint8_t *scratch;
};

/* The source of an epoll event; the outputs are numbered from SOURCE_OUTPUT. */
enum source { SOURCE_WAKE, SOURCE_PROCESS, SOURCE_INPUT, SOURCE_OUTPUT };

/* loop.c */
int loop_watch(struct loop *loop, int operation, int fd, uint32_t events, enum source source, uint32_t child);
struct loop *loop_start(size_t headroom, size_t tailroom, void (*notify)(void *), void *context);
void loop_stop(struct loop *loop); /* kills the children that are left */
void loop_attend(struct loop *loop, struct child *child); /* locked */
void loop_release_settled(struct loop *loop, struct child *child);

/* children.c */
struct child *loop_add(struct loop *loop, const struct spawn_result *result, bool terminal);
struct child *loop_add_connection(struct loop *loop, int fd); /* takes the socket, also when it fails */
struct child *loop_find(struct loop *loop, uint32_t id);  /* locked */
void loop_remove(struct loop *loop, struct child *child); /* locked */
void loop_abandon(struct loop *loop);

/* queue.c */
void queue_post(struct loop *loop, struct child *child, enum event_kind kind, int stream, int value); /* locked */
void queue_output(struct loop *loop, struct output *output, uint8_t *bytes, size_t length);
struct event *queue_take(struct loop *loop);
void queue_flush(struct loop *loop); /* tells JavaScript once about everything queued since it last looked */
void event_free(struct event *event);

/* output.c */
void output_ready(struct loop *loop, struct output *output);
void output_round(struct loop *loop);
void output_drain(struct loop *loop, struct child *child);
void output_close(struct loop *loop, struct output *output, int error);
void output_grant(struct loop *loop, struct child *child, int stream, size_t bytes); /* locked */

/* connection.c, locked */
int connection_watch(struct loop *loop, struct child *child);
void connection_continue(struct loop *loop, struct child *child);
/*
 * Ends the input of a connection whose other end is gone. Before the output has ended its reader finds that out, and while something
 * is queued its writer.
 */
void connection_check(struct loop *loop, struct child *child);

/* input.c, all locked; input_continue unlocks while it writes */
long input_write(struct loop *loop, struct child *child, const uint8_t *bytes, size_t length);
void input_end(struct input *input);
void input_continue(struct loop *loop, struct child *child);
void input_fail(struct loop *loop, struct child *child, int error);
void input_drop(struct input *input);

#endif
