#ifndef EXEC_NUMBER_H
#define EXEC_NUMBER_H

#include <stddef.h>
#include <stdint.h>

static inline unsigned digit_of(char digit)
{
    if (digit >= '0' && digit <= '9')
        return (unsigned)(digit - '0');
    return digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a' + 10) : 16;
}

/* Reads digits; returns the text after them, or NULL if there are none or the number is greater than `most`. */
static inline const char *read_number(const char *at, unsigned base, uint64_t most, uint64_t *number)
{
    const char *start = at;
    for (*number = 0; digit_of(*at) < base; at++) {
        if (*number > (most - digit_of(*at)) / base)
            return NULL;
        *number = *number * base + digit_of(*at);
    }
    return at > start ? at : NULL;
}

#endif
