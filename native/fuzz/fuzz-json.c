/* Every value of a text that is accepted can be visited, and is written back as a text that is accepted. */
#include "fuzz.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/json.h"

const struct seed seeds[] = {
    SEED("{\"action\":{\"Deny\":{\"reason\":\"not \\\"here\\\" \\u00e9\\ud83d\\ude00\"}}}"),
    SEED("{\"fds\":[0,1,2,65535],\"signal\":15,\"x\":null}"),
    SEED("[-0.5e+10, 1E-3, 0, -9223372036854775808, true, false, null, \"\", {}, []]"),
    SEED("\"\\\\ \\/ \\b\\f\\n\\r\\t \x01\xff\xc3\xa9\""),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;

static void visit(const struct json *value)
{
    struct json inner;
    long number;
    char *text = json_text(value);
    if ((text != NULL) != (value->kind == JSON_STRING))
        fuzz_fail("a string without a text, or a text without a string");
    if (text != NULL) {
        struct bytes written = {0};
        json_write_string(&written, text, strlen(text));
        if (!json_parse(written.start, written.length, &inner))
            fuzz_fail("a string is written in a way that cannot be read");
        bytes_free(&written);
    }
    free(text);
    if (json_integer(value, LONG_MIN, LONG_MAX, &number) && value->kind != JSON_NUMBER)
        fuzz_fail("an integer that is no number");
    json_is(value, "Run");
    if (value->kind == JSON_OBJECT) {
        json_member(value, "action", &inner);
        json_member_count(value);
    }
    if (value->kind == JSON_ARRAY) {
        struct json_elements elements = json_elements(value);
        while (json_next(&elements, &inner))
            visit(&inner);
    }
}

void fuzz_one(const uint8_t *input, size_t length)
{
    struct json value;
    json_is_utf8((const char *)input, length);
    if (json_parse((const char *)input, length, &value))
        visit(&value);
}
