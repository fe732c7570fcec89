/*
 * The request of a watch, and what becomes of changes until they are told: the input is read as a request, and as a row of changes to
 * a few files. One who applies what is told knows which of them exist, and takes none for what it is not.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../watch/changes.h"
#include "../watch/limits.h"
#include "../watch/request.h"

#define FILES 8
#define UNKNOWN -1

struct file {
    bool exists;
    int content;
};

static void check_request(const uint8_t *input, size_t length)
{
    struct request request;
    size_t body = length >= REQUEST_HEAD ? request_body_length(input) : 0;
    if (body == 0 || body > length - REQUEST_HEAD)
        return;
    char *copy = malloc(body); /* of this length, so that reading behind it is found */
    memcpy(copy, input + REQUEST_HEAD, body);
    if (request_parse(&request, input, copy) && strlen(request.path) + 1 + request.mounts_length != body)
        fuzz_fail("the parts of a request are not the whole");
    free(copy);
}

static const char *name_of(int file)
{
    static char name[] = "/a";
    name[1] = (char)('a' + file);
    return name;
}

/* What a reader makes of a change. */
static void apply(const struct change *change, struct file known[FILES])
{
    const char *kind = change_kind(change);
    if (kind == NULL)
        return;
    struct file *file = &known[change->path[1] - 'a'];
    if (strcmp(kind, "removed") == 0) {
        file->exists = false;
    } else if (strcmp(kind, "renamed") == 0) {
        struct file *from = &known[change->from[1] - 'a'];
        *file = (struct file){.exists = true, .content = from->exists ? from->content : UNKNOWN};
        if (from != file)
            from->exists = false;
    } else {
        *file = (struct file){.exists = true, .content = UNKNOWN};
    }
}

static void tell(struct changes *changes, const struct file files[FILES], struct file known[FILES], int64_t now)
{
    size_t ready = changes_ready(changes, now);
    for (int i = 0; changes->overflow && i < FILES; i++)
        known[i] = (struct file){.exists = files[i].exists, .content = UNKNOWN}; /* as one who lists them anew */
    changes->overflow = false;
    for (size_t i = 0; i < ready; i++)
        apply(&changes->list[i], known);
    changes_shift(changes, ready);
}

/* Does something to the files, and notes the events that the kernel has for it. */
static void act(struct changes *changes, struct file files[FILES], uint8_t what, uint8_t which, int64_t now)
{
    static int content;
    static uint32_t cookie;
    int one = which & 7, other = which >> 3 & 7;
    switch (what & 7) {
    case 0:
    case 1:
        changes_note(changes, name_of(one), files[one].exists ? EVENT_MODIFIED : EVENT_CREATED);
        files[one] = (struct file){.exists = true, .content = ++content};
        break;
    case 2:
        if (files[one].exists)
            changes_note(changes, name_of(one), EVENT_REMOVED);
        files[one].exists = false;
        break;
    case 3: /* out of the tree */
        if (files[one].exists)
            changes_leave(changes, name_of(one), false, ++cookie, now);
        files[one].exists = false;
        break;
    case 4: /* into it */
        if (changes_arrive(changes, name_of(one), false, ++cookie))
            fuzz_fail("half a rename was taken for a whole one");
        changes_note(changes, name_of(one), EVENT_CREATED);
        files[one] = (struct file){.exists = true, .content = ++content};
        break;
    default:
        if (!files[one].exists || one == other)
            return;
        changes_leave(changes, name_of(one), false, ++cookie, now);
        if (!changes_arrive(changes, name_of(other), false, cookie)) {
            if (!changes->overflow)
                fuzz_fail("a rename was not paired");
            changes_note(changes, name_of(other), EVENT_CREATED);
        }
        files[other] = files[one];
        files[one].exists = false;
    }
}

void fuzz_one(const uint8_t *input, size_t length)
{
    struct changes changes;
    struct file files[FILES] = {{0}}, known[FILES];
    int64_t now = 1;
    check_request(input, length);
    if (!changes_open(&changes))
        return;
    for (int i = 0; i < FILES / 2; i++)
        files[i].exists = true;
    memcpy(known, files, sizeof known);
    for (size_t at = 0; at + 1 < length && at < 512; at += 2) {
        if (input[at] >> 3 == 31)
            tell(&changes, files, known, now += input[at + 1]);
        else
            act(&changes, files, input[at], input[at + 1], now);
    }
    tell(&changes, files, known, now + PAIR_MS);
    for (int i = 0; i < FILES; i++) {
        if (known[i].exists != files[i].exists)
            fuzz_fail("a final state was not told");
        if (known[i].exists && known[i].content != UNKNOWN && known[i].content != files[i].content)
            fuzz_fail("a file is taken for another");
    }
    changes_overflow(&changes);
    free(changes.list);
    free(changes.index);
}

const struct seed seeds[] = {
    SEED("\x06\0\0\0\0\0\0\0\1\0\0\0\0\1\0\0\0\0\0\0/path\0"),
    SEED("\x0c\0\0\0\6\0\0\0\1\0\0\0\0\1\0\0\0\0\0\0/m\0-1\0/path\0"),
    SEED("\0\4\5\x0c\xff\x40\2\1\3\2\4\3\5\x11\6\x1a\7\x23\xf8\x10\0\1\2\1\0\1\5\x22"),
    SEED("\5\x08\5\x11\5\x1a\xff\x01\4\1\5\x0a\1\2\3\1\0\1\xff\x7f\6\x29\2\5\4\5"),
};
const size_t seed_count = sizeof seeds / sizeof *seeds;
