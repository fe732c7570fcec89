/* Bracket expressions: sets of characters, ranges and classes. A backslash has no meaning in them, as POSIX has it. */
#define _GNU_SOURCE
#include "regex.h"

#include <string.h>

/* One end of a range; the text is behind `[` here: [.x.] and [=x=] name a character. False after a complaint. */
static bool take_member(struct parser *parser, uint32_t *member)
{
    const char *at = parser->at;
    if (at[0] == '\0') {
        regex_complain(parser, "[ without a ]");
        return false;
    }
    if (at[0] != '[' || (at[1] != '.' && at[1] != '=')) {
        *member = regex_take_character(parser);
        return true;
    }
    char mark = at[1];
    parser->at += 2;
    *member = *parser->at == '\0' ? 0 : regex_take_character(parser);
    if (*member == 0 || parser->at[0] != mark || parser->at[1] != ']') {
        regex_complain(parser, "[%c %c] can only hold one character", mark, mark);
        return false;
    }
    parser->at += 2;
    return true;
}

/* [:alpha:] inside brackets. */
static bool take_class(struct parser *parser)
{
    const char *name = parser->at + 2, *end = strstr(name, ":]");
    if (end == NULL || !set_add_class(parser->syntax, name, (size_t)(end - name))) {
        regex_complain(parser, "no such class: [:%.*s:]", end == NULL || end - name > 20 ? 20 : (int)(end - name), name);
        return false;
    }
    parser->at = end + 2;
    return true;
}

static bool take_range(struct parser *parser)
{
    uint32_t low, high;
    if (!take_member(parser, &low))
        return false;
    high = low;
    if (parser->at[0] == '-' && parser->at[1] != ']' && parser->at[1] != '\0') {
        parser->at++;
        if (!take_member(parser, &high))
            return false;
    }
    if (high < low) {
        regex_complain(parser, "a range that ends before it begins");
        return false;
    }
    set_add(parser->syntax, low, high);
    return true;
}

uint32_t regex_parse_brackets(struct parser *parser)
{
    struct syntax *syntax = parser->syntax;
    size_t start = syntax->range_count;
    bool negated = *parser->at == '^';
    parser->at += negated;
    const char *first = parser->at;
    while (*parser->at != ']' || parser->at == first) {
        bool is_class = parser->at[0] == '[' && parser->at[1] == ':';
        if (!(is_class ? take_class(parser) : take_range(parser)))
            return NO_NODE;
    }
    parser->at++;
    if (parser->fold)
        set_fold(syntax, start);
    if (negated)
        set_negate(syntax, start, LAST_CHARACTER);
    return regex_finish_set(parser, start);
}
