/* The states of an automaton, and the memory that they take. */
#ifndef EXEC_SEARCH_DFA_STATES_H
#define EXEC_SEARCH_DFA_STATES_H

#include "byte-set.h"
#include "dfa.h"

/*
 * What a table says of the byte that comes next: the row of the state after it, to which these are added. The first row, 0, is that
 * of the start of a line.
 */
#define UNKNOWN 1
#define MATCHED 2 /* a match ends before the byte */
#define IDLE 4    /* the first row, and most bytes lead back to it: those may be skipped */
#define FLAGS (UNKNOWN | MATCHED | IDLE)

/* What is before the next byte, for assertions. */
enum context { AT_START, AFTER_WORD, AFTER_OTHER };

/* The instructions that may come next: bytes, accept, and assertions, which the next byte decides. */
struct state {
    uint32_t first; /* in ids */
    uint32_t hash;  /* of them */
    uint32_t older; /* another row of the same bucket; NO_ROW at the end */
    uint16_t count;
    uint8_t context;
    bool accepts, asserts;
};

#define BUCKETS 256
#define NO_ROW UINT32_MAX

struct dfa {
    const struct program *program;
    uint32_t *table;
    struct state *states;
    uint16_t *ids;
    uint16_t *stack;
    uint64_t *reached; /* sets of instructions, as bits */
    uint64_t *decided;
    size_t words;
    size_t stride; /* of a row */
    size_t rows, row_capacity, row_limit;
    size_t id_count, id_capacity, id_limit;
    uint32_t newest[BUCKETS]; /* rows by the hash of their states */
    struct byte_set leaving; /* the first row, if the others are skipped */
    bool skips;
    int64_t work;
};

/* Room for the first states; false when memory has run out. */
bool dfa_make_states(struct dfa *dfa, size_t memory);
void dfa_free_states(struct dfa *dfa);
/* The row of the state whose instructions are `reached`; sets *forgot if the other states had to be forgotten for it. */
uint32_t dfa_row_of(struct dfa *dfa, enum context context, bool *forgot);

#endif
