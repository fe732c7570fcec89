/* A pattern as a program: what a non-deterministic automaton does, byte by byte. */
#ifndef EXEC_SEARCH_PROGRAM_H
#define EXEC_SEARCH_PROGRAM_H

#include "literal.h"
#include "syntax.h"

/* Instructions: a state of the automaton is a set of them, so they bound what a state costs. */
#define PROGRAM_LIMIT 8192

enum operation { MATCH_BYTE, SPLIT, ASSERT, ACCEPT };

struct instruction {
    uint8_t operation;
    uint8_t low, high; /* match byte; assert: which in `low` */
    uint16_t next, other;
};

struct program {
    struct instruction *code;
    uint16_t count;
    uint16_t start;
    /* Whether a match may begin anywhere, and a line feed ends the text; otherwise the whole text has to match. */
    bool in_lines;
    bool looks_back; /* an assertion depends on what is before it */
    /* Bytes that no instruction tells apart are of one class; the last class is the end of the text. */
    uint8_t class_of[256];
    uint8_t representative[256];
    unsigned classes;
};

enum program_kind {
    FIND_IN_LINES,
    FIND_BACKWARDS, /* the same, from the end of a line to its start */
    MATCH_WHOLE,    /* a path */
};

/* False when the program would be too large, or memory has run out. */
bool program_compile(struct program *program, const struct syntax *syntax, enum program_kind kind);
void program_free(struct program *program);
/* Whether a byte belongs to words, for \b and its like: letters and digits of ASCII, and `_`. */
bool program_is_word(uint8_t byte);

/*
 * The longest text that each match contains, of length 0 if there is none; `whole` tells whether a match is nothing else.
 */
void program_required(const struct syntax *syntax, struct literal *required, bool *whole);

#endif
