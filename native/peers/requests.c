/* tcpPeer, unixPeer and searchHolders: see src/host/os/addon.ts. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../addon/addon.h"
#include "peers.h"

static napi_value socket_or_errno(napi_env env, int outcome, const struct peer_socket *found)
{
    napi_value result, value;
    if (outcome < 0) {
        TRY(env, napi_create_int32(env, -errno, &result));
        return result;
    }
    TRY(env, napi_create_array_with_length(env, 2, &result));
    TRY(env, napi_create_uint32(env, found->uid, &value));
    TRY(env, napi_set_element(env, result, 0, value));
    TRY(env, napi_create_int64(env, (int64_t)found->inode, &value));
    TRY(env, napi_set_element(env, result, 1, value));
    return result;
}

static bool read_address(napi_env env, napi_value value, const uint8_t **bytes, size_t *length)
{
    napi_typedarray_type type;
    void *memory;
    if (napi_get_typedarray_info(env, value, &type, length, &memory, NULL, NULL) != napi_ok)
        return false;
    *bytes = memory;
    return type == napi_uint8_array && (*length == 4 || *length == 16);
}

napi_value tcp_peer(napi_env env, napi_callback_info info)
{
    size_t count = 4, peer_length, local_length;
    napi_value arguments[4];
    uint32_t peer_port, local_port;
    struct tcp_end peer, local;
    struct peer_socket found;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    if (!read_address(env, arguments[0], &peer.address, &peer_length) ||
        !read_address(env, arguments[2], &local.address, &local_length) || peer_length != local_length)
        return addon_throw(env, "tcpPeer: two addresses of one family are expected");
    TRY(env, napi_get_value_uint32(env, arguments[1], &peer_port));
    TRY(env, napi_get_value_uint32(env, arguments[3], &local_port));
    peer.port = (uint16_t)peer_port;
    local.port = (uint16_t)local_port;
    return socket_or_errno(env, peer_of_tcp(peer_length, peer, local, &found), &found);
}

napi_value unix_peer(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument;
    int32_t fd;
    struct peer_socket found;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_value_int32(env, argument, &fd));
    return socket_or_errno(env, peer_of_unix(fd, &found), &found);
}

struct task {
    napi_threadsafe_function done;
    napi_deferred deferred;
    struct peer_search search;
    int error;
};

static void free_task(struct task *task)
{
    free(task->search.peers);
    free((void *)task->search.own);
    free(task);
}

static napi_value holders_of(napi_env env, const struct peer_search *search)
{
    void *memory;
    napi_value array_buffer, holders;
    if (napi_create_arraybuffer(env, search->count * sizeof(uint32_t), &memory, &array_buffer) != napi_ok ||
        napi_create_typedarray(env, napi_uint32_array, search->count, array_buffer, 0, &holders) != napi_ok)
        return NULL;
    for (size_t i = 0; i < search->count; i++)
        ((uint32_t *)memory)[i] = search->peers[i].holders;
    return holders;
}

/* On the JavaScript thread; without an environment when that is ending. */
static void finish(napi_env env, napi_value callback, void *context, void *data)
{
    (void)callback;
    (void)context;
    struct task *task = data;
    napi_value holders = env != NULL && task->error == 0 ? holders_of(env, &task->search) : NULL;
    napi_value message, error;
    char text[128];
    snprintf(text, sizeof text, "/proc cannot be read: %s", strerror(task->error));
    if (holders != NULL)
        napi_resolve_deferred(env, task->deferred, holders);
    else if (env != NULL && napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) == napi_ok &&
             napi_create_error(env, NULL, message, &error) == napi_ok)
        napi_reject_deferred(env, task->deferred, error);
    free_task(task);
}

static void *run(void *data)
{
    struct task *task = data;
    napi_threadsafe_function done = task->done;
    task->error = peers_search(&task->search) < 0 ? errno : 0;
    if (napi_call_threadsafe_function(done, task, napi_tsfn_blocking) != napi_ok)
        free_task(task);
    napi_release_threadsafe_function(done, napi_tsfn_release);
    return NULL;
}

static bool read_numbers(napi_env env, napi_value value, const uint64_t **numbers, size_t *count)
{
    napi_typedarray_type type;
    void *memory;
    if (napi_get_typedarray_info(env, value, &type, count, &memory, NULL, NULL) != napi_ok ||
        type != napi_biguint64_array)
        return false;
    *numbers = memory;
    return true;
}

static struct task *create_task(const uint64_t *inodes, size_t inode_count, const uint64_t *marks, size_t mark_count)
{
    struct task *task = calloc(1, sizeof *task);
    if (task == NULL)
        return NULL;
    size_t own_count = mark_count / 2 - 1;
    struct family *own = calloc(own_count + 1, sizeof *own);
    task->search.own = own;
    task->search.own_count = own_count;
    task->search.peers = calloc(inode_count + 1, sizeof *task->search.peers);
    task->search.count = inode_count;
    if (own == NULL || task->search.peers == NULL) {
        free_task(task);
        return NULL;
    }
    task->search.product = (struct family){.mark = marks[0], .mask = marks[1]};
    for (size_t i = 0; i < own_count; i++)
        own[i] = (struct family){.mark = marks[2 * i + 2], .mask = marks[2 * i + 3]};
    for (size_t i = 0; i < inode_count; i++)
        task->search.peers[i].inode = inodes[i];
    return task;
}

napi_value search_holders(napi_env env, napi_callback_info info)
{
    size_t count = 3, inode_count, mark_count;
    napi_value arguments[3], name, promise;
    const uint64_t *inodes, *marks;
    bool outside;
    pthread_t thread;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_bool(env, arguments[2], &outside));
    if (!read_numbers(env, arguments[0], &inodes, &inode_count) ||
        !read_numbers(env, arguments[1], &marks, &mark_count) || mark_count < 2 || mark_count % 2 != 0)
        return addon_throw(env, "searchHolders: inodes and pairs of mark and mask are expected");
    struct task *task = create_task(inodes, inode_count, marks, mark_count);
    if (task == NULL)
        return addon_throw(env, "searchHolders: out of memory");
    task->search.outside = outside;
    if (napi_create_string_utf8(env, "searchHolders", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_promise(env, &task->deferred, &promise) != napi_ok ||
        napi_create_threadsafe_function(env, NULL, NULL, name, 1, 1, NULL, NULL, NULL, finish, &task->done) != napi_ok) {
        free_task(task);
        return addon_throw(env, "searchHolders: cannot be started");
    }
    napi_threadsafe_function done = task->done;
    if (pthread_create(&thread, NULL, run, task) != 0) {
        napi_release_threadsafe_function(done, napi_tsfn_abort);
        free_task(task);
        return addon_throw(env, "searchHolders: no thread can be started");
    }
    pthread_detach(thread);
    return promise;
}
