/*
 * The file engine for JavaScript: on the calling thread if it need not wait, on the thread pool otherwise. Waiting for another
 * process takes a thread of its own, because a few stopped processes would fill the pool; so does a search that goes on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "addon.h"
#include "../fs/engine.h"
#include "thread.h"

/* Below this a copy into JavaScript's own memory is cheaper than a buffer with a finalizer. */
#define COPY_LIMIT (16 * 1024)

/* A thread that waits needs a small stack, and so does a search: its pattern is compiled on the pool. */
#define WAITER_STACK (256 * 1024)

struct task {
    napi_async_work work;          /* on the pool, or */
    napi_threadsafe_function done; /* from a thread of its own */
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
        addon_throw(env, "expected a file request (native/fs/engine.h)");
    return ok;
}

static int64_t microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* 1 when there is something to read, 0 when nothing came in time, or a negative errno. */
static int await_bytes(int fd, int64_t deadline)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    for (;;) {
        int64_t left = deadline - microseconds();
        struct timespec timeout = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
        int outcome = left <= 0 ? poll(&wanted, 1, 0) : ppoll(&wanted, 1, &timeout, NULL);
        if (outcome >= 0 || errno != EINTR)
            return outcome < 0 ? -errno : outcome;
    }
}

static int send_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = send(fd, bytes, length, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

/* A caller with a shorter timeout, in microseconds, runs on the event loop and blocks it. */
#define BLOCKING_LIMIT 1000000
/* Longer answers may not fit into the socket's buffer, and are not waited for on the event loop. */
#define PROMPT_LIMIT (128 * 1024)

/* Whether so many bytes are there to be read before the deadline. */
static bool await_whole(int fd, size_t length, int64_t deadline)
{
    int unread;
    for (;;) {
        if (ioctl(fd, FIONREAD, &unread) < 0 || (size_t)unread >= length)
            return true; /* after an error of ioctl, reading reports what is wrong */
        if (microseconds() >= deadline)
            return false;
        sched_yield();
    }
}

static int receive_all(int fd, uint8_t *bytes, size_t length, int64_t deadline)
{
    while (length > 0) {
        int ready = await_bytes(fd, deadline);
        ssize_t count = ready > 0 ? recv(fd, bytes, length, 0) : ready;
        if (count < 0 && ready > 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return ready < 0 ? ready : ready == 0 ? -ETIMEDOUT : count < 0 ? -errno : -EPIPE;
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

/* Receives a whole answer, or nothing: -EAGAIN if it does not come in time, or is too long to wait for on the event loop. */
static int receive_answer(int fd, int64_t timeout, struct fs_answer *answer)
{
    uint8_t head[FS_ROOM_BEFORE];
    int64_t deadline = microseconds() + timeout;
    bool on_event_loop = timeout < BLOCKING_LIMIT;
    int ready = await_bytes(fd, deadline);
    if (ready <= 0)
        return ready < 0 ? ready : -EAGAIN;
    ssize_t count = recv(fd, head, sizeof head, MSG_PEEK);
    if (count <= 0)
        return count < 0 ? -errno : -EPIPE;
    size_t length = (size_t)count < sizeof head ? 0 : fs_payload_length(head);
    if ((size_t)count < sizeof head || (on_event_loop && length > PROMPT_LIMIT))
        return -EAGAIN;
    if (on_event_loop && !await_whole(fd, FS_ROOM_BEFORE + length, deadline))
        return -EAGAIN; /* a helper that has begun to answer may be stopped */
    if (!fs_reserve(answer, length))
        return -ENOMEM;
    answer->length = FS_ROOM_BEFORE + length;
    return receive_all(fd, answer->bytes, answer->length, deadline);
}

/*
 * exchange: the payload, if any, is a request that is sent through the channel numbers[0]; the answer is the one that
 * comes back within numbers[1] microseconds, with the id of the request. Without one the answer has the id 0: FS_LATER if the
 * answer may still come, to an exchange without payload.
 */
static void exchange(const struct fs_request *request, struct fs_answer *answer)
{
    int fd = (int)request->numbers[0];
    int outcome = send_all(fd, request->payload, request->payload_length);
    if (outcome == 0)
        outcome = receive_answer(fd, (int64_t)request->numbers[1], answer);
    if (outcome == 0)
        return;
    fs_fail_errno(answer, -outcome);
    fs_end(request, answer);
}

static bool run(const struct fs_request *request, struct fs_answer *answer)
{
    if (request->operation != FS_EXCHANGE)
        return fs_execute(request, answer);
    if (!fs_begin(answer))
        return false;
    exchange(request, answer);
    return true;
}

/* fileAnswer(request, payload) */
napi_value file_answer(napi_env env, napi_callback_info info)
{
    napi_value arguments[2];
    struct fs_request request;
    struct fs_answer answer;
    if (!take_request(env, info, arguments, &request))
        return NULL;
    return run(&request, &answer) ? answer_buffer(env, &answer) : addon_throw(env, "out of memory");
}

static void execute(napi_env env, void *data)
{
    (void)env;
    struct task *task = data;
    task->answered = run(&task->request, &task->answer);
}

/* On the JavaScript thread. */
static void settle(napi_env env, struct task *task)
{
    napi_value outcome = NULL;
    if (task->answered)
        outcome = answer_buffer(env, &task->answer);
    if (outcome != NULL)
        napi_resolve_deferred(env, task->deferred, outcome);
    else if (napi_create_string_utf8(env, "out of memory", NAPI_AUTO_LENGTH, &outcome) == napi_ok)
        napi_reject_deferred(env, task->deferred, outcome);
    for (int i = 0; i < 2; i++)
        napi_delete_reference(env, task->arguments[i]);
}

static void complete(napi_env env, napi_status status, void *data)
{
    struct task *task = data;
    if (status != napi_ok)
        task->answered = false;
    settle(env, task);
    napi_delete_async_work(env, task->work);
    free(task);
}

/* Without an environment if JavaScript is ending. */
static void finish(napi_env env, napi_value callback, void *context, void *data)
{
    (void)callback, (void)context;
    struct task *task = data;
    if (env != NULL)
        settle(env, task);
    else if (task->answered)
        free(task->answer.bytes);
    free(task);
}

static void *wait_for_answer(void *data)
{
    struct task *task = data;
    napi_threadsafe_function done = task->done;
    task->answered = run(&task->request, &task->answer);
    if (napi_call_threadsafe_function(done, task, napi_tsfn_blocking) != napi_ok)
        finish(NULL, NULL, NULL, task);
    napi_release_threadsafe_function(done, napi_tsfn_release);
    return NULL;
}

static bool start_thread(struct task *task)
{
    pthread_t thread;
    return thread_start(&thread, WAITER_STACK, DETACHED, wait_for_answer, task) == 0;
}

/* Whether a thread of its own has the task; otherwise it is left to the pool. */
static bool start_waiting(napi_env env, struct task *task, napi_value name)
{
    if (napi_create_threadsafe_function(env, NULL, NULL, name, 1, 1, NULL, NULL, NULL, finish, &task->done) != napi_ok)
        return false;
    napi_threadsafe_function done = task->done; /* the task may be freed before this returns */
    if (start_thread(task))
        return true;
    napi_release_threadsafe_function(done, napi_tsfn_abort);
    return false;
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
    bool lasts = request.operation == FS_EXCHANGE || request.operation == FS_SEARCH_ON;
    if (lasts && start_waiting(env, task, name))
        return promise;
    TRY(env, napi_create_async_work(env, NULL, name, execute, complete, task, &task->work));
    TRY(env, napi_queue_async_work(env, task->work));
    return promise;
}
