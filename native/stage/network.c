/*
 * The network of a session is a namespace that bubblewrap makes for send_network, whose process ends at once: the server keeps the
 * namespace by the descriptor that it gets, so it ends with the server or before. The launchers of the session's commands enter it.
 */
#define _GNU_SOURCE
#include "network.h"

#include <fcntl.h>

#include "../shared/enter-network.h"
#include "../shared/files.h"
#include "../shared/send-descriptors.h"

int send_network(int channel)
{
    int network = open_retrying("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (network < 0)
        return -1;
    return send_descriptors(channel, ".", 1, &network, 1) < 0 ? -1 : 0;
}

/*
 * The capabilities that this process has in the user namespace of the network are lost to the command: bubblewrap gives it a user
 * namespace of its own below that one.
 */
int launch_in_network(int network, char **launcher)
{
    if (enter_network(network) < 0)
        return -1;
    close(network);
    return execv(launcher[0], launcher);
}
