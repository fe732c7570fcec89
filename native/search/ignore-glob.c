/* The patterns of .gitignore, byte by byte as git's wildmatch reads them. What it refuses matches nothing. */
#define _GNU_SOURCE
#include <string.h>

#include "syntax.h"

struct glob {
    struct syntax *syntax;
    const uint8_t *at;
    const uint8_t *first; /* wildcard: what is before it counts as no part of the pattern when `**` looks back */
    bool whole_path;
};

static uint32_t byte_set(struct syntax *syntax, uint8_t low, uint8_t high, bool without_slash)
{
    size_t start = syntax->range_count;
    set_add(syntax, low, high);
    if (without_slash)
        set_remove(syntax, start, '/');
    return set_finish(syntax, start, NODE_BYTES);
}

static uint32_t any_bytes(struct syntax *syntax, bool with_slash)
{
    return syntax_repeat(syntax, byte_set(syntax, 0, 0xff, !with_slash), 0, UNBOUNDED);
}

static uint32_t parse_stars(struct glob *glob)
{
    struct syntax *syntax = glob->syntax;
    const uint8_t *begin = glob->at;
    while (*glob->at == '*')
        glob->at++;
    const uint8_t *next = glob->at;
    if (!glob->whole_path)
        return any_bytes(syntax, true);
    bool begins_name = begin == glob->first || begin[-1] == '/';
    bool ends_name = next[0] == '\0' || next[0] == '/' || (next[0] == '\\' && next[1] == '/');
    if (next - begin < 2 || !begins_name || !ends_name)
        return any_bytes(syntax, false);
    if (next[0] != '/')
        return any_bytes(syntax, true);
    glob->at++;
    uint32_t directories = syntax_both(syntax, any_bytes(syntax, true), byte_set(syntax, '/', '/', false));
    return syntax_repeat(syntax, directories, 0, 1);
}

/* A class such as [:alpha:], of which the text is behind the `[`; false if wildmatch refuses it. Sets *taken if there is one. */
static bool take_class(struct glob *glob, bool *taken)
{
    const uint8_t *name = glob->at + 2, *end = name;
    while (*end != '\0' && *end != ']')
        end++;
    *taken = false;
    if (*end == '\0')
        return false;
    if (end == name || end[-1] != ':')
        return true; /* no class: a bracket like any other character */
    size_t length = (size_t)(end - name) - 1;
    if ((length == 4 && memcmp(name, "word", 4) == 0) || !set_add_class(glob->syntax, (const char *)name, length))
        return false;
    *taken = true;
    glob->at = end;
    return true;
}

/* One member of a set; the text is at its last character afterwards. Sets *before to what a range may begin with, 0 for nothing. */
static bool take_member(struct glob *glob, uint8_t *before)
{
    const uint8_t *at = glob->at;
    bool taken = false;
    if (at[0] == '\0')
        return false;
    if (at[0] == '-' && *before != 0 && at[1] != '\0' && at[1] != ']') {
        at += at[1] == '\\' ? 2 : 1;
        if (*at == '\0')
            return false;
        if (*before <= *at)
            set_add(glob->syntax, *before, *at);
        *before = 0;
        glob->at = at;
        return true;
    }
    if (at[0] == '[' && at[1] == ':' && !take_class(glob, &taken))
        return false;
    if (taken) {
        *before = 0;
        return true;
    }
    at += at[0] == '\\';
    if (*at == '\0')
        return false;
    set_add(glob->syntax, *at, *at);
    *before = *at;
    glob->at = at;
    return true;
}

static uint32_t parse_brackets(struct glob *glob)
{
    struct syntax *syntax = glob->syntax;
    size_t start = syntax->range_count;
    uint8_t before = 0;
    bool negated = *glob->at == '!' || *glob->at == '^';
    glob->at += negated;
    do {
        if (!take_member(glob, &before))
            return NO_NODE;
        glob->at++;
    } while (*glob->at != ']');
    glob->at++;
    if (negated)
        set_negate(syntax, start, 0xff);
    if (glob->whole_path)
        set_remove(syntax, start, '/');
    return set_finish(syntax, start, NODE_BYTES);
}

static uint32_t parse_part(struct glob *glob)
{
    switch (*glob->at) {
    case '*':
        return parse_stars(glob);
    case '?':
        glob->at++;
        return byte_set(glob->syntax, 0, 0xff, glob->whole_path);
    case '[':
        glob->at++;
        return parse_brackets(glob);
    case '\\':
        glob->at++;
        if (*glob->at == '\0')
            return NO_NODE;
    }
    uint8_t byte = *glob->at++;
    return byte_set(glob->syntax, byte, byte, false);
}

bool ignore_glob_parse(struct syntax *syntax, const char *text, size_t plain, bool whole_path)
{
    const uint8_t *at = (const uint8_t *)text;
    struct glob glob = {.syntax = syntax, .at = at, .first = at + plain, .whole_path = whole_path};
    uint32_t whole = strlen(text) > PATTERN_LIMIT ? NO_NODE : syntax_add(syntax, (struct node){.kind = NODE_EMPTY});
    while (whole != NO_NODE && *glob.at != '\0')
        whole = syntax_both(syntax, whole, parse_part(&glob));
    syntax->root = whole;
    return whole != NO_NODE && !syntax->exhausted;
}
