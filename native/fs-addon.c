/* The filesystem engine for JavaScript: at once where it need not wait, on the thread pool otherwise. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "addon.h"
#include "fs-engine.h"

/* Below this a copy into JavaScript's own memory is cheaper than a buffer with a finalizer. */
#define COPY_LIMIT (16 * 1024)

struct task {
    napi_async_work work;
    napi_deferred deferred;
    napi_ref arguments[2]; /* kept alive: the request points into them */
    struct fs_request request;
    struct fs_answer answer;
    bool answered;
};

static void free_answer(napi_env env, void *data, void *hint)
{
    (void)env, (void)hint;
    free(data);
}

/* The answer as a buffer with its room behind; the bytes are the buffer's or freed. */
static napi_value answer_buffer(napi_env env, struct fs_answer *answer)
{
    napi_value buffer;
    size_t length = answer->length + FS_ROOM_AFTER;
    if (length > COPY_LIMIT && napi_create_external_buffer(env, length, answer->bytes, free_answer, NULL, &buffer) == napi_ok)
        return buffer;
    napi_status outcome = napi_create_buffer_copy(env, length, answer->bytes, NULL, &buffer);
    free(answer->bytes);
    return outcome == napi_ok ? buffer : addon_throw(env, "out of memory");
}

static bool take_request(napi_env env, napi_callback_info info, napi_value arguments[2], struct fs_request *request)
{
    size_t count = 2, lengths[2] = {0};
    void *bytes[2] = {NULL};
    napi_valuetype type;
    bool ok = napi_get_cb_info(env, info, &count, arguments, NULL, NULL) == napi_ok &&
              napi_get_buffer_info(env, arguments[0], &bytes[0], &lengths[0]) == napi_ok &&
              napi_typeof(env, arguments[1], &type) == napi_ok;
    if (ok && type != napi_undefined)
        ok = napi_get_buffer_info(env, arguments[1], &bytes[1], &lengths[1]) == napi_ok;
    ok = ok && fs_parse(request, bytes[0], lengths[0], bytes[1], lengths[1]);
    if (!ok)
        addon_throw(env, "a filesystem request is wanted");
    return ok;
}

/* fileAnswer(request, payload) */
napi_value file_answer(napi_env env, napi_callback_info info)
{
    napi_value arguments[2];
    struct fs_request request;
    struct fs_answer answer;
    if (!take_request(env, info, arguments, &request))
        return NULL;
    return fs_execute(&request, &answer) ? answer_buffer(env, &answer) : addon_throw(env, "out of memory");
}

static void execute(napi_env env, void *data)
{
    (void)env;
    struct task *task = data;
    task->answered = fs_execute(&task->request, &task->answer);
}

static void complete(napi_env env, napi_status status, void *data)
{
    struct task *task = data;
    napi_value outcome = NULL;
    if (status == napi_ok && task->answered)
        outcome = answer_buffer(env, &task->answer);
    if (outcome != NULL)
        napi_resolve_deferred(env, task->deferred, outcome);
    else if (napi_create_string_utf8(env, "out of memory", NAPI_AUTO_LENGTH, &outcome) == napi_ok)
        napi_reject_deferred(env, task->deferred, outcome);
    for (int i = 0; i < 2; i++)
        napi_delete_reference(env, task->arguments[i]);
    napi_delete_async_work(env, task->work);
    free(task);
}

/* fileAnswerLater(request, payload) */
napi_value file_answer_later(napi_env env, napi_callback_info info)
{
    napi_value arguments[2], promise, name;
    struct fs_request request;
    if (!take_request(env, info, arguments, &request))
        return NULL;
    struct task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return addon_throw(env, "out of memory");
    task->request = request;
    for (int i = 0; i < 2; i++) {
        napi_value kept = arguments[i];
        napi_valuetype type;
        if (napi_typeof(env, kept, &type) != napi_ok || type == napi_undefined)
            kept = arguments[0];
        TRY(env, napi_create_reference(env, kept, 1, &task->arguments[i]));
    }
    TRY(env, napi_create_promise(env, &task->deferred, &promise));
    TRY(env, napi_create_string_utf8(env, "filesystem", NAPI_AUTO_LENGTH, &name));
    TRY(env, napi_create_async_work(env, NULL, name, execute, complete, task, &task->work));
    TRY(env, napi_queue_async_work(env, task->work));
    return promise;
}
