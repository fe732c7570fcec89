/*
 * The JavaScript surface of the addon: src/host/os/addon.ts says what each function takes and gives. Functions about a child
 * take its id first and hold the lock while they look at it.
 */
#define _GNU_SOURCE
#include "addon.h"
#include "../fs/engine.h"
#include "../family/family.h"
#include "harden.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

napi_value addon_throw(napi_env env, const char *what)
{
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
        napi_throw_error(env, NULL, what);
    return NULL;
}

struct call {
    struct addon *addon;
    struct child *child;
    napi_value arguments[3];
};

/* Finds the child a function is called about and locks the loop. */
static bool enter(napi_env env, napi_callback_info info, struct call *call)
{
    size_t count = 3;
    uint32_t id;
    if (napi_get_cb_info(env, info, &count, call->arguments, NULL, (void **)&call->addon) != napi_ok ||
        napi_get_value_uint32(env, call->arguments[0], &id) != napi_ok || call->addon->loop == NULL) {
        addon_throw(env, "expected the number of a child");
        return false;
    }
    pthread_mutex_lock(&call->addon->loop->lock);
    call->child = loop_find(call->addon->loop, id);
    if (call->child != NULL)
        return true;
    pthread_mutex_unlock(&call->addon->loop->lock);
    addon_throw(env, "no such child");
    return false;
}

static void leave(struct call *call)
{
    pthread_mutex_unlock(&call->addon->loop->lock);
}

static napi_value number(napi_env env, long value)
{
    napi_value result;
    TRY(env, napi_create_int64(env, value, &result));
    return result;
}

/* grant(child, stream, byteLength) */
static napi_value grant(napi_env env, napi_callback_info info)
{
    struct call call;
    uint32_t stream = 0, bytes = 0;
    if (!enter(env, info, &call))
        return NULL;
    if (napi_get_value_uint32(env, call.arguments[1], &stream) == napi_ok && stream < OUTPUTS &&
        napi_get_value_uint32(env, call.arguments[2], &bytes) == napi_ok)
        output_grant(call.addon->loop, call.child, (int)stream, bytes);
    leave(&call);
    return NULL;
}

/* After a failed write nothing can be sent any more, and this may have been the last open end. */
static void end_connection_input(struct call *call)
{
    input_drop(&call->child->input);
    loop_attend(call->addon->loop, call->child);
}

/* write(child, bytes) */
static napi_value write_input(napi_env env, napi_callback_info info)
{
    struct call call;
    napi_typedarray_type type;
    size_t length;
    void *bytes;
    if (!enter(env, info, &call))
        return NULL;
    long outcome = -EINVAL;
    if (napi_get_typedarray_info(env, call.arguments[1], &type, &length, &bytes, NULL, NULL) == napi_ok &&
        type == napi_uint8_array)
        outcome = input_write(call.addon->loop, call.child, bytes, length);
    if (outcome < 0 && call.child->input.socket)
        end_connection_input(&call);
    leave(&call);
    return number(env, outcome);
}

/* end(child) */
static napi_value end_input(napi_env env, napi_callback_info info)
{
    struct call call;
    if (!enter(env, info, &call))
        return NULL;
    input_end(&call.child->input);
    if (call.child->input.socket)
        loop_attend(call.addon->loop, call.child); /* this may have been its last open end */
    leave(&call);
    return NULL;
}

/* signal(child, signal): the number names the group while its leader is not reaped, which the lock holds off. */
static napi_value send_signal(napi_env env, napi_callback_info info)
{
    struct call call;
    int32_t signal;
    napi_value sent;
    if (!enter(env, info, &call))
        return NULL;
    bool ok = napi_get_value_int32(env, call.arguments[1], &signal) == napi_ok && !call.child->reaped &&
              kill(-call.child->pid, signal) == 0;
    leave(&call);
    TRY(env, napi_get_boolean(env, ok, &sent));
    return sent;
}

/* join(child, mark): gives a child that was started without a family one; 0 or an errno, ESRCH if the child is over. */
static napi_value join_family(napi_env env, napi_callback_info info)
{
    struct call call;
    uint64_t mark;
    bool lossless;
    if (!enter(env, info, &call))
        return NULL;
    long outcome = EINVAL;
    struct pollfd exit = {.fd = call.child->pidfd, .events = POLLIN};
    if (call.child->reaped || poll(&exit, 1, 0) > 0)
        outcome = ESRCH; /* a dead child that is not reaped yet would take the mark */
    else if (napi_get_value_bigint_uint64(env, call.arguments[1], &mark, &lossless) == napi_ok)
        outcome = family_create(call.child->pid, mark) < 0 ? errno : 0;
    leave(&call);
    return number(env, outcome);
}

/* resize(child, rows, cols) */
static napi_value resize(napi_env env, napi_callback_info info)
{
    struct call call;
    uint32_t rows, cols;
    if (!enter(env, info, &call))
        return NULL;
    long outcome = -EINVAL;
    if (napi_get_value_uint32(env, call.arguments[1], &rows) == napi_ok &&
        napi_get_value_uint32(env, call.arguments[2], &cols) == napi_ok) {
        struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
        outcome = ioctl(call.child->outputs[0].fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
    }
    leave(&call);
    return number(env, outcome);
}

/* terminalMode(child) */
static napi_value terminal_mode(napi_env env, napi_callback_info info)
{
    struct call call;
    struct termios mode;
    if (!enter(env, info, &call))
        return NULL;
    long outcome = tcgetattr(call.child->outputs[0].fd, &mode) < 0
                       ? -errno
                       : ((mode.c_lflag & ICANON) != 0) | ((mode.c_lflag & ECHO) != 0) << 1 | mode.c_cc[VEOF] << 8;
    leave(&call);
    return number(env, outcome);
}

/* closeOutputs(child) */
static napi_value close_outputs(napi_env env, napi_callback_info info)
{
    struct call call;
    if (!enter(env, info, &call))
        return NULL;
    call.child->closing = true;
    loop_attend(call.addon->loop, call.child);
    leave(&call);
    return NULL;
}

/* hold(child, held) */
static napi_value hold(napi_env env, napi_callback_info info)
{
    struct call call;
    bool held = true;
    if (!enter(env, info, &call))
        return NULL;
    napi_get_value_bool(env, call.arguments[1], &held);
    bool changed = call.child->background == held;
    call.child->background = !held;
    leave(&call);
    if (changed && held)
        delivery_hold(env, call.addon);
    else if (changed)
        delivery_let_go(env, call.addon);
    return NULL;
}

/* release(arrayBuffer) */
static napi_value release(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_detach_arraybuffer(env, argument));
    return NULL;
}

/* probe() */
static napi_value probe(napi_env env, napi_callback_info info)
{
    (void)info;
    napi_value missing;
    TRY(env, napi_create_string_utf8(env, spawn_probe(), NAPI_AUTO_LENGTH, &missing));
    return missing;
}

/* harden(keep, files): 0 or an errno. */
static napi_value harden(napi_env env, napi_callback_info info)
{
    size_t count = 2;
    napi_value arguments[2];
    int32_t keep;
    uint32_t files;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_int32(env, arguments[0], &keep));
    TRY(env, napi_get_value_uint32(env, arguments[1], &files));
    return number(env, harden_process(keep, files) < 0 ? errno : 0);
}

/* fileOperations(): the number of each operation of the filesystem engine by its name. */
static napi_value file_operations(napi_env env, napi_callback_info info)
{
    (void)info;
    napi_value operations;
    TRY(env, napi_create_object(env, &operations));
    for (unsigned n = 0; fs_operation_name(n) != NULL; n++)
        TRY(env, napi_set_named_property(env, operations, fs_operation_name(n), number(env, (int32_t)n)));
    return operations;
}

NAPI_MODULE_INIT()
{
    const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        {"probe", probe},   {"start", delivery_start},        {"spawn", start_child},          {"grant", grant},
        {"end", end_input}, {"write", write_input},           {"signal", send_signal},         {"resize", resize},
        {"hold", hold},     {"terminalMode", terminal_mode}, {"closeOutputs", close_outputs}, {"sweep", sweep},
        {"release", release}, {"decodeBase64", decode_base64}, {"mask", mask_bytes},           {"unmask", unmask_bytes},         {"harden", harden},
        {"socketPair", socket_pair},                          {"receiveDescriptors", receive_descriptors},
        {"fileAnswer", file_answer},                          {"fileAnswerLater", file_answer_later},
        {"send", send_bytes},                                 {"join", join_family},
        {"marks", marks_in_use}, {"members", family_members}, {"receivedNumber", received_number},
        {"receive", receive_bytes},                           {"hangUp", hang_up},
        {"tcpPeer", tcp_peer}, {"unixPeer", unix_peer},       {"searchHolders", search_holders},
        {"execute", execute_program},                         {"exitNow", exit_now},
        {"unreadBytes", unread_bytes},                        {"lock", lock_file}, {"hasAttribute", has_attribute},
        {"fileOperations", file_operations},                  {"openInNetwork", open_in_network},
        {"connectTcp", connect_tcp},                         {"connectUnix", connect_unix},
        {"notify", notify_manager},
    };
    struct addon *addon = calloc(1, sizeof *addon);
    if (addon == NULL)
        return addon_throw(env, "out of memory");
    TRY(env, napi_add_env_cleanup_hook(env, free, addon)); /* the oldest hook, so the last to run */
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        napi_value function;
        TRY(env, napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].function, addon, &function));
        TRY(env, napi_set_named_property(env, exports, functions[i].name, function));
    }
    return exports;
}
