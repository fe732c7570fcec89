/* Writes the request about the command that is to be executed. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../shared/base64.h"
#include "../shared/json.h"
#include "../shared/limits.h"
#include "wrapper.h"

/* Variables that belong to the interception and not to the command. */
static const char *const own_names[] = {"CODEX_ESCALATE_SOCKET", "EXEC_WRAPPER", "BASH_EXEC_WRAPPER",
                                        "CODEX_ESCALATE_SHELL"};

static bool is_own(const char *entry)
{
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) {
        size_t length = strlen(own_names[i]);
        if (strncmp(entry, own_names[i], length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

/* An entry a JSON object can hold. */
static const char *separator_of(const char *entry)
{
    return *entry == '\0' ? NULL : strchr(entry + 1, '=');
}

static bool repeats(char *const *environment, char *const *entry)
{
    size_t length = (size_t)(separator_of(*entry) - *entry) + 1;
    for (; environment < entry; environment++)
        if (strncmp(*environment, *entry, length) == 0)
            return true;
    return false;
}

/* Whether the strings can be written as JSON without loss. */
static bool is_plain(const char *file, const char *workdir, char *const *argv, char *const *environment)
{
    if (!json_is_utf8(file, strlen(file)) || !json_is_utf8(workdir, strlen(workdir)))
        return false;
    for (; *argv != NULL; argv++)
        if (!json_is_utf8(*argv, strlen(*argv)))
            return false;
    for (char *const *entry = environment; *entry != NULL; entry++)
        if (!json_is_utf8(*entry, strlen(*entry)) || separator_of(*entry) == NULL || repeats(environment, entry))
            return false;
    return true;
}

static void write_string(struct bytes *json, const char *text)
{
    json_write_string(json, text, strlen(text));
}

static void write_base64(struct bytes *json, const char *text)
{
    size_t length = strlen(text), encoded = (length + 2) / 3 * 4;
    bytes_add_text(json, "\"");
    char *room = bytes_reserve(json, encoded);
    if (room != NULL) {
        base64_encode((uint8_t *)room, (const uint8_t *)text, length);
        json->length += encoded;
    }
    bytes_add_text(json, "\"");
}

static void write_list(struct bytes *json, char *const *list, void (*write)(struct bytes *, const char *),
                       bool (*skips)(const char *))
{
    const char *comma = "";
    bytes_add_text(json, "[");
    for (; *list != NULL; list++) {
        if (skips != NULL && skips(*list))
            continue;
        bytes_add_text(json, comma);
        write(json, *list);
        comma = ",";
    }
    bytes_add_text(json, "]");
}

static void write_environment(struct bytes *json, char *const *environment)
{
    const char *comma = "";
    bytes_add_text(json, "{");
    for (; *environment != NULL; environment++) {
        const char *separator = separator_of(*environment);
        if (separator == NULL || is_own(*environment))
            continue;
        bytes_add_text(json, comma);
        json_write_string(json, *environment, (size_t)(separator - *environment));
        bytes_add_text(json, ":");
        write_string(json, separator + 1);
        comma = ",";
    }
    bytes_add_text(json, "}");
}

static void write_limit(struct bytes *json, rlim_t limit)
{
    bytes_add_text(json, "\""); /* a string: JavaScript cannot represent numbers this large */
    if (limit == RLIM_INFINITY)
        bytes_add_text(json, "unlimited");
    else
        bytes_add_number(json, limit);
    bytes_add_text(json, "\"");
}

static void write_limits(struct bytes *json)
{
    const char *comma = "";
    bytes_add_text(json, "{");
    for (size_t i = 0; i < limit_count; i++) {
        struct rlimit limit;
        if (syscall(SYS_prlimit64, 0, limit_names[i].resource, NULL, &limit) < 0)
            continue;
        bytes_add_text(json, comma);
        write_string(json, limit_names[i].name);
        bytes_add_text(json, ":[");
        write_limit(json, limit.rlim_cur);
        bytes_add_text(json, ",");
        write_limit(json, limit.rlim_max);
        bytes_add_text(json, "]");
        comma = ",";
    }
    bytes_add_text(json, "}");
}

/* The strings as base64; the plain members have U+FFFD for bytes that are not UTF-8. */
static void write_raw(struct bytes *json, const char *file, const char *workdir, char *const *argv, char *const *environment)
{
    bytes_add_text(json, ",\"raw\":{\"file\":");
    write_base64(json, file);
    bytes_add_text(json, ",\"argv\":");
    write_list(json, argv, write_base64, NULL);
    bytes_add_text(json, ",\"env\":");
    write_list(json, environment, write_base64, is_own);
    bytes_add_text(json, ",\"workdir\":");
    write_base64(json, workdir);
    bytes_add_text(json, "}");
}

static mode_t current_umask(void)
{
    mode_t mask = umask(077);
    umask(mask);
    return mask;
}

static int find_directory(char path[PATH_MAX + 1])
{
    if (syscall(SYS_getcwd, path, PATH_MAX) > 0 && *path == '/')
        return 0;
    ssize_t length = readlink("/proc/self/cwd", path, PATH_MAX); /* the directory has been removed; the link still has its path */
    if (length < 0)
        return -1;
    path[length] = '\0';
    return 0;
}

int write_request(struct bytes *json, const char *file, char *const *argv, char *const *environment)
{
    char directory[PATH_MAX + 1];
    if (find_directory(directory) < 0)
        return -1;
    bytes_add_text(json, "{\"file\":");
    write_string(json, file);
    bytes_add_text(json, ",\"argv\":");
    write_list(json, argv, write_string, NULL);
    bytes_add_text(json, ",\"workdir\":");
    write_string(json, directory);
    bytes_add_text(json, ",\"env\":");
    write_environment(json, environment);
    bytes_add_text(json, ",\"pid\":");
    bytes_add_number(json, (uint64_t)getpid());
    bytes_add_text(json, ",\"umask\":");
    bytes_add_number(json, current_umask());
    bytes_add_text(json, ",\"rlimits\":");
    write_limits(json);
    if (!is_plain(file, directory, argv, environment))
        write_raw(json, file, directory, argv, environment);
    bytes_add_text(json, "}");
    return 0;
}
