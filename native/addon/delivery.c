/* From the I/O thread to JavaScript: one thread-safe function, woken once for everything queued. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "addon.h"

/* Below this a copy into JavaScript's own memory is cheaper than a buffer with a finalizer. */
#define COPY_LIMIT (16 * 1024)

static void notify(void *context)
{
    struct addon *addon = context;
    napi_call_threadsafe_function(addon->deliver, NULL, napi_tsfn_nonblocking);
}

static void free_buffer(napi_env env, void *data, void *hint)
{
    (void)env, (void)hint;
    free(data);
}

static napi_value buffer_of(napi_env env, const struct loop *loop, struct event *event)
{
    napi_value buffer;
    size_t length = loop->headroom + ((size_t)event->value + 2) / 3 * 4 + loop->tailroom;
    if (length > COPY_LIMIT &&
        napi_create_external_buffer(env, length, event->buffer, free_buffer, NULL, &buffer) == napi_ok) {
        event->buffer = NULL; /* the finalizer's now */
        return buffer;
    }
    if (napi_create_buffer_copy(env, length, event->buffer, NULL, &buffer) != napi_ok)
        return NULL;
    return buffer;
}

static bool append(napi_env env, napi_value batch, uint32_t *index, double number)
{
    napi_value value;
    return napi_create_double(env, number, &value) == napi_ok && napi_set_element(env, batch, (*index)++, value) == napi_ok;
}

static bool append_event(napi_env env, const struct loop *loop, napi_value batch, uint32_t *index, struct event *event)
{
    if (!append(env, batch, index, event->child) || !append(env, batch, index, event->kind) ||
        !append(env, batch, index, event->stream))
        return false;
    if (event->kind != EVENT_OUTPUT)
        return append(env, batch, index, event->value) && append(env, batch, index, 0);
    napi_value buffer = buffer_of(env, loop, event);
    return buffer != NULL && napi_set_element(env, batch, (*index)++, buffer) == napi_ok &&
           append(env, batch, index, event->value);
}

static void forget(napi_env env, struct addon *addon, uint32_t id)
{
    struct loop *loop = addon->loop;
    pthread_mutex_lock(&loop->lock);
    struct child *child = loop_find(loop, id);
    bool held = !child->background;
    loop_remove(loop, child);
    pthread_mutex_unlock(&loop->lock);
    if (held)
        delivery_let_go(env, addon);
}

static void deliver(napi_env env, napi_value function, void *context, void *data)
{
    (void)data;
    struct addon *addon = context;
    napi_value batch, receiver;
    if (env == NULL || addon->loop == NULL || napi_create_array(env, &batch) != napi_ok ||
        napi_get_undefined(env, &receiver) != napi_ok)
        return; /* the environment is closing: what is queued is freed with the loop */
    uint32_t index = 0;
    bool complete = true;
    for (struct event *event = queue_take(addon->loop); event != NULL;) {
        struct event *next = event->next;
        complete = complete && append_event(env, addon->loop, batch, &index, event);
        if (event->kind == EVENT_RELEASED)
            forget(env, addon, event->child);
        event_free(event);
        event = next;
    }
    if (!complete)
        napi_fatal_error("exec_native", NAPI_AUTO_LENGTH, "out of memory while delivering output", NAPI_AUTO_LENGTH);
    if (index > 0)
        napi_call_function(env, receiver, function, 1, &batch, NULL);
}

static void stop(void *data)
{
    struct addon *addon = data;
    if (addon->loop != NULL)
        loop_stop(addon->loop);
    addon->loop = NULL;
}

/* start(deliver, headroom, tailroom) */
napi_value delivery_start(napi_env env, napi_callback_info info)
{
    size_t count = 3;
    napi_value arguments[3], name;
    struct addon *addon;
    uint32_t headroom, tailroom;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, (void **)&addon));
    TRY(env, napi_get_value_uint32(env, arguments[1], &headroom));
    TRY(env, napi_get_value_uint32(env, arguments[2], &tailroom));
    if (addon->loop != NULL)
        return addon_throw(env, "start: called twice");
    TRY(env, napi_create_string_utf8(env, "exec_native", NAPI_AUTO_LENGTH, &name));
    TRY(env, napi_create_threadsafe_function(env, arguments[0], NULL, name, 0, 1, NULL, NULL, addon, deliver, &addon->deliver));
    TRY(env, napi_unref_threadsafe_function(env, addon->deliver));
    addon->loop = loop_start(headroom, tailroom, notify, addon);
    if (addon->loop == NULL)
        return addon_throw(env, "start: no I/O thread");
    if (!sweeper_start(env, addon))
        return addon_throw(env, "start: no thread to end families");
    /* Hooks run newest first: the thread stops before the function it calls goes away. */
    TRY(env, napi_add_env_cleanup_hook(env, stop, addon));
    return NULL;
}

void delivery_hold(napi_env env, struct addon *addon)
{
    if (addon->holding++ == 0)
        napi_ref_threadsafe_function(env, addon->deliver);
}

void delivery_let_go(napi_env env, struct addon *addon)
{
    if (--addon->holding == 0)
        napi_unref_threadsafe_function(env, addon->deliver);
}
