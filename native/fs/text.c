/* Names as JSON text and as file URIs. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../shared/base64.h"
#include "engine.h"

/* The length of the well-formed character at the start of a text, 0 when there is none. */
static int character_length(const uint8_t *text)
{
    uint8_t first = text[0];
    if (first < 0x80)
        return first != 0;
    int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    /* The second byte excludes overlong forms, surrogates and what lies above U+10FFFF. */
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high)
        return 0;
    for (int i = 2; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    }
    return length;
}

/* How many bytes become one replacement character: the longest prefix of a valid character, as in all decoders. */
static int broken_length(const uint8_t *text)
{
    uint8_t first = text[0];
    if (first < 0xc2 || first > 0xf4)
        return 1;
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high)
        return 1;
    if (first >= 0xf0 && text[2] >= 0x80 && text[2] <= 0xbf)
        return 3;
    return first >= 0xe0 ? 2 : 1;
}

bool fs_is_utf8(const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    while (*at != 0) {
        int length = character_length(at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

#define REPLACEMENT "\xef\xbf\xbd"

void fs_put_lossy(struct fs_answer *answer, const char *name)
{
    const uint8_t *at = (const uint8_t *)name;
    while (*at != 0) {
        int length = character_length(at);
        fs_put(answer, length > 0 ? (const void *)at : REPLACEMENT, length > 0 ? (size_t)length : 3);
        at += length > 0 ? length : broken_length(at);
    }
}

static void put_json_character(struct fs_answer *answer, uint8_t character)
{
    if (character == '"' || character == '\\')
        fs_putf(answer, "\\%c", character);
    else if (character < 0x20)
        fs_putf(answer, "\\u%04x", character);
    else
        fs_put(answer, &character, 1);
}

void fs_put_json(struct fs_answer *answer, const char *name)
{
    const uint8_t *at = (const uint8_t *)name;
    while (*at != 0) {
        const uint8_t *plain = at;
        while (*at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
            at++;
        fs_put(answer, plain, (size_t)(at - plain));
        if (*at == 0)
            return;
        int length = character_length(at);
        if (length == 1)
            put_json_character(answer, *at);
        else
            fs_put(answer, length > 0 ? (const void *)at : REPLACEMENT, length > 0 ? (size_t)length : 3);
        at += length > 0 ? length : broken_length(at);
    }
}

/* Whether a byte is not percent-encoded in the path of a URL. */
static bool is_plain(uint8_t byte)
{
    return byte > 0x20 && byte < 0x7f && strchr("\"#%<>?\\`{}", byte) == NULL;
}

static void put_percent(struct fs_answer *answer, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";
    const char escaped[3] = {'%', digits[byte >> 4], digits[byte & 15]};
    fs_put(answer, escaped, 3);
}

void fs_put_uri_rest(struct fs_answer *answer, const char *path, bool lossy)
{
    const uint8_t *at = (const uint8_t *)path;
    while (*at != 0) {
        const uint8_t *plain = at;
        while (is_plain(*at))
            at++;
        fs_put(answer, plain, (size_t)(at - plain));
        if (*at == 0)
            return;
        int length = character_length(at);
        if (length == 0 && lossy) {
            fs_puts(answer, "%EF%BF%BD");
            at += broken_length(at);
        } else {
            for (const uint8_t *end = at + (length > 0 ? length : 1); at < end; at++)
                put_percent(answer, *at);
        }
    }
}

static bool starts_like_drive(const char *path, char mark)
{
    uint8_t letter = path[0] == '/' ? (uint8_t)(path[1] | 0x20) : 0;
    return letter >= 'a' && letter <= 'z' && path[2] == mark && (path[3] == '/' || path[3] == 0);
}

/* base64url without padding, for paths that would be parsed as a Windows drive. */
static void put_opaque(struct fs_answer *answer, const char *path)
{
    fs_puts(answer, "%00/bad/path/");
    size_t start = answer->length;
    fs_put_base64(answer, (const uint8_t *)path, strlen(path));
    if (answer->exhausted)
        return;
    while (answer->bytes[answer->length - 1] == '=')
        answer->length--;
    for (size_t at = start; at < answer->length; at++) {
        uint8_t *character = answer->bytes + at;
        *character = *character == '+' ? '-' : *character == '/' ? '_' : *character;
    }
}

void fs_put_uri(struct fs_answer *answer, const char *path)
{
    fs_puts(answer, "file:///");
    if (starts_like_drive(path, ':')) {
        put_opaque(answer, path);
    } else if (starts_like_drive(path, '|')) {
        fs_put(answer, path + 1, 1);
        fs_puts(answer, "%7C");
        fs_put_uri_rest(answer, path + 3, false);
    } else {
        fs_put_uri_rest(answer, path + 1, false);
    }
}
