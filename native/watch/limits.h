/* Bounds of a watch, each with its reason. */
#ifndef EXEC_WATCH_LIMITS_H
#define EXEC_WATCH_LIMITS_H

/* Several changes of one path within this time are told as one; a person does not notice it. */
#define BATCH_MS 50

/* The two halves of a rename lie next to each other in the kernel's queue, but not always in what one read gives. */
#define PAIR_MS 50

/* Changes that wait for a client that does not read; more are an overflow. About 4 MiB with paths of usual length. */
#ifndef MOST_CHANGES /* fewer in the fuzzer */
#define MOST_CHANGES 32768
#endif
#define MOST_CHANGE_BYTES (8 * 1024 * 1024)

/* Renames of which only one half has come. */
#define MOST_PENDING 1024

/* Changes between the two halves of a rename. */
#define MOST_BETWEEN 4096

/* One message: small beside what a connection may hold, large beside its head. */
#define MOST_MESSAGE_CHANGES 1000
#define MOST_MESSAGE_BYTES (256 * 1024)

/* Directories scanned between two looks at the kernel's queue, which holds 16,384 events unless set otherwise. */
#define SCANNED_AT_ONCE 16

/* Directories above the watched one whose moves are noticed; deeper paths than this are rare. */
#define MOST_ANCESTORS 64

#endif
