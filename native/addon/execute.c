/* Ends this program. execute(argv) replaces it by another one, whose path is the first argument; returns an errno if it cannot. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "addon.h"

napi_value execute_program(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    napi_value argument, result;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    char **argv = addon_list(env, argument);
    if (argv == NULL)
        return addon_throw(env, "execute: expected NUL-terminated strings");
    for (int fd = 0; fd < 3; fd++) /* Node has set FD_CLOEXEC on those it inherited */
        fcntl(fd, F_SETFD, 0);
    errno = EINVAL;
    if (argv[0] != NULL)
        execv(argv[0], argv);
    int error = errno;
    free(argv);
    TRY(env, napi_create_int32(env, error, &result));
    return result;
}

/* exitNow(code): without waiting for any thread. */
napi_value exit_now(napi_env env, napi_callback_info info)
{
    size_t count = 1;
    int32_t code;
    napi_value argument;
    TRY(env, napi_get_cb_info(env, info, &count, &argument, NULL, NULL));
    TRY(env, napi_get_value_int32(env, argument, &code));
    _exit(code);
}
