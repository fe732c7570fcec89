/*
 * The parts of exec-broker. One struct broker is all its state; one thread waits in main.c and calls the handlers of ready watches. The
 * protocol with Node is described in docs/decisions/exec-broker.md.
 */
#ifndef EXEC_BROKER_H
#define EXEC_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "../shared/bytes.h"
#include "../stage/denials.h"
#include "../shared/pin.h"

#define CONTROL 3 /* orders from Node, and reports to it */
#define FIRST_INHERITED 4
#define LARGEST_FRAME (64u << 20)
#define MOST_DESCRIPTORS 64
#define FRAME_TIMEOUT_MS 10000

struct broker;

/* A thread that was denied a file. Some programs then go on to the next entry of PATH, where the same file may lie. */
struct denial {
    pid_t thread;
    dev_t device;
    ino_t inode;
    long until;
};

/* Something to wait for. */
struct watch {
    int fd;
    int set; /* the epoll it is in, if any */
    void (*ready)(struct broker *broker, struct watch *watch, uint32_t events);
};

struct output {
    struct watch watch;
    bool due; /* may have more to read without a further event */
};

struct broker {
    struct watch control, signals; /* always read */
    struct watch listener, sources; /* may cause reports, so not read while too many wait; an epoll for all but the listener */
    struct watch handshake;
    struct watch arrival; /* receives the listener that the sandbox itself installs */
    struct denials refusals; /* the calls that this listener reports */
    struct output outputs[2];
    struct bytes received, unsent;
    size_t sent; /* of the unsent bytes */
    int due[2], due_count; /* outputs to read, in order */
    struct session *sessions;
    unsigned session_count;
    uint64_t last_id;
    size_t frame_bytes; /* held by incomplete frames of all sessions */
    size_t asked_bytes; /* held by Node for requests without an answer */
    pid_t shell, shell_session; /* the session outlives the shell */
    bool launching; /* the shell itself has not been executed yet */
    char *shell_path;
    struct rlimit files; /* the limit of open files to give to children */
    struct denial denials[32]; /* the latest, in a ring */
    unsigned denial_count;
    char *allowed_paths[128]; /* programs that run unasked, in a ring */
    unsigned allowed_path_count;
    int stub; /* the program that takes the place of escalated callers */
    bool ending;
};

/* main.c */
/* Adds a descriptor to the epoll of `sources`. */
int watch_add(struct broker *broker, struct watch *watch, int fd, uint32_t events);
void watch_change(struct watch *watch, uint32_t events);
void watch_close(struct watch *watch);
long now_ms(void);

/* control.c: lines to Node. */
__attribute__((format(printf, 2, 3))) void send_report(struct broker *broker, const char *format, ...);
__attribute__((format(printf, 4, 5))) void send_report_block(struct broker *broker, const void *block, size_t length,
                                                      const char *format, ...);
void control_ready(struct broker *broker, struct watch *watch, uint32_t events);
/* Whether reports wait for room, and whether they are so many that none should be added. */
bool is_waiting(const struct broker *broker);
bool is_congested(const struct broker *broker);

/* output.c */
int output_open(struct broker *broker, int index);
void output_read_due(struct broker *broker);

/* start.c: a child as it is to be. */
struct placement {
    int from, to;
};

struct limit_setting {
    int resource;
    struct rlimit limit;
};

struct start {
    const char *cwd, *file;
    char **argv, **environment;
    const struct placement *placements;
    size_t placement_count;
    bool own_session; /* or only a process group of its own */
    int umask;        /* -1: as it is */
    struct pin program, workdir; /* what file and directory must be at the moment of the start */
    struct limit_setting *limits;
    size_t limit_count;
    int listener_channel; /* where to send the listener of a filter that intercepts execs; -1: none */
};

/* The process id, or -1. In both cases its end is to be read from report: see start_outcome. */
pid_t start_child(const struct broker *broker, const struct start *start, int *report);
/* Waits until the child runs: NULL; otherwise the step that failed, with errno set. Closes the report. */
const char *start_outcome(int report);

/* command.c: the strings of a command, docs/decisions/exec-broker.md. */
struct command {
    struct bytes block;
    struct start start;
};

/* Takes the block over; NULL when it is malformed. */
struct command *command_parse(struct bytes *block);
void command_free(struct command *command);

/* shell.c */
bool shell_start(struct broker *broker, struct bytes *block);

/* sessions.c */
enum session_state { SESSION_OPENING, SESSION_SEEN, SESSION_ASKED, SESSION_AWAITING_DESCRIPTORS, SESSION_RUNNING };

struct session {
    struct watch stream; /* first member */
    struct session *next;
    uint64_t id;
    pid_t asker;
    enum session_state state;
    struct bytes frame; /* header and body as far as they have come */
    size_t expected;
    long deadline; /* 0: none */
    bool surplus;  /* to be denied without asking */
    size_t asked;  /* bytes of its request that Node has */
    int descriptors[MOST_DESCRIPTORS];
    size_t descriptor_count;
    struct command *command;
    pid_t child;
    struct caller *caller; /* blocked in the kernel, or NULL */
};

struct session *session_add(struct broker *broker, pid_t asker);
/* Whether Node may be asked: there is a limit to what it has to keep. Counts until the session ends. */
bool session_may_ask(struct broker *broker, struct session *session, size_t length);
struct session *session_find(struct broker *broker, uint64_t id);
void session_end(struct broker *broker, struct session *session);
void session_read(struct broker *broker, struct watch *watch, uint32_t events);
/* Goes on with the frames after the decision to escalate. */
void session_await_descriptors(struct session *session);
void sessions_check_deadlines(struct broker *broker);
long sessions_next_deadline(const struct broker *broker);

/* handshake.c */
void handshake_ready(struct broker *broker, struct watch *watch, uint32_t events);

/* answers.c */
void answer_run(struct broker *broker, uint64_t id);
void answer_allow_path(struct broker *broker, uint64_t id);
void answer_inspect(struct broker *broker, uint64_t id);
void answer_deny(struct broker *broker, uint64_t id, const char *reason, size_t length);
void answer_escalate(struct broker *broker, uint64_t id, struct bytes *block);
void session_send(struct session *session, const struct bytes *json);
void session_deny(struct broker *broker, struct session *session, const char *reason, size_t length);

/* escalation.c */
struct json;
/* Takes the destinations of the descriptors that came along; false when they do not fit. */
bool escalation_place(struct session *session, const struct json *root);
void escalation_start(struct broker *broker, struct session *session);
void escalation_signal(struct session *session, int number);
void escalation_abandon(struct session *session);
bool escalation_ended(struct broker *broker, pid_t pid, int status);

/* children.c */
void signals_ready(struct broker *broker, struct watch *watch, uint32_t events);
void children_reap(struct broker *broker);
void children_signal(const struct broker *broker, int number);
/* Kills every process of the call, or all that have not detached themselves; how many there were. */
unsigned children_kill(struct broker *broker, bool spare_detached);

/* kernel.c: execs the kernel asks about. */
void listener_ready(struct broker *broker, struct watch *watch, uint32_t events);
void listener_arrived(struct broker *broker, struct watch *watch, uint32_t events);
void caller_inspect(struct broker *broker, struct session *session);
void caller_free(struct session *session);

/* verdicts.c */
void caller_run(struct broker *broker, struct session *session);
void caller_allow_path(struct broker *broker, struct session *session);
void caller_deny(struct broker *broker, struct session *session, const char *reason, size_t length);
void caller_escalate(struct broker *broker, struct session *session);

#endif
