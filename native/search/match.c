/* A match as JSON. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "search.h"

/* Of a longer line, the part around the match is given. */
#define TEXT_LIMIT 512
#define TEXT_BEFORE 128

void match_put_path(struct fs_answer *to, const char *root, const char *path)
{
    char whole[2 * PATH_MAX];
    const char *slash = path[0] == '\0' || strcmp(root, "/") == 0 ? "" : "/";
    snprintf(whole, sizeof whole, "%s%s%s", root, slash, path);
    fs_put_uri(to, whole);
}

/* Leaves room for the length, and begins with the path. */
static size_t begin(struct job *job, const char *root)
{
    size_t start = job->found.length;
    fs_put(&job->found, "\0\0\0\0", 4);
    fs_puts(&job->found, "{\"path\":\"");
    match_put_path(&job->found, root, job->path);
    fs_puts(&job->found, "\"");
    return start;
}

static void end(struct job *job, size_t start)
{
    fs_puts(&job->found, "}");
    if (job->found.exhausted)
        return;
    uint32_t length = (uint32_t)(job->found.length - start - 4);
    memcpy(job->found.bytes + start, &length, sizeof length);
    job->matches++;
}

static bool continues_character(const uint8_t *at)
{
    return (*at & 0xc0) == 0x80;
}

/* Text of any bytes; those that are not UTF-8 are replaced. */
static void put_text(struct fs_answer *to, const uint8_t *from, const uint8_t *end)
{
    while (from < end) {
        char part[TEXT_LIMIT + 1];
        size_t length = strnlen((const char *)from, (size_t)(end - from));
        memcpy(part, from, length);
        part[length] = '\0';
        fs_put_json(to, part);
        from += length;
        if (from < end)
            fs_puts(to, "\\u0000"), from++;
    }
}

/* The part of a line that is given; its ends do not cut characters. */
static void choose_part(const struct line_match *match, const uint8_t **from, const uint8_t **to)
{
    *from = match->line;
    *to = match->end;
    if (match->end - match->line <= TEXT_LIMIT)
        return;
    if (match->start != NULL && match->start - match->line > TEXT_BEFORE)
        *from = match->start - TEXT_BEFORE;
    if (match->end - *from > TEXT_LIMIT)
        *to = *from + TEXT_LIMIT;
    for (int i = 0; i < 3 && *from > match->line && continues_character(*from); i++)
        ++*from;
    for (int i = 0; i < 3 && *to < match->end && continues_character(*to); i++)
        --*to;
}

void match_put(struct job *job, const char *root, const struct line_match *match)
{
    const uint8_t *from, *to;
    struct fs_answer *found = &job->found;
    size_t start = begin(job, root);
    choose_part(match, &from, &to);
    fs_putf(found, ",\"line\":%llu", (unsigned long long)match->number);
    if (match->start != NULL)
        fs_putf(found, ",\"column\":%zu", (size_t)(match->start - match->line) + 1);
    fs_puts(found, ",\"text\":\"");
    put_text(found, from, to);
    fs_puts(found, "\"");
    if (from > match->line || to < match->end)
        fs_putf(found, ",\"cut\":{\"before\":%zu,\"after\":%zu}", (size_t)(from - match->line), (size_t)(match->end - to));
    end(job, start);
}

void match_put_entry(struct job *job, const char *root, const char *kind)
{
    size_t start = begin(job, root);
    fs_putf(&job->found, ",\"kind\":\"%s\"", kind);
    end(job, start);
}
