/*
 * The last rule that matches in the deepest file decides, as in git. Most rules are a name or an ending, which are compared directly;
 * the others are compiled when they are first needed.
 */
#define _GNU_SOURCE
#include "ignore.h"

#include <stdlib.h>
#include <string.h>

#include "dfa.h"

/* Enough for the states of ordinary rules, of which there may be thousands. */
#define RULE_MEMORY (16 * 1024)

enum rule_kind { RULE_TEXT, RULE_ENDING, RULE_GLOB, RULE_COMPILED, RULE_NEVER };

struct ignore_rule {
    char *pattern;
    enum rule_kind kind;
    bool negated, directories_only, whole_path;
    struct program program;
    struct dfa *dfa;
};

static size_t plain_length(const char *text)
{
    return strcspn(text, "*?[\\");
}

/* Blanks at the end do not count unless they are escaped. */
static void trim_blanks(char *line)
{
    char *blanks = NULL;
    for (char *at = line; *at != '\0'; at++) {
        if (*at == ' ') {
            blanks = blanks != NULL ? blanks : at;
            continue;
        }
        if (*at == '\\' && *++at == '\0')
            return;
        blanks = NULL;
    }
    if (blanks != NULL)
        *blanks = '\0';
}

/* Makes a rule of a line; false when it holds none. */
static bool parse_rule(struct ignore_rule *rule, char *line)
{
    trim_blanks(line);
    *rule = (struct ignore_rule){.negated = *line == '!'};
    line += rule->negated;
    size_t length = strlen(line);
    rule->directories_only = length > 0 && line[length - 1] == '/';
    if (rule->directories_only)
        line[--length] = '\0';
    rule->whole_path = strchr(line, '/') != NULL;
    line += *line == '/';
    rule->kind = line[plain_length(line)] == '\0'                                                        ? RULE_TEXT
                 : !rule->whole_path && line[0] == '*' && line[1 + plain_length(line + 1)] == '\0' ? RULE_ENDING
                                                                                                         : RULE_GLOB;
    rule->pattern = strdup(line);
    return rule->pattern != NULL;
}

static size_t count_line_ends(const char *text, size_t length)
{
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == '\n';
    return count;
}

static void add_lines(struct ignore *ignore, char *text, char *end)
{
    while (text < end) {
        char *line = text, *feed = memchr(line, '\n', (size_t)(end - line));
        char *line_end = feed != NULL ? feed : end;
        text = feed != NULL ? feed + 1 : end;
        *line_end = '\0';
        if (line_end > line && line_end[-1] == '\r')
            line_end[-1] = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (ignore->total >= IGNORE_RULE_LIMIT)
            return;
        if (parse_rule(&ignore->rules[ignore->count], line)) {
            ignore->count++;
            ignore->total++;
        }
    }
}

struct ignore *ignore_parse(struct ignore *above, size_t directory, char *text, size_t length)
{
    struct ignore *ignore = calloc(1, sizeof *ignore);
    if (ignore == NULL)
        return NULL;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3, length -= 3;
    size_t lines = count_line_ends(text, length), room = lines < IGNORE_RULE_LIMIT ? lines : IGNORE_RULE_LIMIT;
    *ignore = (struct ignore){.above = above, .directory = directory, .total = above != NULL ? above->total : 0};
    ignore->rules = malloc(room * sizeof *ignore->rules);
    if (ignore->rules == NULL) {
        free(ignore);
        return NULL;
    }
    add_lines(ignore, text, text + length);
    return ignore;
}

struct ignore *ignore_free(struct ignore *ignore)
{
    struct ignore *above = ignore->above;
    for (size_t i = 0; i < ignore->count; i++) {
        dfa_free(ignore->rules[i].dfa);
        program_free(&ignore->rules[i].program);
        free(ignore->rules[i].pattern);
    }
    free(ignore->rules);
    free(ignore);
    return above;
}

static enum rule_kind compile(struct ignore_rule *rule)
{
    struct syntax syntax = {0};
    bool compiled = ignore_glob_parse(&syntax, rule->pattern, plain_length(rule->pattern), rule->whole_path) &&
                    program_compile(&rule->program, &syntax, MATCH_WHOLE);
    syntax_free(&syntax);
    rule->dfa = compiled ? dfa_new(&rule->program, RULE_MEMORY) : NULL;
    return rule->dfa != NULL ? RULE_COMPILED : RULE_NEVER;
}

static bool rule_matches(struct ignore_rule *rule, const char *path)
{
    if (rule->kind == RULE_GLOB)
        rule->kind = compile(rule);
    if (rule->kind == RULE_TEXT)
        return strcmp(path, rule->pattern) == 0;
    if (rule->kind == RULE_ENDING) {
        size_t length = strlen(path), wanted = strlen(rule->pattern + 1);
        return length >= wanted && memcmp(path + length - wanted, rule->pattern + 1, wanted) == 0;
    }
    return rule->kind == RULE_COMPILED && dfa_matches(rule->dfa, path);
}

bool ignore_matches(const struct ignore *ignore, const char *path, bool is_directory)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    for (; ignore != NULL; ignore = ignore->above) {
        const char *below = path + ignore->directory + (ignore->directory > 0);
        for (size_t i = ignore->count; i-- > 0;) {
            struct ignore_rule *rule = &ignore->rules[i];
            if ((is_directory || !rule->directories_only) && rule_matches(rule, rule->whole_path ? below : name))
                return !rule->negated;
        }
    }
    return false;
}
