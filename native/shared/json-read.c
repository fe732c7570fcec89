/* A strict parser without a tree: the whole text is checked once, and values are looked up in it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define DEEPEST 64

static const char *skip_value(const char *at, const char *end, int depth);

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static const char *skip_word(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0 ? at + length : NULL;
}

static int hexadecimal(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The number of a \uXXXX whose four digits are at the start, or -1. */
static long code_unit(const char *at, const char *end)
{
    long number = 0;
    for (int i = 0; i < 4; i++) {
        int digit = at + i < end ? hexadecimal(at[i]) : -1;
        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}

static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '"')
            return at + 1;
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        if (++at >= end || *at == '\0' || strchr("\"\\/bfnrtu", *at) == NULL)
            return NULL;
        if (*at == 'u' && code_unit(at + 1, end) < 0)
            return NULL;
    }
    return NULL;
}

static const char *skip_digits(const char *at, const char *end)
{
    const char *start = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > start ? at : NULL;
}

static const char *skip_number(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    at = at < end && *at == '0' ? at + 1 : skip_digits(at, end);
    if (at != NULL && at < end && *at == '.')
        at = skip_digits(at + 1, end);
    if (at != NULL && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        at = skip_digits(at, end);
    }
    return at;
}

/* A name and its colon. */
static const char *skip_name(const char *at, const char *end)
{
    if (at >= end || *at != '"' || (at = skip_string(at, end)) == NULL)
        return NULL;
    at = skip_space(at, end);
    return at < end && *at == ':' ? skip_space(at + 1, end) : NULL;
}

static const char *skip_container(const char *at, const char *end, int depth)
{
    bool named = *at == '{';
    char closing = named ? '}' : ']';
    at = skip_space(at + 1, end);
    if (at < end && *at == closing)
        return at + 1;
    while (at < end) {
        if (named && (at = skip_name(at, end)) == NULL)
            return NULL;
        if ((at = skip_value(at, end, depth + 1)) == NULL)
            return NULL;
        at = skip_space(at, end);
        if (at < end && *at == closing)
            return at + 1;
        if (at >= end || *at != ',')
            return NULL;
        at = skip_space(at + 1, end);
    }
    return NULL;
}

static const char *skip_value(const char *at, const char *end, int depth)
{
    if (at >= end || depth > DEEPEST)
        return NULL;
    switch (*at) {
    case '"': return skip_string(at, end);
    case '{':
    case '[': return skip_container(at, end, depth);
    case 't': return skip_word(at, end, "true");
    case 'f': return skip_word(at, end, "false");
    case 'n': return skip_word(at, end, "null");
    default: return skip_number(at, end);
    }
}

static enum json_kind kind_of(char first)
{
    switch (first) {
    case '"': return JSON_STRING;
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case 'n': return JSON_NULL;
    case 't':
    case 'f': return JSON_BOOLEAN;
    default: return JSON_NUMBER;
    }
}

/* The value at the start of a checked text. */
static struct json value_at(const char *at, const char *end)
{
    return (struct json){.kind = kind_of(*at), .start = at, .end = skip_value(at, end, 0)};
}

bool json_parse(const char *text, size_t length, struct json *value)
{
    const char *end = text + length, *at = skip_space(text, end), *behind = skip_value(at, end, 0);
    if (behind == NULL || skip_space(behind, end) != end)
        return false;
    *value = (struct json){.kind = kind_of(*at), .start = at, .end = behind};
    return true;
}

struct json_elements json_elements(const struct json *container)
{
    return (struct json_elements){.at = skip_space(container->start + 1, container->end), .end = container->end - 1};
}

bool json_next(struct json_elements *elements, struct json *element)
{
    if (elements->at >= elements->end)
        return false;
    *element = value_at(elements->at, elements->end);
    const char *at = skip_space(element->end, elements->end);
    elements->at = at < elements->end ? skip_space(at + 1, elements->end) : at;
    return true;
}

static bool next_member(struct json_elements *members, struct json *name, struct json *value)
{
    if (members->at >= members->end)
        return false;
    *name = value_at(members->at, members->end);
    members->at = skip_name(members->at, members->end);
    return json_next(members, value);
}

int json_member(const struct json *object, const char *name, struct json *value)
{
    if (object->kind != JSON_OBJECT)
        return 0;
    struct json_elements members = json_elements(object);
    struct json key, found;
    int count = 0;
    while (next_member(&members, &key, &found)) {
        if (!json_is(&key, name))
            continue;
        *value = found;
        count++;
    }
    return count;
}

int json_member_count(const struct json *object)
{
    struct json_elements members = json_elements(object);
    struct json key, value;
    int count = 0;
    while (next_member(&members, &key, &value))
        count++;
    return count;
}

static char *put_code_point(char *to, long code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    *to++ = (char)(lead[more] | (code >> (6 * more)));
    while (more-- > 0)
        *to++ = (char)(0x80 | ((code >> (6 * more)) & 0x3F));
    return to;
}

/* Returns the position after the four digits; a pair of surrogates is one character, a lone one is U+FFFD. */
static const char *take_code_point(const char *at, const char *end, long *code)
{
    *code = code_unit(at, end);
    at += 4;
    if (*code < 0xD800 || *code > 0xDFFF)
        return at;
    long low = *code < 0xDC00 && at + 6 <= end && at[0] == '\\' && at[1] == 'u' ? code_unit(at + 2, end) : -1;
    if (low < 0xDC00 || low > 0xDFFF) {
        *code = 0xFFFD;
        return at;
    }
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return at + 6;
}

char *json_text(const struct json *string)
{
    if (string->kind != JSON_STRING)
        return NULL;
    const char *at = string->start + 1, *end = string->end - 1;
    char *text = malloc((size_t)(end - at) + 1), *to = text; /* no escape is shorter than its character */
    static const char escapes[] = "b\bf\fn\nr\rt\t";
    while (text != NULL && at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        long code;
        const char *escape = strchr(escapes, at[1]);
        if (at[1] == 'u')
            at = take_code_point(at + 2, end, &code);
        else {
            code = escape != NULL ? escape[1] : at[1];
            at += 2;
        }
        to = put_code_point(to, code == 0 ? 0xFFFD : code); /* a NUL would end the text early */
    }
    if (text != NULL)
        *to = '\0';
    return text;
}

bool json_is(const struct json *value, const char *text)
{
    char *own = json_text(value);
    bool same = own != NULL && strcmp(own, text) == 0;
    free(own);
    return same;
}

bool json_integer(const struct json *value, long least, long most, long *number)
{
    if (value->kind != JSON_NUMBER)
        return false;
    bool negative = *value->start == '-';
    long amount = 0;
    for (const char *at = value->start + negative; at < value->end; at++)
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(amount, 10, &amount) ||
            __builtin_add_overflow(amount, *at - '0', &amount))
            return false;
    *number = negative ? -amount : amount;
    return *number >= least && *number <= most;
}
