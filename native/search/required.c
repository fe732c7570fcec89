/* The text that each match of a pattern must contain: finding it first is faster than running the pattern. */
#define _GNU_SOURCE
#include <string.h>

#include "program.h"

struct gathering {
    const struct syntax *syntax;
    struct literal run, *best;
    bool broken; /* something other than a fixed text was met */
};

static void end_run(struct gathering *gathering)
{
    if (gathering->run.length > gathering->best->length)
        *gathering->best = gathering->run;
    gathering->run.length = 0;
}

static bool is_letter(uint32_t c)
{
    return c >= 'a' && c <= 'z';
}

/* Appends a character to the run: one alone, or an ASCII letter in both cases. */
static bool append(struct gathering *gathering, const struct node *node)
{
    const struct range *ranges = gathering->syntax->ranges + node->first;
    struct literal *run = &gathering->run;
    bool one = node->count == 1 && ranges[0].low == ranges[0].high;
    bool both_cases = node->count == 2 && ranges[0].low == ranges[0].high && ranges[1].low == ranges[1].high &&
                      is_letter(ranges[1].low) && ranges[0].low + 32 == ranges[1].low;
    if ((!one && !both_cases) || node->kind != NODE_CHARACTERS || run->length + 4 > LITERAL_LIMIT)
        return false;
    uint32_t c = ranges[both_cases].low;
    uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 0; c >>= 6) {
        run->bytes[run->length + i] = (uint8_t)(i == 0 ? marks[length] | c : 0x80 | (c & 0x3f));
        run->fold[run->length + i] = both_cases ? 0x20 : 0;
    }
    run->length += length;
    return true;
}

static void gather(struct gathering *gathering, uint32_t at)
{
    const struct node *node = &gathering->syntax->nodes[at];
    if (node->kind == NODE_EMPTY)
        return;
    if (node->kind == NODE_BOTH) {
        gather(gathering, node->left);
        gather(gathering, node->right);
        return;
    }
    if ((node->kind == NODE_CHARACTERS || node->kind == NODE_BYTES) && append(gathering, node))
        return;
    gathering->broken = true;
    end_run(gathering);
    if (node->kind == NODE_CHARACTERS)
        append(gathering, node); /* the run was full */
    if (node->kind == NODE_REPEAT && node->first > 0) {
        gather(gathering, node->left);
        end_run(gathering);
    }
}

void program_required(const struct syntax *syntax, struct literal *required, bool *whole)
{
    struct gathering gathering = {.syntax = syntax, .best = required};
    *required = (struct literal){.length = 0};
    gather(&gathering, syntax->root);
    end_run(&gathering);
    *whole = !gathering.broken && required->length > 0;
    if (required->length > 0)
        literal_prepare(required);
}
