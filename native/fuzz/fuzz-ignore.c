/* Any bytes are rules, about any path. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../search/ignore.h"

const struct seed seeds[] = {
    SEED("a/b.c\0# comment\n*.o\n!keep.o\n/build/\n**/x/**\n\\!a\\ \nb \r\n"),
    SEED("d/e/f\0\xef\xbb\xbf[a-z[:alpha:]]*?\n[!]a]/[^b\\-]\n**a/*/**/e\n"),
    SEED("x\0!\n/\n//\n\\\n[\n[[:no:]]\n***\n"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

void fuzz_one(const uint8_t *input, size_t length)
{
    size_t path = strnlen((const char *)input, length);
    if (path == length)
        return;
    const uint8_t *rules = input + path + 1;
    size_t rest = length - path - 1, half = rest / 2;
    struct ignore *ignore = NULL;
    for (int i = 0; i < 2; i++) { /* in a directory, and in one above it */
        char *text = calloc(1, half + 1);
        if (text == NULL)
            fuzz_fail("out of memory");
        memcpy(text, rules + (i == 0 ? 0 : rest - half), half);
        size_t slash = strcspn((const char *)input, "/");
        struct ignore *more = ignore_parse(ignore, i == 0 || slash == path ? 0 : slash, text, half);
        ignore = more != NULL ? more : ignore;
        free(text);
    }
    bool as_file = ignore_matches(ignore, (const char *)input, false);
    if (as_file != ignore_matches(ignore, (const char *)input, false))
        fuzz_fail("the same rules say something else");
    ignore_matches(ignore, (const char *)input, true);
    while (ignore != NULL)
        ignore = ignore_free(ignore);
}
