/* The network namespace of a session: see network.c. Both calls return -1 with errno when they fail. */
#ifndef EXEC_STAGE_NETWORK_H
#define EXEC_STAGE_NETWORK_H

/* Sends the network namespace of this process over `channel`. */
int send_network(int channel);

/* Becomes a launcher, by its path and arguments, in a network namespace. Returns only when that fails. */
int launch_in_network(int network, char **launcher);

#endif
