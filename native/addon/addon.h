/* Declarations for the parts of the addon's JavaScript surface. */
#ifndef EXEC_ADDON_H
#define EXEC_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>

#include "io.h"

/* One per JavaScript environment: the main thread and every worker have their own. */
struct addon {
    struct loop *loop; /* NULL until start */
    napi_threadsafe_function deliver;
    unsigned holding; /* children that keep the process alive */
    struct sweeper *sweeper; /* NULL until start or the first sweep */
};

/* On failure throws, unless an exception is pending already, and returns NULL. */
#define TRY(env, call)                                                                                                 \
    do {                                                                                                               \
        if ((call) != napi_ok)                                                                                         \
            return addon_throw((env), #call);                                                                          \
    } while (0)

napi_value addon_throw(napi_env env, const char *what);

/* delivery.c */
napi_value delivery_start(napi_env env, napi_callback_info info);
void delivery_hold(napi_env env, struct addon *addon);
void delivery_let_go(napi_env env, struct addon *addon);

/* decode.c */
napi_value decode_base64(napi_env env, napi_callback_info info);

/* mask.c */
napi_value mask_bytes(napi_env env, napi_callback_info info);
napi_value unmask_bytes(napi_env env, napi_callback_info info);

/* notify.c */
napi_value notify_manager(napi_env env, napi_callback_info info);

/* send.c */
napi_value send_bytes(napi_env env, napi_callback_info info);
napi_value receive_bytes(napi_env env, napi_callback_info info);

/* ../peers/requests.c */
napi_value tcp_peer(napi_env env, napi_callback_info info);
napi_value unix_peer(napi_env env, napi_callback_info info);
napi_value search_holders(napi_env env, napi_callback_info info);

/* ../family/sweep.c */
bool sweeper_start(napi_env env, struct addon *addon); /* starts its thread, unless it runs */
napi_value marks_in_use(napi_env env, napi_callback_info info);
napi_value sweep(napi_env env, napi_callback_info info);

/* ../family/members.c */
napi_value family_members(napi_env env, napi_callback_info info);

/* fs.c */
napi_value file_answer(napi_env env, napi_callback_info info);
napi_value file_answer_later(napi_env env, napi_callback_info info);

/* descriptors.c */
napi_value received_number(napi_env env, napi_callback_info info);
napi_value unread_bytes(napi_env env, napi_callback_info info);
napi_value lock_file(napi_env env, napi_callback_info info);
napi_value has_attribute(napi_env env, napi_callback_info info);
napi_value hang_up(napi_env env, napi_callback_info info);
napi_value socket_pair(napi_env env, napi_callback_info info);
napi_value receive_descriptors(napi_env env, napi_callback_info info);

/* network.c */
napi_value open_in_network(napi_env env, napi_callback_info info);

/* connect.c */
napi_value connect_tcp(napi_env env, napi_callback_info info);
napi_value connect_unix(napi_env env, napi_callback_info info);

/* execute.c */
napi_value execute_program(napi_env env, napi_callback_info info);
napi_value exit_now(napi_env env, napi_callback_info info);

/* start-child.c */
char **addon_list(napi_env env, napi_value value); /* NULL-terminated, to be freed; the strings are those of the buffer */
napi_value start_child(napi_env env, napi_callback_info info);

#endif
