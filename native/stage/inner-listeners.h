/* Listening sockets inside a network namespace, handed to the server outside: see inner-listeners.c. */
#ifndef EXEC_INNER_LISTENERS_H
#define EXEC_INNER_LISTENERS_H

#include <stddef.h>

#define MOST_LISTENERS 64

/* Listens on these ports of 127.0.0.1 and sends the sockets, in order, over `channel`. 0, or -1 with errno set. */
int listen_for_server(int channel, char **ports, size_t count);

#endif
