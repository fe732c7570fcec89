/*
 * Whatever a pattern is, it is refused with a reason or compiled; then the automaton that goes forward and the one that goes backward
 * agree about each line, one whose states are forgotten all the time finds the same, and the text that is required is there.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../search/dfa.h"

const struct seed seeds[] = {
    SEED("r(a*)*b|[[:alpha:]]{2,5}\nxaab\nabc\nb"),
    SEED("i^gr(\xc3\xbc|ue)[^\xc3\x9f-\xc3\xa9]+$\nGR\xc3\x9c" "e\ngrue\xe6\x97\xa5\n"),
    SEED("r\\bfoo\\B.{0,3}\\<\\w+\\>\nfood bar\nfoo\n"),
    SEED("r[]a^-]?[[.-.][=x=]]\\t\\d{3}(|x)\n]-\t123x\n"),
    SEED("lneedle \xe6\x97\xa5\nno needle \xe6\x97\xa5\nneedle\n"),
    SEED("g**/a*{b,[!c]?}/\\{x\nz/abc/{x\nab"),
    SEED("r(a?){30}a{30}[ab]{9}c\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\n"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

/* So little that states are forgotten at once. */
#define NO_MEMORY 0
#define WORK 200000

/* The first match in a line, as the place before which it ends; NULL if there is none. False when it takes too much work. */
static bool first_match(struct dfa *dfa, const uint8_t *line, const uint8_t *end, const uint8_t **place)
{
    struct dfa_place at = {0, line};
    dfa_refill(dfa, WORK);
    enum dfa_outcome outcome = dfa_run(dfa, &at, end);
    *place = outcome == DFA_MATCH || (outcome == DFA_END && dfa_accepts_end(dfa, &at)) ? at.at : NULL;
    return outcome != DFA_PAUSED;
}

static void check_line(const struct program *forward, const struct program *backward, const struct literal *required, bool whole,
                       const uint8_t *line, const uint8_t *end)
{
    struct dfa *spacious = dfa_new(forward, 1 << 16), *tight = dfa_new(forward, NO_MEMORY), *back = dfa_new(backward, 1 << 16);
    const uint8_t *place, *other, *start;
    if (spacious == NULL || tight == NULL || back == NULL)
        fuzz_fail("out of memory");
    bool found = first_match(spacious, line, end, &place) && first_match(tight, line, end, &other);
    if (found && place != other)
        fuzz_fail("forgotten states change what is found");
    if (found) {
        bool began = dfa_leftmost(back, line, end, INT64_MAX / 2, &start);
        if (began != (place != NULL) || (began && (start < line || start > place)))
            fuzz_fail("the automatons disagree");
        const uint8_t *text = required->length > 0 ? literal_find(required, line, end) : NULL;
        if (place != NULL && required->length > 0 && text == NULL)
            fuzz_fail("a match without the text that it requires");
        if (whole && (text != NULL) != (place != NULL))
            fuzz_fail("a text is found, or not");
        if (whole && text != NULL && text != start)
            fuzz_fail("a text begins elsewhere");
    }
    dfa_free(spacious);
    dfa_free(tight);
    dfa_free(back);
}

static void check_lines(const struct syntax *syntax, const uint8_t *text, const uint8_t *end)
{
    struct program forward, backward;
    struct literal required;
    bool whole, compiled = program_compile(&forward, syntax, FIND_IN_LINES);
    if (compiled && program_compile(&backward, syntax, FIND_BACKWARDS)) {
        program_required(syntax, &required, &whole);
        while (text < end) {
            const uint8_t *feed = memchr(text, '\n', (size_t)(end - text)), *stop = feed != NULL ? feed : end;
            check_line(&forward, &backward, &required, whole, text, stop);
            text = stop + 1;
        }
        program_free(&backward);
    }
    if (compiled)
        program_free(&forward);
}

static void check_name(const struct syntax *syntax, const char *text)
{
    struct program program;
    if (!program_compile(&program, syntax, MATCH_WHOLE))
        return;
    struct dfa *spacious = dfa_new(&program, 1 << 16), *tight = dfa_new(&program, NO_MEMORY);
    if (spacious == NULL || tight == NULL)
        fuzz_fail("out of memory");
    if (dfa_matches(spacious, text) != dfa_matches(tight, text))
        fuzz_fail("forgotten states change what a glob matches");
    dfa_free(spacious);
    dfa_free(tight);
    program_free(&program);
}

void fuzz_one(const uint8_t *input, size_t length)
{
    const uint8_t *feed = length > 0 ? memchr(input, '\n', length) : NULL;
    if (feed == NULL)
        return;
    char kind = (char)input[0], *pattern = strndup((const char *)input + 1, feed > input ? (size_t)(feed - input) - 1 : 0);
    struct syntax syntax = {0};
    struct complaint complaint = {""};
    bool fold = kind == 'i', is_glob = kind == 'g';
    bool parsed = is_glob         ? glob_parse(&syntax, pattern, &complaint)
                  : kind == 'l' ? literal_parse(&syntax, pattern, fold, &complaint)
                                  : regex_parse(&syntax, pattern, fold, &complaint);
    if (!parsed && complaint.text[0] == '\0')
        fuzz_fail("a pattern is refused without a reason");
    if (parsed && is_glob)
        check_name(&syntax, (const char *)feed + 1);
    else if (parsed)
        check_lines(&syntax, feed + 1, input + length);
    syntax_free(&syntax);
    free(pattern);
}
