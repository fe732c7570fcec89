/* Finding a short text in a long one. */
#ifndef EXEC_SEARCH_LITERAL_H
#define EXEC_SEARCH_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITERAL_LIMIT 256

struct literal {
    uint8_t bytes[LITERAL_LIMIT];
    /* 0x20 where the case of an ASCII letter does not count; the letter is a small one then. */
    uint8_t fold[LITERAL_LIMIT];
    size_t length;
    /* The places of the two bytes that are expected to be the rarest. */
    size_t rarest, second;
};

/* To be called when bytes, fold and length, at least 1, are set. */
void literal_prepare(struct literal *literal);
/* The first occurrence, or NULL. */
const uint8_t *literal_find(const struct literal *literal, const uint8_t *from, const uint8_t *end);
/* How many line feeds there are. */
size_t count_lines(const uint8_t *from, const uint8_t *end);

#endif
