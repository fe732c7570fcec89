/*
 * Globs, as people write them to find files. `*` and `?` stay within a name, `**` as a whole name stands for any number of them,
 * {a,b} for a or b, [a-z] for one character, and a backslash takes the meaning of the character after it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "syntax.h"

#define DEPTH_LIMIT 16

struct glob {
    struct syntax *syntax;
    const char *start, *at;
    unsigned depth;
    const char *fault;
};

static uint32_t parse_sequence(struct glob *glob);

static uint32_t fail(struct glob *glob, const char *fault)
{
    glob->fault = glob->fault != NULL ? glob->fault : fault;
    return NO_NODE;
}

/* Any number of bytes, as a name need not be UTF-8. */
static uint32_t any_bytes(struct syntax *syntax, bool with_slash)
{
    size_t start = syntax->range_count;
    set_add(syntax, 0, 0xff);
    if (!with_slash)
        set_remove(syntax, start, '/');
    return syntax_repeat(syntax, set_finish(syntax, start, NODE_BYTES), 0, UNBOUNDED);
}

static uint32_t one(struct syntax *syntax, uint32_t character)
{
    size_t start = syntax->range_count;
    set_add(syntax, character, character);
    return set_finish(syntax, start, NODE_CHARACTERS);
}

static uint32_t take_character(struct glob *glob)
{
    size_t length;
    uint32_t character = utf8_decode((const uint8_t *)glob->at, &length);
    glob->at += length;
    return character;
}

static uint32_t parse_stars(struct glob *glob)
{
    struct syntax *syntax = glob->syntax;
    bool begins_name = glob->at == glob->start || strchr("/{,", glob->at[-1]) != NULL;
    size_t stars = strspn(glob->at, "*");
    glob->at += stars;
    char next = *glob->at;
    if (stars < 2 || !begins_name || (next != '/' && next != '\0' && (glob->depth == 0 || strchr(",}", next) == NULL)))
        return any_bytes(syntax, false);
    if (next != '/')
        return any_bytes(syntax, true);
    glob->at++;
    return syntax_repeat(syntax, syntax_both(syntax, any_bytes(syntax, true), one(syntax, '/')), 0, 1);
}

static uint32_t parse_brackets(struct glob *glob)
{
    struct syntax *syntax = glob->syntax;
    size_t start = syntax->range_count;
    bool negated = *glob->at == '!' || *glob->at == '^';
    glob->at += negated;
    const char *first = glob->at;
    while (*glob->at != ']' || glob->at == first) {
        if (glob->at[0] == '[' && glob->at[1] == ':') {
            const char *end = strstr(glob->at, ":]");
            if (end == NULL || !set_add_class(syntax, glob->at + 2, (size_t)(end - glob->at - 2)))
                return fail(glob, "names a class of characters that does not exist");
            glob->at = end + 2;
            continue;
        }
        glob->at += glob->at[0] == '\\' && glob->at[1] != '\0';
        if (*glob->at == '\0')
            return fail(glob, "has a [ without a ]");
        uint32_t low = take_character(glob), high = low;
        if (glob->at[0] == '-' && glob->at[1] != ']' && glob->at[1] != '\0') {
            glob->at++;
            high = take_character(glob);
        }
        if (high < low)
            return fail(glob, "has a range that ends before it begins");
        set_add(syntax, low, high);
    }
    glob->at++;
    if (negated)
        set_negate(syntax, start, LAST_CHARACTER);
    set_remove(syntax, start, '/');
    return set_finish(syntax, start, NODE_CHARACTERS);
}

static uint32_t parse_braces(struct glob *glob)
{
    if (++glob->depth > DEPTH_LIMIT)
        return fail(glob, "has too many braces inside each other");
    uint32_t whole = parse_sequence(glob);
    while (*glob->at == ',' && whole != NO_NODE) {
        glob->at++;
        whole = syntax_either(glob->syntax, whole, parse_sequence(glob));
    }
    if (whole == NO_NODE)
        return NO_NODE;
    if (*glob->at != '}')
        return fail(glob, "has a { without a }");
    glob->at++;
    glob->depth--;
    return whole;
}

static uint32_t parse_part(struct glob *glob)
{
    struct syntax *syntax = glob->syntax;
    size_t start = syntax->range_count;
    switch (*glob->at) {
    case '*':
        return parse_stars(glob);
    case '?':
        glob->at++;
        set_add(syntax, 0, LAST_CHARACTER);
        set_remove(syntax, start, '/');
        return set_finish(syntax, start, NODE_CHARACTERS);
    case '[':
        glob->at++;
        return parse_brackets(glob);
    case '{':
        glob->at++;
        return parse_braces(glob);
    case '\\':
        glob->at++;
        if (*glob->at == '\0')
            return fail(glob, "ends with a backslash, which escapes nothing");
    }
    return one(syntax, take_character(glob));
}

static uint32_t parse_sequence(struct glob *glob)
{
    uint32_t whole = syntax_add(glob->syntax, (struct node){.kind = NODE_EMPTY});
    while (whole != NO_NODE && *glob->at != '\0' && (glob->depth == 0 || strchr(",}", *glob->at) == NULL))
        whole = syntax_both(glob->syntax, whole, parse_part(glob));
    return whole;
}

bool glob_parse(struct syntax *syntax, const char *text, struct complaint *complaint)
{
    struct glob glob = {.syntax = syntax, .start = text, .at = text};
    if (strlen(text) > PATTERN_LIMIT)
        fail(&glob, "is too long");
    else if (text[0] == '/')
        fail(&glob, "begins with a slash: it is compared with names, or with paths below `path`");
    else
        syntax->root = parse_sequence(&glob);
    if (glob.fault == NULL && (syntax->exhausted || syntax->root == NO_NODE))
        glob.fault = "needs more memory than there is";
    if (glob.fault != NULL)
        snprintf(complaint->text, sizeof complaint->text, "the name pattern %s", glob.fault);
    return glob.fault == NULL;
}
