/*
 * POSIX extended regular expressions without back-references, and of what POSIX leaves open: \w \W \s \S \d \D, \b \B \< \>, \t, and
 * `{` that begins no repetition as a character. A pattern matches within a line, so none of its sets contains a line feed.
 */
#define _GNU_SOURCE
#include "regex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_LIMIT 200

static uint32_t parse_alternatives(struct parser *parser);

uint32_t regex_complain(struct parser *parser, const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (parser->complaint->text[0] == '\0')
        snprintf(parser->complaint->text, sizeof parser->complaint->text, "%s, at byte %zu of the pattern", text,
                 (size_t)(parser->at - parser->start));
    return NO_NODE;
}

uint32_t regex_take_character(struct parser *parser)
{
    size_t length;
    uint32_t character = utf8_decode((const uint8_t *)parser->at, &length);
    parser->at += length;
    return character;
}

uint32_t regex_finish_set(struct parser *parser, size_t start)
{
    set_remove(parser->syntax, start, '\n');
    return set_finish(parser->syntax, start, NODE_CHARACTERS);
}

static uint32_t one_character(struct parser *parser, uint32_t character)
{
    struct syntax *syntax = parser->syntax;
    size_t start = syntax->range_count;
    set_add(syntax, character, character);
    if (parser->fold)
        set_fold(syntax, start);
    return regex_finish_set(parser, start);
}

static uint32_t class_of(struct parser *parser, const char *name, bool negated)
{
    struct syntax *syntax = parser->syntax;
    size_t start = syntax->range_count;
    set_add_class(syntax, name, strlen(name));
    if (negated)
        set_negate(syntax, start, LAST_CHARACTER);
    return regex_finish_set(parser, start);
}

static uint32_t parse_escape(struct parser *parser)
{
    char letter = *parser->at;
    if (letter == '\0')
        return regex_complain(parser, "a backslash at the end escapes nothing");
    if (letter >= '1' && letter <= '9')
        return regex_complain(parser, "back-references such as \\%c are not supported", letter);
    static const char classes[] = "wWsSdD", edges[] = "bB<>";
    static const char *const names[] = {"word", "space", "digit"};
    static const enum assertion assertions[] = {WORD_EDGE, NO_WORD_EDGE, WORD_START, WORD_END};
    const char *found = strchr(classes, letter);
    if (found != NULL) {
        parser->at++;
        return class_of(parser, names[(found - classes) / 2], (found - classes) % 2 == 1);
    }
    found = strchr(edges, letter);
    if (found != NULL) {
        parser->at++;
        return syntax_assertion(parser->syntax, assertions[found - edges]);
    }
    if (letter == 't') {
        parser->at++;
        return one_character(parser, '\t');
    }
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '0')
        return regex_complain(parser, "\\%c is not known; write the character itself, or a class such as [[:alpha:]]", letter);
    return one_character(parser, regex_take_character(parser));
}

static uint32_t parse_group(struct parser *parser)
{
    if (++parser->depth > DEPTH_LIMIT)
        return regex_complain(parser, "more than %d groups inside each other", DEPTH_LIMIT);
    uint32_t inside = parse_alternatives(parser);
    if (inside == NO_NODE)
        return NO_NODE;
    if (*parser->at != ')')
        return regex_complain(parser, "( without a )");
    parser->at++;
    parser->depth--;
    return inside;
}

static uint32_t parse_atom(struct parser *parser)
{
    struct syntax *syntax = parser->syntax;
    char character = *parser->at;
    if (character == '*' || character == '+' || character == '?')
        return regex_complain(parser, "%c repeats nothing; write \\%c for the character", character, character);
    if (strchr("([.^$\\", character) == NULL)
        return one_character(parser, regex_take_character(parser));
    parser->at++;
    size_t start = syntax->range_count;
    switch (character) {
    case '(':
        return parse_group(parser);
    case '[':
        return regex_parse_brackets(parser);
    case '^':
        return syntax_assertion(syntax, LINE_START);
    case '$':
        return syntax_assertion(syntax, LINE_END);
    case '\\':
        return parse_escape(parser);
    default:
        set_add(syntax, 0, LAST_CHARACTER);
        return regex_finish_set(parser, start);
    }
}

/* {m}, {m,}, {,n} or {m,n}; false if the text is none of these. */
static bool take_interval(struct parser *parser, uint64_t *least, uint64_t *most)
{
    const char *at = parser->at + 1;
    char *end;
    bool has_least = *at >= '0' && *at <= '9';
    *least = has_least ? strtoull(at, &end, 10) : 0;
    at = has_least ? end : at;
    *most = *least;
    if (*at == ',') {
        at++;
        bool has_most = *at >= '0' && *at <= '9';
        if (!has_least && !has_most)
            return false;
        *most = has_most ? strtoull(at, &end, 10) : UNBOUNDED;
        at = has_most ? end : at;
    } else if (!has_least) {
        return false;
    }
    if (*at != '}')
        return false;
    parser->at = at + 1;
    return true;
}

static uint32_t repeat_counted(struct parser *parser, uint32_t part, uint64_t least, uint64_t most)
{
    if (least > REPEAT_LIMIT || (most > REPEAT_LIMIT && most != UNBOUNDED))
        return regex_complain(parser, "at most %d repetitions can be counted", REPEAT_LIMIT);
    if (most < least)
        return regex_complain(parser, "a repetition whose most is below its least");
    if (parser->syntax->nodes[part].counted && (least > 1 || (most > 1 && most != UNBOUNDED)))
        return regex_complain(parser, "a counted repetition inside another is not supported");
    return syntax_repeat(parser->syntax, part, (uint32_t)least, (uint32_t)most);
}

static uint32_t parse_repeated(struct parser *parser)
{
    uint32_t part = parse_atom(parser);
    for (unsigned repetitions = 0; part != NO_NODE; repetitions++) {
        uint64_t least, most;
        char mark = *parser->at;
        if (repetitions > DEPTH_LIMIT)
            return regex_complain(parser, "more than %d repetitions of each other", DEPTH_LIMIT);
        if (mark == '{' && take_interval(parser, &least, &most)) {
            part = repeat_counted(parser, part, least, most);
            continue;
        }
        if (mark != '*' && mark != '+' && mark != '?')
            return part;
        parser->at++;
        part = syntax_repeat(parser->syntax, part, mark == '+', mark == '?' ? 1 : UNBOUNDED);
    }
    return part;
}

static uint32_t parse_sequence(struct parser *parser)
{
    uint32_t whole = syntax_add(parser->syntax, (struct node){.kind = NODE_EMPTY});
    bool first = true;
    while (whole != NO_NODE && *parser->at != '\0' && *parser->at != '|' && (*parser->at != ')' || parser->depth == 0)) {
        if (*parser->at == ')')
            return regex_complain(parser, ") without a (; write \\) for the character");
        uint32_t part = parse_repeated(parser);
        whole = first ? part : syntax_both(parser->syntax, whole, part);
        first = false;
    }
    return whole;
}

static uint32_t parse_alternatives(struct parser *parser)
{
    uint32_t whole = parse_sequence(parser);
    while (whole != NO_NODE && *parser->at == '|') {
        parser->at++;
        whole = syntax_either(parser->syntax, whole, parse_sequence(parser));
    }
    return whole;
}

static bool finish(struct parser *parser, uint32_t root)
{
    parser->syntax->root = root;
    if (root != NO_NODE && !parser->syntax->exhausted)
        return true;
    if (parser->complaint->text[0] == '\0')
        regex_complain(parser, "out of memory");
    return false;
}

static bool begin(struct parser *parser, const char *text)
{
    if (strlen(text) > PATTERN_LIMIT)
        regex_complain(parser, "a pattern has at most %d bytes", PATTERN_LIMIT);
    else if (text[0] == '\0')
        regex_complain(parser, "an empty pattern matches everything; leave `content` out to find files by name");
    else if (strchr(text, '\n') != NULL)
        regex_complain(parser, "a pattern cannot contain a line break, as it matches within a line");
    return parser->complaint->text[0] == '\0';
}

bool regex_parse(struct syntax *syntax, const char *text, bool fold, struct complaint *complaint)
{
    struct parser parser = {.syntax = syntax, .start = text, .at = text, .fold = fold, .complaint = complaint};
    complaint->text[0] = '\0';
    return begin(&parser, text) && finish(&parser, parse_alternatives(&parser));
}

bool literal_parse(struct syntax *syntax, const char *text, bool fold, struct complaint *complaint)
{
    struct parser parser = {.syntax = syntax, .start = text, .at = text, .fold = fold, .complaint = complaint};
    complaint->text[0] = '\0';
    if (!begin(&parser, text))
        return false;
    uint32_t whole = one_character(&parser, regex_take_character(&parser));
    while (whole != NO_NODE && *parser.at != '\0')
        whole = syntax_both(syntax, whole, one_character(&parser, regex_take_character(&parser)));
    return finish(&parser, whole);
}
