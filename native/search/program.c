/* Compiles trees of patterns, from their end to their beginning, as each instruction names the one after it. */
#define _GNU_SOURCE
#include "program.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

struct compiler {
    struct program *program;
    const struct syntax *syntax;
    bool backwards;
    /* Where the instructions of the set begin that is being compiled: its sequences share their ends. */
    uint32_t set_start;
    bool full; /* an instruction found no room */
};

static uint32_t compile(struct compiler *compiler, uint32_t node, uint32_t next);

/* The number of a new instruction; NOWHERE when there are too many, or a part of it is nowhere. */
static uint32_t emit(struct compiler *compiler, uint8_t operation, uint32_t next, uint32_t other)
{
    struct program *program = compiler->program;
    compiler->full |= program->count >= PROGRAM_LIMIT;
    if (next == NOWHERE || other == NOWHERE || compiler->full)
        return NOWHERE;
    program->code[program->count] =
        (struct instruction){.operation = operation, .next = (uint16_t)next, .other = (uint16_t)other};
    return program->count++;
}

static uint32_t emit_bytes(struct compiler *compiler, uint8_t low, uint8_t high, uint32_t next)
{
    struct program *program = compiler->program;
    for (uint32_t i = compiler->set_start; i < program->count; i++) {
        const struct instruction *known = &program->code[i];
        if (known->operation == MATCH_BYTE && known->low == low && known->high == high && known->next == next)
            return i;
    }
    uint32_t at = emit(compiler, MATCH_BYTE, next, 0);
    if (at != NOWHERE) {
        program->code[at].low = low;
        program->code[at].high = high;
    }
    return at;
}

static size_t utf8_encode(uint32_t c, uint8_t bytes[4])
{
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length; i-- > 1; c >>= 6)
        bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
    bytes[0] = (uint8_t)(marks[length] | c);
    return length;
}

/* One sequence of ranges of bytes, as alternative to `others` if there are any. */
static uint32_t compile_sequence(struct compiler *compiler, uint32_t low, uint32_t high, uint32_t next, uint32_t others)
{
    uint8_t from[4], to[4];
    size_t length = utf8_encode(low, from);
    utf8_encode(high, to);
    for (size_t i = 0; i < length; i++) {
        size_t at = compiler->backwards ? i : length - 1 - i;
        next = emit_bytes(compiler, from[at], to[at], next);
    }
    return others == NOWHERE ? next : emit(compiler, SPLIT, next, others);
}

/* Cuts a range of characters until the UTF-8 of each piece is one sequence of ranges of bytes. */
static uint32_t compile_range(struct compiler *compiler, uint32_t low, uint32_t high, uint32_t next, uint32_t others)
{
    static const uint32_t ends[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff};
    uint32_t cut = NOWHERE;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && cut == NOWHERE; i++)
        cut = low <= ends[i] && ends[i] < high ? ends[i] : NOWHERE;
    for (unsigned bits = 6; bits <= 18 && cut == NOWHERE; bits += 6) {
        uint32_t mask = (1u << bits) - 1;
        if (high < 0x80 || (low & ~mask) == (high & ~mask))
            continue;
        if ((low & mask) != 0)
            cut = low | mask;
        else if ((high & mask) != mask)
            cut = (high & ~mask) - 1;
    }
    if (cut != NOWHERE)
        return compile_range(compiler, cut + 1, high, next, compile_range(compiler, low, cut, next, others));
    return low >= 0xd800 && high <= 0xdfff ? others /* surrogates have no UTF-8 */
                                           : compile_sequence(compiler, low, high, next, others);
}

static uint32_t compile_set(struct compiler *compiler, const struct node *node, uint32_t next)
{
    uint32_t whole = NOWHERE;
    compiler->set_start = compiler->program->count;
    for (uint32_t i = node->first; i < node->first + node->count; i++) {
        struct range range = compiler->syntax->ranges[i];
        if (node->kind == NODE_CHARACTERS) {
            whole = compile_range(compiler, range.low, range.high, next, whole);
        } else {
            uint32_t bytes = emit_bytes(compiler, (uint8_t)range.low, (uint8_t)range.high, next);
            whole = whole == NOWHERE ? bytes : emit(compiler, SPLIT, bytes, whole);
        }
    }
    if (whole == NOWHERE && (whole = emit(compiler, MATCH_BYTE, next, 0)) != NOWHERE)
        compiler->program->code[whole].low = 1; /* above `high`: no byte */
    return whole;
}

static uint32_t compile_repeat(struct compiler *compiler, const struct node *node, uint32_t next)
{
    uint32_t at = next;
    if (node->count == UNBOUNDED) {
        uint32_t loop = emit(compiler, SPLIT, 0, next);
        uint32_t body = loop == NOWHERE ? NOWHERE : compile(compiler, node->left, loop);
        if (body == NOWHERE)
            return NOWHERE;
        compiler->program->code[loop].next = (uint16_t)body;
        at = node->first == 0 ? loop : body;
    } else {
        for (uint32_t i = node->first; i < node->count && at != NOWHERE; i++)
            at = emit(compiler, SPLIT, compile(compiler, node->left, at), next);
    }
    uint32_t copies = node->count == UNBOUNDED && node->first > 0 ? node->first - 1 : node->first;
    for (uint32_t i = 0; i < copies && at != NOWHERE; i++)
        at = compile(compiler, node->left, at);
    return at;
}

static uint32_t compile_assertion(struct compiler *compiler, enum assertion which, uint32_t next)
{
    static const uint8_t reversed[] = {LINE_END, LINE_START, WORD_EDGE, NO_WORD_EDGE, WORD_END, WORD_START};
    uint32_t at = emit(compiler, ASSERT, next, 0);
    if (at != NOWHERE)
        compiler->program->code[at].low = compiler->backwards ? reversed[which] : (uint8_t)which;
    compiler->program->looks_back |= at != NOWHERE && compiler->program->code[at].low != LINE_END;
    return at;
}

static uint32_t compile(struct compiler *compiler, uint32_t at, uint32_t next)
{
    /* A long sequence leans to the left. */
    const struct node *node = &compiler->syntax->nodes[at];
    for (; node->kind == NODE_BOTH && !compiler->backwards && next != NOWHERE; node = &compiler->syntax->nodes[node->left])
        next = compile(compiler, node->right, next);
    if (next == NOWHERE)
        return NOWHERE;
    switch (node->kind) {
    case NODE_EMPTY:
        return next;
    case NODE_CHARACTERS:
    case NODE_BYTES:
        return compile_set(compiler, node, next);
    case NODE_BOTH:
        return compile(compiler, node->right, compile(compiler, node->left, next));
    case NODE_EITHER: {
        uint32_t right = compile(compiler, node->right, next);
        return emit(compiler, SPLIT, compile(compiler, node->left, next), right);
    }
    case NODE_REPEAT:
        return compile_repeat(compiler, node, next);
    case NODE_ASSERTION:
        return compile_assertion(compiler, (enum assertion)node->first, next);
    }
    return NOWHERE;
}

bool program_is_word(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

static void classify(struct program *program)
{
    bool begins[257] = {[0] = true};
    for (unsigned i = 0; i < program->count; i++) {
        const struct instruction *instruction = &program->code[i];
        if (instruction->operation == MATCH_BYTE && instruction->low <= instruction->high)
            begins[instruction->low] = begins[instruction->high + 1] = true;
    }
    for (unsigned byte = 1; byte < 256 && program->looks_back; byte++)
        begins[byte] |= program_is_word((uint8_t)byte) != program_is_word((uint8_t)(byte - 1));
    begins['\n'] |= program->in_lines;
    begins['\n' + 1] |= program->in_lines;
    unsigned class = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        class += byte > 0 && begins[byte];
        program->class_of[byte] = (uint8_t)class;
        if (begins[byte])
            program->representative[class] = (uint8_t)byte;
    }
    program->classes = class + 2;
    if (program->in_lines)
        program->class_of['\n'] = (uint8_t)(program->classes - 1);
}

bool program_compile(struct program *program, const struct syntax *syntax, enum program_kind kind)
{
    *program = (struct program){.in_lines = kind != MATCH_WHOLE, .code = malloc(PROGRAM_LIMIT * sizeof *program->code)};
    if (program->code == NULL)
        return false;
    struct compiler compiler = {.program = program, .syntax = syntax, .backwards = kind == FIND_BACKWARDS};
    uint32_t end = emit(&compiler, ACCEPT, 0, 0);
    if (kind == MATCH_WHOLE)
        end = compile_assertion(&compiler, LINE_END, end);
    uint32_t start = compile(&compiler, syntax->root, end);
    if (start == NOWHERE || compiler.full) {
        program_free(program);
        return false;
    }
    program->start = (uint16_t)start;
    struct instruction *exact = realloc(program->code, program->count * sizeof *exact);
    program->code = exact != NULL ? exact : program->code;
    classify(program);
    return true;
}

void program_free(struct program *program)
{
    free(program->code);
    *program = (struct program){0};
}
