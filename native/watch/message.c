/* Messages to the server. */
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../fs/engine.h"
#include "../shared/files.h"

#define HEAD 4

static bool begin(struct fs_answer *message)
{
    *message = (struct fs_answer){0};
    if (!fs_reserve(message, HEAD))
        return false;
    message->length = HEAD;
    return true;
}

static bool send_message(int fd, struct fs_answer *message)
{
    bool sent = !message->exhausted;
    uint32_t length = sent ? (uint32_t)(message->length - HEAD) : 0;
    for (int i = 0; sent && i < HEAD; i++)
        message->bytes[i] = (uint8_t)(length >> 8 * i);
    for (size_t at = 0; sent && at < message->length;) {
        ssize_t count = write_retrying(fd, message->bytes + at, message->length - at);
        sent = count > 0;
        at += sent ? (size_t)count : 0;
    }
    free(message->bytes);
    return sent;
}

static void put_path(struct fs_answer *message, const char *name, const char *path)
{
    fs_putf(message, "\"%s\":\"", name);
    fs_put_uri(message, path);
    fs_puts(message, "\"");
}

bool message_watching(int fd, const struct watcher *watcher)
{
    struct fs_answer message;
    char path[PATH_MAX];
    bool is_file = watcher->only[0] != '\0';
    if (is_file && !watcher_entry(watcher->real, watcher->tree.root, watcher->only, path))
        return false;
    if (!begin(&message))
        return false;
    fs_puts(&message, "{\"watching\":true,");
    put_path(&message, "root", is_file ? path : watcher->real);
    fs_puts(&message, "}");
    return send_message(fd, &message);
}

static void put_failure(struct fs_answer *message, const struct watcher *watcher)
{
    static const char *const limits[] = {
        [FAILED_INSTANCES] = "instances",
        [FAILED_WATCHES] = "watches",
        [FAILED_DIRECTORIES] = "directories",
    };
    if (watcher->failure == FAILED_ERRNO)
        fs_putf(message, "\"failed\":{\"errno\":%d}", watcher->number);
    else
        fs_putf(message, "\"failed\":{\"limit\":\"%s\"}", limits[watcher->failure]);
}

bool message_refused(int fd, const struct watcher *watcher)
{
    struct fs_answer message;
    if (!begin(&message))
        return false;
    fs_puts(&message, "{");
    if (watcher->failure == FAILED_SILENT)
        fs_puts(&message, "\"watching\":false");
    else
        put_failure(&message, watcher);
    fs_puts(&message, "}");
    return send_message(fd, &message);
}

static void put_change(struct fs_answer *message, const struct change *change, const char *kind)
{
    put_path(message, "path", change->path);
    if (change->from != NULL) {
        fs_puts(message, ",");
        put_path(message, "from", change->from);
    }
    fs_putf(message, ",\"kind\":\"%s\"}", kind);
}

bool message_changes(int fd, struct watcher *watcher, size_t ready)
{
    struct fs_answer message;
    struct changes *changes = &watcher->changes;
    size_t told = 0, put = 0;
    if (!begin(&message))
        return false;
    fs_puts(&message, "{\"changes\":[");
    for (; told < ready && put < MOST_MESSAGE_CHANGES && message.length < MOST_MESSAGE_BYTES; told++) {
        const char *kind = change_kind(&changes->list[told]);
        if (kind == NULL)
            continue;
        fs_puts(&message, put++ == 0 ? "{" : ",{");
        put_change(&message, &changes->list[told], kind);
    }
    bool is_last = told == changes->count && (watcher->ended || watcher->failure != FAILED_NOT);
    if (is_last && watcher->ended) {
        fs_puts(&message, put == 0 ? "{" : ",{");
        put_path(&message, "path", watcher->base);
        fs_puts(&message, ",\"kind\":\"removed\"}");
    }
    fs_puts(&message, "]");
    if (changes->overflow)
        fs_puts(&message, ",\"overflow\":true");
    if (is_last)
        fs_puts(&message, ",\"ended\":true");
    if (is_last && watcher->failure != FAILED_NOT) {
        fs_puts(&message, ",");
        put_failure(&message, watcher);
    }
    fs_puts(&message, "}");
    changes->overflow = false;
    changes_shift(changes, told);
    return send_message(fd, &message);
}
