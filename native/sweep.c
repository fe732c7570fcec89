/* sweep(pairs): family_sweep as a promise, on a thread of the pool. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "addon.h"
#include "family.h"

struct task {
    napi_async_work work;
    napi_deferred deferred;
    int error;
    size_t count;
    struct family families[];
};

static void execute(napi_env env, void *data)
{
    (void)env;
    struct task *task = data;
    if (family_sweep(task->families, task->count) < 0)
        task->error = errno;
}

static napi_value counts_of(napi_env env, const struct task *task)
{
    void *memory;
    napi_value array_buffer, counts;
    if (napi_create_arraybuffer(env, task->count * sizeof(uint32_t), &memory, &array_buffer) != napi_ok ||
        napi_create_typedarray(env, napi_uint32_array, task->count, array_buffer, 0, &counts) != napi_ok)
        return NULL;
    for (size_t i = 0; i < task->count; i++)
        ((uint32_t *)memory)[i] = task->families[i].killed;
    return counts;
}

static void complete(napi_env env, napi_status status, void *data)
{
    struct task *task = data;
    napi_value counts = status == napi_ok && task->error == 0 ? counts_of(env, task) : NULL;
    if (counts != NULL) {
        napi_resolve_deferred(env, task->deferred, counts);
    } else {
        napi_value message, error;
        if (napi_create_string_utf8(env, "/proc cannot be read", NAPI_AUTO_LENGTH, &message) == napi_ok &&
            napi_create_error(env, NULL, message, &error) == napi_ok)
            napi_reject_deferred(env, task->deferred, error);
    }
    napi_delete_async_work(env, task->work);
    free(task);
}

napi_value sweep(napi_env env, napi_callback_info info)
{
    size_t count = 1, length;
    napi_value argument, name, promise;
    napi_typedarray_type type;
    void *memory;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_typedarray_info(env, argument, &type, &length, &memory, NULL, NULL));
    if (type != napi_biguint64_array || length % 2 != 0)
        return addon_throw(env, "sweep: pairs of 64-bit numbers wanted");
    struct task *task = calloc(1, sizeof *task + length / 2 * sizeof *task->families);
    if (task == NULL)
        return addon_throw(env, "sweep: out of memory");
    task->count = length / 2;
    for (size_t i = 0; i < task->count; i++) {
        task->families[i].mark = ((uint64_t *)memory)[2 * i];
        task->families[i].mask = ((uint64_t *)memory)[2 * i + 1];
    }
    if (napi_create_string_utf8(env, "sweep", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_promise(env, &task->deferred, &promise) != napi_ok ||
        napi_create_async_work(env, NULL, name, execute, complete, task, &task->work) != napi_ok ||
        napi_queue_async_work(env, task->work) != napi_ok) {
        free(task);
        return addon_throw(env, "sweep: cannot be queued");
    }
    return promise;
}
