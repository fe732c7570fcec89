/* Writes strings as JSON. */
#include <string.h>

#include "json.h"

#define REPLACEMENT "\xEF\xBF\xBD"

/* The length of the UTF-8 sequence at the start, or 0. 0 for overlong forms, surrogates and code points above U+10FFFF. */
static size_t sequence_length(const unsigned char *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xC2 && at[0] <= 0xDF ? 2 : (at[0] & 0xF0) == 0xE0 ? 3 : at[0] >= 0xF0 && at[0] <= 0xF4 ? 4 : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) || (at[0] == 0xF0 && at[1] < 0x90) ||
        (at[0] == 0xF4 && at[1] > 0x8F))
        return 0;
    return length;
}

bool json_is_utf8(const char *text, size_t length)
{
    for (size_t at = 0, step; at < length; at += step) {
        step = sequence_length((const unsigned char *)text + at, length - at);
        if (step == 0)
            return false;
    }
    return true;
}

void json_write_string(struct bytes *bytes, const char *text, size_t length)
{
    bytes_add_text(bytes, "\"");
    for (size_t at = 0, step; at < length; at += step) {
        unsigned char byte = (unsigned char)text[at];
        step = sequence_length((const unsigned char *)text + at, length - at);
        if (step == 0) {
            bytes_add_text(bytes, REPLACEMENT);
            step = 1;
        } else if (byte < 0x20) {
            const char escape[] = {'\\', 'u', '0', '0', (char)('0' + byte / 16), "0123456789abcdef"[byte % 16]};
            bytes_add(bytes, escape, sizeof escape);
        } else if (byte == '"' || byte == '\\') {
            bytes_add_text(bytes, "\\");
            bytes_add(bytes, text + at, 1);
        } else {
            bytes_add(bytes, text + at, step);
        }
    }
    bytes_add_text(bytes, "\"");
}
