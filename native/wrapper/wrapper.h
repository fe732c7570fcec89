/* The parts of execve-wrapper, and of the stub that replaces a command run elsewhere. */
#ifndef EXEC_WRAPPER_H
#define EXEC_WRAPPER_H

#include <stddef.h>

#include "../shared/bytes.h"
#include "../shared/print-stderr.h"

/* Descriptors below this number are sent with an escalated command. */
#define FORWARDED_DESCRIPTORS 64

/* The exit code where nothing could be executed. */
#define CANNOT 126

/* complain.c: prints what failed, and errno; returns CANNOT. */
int complain(const char *what);

/* frames.c: a length of four bytes, little-endian, and so many bytes of JSON. All return -1 with errno on failure. */
int send_with_descriptors(int fd, const void *content, size_t length, const int *descriptors, size_t count);
int send_frame(int stream, const struct bytes *json, const int *descriptors, size_t count);
/* The JSON of the next frame, followed by a NUL that is not counted; EPIPE at the end of the stream. */
int receive_frame(int stream, struct bytes *json);
/* Moves a descriptor above those that a command uses; it closes on exec. */
int move_away(int fd);

/* request.c: the first frame. */
int write_request(struct bytes *json, const char *file, char *const *argv, char *const *environment);

/*
 * forward.c: sends the open descriptors, except the stream and one more (or -1), passes signals on, and ends as
 * the command has ended: returns the exit code, or does not return.
 */
int forward_command(int stream, int except);

#endif
