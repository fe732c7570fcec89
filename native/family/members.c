/*
 * members(marks): the processes of families, as a promise of pairs: a number, and the position of its mark. Asks the kernel one
 * question for each process of the machine, on the thread pool.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../addon/addon.h"
#include "family.h"

/* More are not told: no family that large can be watched in time. */
#define MOST 65536

struct member {
    int32_t pid;
    int32_t family;
};

struct task {
    napi_async_work work;
    napi_deferred deferred;
    struct member *members;
    size_t found;
    bool failed;
    size_t count;
    uint64_t marks[];
};

static int32_t family_with(const struct task *task, uint64_t mark)
{
    for (size_t i = 0; i < task->count; i++)
        if (task->marks[i] == mark)
            return (int32_t)i;
    return -1;
}

static void execute(napi_env env, void *data)
{
    (void)env;
    struct task *task = data;
    DIR *proc = opendir("/proc");
    task->members = malloc(MOST * sizeof *task->members);
    task->failed = proc == NULL || task->members == NULL;
    struct dirent *entry;
    while (!task->failed && task->found < MOST && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0 when it is not a number */
        uint64_t mark;
        int32_t family = pid > 1 && family_mark_of(pid, &mark) ? family_with(task, mark) : -1;
        if (family >= 0)
            task->members[task->found++] = (struct member){.pid = pid, .family = family};
    }
    if (proc != NULL)
        closedir(proc);
}

static napi_value pairs_of(napi_env env, const struct task *task)
{
    void *memory;
    napi_value array_buffer, pairs;
    size_t bytes = task->found * sizeof *task->members;
    if (napi_create_arraybuffer(env, bytes, &memory, &array_buffer) != napi_ok ||
        napi_create_typedarray(env, napi_int32_array, task->found * 2, array_buffer, 0, &pairs) != napi_ok)
        return NULL;
    if (bytes > 0)
        memcpy(memory, task->members, bytes);
    return pairs;
}

static void complete(napi_env env, napi_status status, void *data)
{
    struct task *task = data;
    napi_value pairs = status == napi_ok && !task->failed ? pairs_of(env, task) : NULL, message, error;
    if (pairs != NULL)
        napi_resolve_deferred(env, task->deferred, pairs);
    else if (napi_create_string_utf8(env, "/proc cannot be read", NAPI_AUTO_LENGTH, &message) == napi_ok &&
             napi_create_error(env, NULL, message, &error) == napi_ok)
        napi_reject_deferred(env, task->deferred, error);
    napi_delete_async_work(env, task->work);
    free(task->members);
    free(task);
}

napi_value family_members(napi_env env, napi_callback_info info)
{
    size_t count = 1, length;
    napi_value argument, promise, name;
    napi_typedarray_type type;
    void *memory;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_typedarray_info(env, argument, &type, &length, &memory, NULL, NULL));
    TRY(env, napi_create_string_utf8(env, "members", NAPI_AUTO_LENGTH, &name));
    if (type != napi_biguint64_array)
        return addon_throw(env, "members: expected 64-bit numbers");
    struct task *task = calloc(1, sizeof *task + length * sizeof *task->marks);
    if (task == NULL)
        return addon_throw(env, "members: out of memory");
    task->count = length;
    if (length > 0)
        memcpy(task->marks, memory, length * sizeof *task->marks);
    if (napi_create_promise(env, &task->deferred, &promise) != napi_ok ||
        napi_create_async_work(env, NULL, name, execute, complete, task, &task->work) != napi_ok) {
        free(task);
        return addon_throw(env, "members: no promise");
    }
    TRY(env, napi_queue_async_work(env, task->work));
    return promise;
}
