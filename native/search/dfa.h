/*
 * Runs a program in linear time: a deterministic automaton whose states are made when they are first reached, and forgotten when they
 * fill their memory. For one thread.
 */
#ifndef EXEC_SEARCH_DFA_H
#define EXEC_SEARCH_DFA_H

#include "program.h"

struct dfa;

/* NULL when memory has run out. `memory` bounds the states, roughly. The program must outlive it. */
struct dfa *dfa_new(const struct program *program, size_t memory);
void dfa_free(struct dfa *dfa);

/* Where a run is: its state, and the next byte. */
struct dfa_place {
    uint32_t row;
    const uint8_t *at;
};

enum dfa_outcome {
    DFA_MATCH,  /* ends before place->at */
    DFA_END,    /* of the text, and no match that ends before it */
    DFA_PAUSED, /* to be called again with the same place: making states has used up what dfa_refill gave */
};

/* How many instructions may be visited before a run pauses. */
void dfa_refill(struct dfa *dfa, int64_t work);
/* A run begins with row 0 at the start of a line, and goes through any number of lines. */
enum dfa_outcome dfa_run(struct dfa *dfa, struct dfa_place *place, const uint8_t *end);
/* Whether a match ends at the end of the text that has been run through. */
bool dfa_accepts_end(struct dfa *dfa, struct dfa_place *place);
/* Whether the text matches as a whole. */
bool dfa_matches(struct dfa *dfa, const char *text);
/* For a program that goes backwards: where the leftmost match in a line begins. False if that took more than `work`. */
bool dfa_leftmost(struct dfa *dfa, const uint8_t *line, const uint8_t *end, int64_t work, const uint8_t **start);

#endif
