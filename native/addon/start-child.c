/*
 * spawn(files, argv, env, cwd and its pin, io, rows, cols, mark, diesWithParent, inherit, report, restrictions?): the id of the child, or
 * the step that failed. Restrictions are an array: bytes of a file, cgroup.procs, uid and gid, each -1 if there is none, and then groups.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "addon.h"

enum { FILES, ARGV, ENVIRONMENT, CWD, IO, ROWS, COLS, MARK, DIES_WITH_PARENT, INHERIT, REPORT, RESTRICTIONS, ARGUMENTS };

/* As far as the kernel goes. */
#define GROUPS 65536

/* The NUL-terminated strings of a buffer as a NULL-terminated list of pointers into it. */
char **addon_list(napi_env env, napi_value value)
{
    void *memory;
    size_t length;
    if (napi_get_buffer_info(env, value, &memory, &length) != napi_ok)
        return NULL;
    char *text = memory, *end = text + length;
    size_t count = 0;
    for (char *at = text; at < end; at++)
        count += *at == '\0';
    char **list = malloc((count + 1) * sizeof *list);
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        list[i] = text;
        text += strlen(text) + 1;
    }
    list[count] = NULL;
    return list;
}

static bool read_numbers(napi_env env, napi_value *arguments, struct spawn_request *request)
{
    uint32_t io, rows, cols;
    bool lossless;
    if (napi_get_value_uint32(env, arguments[IO], &io) != napi_ok || napi_get_value_uint32(env, arguments[ROWS], &rows) != napi_ok ||
        napi_get_value_uint32(env, arguments[COLS], &cols) != napi_ok ||
        napi_get_value_bigint_uint64(env, arguments[MARK], &request->mark, &lossless) != napi_ok ||
        napi_get_value_bool(env, arguments[DIES_WITH_PARENT], &request->dies_with_parent) != napi_ok ||
        (io & ~STDIO_MERGED) > STDIO_TERMINAL)
        return false;
    request->stdio = (enum stdio)(io & ~STDIO_MERGED);
    request->merged = (io & STDIO_MERGED) != 0;
    request->rows = (unsigned short)rows;
    request->cols = (unsigned short)cols;
    return true;
}

/* An array of descriptors and byte arrays; `count` elements are left in `list`. */
static struct inherited *inherited_of(napi_env env, napi_value array, size_t *count)
{
    uint32_t length;
    if (napi_get_array_length(env, array, &length) != napi_ok)
        return NULL;
    struct inherited *list = calloc((size_t)length + 1, sizeof *list);
    for (uint32_t i = 0; list != NULL && i < length; i++) {
        napi_value element;
        napi_typedarray_type type;
        list[i].fd = -1;
        bool known = napi_get_element(env, array, i, &element) == napi_ok &&
                     (napi_get_value_int32(env, element, &list[i].fd) == napi_ok ||
                      (napi_get_typedarray_info(env, element, &type, &list[i].length, (void **)&list[i].bytes, NULL, NULL) == napi_ok &&
                       type == napi_uint8_array));
        if (!known) {
            free(list);
            return NULL;
        }
    }
    *count = length;
    return list;
}

/* NULL with `wrong` unset if there are none. Freed with its groups, which follow it. */
static struct restrictions *restrictions_of(napi_env env, napi_value value, bool *wrong)
{
    enum { FILE_BYTES, CGROUP, UID, GID, FIRST_GROUP };
    napi_typedarray_type type;
    size_t length;
    void *memory;
    bool is_array = false;
    if (napi_is_typedarray(env, value, &is_array) != napi_ok || !is_array)
        return NULL;
    *wrong = napi_get_typedarray_info(env, value, &type, &length, &memory, NULL, NULL) != napi_ok || type != napi_bigint64_array ||
             length < FIRST_GROUP || length > FIRST_GROUP + GROUPS;
    if (*wrong)
        return NULL;
    const int64_t *numbers = memory;
    size_t count = length - FIRST_GROUP;
    struct restrictions *restrictions = malloc(sizeof *restrictions + count * sizeof(gid_t));
    *wrong = restrictions == NULL;
    if (restrictions == NULL)
        return NULL;
    gid_t *groups = (gid_t *)(restrictions + 1);
    for (size_t i = 0; i < count; i++)
        groups[i] = (gid_t)numbers[FIRST_GROUP + i];
    *restrictions = (struct restrictions){.file_bytes = numbers[FILE_BYTES],
                                          .cgroup = (int)numbers[CGROUP],
                                          .uid = numbers[UID],
                                          .gid = numbers[GID],
                                          .groups = groups,
                                          .group_count = count};
    return restrictions;
}

static int launch(struct addon *addon, const struct spawn_request *request, uint32_t *id, struct spawn_result *result)
{
    if (spawn_child(request, result) < 0)
        return -1;
    struct child *child = loop_add(addon->loop, result, request->stdio == STDIO_TERMINAL);
    if (child == NULL) {
        result->error = errno;
        result->step = "watch";
        return -1;
    }
    *id = child->id;
    return 0;
}

napi_value start_child(napi_env env, napi_callback_info info)
{
    size_t count = ARGUMENTS;
    napi_value arguments[ARGUMENTS], outcome = NULL;
    struct addon *addon;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, (void **)&addon));
    int32_t *report;
    size_t length;
    napi_typedarray_type type;
    TRY(env, napi_get_typedarray_info(env, arguments[REPORT], &type, &length, (void **)&report, NULL, NULL));
    if (addon->loop == NULL || type != napi_int32_array || length < 2)
        return addon_throw(env, "spawn: not started, or no report");

    struct spawn_request request = {0};
    struct spawn_result result;
    char **cwd = addon_list(env, arguments[CWD]);
    request.files = addon_list(env, arguments[FILES]);
    request.argv = addon_list(env, arguments[ARGV]);
    request.envp = addon_list(env, arguments[ENVIRONMENT]);
    bool wrong = false;
    struct restrictions *restrictions = restrictions_of(env, arguments[RESTRICTIONS], &wrong);
    request.restrictions = restrictions;
    request.inherited = inherited_of(env, arguments[INHERIT], &request.inherited_count);
    if (wrong || request.inherited == NULL || cwd == NULL || cwd[0] == NULL || cwd[1] == NULL || !pin_read(cwd[1], &request.workdir) || request.files == NULL || request.argv == NULL || request.envp == NULL ||
        !read_numbers(env, arguments, &request)) {
        addon_throw(env, "spawn: wrong arguments");
    } else {
        uint32_t id;
        request.cwd = cwd[0];
        if (launch(addon, &request, &id, &result) == 0) {
            delivery_hold(env, addon);
            report[0] = result.pid;
            napi_create_uint32(env, id, &outcome);
        } else {
            report[1] = result.error;
            napi_create_string_utf8(env, result.step, NAPI_AUTO_LENGTH, &outcome);
        }
    }
    free(restrictions);
    free(request.inherited);
    free(cwd);
    free(request.files);
    free(request.argv);
    free(request.envp);
    return outcome;
}
