/* Who holds the other end of a connection: see socket.c and holders.c. */
#ifndef EXEC_PEERS_H
#define EXEC_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../family/family.h"

/* Bits about the processes that have a socket open. */
enum {
    PEER_HELD = 1,      /* a process whose descriptors can be read has it open */
    PEER_SANDBOX = 2,   /* one in a sandbox of this product does */
    PEER_FAMILY = 4,    /* one of a family of this process does */
    PEER_ELSEWHERE = 8, /* one in another pid or user namespace does */
    PEER_SUSPECT = 16,  /* not found, while a sandbox shares the network and could be hiding it */
    PEER_FROZE = 32,    /* all sandboxes were stopped to look for it */
};

struct peer {
    uint64_t inode;
    uint32_t holders; /* out */
};

struct peer_search {
    /* Marks of any server of this product, and of this process. */
    struct family product;
    const struct family *own;
    size_t own_count;
    /* Whether to look for holders that are neither in a sandbox nor in a family nor elsewhere, while there is no sandbox. */
    bool everyone;
    struct peer *peers;
    size_t count;
};

/* Searches /proc, and once more with all sandboxes stopped for sockets that could be hidden there. 0, or -1 with errno. */
int peers_search(struct peer_search *search);

struct peer_socket {
    uid_t uid;      /* means nothing once the socket is closed */
    uint64_t inode; /* 0 when it is */
};

/* An end of a TCP connection within this network namespace; addresses of 4 or 16 bytes, ports in host order. */
struct tcp_end {
    const uint8_t *address;
    uint16_t port;
};

/* The socket at `peer` that is connected to `local`: 0, or -1 with errno, ENOENT if there is none. */
int peer_of_tcp(size_t address_length, struct tcp_end peer, struct tcp_end local, struct peer_socket *found);

/* The socket at the other end of a connected Unix socket: 0, or -1 with errno. The user is the one that connected. */
int peer_of_unix(int fd, struct peer_socket *found);

#endif
