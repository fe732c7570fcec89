/*
 * openInNetwork(network, kind): a descriptor that belongs to another network namespace, or a negative errno.
 *
 * A socket stays in the namespace where it was made. A thread of the server cannot enter a user namespace, and must not: a child
 * that shares its memory and descriptors does, opens what is wanted and ends, some 50 µs later.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../shared/enter-network.h"
#include "../shared/files.h"
#include "addon.h"
#include "spawn.h"

/* The order is that of src/host/os/sockets/network-namespace.ts. */
enum kind { TCP4, TCP6, TCP4_TABLE, TCP6_TABLE, KINDS };

struct job {
    int network;
    enum kind kind;
    int outcome; /* a descriptor, or a negative errno */
};

static int open_kind(enum kind kind)
{
    switch (kind) {
    case TCP4:
    case TCP6:
        return socket(kind == TCP4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    case TCP4_TABLE: /* the files of this directory belong to the namespace of the process that opens them */
        return open("/proc/thread-self/net/tcp", O_RDONLY | O_CLOEXEC);
    case TCP6_TABLE:
        return open("/proc/thread-self/net/tcp6", O_RDONLY | O_CLOEXEC);
    default:
        errno = EINVAL;
        return -1;
    }
}

static int child_main(void *argument)
{
    struct job *job = argument;
    job->outcome = enter_network(job->network) < 0 ? -1 : open_kind(job->kind);
    if (job->outcome < 0)
        job->outcome = -errno;
    _exit(0);
}

napi_value open_in_network(napi_env env, napi_callback_info info)
{
    size_t count = 2;
    napi_value arguments[2], result;
    int32_t network;
    uint32_t kind;
    TRY(env, napi_get_cb_info(env, info, &count, arguments, NULL, NULL));
    TRY(env, napi_get_value_int32(env, arguments[0], &network));
    TRY(env, napi_get_value_uint32(env, arguments[1], &kind));
    struct job job = {.network = network, .kind = kind < KINDS ? (enum kind)kind : KINDS, .outcome = -EIO};
    int pidfd = -1;
    if (spawn_sharing_memory(child_main, &job, &pidfd) < 0)
        job.outcome = -errno;
    else
        reap(pidfd, NULL);
    close_open(&pidfd);
    TRY(env, napi_create_int32(env, job.outcome, &result));
    return result;
}
