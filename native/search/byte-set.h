/* Finding the next byte that is one of several. */
#ifndef EXEC_SEARCH_BYTE_SET_H
#define EXEC_SEARCH_BYTE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct byte_set {
    bool has[256];
    /* A byte may be in the set if the entries of its halves have a bit in common. */
    uint8_t low[16], high[16];
};

/* To be called when `has` is filled. */
void byte_set_prepare(struct byte_set *set);
/* The first byte of the set, or the end. */
const uint8_t *byte_set_find(const struct byte_set *set, const uint8_t *at, const uint8_t *end);
/* Whether less than a quarter of the bytes of source code and prose is in the set. */
bool byte_set_is_rare(const struct byte_set *set);

/* The first such byte, or NULL: memchr where the C library has a slow one. */
const uint8_t *byte_find(const uint8_t *at, const uint8_t *end, uint8_t byte);

/* How frequent a byte is there: 0 for the most frequent one. */
int byte_rarity(uint8_t byte);

#endif
