/* A target of the fuzzer: one parser, what it is fed with, and texts that a mutation starts from. See fuzz-main.c. */
#ifndef EXEC_FUZZ_H
#define EXEC_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct seed {
    const char *text;
    size_t length;
};

#define SEED(literal) {literal, sizeof(literal) - 1}

extern const struct seed seeds[];
extern const size_t seed_count;

/* Parses one input. The byte behind it is a NUL, which every frame of ours ends with. Aborts when a promise is broken. */
void fuzz_one(const uint8_t *input, size_t length);

/* Ends the run, saying what did not hold. */
_Noreturn void fuzz_fail(const char *what);

/* The reading end of a stream that holds these bytes and then ends, as a descriptor that no parser closes by its number. */
int fuzz_stream(const uint8_t *bytes, size_t length);

#endif
