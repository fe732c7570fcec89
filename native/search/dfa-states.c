#define _GNU_SOURCE
#include "dfa-states.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 8

static bool grow(void **elements, size_t *capacity, size_t wanted, size_t limit, size_t size)
{
    size_t more = *capacity;
    while (more < wanted)
        more *= 2;
    more = more > limit ? limit : more;
    if (wanted > more)
        return false;
    void *grown = realloc(*elements, more * size);
    if (grown == NULL)
        return false;
    *elements = grown;
    *capacity = more;
    return true;
}

/* Room for one more state; false when there is none. */
static bool has_room(struct dfa *dfa, size_t ids)
{
    if (dfa->rows == dfa->row_capacity) {
        size_t capacity = dfa->row_capacity;
        void *table = dfa->table, *states = dfa->states;
        bool grown = grow(&table, &capacity, dfa->rows + 1, dfa->row_limit, dfa->stride * sizeof *dfa->table);
        dfa->table = table;
        capacity = dfa->row_capacity;
        grown = grown && grow(&states, &capacity, dfa->rows + 1, dfa->row_limit, sizeof *dfa->states);
        dfa->states = states;
        if (!grown)
            return false;
        dfa->row_capacity = capacity;
    }
    if (dfa->id_count + ids <= dfa->id_capacity)
        return true;
    void *all = dfa->ids;
    bool grown = grow(&all, &dfa->id_capacity, dfa->id_count + ids, dfa->id_limit, sizeof *dfa->ids);
    dfa->ids = all;
    return grown;
}

static void forget_row(struct dfa *dfa, size_t row)
{
    for (size_t i = 0; i < dfa->stride; i++)
        dfa->table[row * dfa->stride + i] = UNKNOWN;
}

/* Appends what counts of the set `reached` to the ids, of which there must be room for all instructions. */
static struct state describe(struct dfa *dfa, enum context context)
{
    struct state state = {.first = (uint32_t)dfa->id_count, .context = (uint8_t)context};
    for (size_t word = 0; word < dfa->words; word++) {
        for (uint64_t bits = dfa->reached[word]; bits != 0; bits &= bits - 1) {
            unsigned id = (unsigned)(word * 64) + (unsigned)__builtin_ctzll(bits);
            uint8_t operation = dfa->program->code[id].operation;
            state.accepts |= operation == ACCEPT;
            state.asserts |= operation == ASSERT;
            if (operation == SPLIT)
                continue;
            dfa->ids[state.first + state.count++] = (uint16_t)id;
            state.hash = (state.hash ^ id) * 16777619u;
        }
    }
    return state;
}

static uint32_t add_row(struct dfa *dfa, struct state state)
{
    uint32_t *newest = &dfa->newest[state.hash % BUCKETS];
    state.older = *newest;
    *newest = (uint32_t)dfa->rows;
    forget_row(dfa, dfa->rows);
    dfa->id_count += state.count;
    dfa->states[dfa->rows] = state;
    return (uint32_t)(dfa->rows++ * dfa->stride);
}

static void forget_buckets(struct dfa *dfa)
{
    for (size_t i = 0; i < BUCKETS; i++)
        dfa->newest[i] = NO_ROW;
}

/* All states but the first, that of the start. */
static void forget_states(struct dfa *dfa)
{
    const struct state first = dfa->states[0];
    forget_buckets(dfa);
    dfa->rows = dfa->id_count = 0;
    add_row(dfa, first);
}

uint32_t dfa_row_of(struct dfa *dfa, enum context context, bool *forgot)
{
    if (!has_room(dfa, dfa->program->count)) {
        forget_states(dfa);
        *forgot = true;
    }
    struct state state = describe(dfa, context);
    const uint16_t *ids = dfa->ids + state.first;
    for (uint32_t row = dfa->newest[state.hash % BUCKETS]; row != NO_ROW; row = dfa->states[row].older) {
        const struct state *known = &dfa->states[row];
        dfa->work--;
        if (known->hash == state.hash && known->count == state.count && known->context == state.context &&
            memcmp(dfa->ids + known->first, ids, state.count * sizeof *ids) == 0)
            return (uint32_t)(row * dfa->stride);
    }
    return add_row(dfa, state);
}

bool dfa_make_states(struct dfa *dfa, size_t memory)
{
    size_t count = dfa->program->count;
    dfa->stride = (dfa->program->classes + 7u) / 8 * 8;
    dfa->row_limit = memory / 2 / (dfa->stride * sizeof *dfa->table) + FIRST_ROWS;
    dfa->id_limit = memory / 2 / sizeof *dfa->ids + 2 * count;
    dfa->row_capacity = FIRST_ROWS;
    forget_buckets(dfa);
    dfa->id_capacity = 2 * count;
    dfa->table = malloc(dfa->row_capacity * dfa->stride * sizeof *dfa->table);
    dfa->states = malloc(dfa->row_capacity * sizeof *dfa->states);
    dfa->ids = malloc(dfa->id_capacity * sizeof *dfa->ids);
    return dfa->table != NULL && dfa->states != NULL && dfa->ids != NULL;
}

void dfa_free_states(struct dfa *dfa)
{
    free(dfa->table);
    free(dfa->states);
    free(dfa->ids);
}
