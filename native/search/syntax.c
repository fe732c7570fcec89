/* Trees of patterns, and sets of characters. */
#define _GNU_SOURCE
#include "syntax.h"

#include <stdlib.h>
#include <string.h>

void syntax_free(struct syntax *syntax)
{
    free(syntax->nodes);
    free(syntax->ranges);
    *syntax = (struct syntax){0};
}

/* Room for one more element; false when memory has run out. */
static bool grow(struct syntax *syntax, void **elements, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity == 0 ? 32 : 2 * *capacity;
    void *grown = realloc(*elements, more * size);
    if (grown == NULL) {
        syntax->exhausted = true;
        return false;
    }
    *elements = grown;
    *capacity = more;
    return true;
}

uint32_t syntax_add(struct syntax *syntax, struct node node)
{
    void *nodes = syntax->nodes;
    bool room = grow(syntax, &nodes, syntax->count, &syntax->capacity, sizeof node);
    syntax->nodes = nodes;
    if (!room)
        return NO_NODE;
    syntax->nodes[syntax->count] = node;
    return (uint32_t)syntax->count++;
}

static uint32_t add_pair(struct syntax *syntax, enum node_kind kind, uint32_t left, uint32_t right)
{
    if (left == NO_NODE || right == NO_NODE)
        return NO_NODE;
    bool counted = syntax->nodes[left].counted || syntax->nodes[right].counted;
    return syntax_add(syntax, (struct node){.kind = kind, .left = left, .right = right, .counted = counted});
}

uint32_t syntax_both(struct syntax *syntax, uint32_t left, uint32_t right)
{
    return add_pair(syntax, NODE_BOTH, left, right);
}

uint32_t syntax_either(struct syntax *syntax, uint32_t left, uint32_t right)
{
    return add_pair(syntax, NODE_EITHER, left, right);
}

uint32_t syntax_repeat(struct syntax *syntax, uint32_t part, uint32_t least, uint32_t most)
{
    if (part == NO_NODE)
        return NO_NODE;
    bool counted = syntax->nodes[part].counted || least > 1 || (most > 1 && most != UNBOUNDED);
    return syntax_add(syntax, (struct node){.kind = NODE_REPEAT, .left = part, .first = least, .count = most, .counted = counted});
}

uint32_t syntax_assertion(struct syntax *syntax, enum assertion which)
{
    return syntax_add(syntax, (struct node){.kind = NODE_ASSERTION, .first = which});
}

void set_add(struct syntax *syntax, uint32_t low, uint32_t high)
{
    void *ranges = syntax->ranges;
    bool room = grow(syntax, &ranges, syntax->range_count, &syntax->range_capacity, sizeof(struct range));
    syntax->ranges = ranges;
    if (room)
        syntax->ranges[syntax->range_count++] = (struct range){low, high};
}

bool set_add_class(struct syntax *syntax, const char *name, size_t length)
{
    static const struct {
        const char *name;
        const char *ranges; /* pairs */
    } classes[] = {
        {"alpha", "AZaz"}, {"digit", "09"}, {"alnum", "09AZaz"}, {"upper", "AZ"}, {"lower", "az"}, {"space", "\t\r  "},
        {"blank", "\t\t  "}, {"punct", "!/:@[`{~"}, {"print", " ~"}, {"graph", "!~"}, {"xdigit", "09AFaf"}, {"word", "09AZ__az"},
        {"cntrl", "\1\37\177\177"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strlen(classes[i].name) != length || memcmp(classes[i].name, name, length) != 0)
            continue;
        for (const char *at = classes[i].ranges; *at != '\0'; at += 2)
            set_add(syntax, (uint8_t)at[0], (uint8_t)at[1]);
        if (strncmp(name, "cntrl", length) == 0)
            set_add(syntax, 0, 0);
        return true;
    }
    return false;
}

/* The other case of a letter of the Latin, Greek and Cyrillic alphabets, where it has the same length in UTF-8; else 0. */
static uint32_t other_case(uint32_t c)
{
    static const struct {
        uint32_t low, high; /* capitals */
        uint32_t distance;  /* to the small letters; 1: capitals and small letters in turn */
    } alphabets[] = {
        {'A', 'Z', 32}, {0xc0, 0xd6, 32}, {0xd8, 0xde, 32}, {0x100, 0x12e, 1}, {0x132, 0x136, 1}, {0x139, 0x147, 1},
        {0x14a, 0x176, 1}, {0x179, 0x17d, 1}, {0x388, 0x38a, 37}, {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32}, {0x400, 0x40f, 80},
        {0x410, 0x42f, 32}, {0x460, 0x480, 1}, {0x48a, 0x4be, 1}, {0x4d0, 0x52e, 1},
    };
    for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++) {
        uint32_t low = alphabets[i].low, high = alphabets[i].high, distance = alphabets[i].distance;
        if (c < low || c > high + distance)
            continue;
        if (distance == 1)
            return (c - low) % 2 == 0 ? c + 1 : c - 1;
        if (c <= high)
            return c + distance;
        if (c >= low + distance)
            return c - distance;
    }
    return 0;
}

void set_fold(struct syntax *syntax, size_t start)
{
    size_t end = syntax->range_count;
    for (size_t i = start; i < end; i++) {
        struct range range = syntax->ranges[i];
        for (uint32_t c = range.low; c <= range.high && c < 0x530; c++) {
            uint32_t other = other_case(c);
            if (other != 0)
                set_add(syntax, other, other);
        }
    }
}

static int by_low(const void *left, const void *right)
{
    uint32_t a = ((const struct range *)left)->low, b = ((const struct range *)right)->low;
    return a < b ? -1 : a > b;
}

/* Sorts the ranges since `start` and joins those that touch. */
static void tidy(struct syntax *syntax, size_t start)
{
    struct range *ranges = syntax->ranges + start;
    size_t count = syntax->range_count - start, kept = 0;
    if (count == 0 || syntax->exhausted)
        return;
    qsort(ranges, count, sizeof *ranges, by_low);
    for (size_t i = 1; i < count; i++) {
        if (ranges[i].low <= ranges[kept].high + 1)
            ranges[kept].high = ranges[i].high > ranges[kept].high ? ranges[i].high : ranges[kept].high;
        else
            ranges[++kept] = ranges[i];
    }
    syntax->range_count = start + kept + 1;
}

void set_negate(struct syntax *syntax, size_t start, uint32_t last)
{
    tidy(syntax, start);
    size_t end = syntax->range_count;
    uint32_t next = 0;
    for (size_t i = start; i < end && !syntax->exhausted; i++) {
        struct range range = syntax->ranges[i];
        if (range.low > next)
            set_add(syntax, next, range.low - 1);
        next = range.high + 1;
    }
    if (next <= last)
        set_add(syntax, next, last);
    if (syntax->exhausted)
        return;
    size_t count = syntax->range_count - end;
    memmove(syntax->ranges + start, syntax->ranges + end, count * sizeof(struct range));
    syntax->range_count = start + count;
}

void set_remove(struct syntax *syntax, size_t start, uint32_t character)
{
    size_t end = syntax->range_count;
    for (size_t i = start; i < end && !syntax->exhausted; i++) {
        struct range range = syntax->ranges[i];
        if (character < range.low || character > range.high)
            continue;
        /* An empty range is one whose low end is above its high end. */
        syntax->ranges[i] = character == 0 ? (struct range){1, 0} : (struct range){range.low, character - 1};
        if (character < range.high)
            set_add(syntax, character + 1, range.high);
    }
}

uint32_t set_finish(struct syntax *syntax, size_t start, enum node_kind kind)
{
    size_t kept = start;
    for (size_t i = start; i < syntax->range_count && !syntax->exhausted; i++) {
        if (syntax->ranges[i].low <= syntax->ranges[i].high)
            syntax->ranges[kept++] = syntax->ranges[i];
    }
    syntax->range_count = kept;
    tidy(syntax, start);
    uint32_t count = (uint32_t)(syntax->range_count - start);
    return syntax_add(syntax, (struct node){.kind = kind, .first = (uint32_t)start, .count = count});
}

uint32_t utf8_decode(const uint8_t *text, size_t *length)
{
    uint8_t first = text[0];
    size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    uint32_t value = wanted == 1 ? first : first & (0x7fu >> wanted);
    *length = 1;
    for (size_t i = 1; i < wanted; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return first;
        value = value << 6 | (text[i] & 0x3f);
    }
    *length = wanted;
    return value;
}
