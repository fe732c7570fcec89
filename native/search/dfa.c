#define _GNU_SOURCE
#include "dfa-states.h"

#include <stdlib.h>
#include <string.h>

static bool has(const uint64_t *set, unsigned id)
{
    return set[id / 64] >> id % 64 & 1;
}

/* Puts an instruction and all that are reached from it without a byte into a set; assertions are passed if they hold. */
static void follow(struct dfa *dfa, uint64_t *set, unsigned from, unsigned holding)
{
    size_t depth = 0;
    dfa->stack[depth++] = (uint16_t)from;
    while (depth > 0) {
        unsigned at = dfa->stack[--depth];
        const struct instruction *instruction = &dfa->program->code[at];
        if (has(set, at))
            continue;
        set[at / 64] |= 1ULL << at % 64;
        dfa->work--;
        if (instruction->operation == SPLIT)
            dfa->stack[depth++] = instruction->other;
        if (instruction->operation == SPLIT || (instruction->operation == ASSERT && holding >> instruction->low & 1))
            dfa->stack[depth++] = instruction->next;
    }
}

static void clear(struct dfa *dfa, uint64_t *set)
{
    memset(set, 0, dfa->words * sizeof *set);
    dfa->work -= (int64_t)dfa->words;
}

/* Which assertions hold between what is before and the byte, or the end, that comes next. */
static unsigned holding(enum context before, bool at_end, uint8_t next)
{
    bool was_word = before == AFTER_WORD, is_word = !at_end && program_is_word(next);
    return (unsigned)(before == AT_START) << LINE_START | (unsigned)at_end << LINE_END |
           (unsigned)(was_word != is_word) << WORD_EDGE | (unsigned)(was_word == is_word) << NO_WORD_EDGE |
           (unsigned)(!was_word && is_word) << WORD_START | (unsigned)(was_word && !is_word) << WORD_END;
}

/* The instructions of a state after its assertions have been decided. */
static bool decide(struct dfa *dfa, const struct state *state, unsigned class)
{
    bool at_end = class + 1 == dfa->program->classes, accepts = false;
    unsigned assertions = holding((enum context)state->context, at_end, at_end ? 0 : dfa->program->representative[class]);
    clear(dfa, dfa->decided);
    for (unsigned i = 0; i < state->count; i++)
        follow(dfa, dfa->decided, dfa->ids[state->first + i], assertions);
    for (unsigned id = 0; id < dfa->program->count && !accepts; id++)
        accepts = dfa->program->code[id].operation == ACCEPT && has(dfa->decided, id);
    return accepts;
}

static void step_over(struct dfa *dfa, unsigned id, uint8_t byte)
{
    const struct instruction *instruction = &dfa->program->code[id];
    if (instruction->operation == MATCH_BYTE && instruction->low <= byte && byte <= instruction->high)
        follow(dfa, dfa->reached, instruction->next, 0);
}

/* Works out the entry of a table. */
static uint32_t learn(struct dfa *dfa, uint32_t row, unsigned class)
{
    const struct program *program = dfa->program;
    const struct state state = dfa->states[row / dfa->stride];
    bool accepts = state.asserts ? decide(dfa, &state, class) : state.accepts, forgot = false;
    uint32_t entry = 0; /* the end of a line is followed by the start of another */
    if (class + 1 < program->classes) {
        uint8_t byte = program->representative[class];
        clear(dfa, dfa->reached);
        if (program->in_lines)
            follow(dfa, dfa->reached, program->start, 0); /* a match may begin here */
        for (unsigned i = 0; i < state.count && !state.asserts; i++)
            step_over(dfa, dfa->ids[state.first + i], byte);
        for (unsigned id = 0; id < program->count && state.asserts; id++) {
            if (has(dfa->decided, id))
                step_over(dfa, id, byte);
        }
        dfa->work -= state.count;
        enum context context = !program->looks_back ? AT_START : program_is_word(byte) ? AFTER_WORD : AFTER_OTHER;
        entry = dfa_row_of(dfa, context, &forgot);
    }
    entry |= (accepts ? MATCHED : 0u) | (entry == 0 && dfa->skips ? IDLE : 0u);
    if (!forgot)
        dfa->table[row + class] = entry;
    return entry;
}

/* Finds out which bytes lead out of the first state, and whether it is worth while to look for them alone. */
static void learn_skips(struct dfa *dfa)
{
    const struct program *program = dfa->program;
    for (unsigned byte = 0; byte < 256; byte++)
        dfa->leaving.has[byte] = learn(dfa, 0, program->class_of[byte]) != 0;
    byte_set_prepare(&dfa->leaving);
    dfa->skips = byte_set_is_rare(&dfa->leaving);
    for (unsigned class = 0; class < program->classes && dfa->skips; class++)
        dfa->table[class] |= dfa->table[class] == 0 ? IDLE : 0u;
}

struct dfa *dfa_new(const struct program *program, size_t memory)
{
    struct dfa *dfa = calloc(1, sizeof *dfa);
    if (dfa == NULL)
        return NULL;
    dfa->program = program;
    dfa->words = (program->count + 63u) / 64;
    /* Each instruction puts two others on the stack at most. */
    dfa->stack = malloc((2 * (size_t)program->count + 1) * sizeof *dfa->stack);
    dfa->reached = malloc(dfa->words * sizeof *dfa->reached);
    dfa->decided = malloc(dfa->words * sizeof *dfa->decided);
    if (!dfa_make_states(dfa, memory) || dfa->stack == NULL || dfa->reached == NULL || dfa->decided == NULL) {
        dfa_free(dfa);
        return NULL;
    }
    bool forgot;
    clear(dfa, dfa->reached);
    follow(dfa, dfa->reached, program->start, 0);
    dfa_row_of(dfa, AT_START, &forgot);
    if (program->in_lines)
        learn_skips(dfa);
    return dfa;
}

void dfa_free(struct dfa *dfa)
{
    if (dfa == NULL)
        return;
    dfa_free_states(dfa);
    free(dfa->stack);
    free(dfa->reached);
    free(dfa->decided);
    free(dfa);
}

void dfa_refill(struct dfa *dfa, int64_t work)
{
    dfa->work = work;
}

enum dfa_outcome dfa_run(struct dfa *dfa, struct dfa_place *place, const uint8_t *end)
{
    const uint8_t *class_of = dfa->program->class_of, *at = place->at;
    uint32_t row = place->row;
    enum dfa_outcome outcome = DFA_END;
    for (; at < end; at++) {
        /* The next entry depends on the one before by a single load: its address is worked out meanwhile. */
        const uint32_t *column = dfa->table + class_of[*at];
        uint32_t entry = column[row];
        if (entry & FLAGS) {
            if (entry == UNKNOWN && dfa->work < 0) {
                outcome = DFA_PAUSED;
                break;
            }
            if (entry == UNKNOWN)
                entry = learn(dfa, row, class_of[*at]);
            if (entry & MATCHED) {
                outcome = DFA_MATCH;
                break;
            }
            if (entry & IDLE)
                at = byte_set_find(&dfa->leaving, at + 1, end) - 1;
            entry &= ~(uint32_t)FLAGS;
        }
        row = entry;
    }
    *place = (struct dfa_place){row, at};
    return outcome;
}

/* The entry for the end of the text. */
static uint32_t end_entry(struct dfa *dfa, uint32_t row)
{
    unsigned class = dfa->program->classes - 1;
    uint32_t entry = dfa->table[row + class];
    return entry == UNKNOWN ? learn(dfa, row, class) : entry;
}

bool dfa_accepts_end(struct dfa *dfa, struct dfa_place *place)
{
    return end_entry(dfa, place->row) & MATCHED;
}

bool dfa_matches(struct dfa *dfa, const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    struct dfa_place place = {0, bytes};
    dfa_refill(dfa, INT64_MAX / 2);
    return dfa_run(dfa, &place, bytes + strlen(text)) == DFA_END && dfa_accepts_end(dfa, &place);
}

bool dfa_leftmost(struct dfa *dfa, const uint8_t *line, const uint8_t *end, int64_t work, const uint8_t **start)
{
    const uint8_t *class_of = dfa->program->class_of;
    uint32_t row = 0;
    dfa_refill(dfa, work);
    *start = NULL;
    for (const uint8_t *at = end; at > line; at--) {
        uint32_t entry = dfa->table[row + class_of[at[-1]]];
        if (entry == UNKNOWN)
            entry = learn(dfa, row, class_of[at[-1]]);
        if (entry & MATCHED)
            *start = at;
        if (dfa->work < 0)
            return false;
        row = entry & ~(uint32_t)FLAGS;
    }
    if (end_entry(dfa, row) & MATCHED)
        *start = line;
    return *start != NULL;
}
