/*
 * sweep(triples): family_sweep as a promise, on a thread of its own, so that no copy of a large tree delays it. The thread's
 * descriptor of /proc is opened at the start, so that it works when the server has no descriptor left.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../addon/addon.h"
#include "family.h"
#include "../shared/files.h"
#include "../addon/thread.h"

#define THREAD_STACK (128 * 1024)
#define MOST_MARKS 65536

struct task {
    struct task *next;
    napi_deferred deferred;
    int error;
    size_t count;
    struct family families[];
};

struct sweeper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first; /* (lock) */
    bool stopping;      /* (lock) */
    int proc;
    unsigned pending;
    napi_threadsafe_function done;
};

static bool should_continue(void *context)
{
    struct sweeper *sweeper = context;
    pthread_mutex_lock(&sweeper->lock);
    bool stopping = sweeper->stopping;
    pthread_mutex_unlock(&sweeper->lock);
    return !stopping;
}

/* NULL when the sweeper stops. */
static struct task *next_task(struct sweeper *sweeper)
{
    pthread_mutex_lock(&sweeper->lock);
    while (sweeper->first == NULL && !sweeper->stopping)
        pthread_cond_wait(&sweeper->changed, &sweeper->lock);
    struct task *task = sweeper->stopping ? NULL : sweeper->first;
    if (task != NULL)
        sweeper->first = task->next;
    pthread_mutex_unlock(&sweeper->lock);
    return task;
}

static void *run(void *argument)
{
    struct sweeper *sweeper = argument;
    struct task *task;
    while ((task = next_task(sweeper)) != NULL) {
        if (family_sweep(sweeper->proc, task->families, task->count, should_continue, sweeper) < 0)
            task->error = errno;
        napi_call_threadsafe_function(sweeper->done, task, napi_tsfn_nonblocking);
    }
    return NULL;
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

static void complete(napi_env env, napi_value function, void *context, void *data)
{
    (void)function;
    struct sweeper *sweeper = context;
    struct task *task = data;
    if (env != NULL) {
        napi_value counts = task->error == 0 ? counts_of(env, task) : NULL, message, error;
        if (counts != NULL)
            napi_resolve_deferred(env, task->deferred, counts);
        else if (napi_create_string_utf8(env, "/proc cannot be read", NAPI_AUTO_LENGTH, &message) == napi_ok &&
                 napi_create_error(env, NULL, message, &error) == napi_ok)
            napi_reject_deferred(env, task->deferred, error);
        if (--sweeper->pending == 0)
            napi_unref_threadsafe_function(env, sweeper->done);
    }
    free(task);
}

static void stop(void *data)
{
    struct addon *addon = data;
    struct sweeper *sweeper = addon->sweeper;
    addon->sweeper = NULL;
    pthread_mutex_lock(&sweeper->lock);
    sweeper->stopping = true;
    pthread_cond_signal(&sweeper->changed);
    pthread_mutex_unlock(&sweeper->lock);
    pthread_join(sweeper->thread, NULL);
    close_open(&sweeper->proc);
    while (sweeper->first != NULL) {
        struct task *task = sweeper->first;
        sweeper->first = task->next;
        free(task);
    }
    /* The thread-safe function may still use the sweeper: it is freed with the process. */
}

bool sweeper_start(napi_env env, struct addon *addon)
{
    napi_value name;
    if (addon->sweeper != NULL)
        return true;
    struct sweeper *sweeper = calloc(1, sizeof *sweeper);
    if (sweeper == NULL)
        return false;
    pthread_mutex_init(&sweeper->lock, NULL);
    pthread_cond_init(&sweeper->changed, NULL);
    if (napi_create_string_utf8(env, "sweep", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, sweeper, complete, &sweeper->done) != napi_ok) {
        free(sweeper);
        return false;
    }
    napi_unref_threadsafe_function(env, sweeper->done);
    sweeper->proc = open_retrying("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sweeper->proc < 0 || thread_start(&sweeper->thread, THREAD_STACK, JOINED, run, sweeper) != 0) {
        close_open(&sweeper->proc);
        napi_release_threadsafe_function(sweeper->done, napi_tsfn_abort);
        return false;
    }
    addon->sweeper = sweeper;
    return napi_add_env_cleanup_hook(env, stop, addon) == napi_ok;
}

static void enqueue(napi_env env, struct sweeper *sweeper, struct task *task)
{
    if (sweeper->pending++ == 0)
        napi_ref_threadsafe_function(env, sweeper->done);
    pthread_mutex_lock(&sweeper->lock);
    struct task **last = &sweeper->first;
    while (*last != NULL)
        last = &(*last)->next;
    *last = task;
    pthread_cond_signal(&sweeper->changed);
    pthread_mutex_unlock(&sweeper->lock);
}

napi_value sweep(napi_env env, napi_callback_info info)
{
    size_t count = 1, length;
    napi_value argument, promise;
    napi_typedarray_type type;
    struct addon *addon;
    void *memory;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, (void **)&addon));
    TRY(env, napi_get_typedarray_info(env, argument, &type, &length, &memory, NULL, NULL));
    if (type != napi_biguint64_array || length % 3 != 0)
        return addon_throw(env, "sweep: expected triples of 64-bit numbers");
    if (!sweeper_start(env, addon))
        return addon_throw(env, "sweep: no thread can be started");
    struct task *task = calloc(1, sizeof *task + length / 3 * sizeof *task->families);
    if (task == NULL)
        return addon_throw(env, "sweep: out of memory");
    task->count = length / 3;
    for (size_t i = 0; i < task->count; i++) {
        const uint64_t *triple = (uint64_t *)memory + 3 * i;
        task->families[i] = (struct family){.mark = triple[0], .mask = triple[1], .namespace = triple[2]};
    }
    if (napi_create_promise(env, &task->deferred, &promise) != napi_ok) {
        free(task);
        return addon_throw(env, "sweep: no promise");
    }
    enqueue(env, addon->sweeper, task);
    return promise;
}

/* marks(mark, mask): the marks of all visible processes that agree with a mark in the bits of a mask. */
napi_value marks_in_use(napi_env env, napi_callback_info info)
{
    size_t count = 2;
    napi_value arguments[2], array_buffer, result;
    uint64_t mark, mask;
    bool lossless;
    void *memory;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_bigint_uint64(env, arguments[0], &mark, &lossless));
    TRY(env, napi_get_value_bigint_uint64(env, arguments[1], &mask, &lossless));
    uint64_t *marks = malloc(MOST_MARKS * sizeof *marks);
    if (marks == NULL)
        return addon_throw(env, "marks: out of memory");
    ssize_t found = family_marks(mark, mask, marks, MOST_MARKS);
    size_t length = found > 0 ? (size_t)found : 0;
    bool created = napi_create_arraybuffer(env, length * sizeof *marks, &memory, &array_buffer) == napi_ok &&
                   napi_create_typedarray(env, napi_biguint64_array, length, array_buffer, 0, &result) == napi_ok;
    for (size_t i = 0; created && i < length; i++)
        ((uint64_t *)memory)[i] = marks[i];
    free(marks);
    return created ? result : addon_throw(env, "marks: out of memory");
}
