/* Parts of the parser of regular expressions. */
#ifndef EXEC_SEARCH_REGEX_H
#define EXEC_SEARCH_REGEX_H

#include "syntax.h"

struct parser {
    struct syntax *syntax;
    const char *start, *at;
    bool fold;
    unsigned depth;
    struct complaint *complaint;
};

/* Keeps the first complaint; gives NO_NODE. */
uint32_t regex_complain(struct parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t regex_take_character(struct parser *parser);
/* Finishes a set of what may stand in a line. */
uint32_t regex_finish_set(struct parser *parser, size_t start);
/* What is behind a `[` (regex-brackets.c). */
uint32_t regex_parse_brackets(struct parser *parser);

#endif
