/* Finds the user (socket.c) and the processes (holders.c) at the other end of a connection. */
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
    PEER_SANDBOX = 2,   /* a process in a sandbox of this product has it open */
    PEER_FAMILY = 4,    /* a process of a family of this process has it open */
    PEER_ELSEWHERE = 8, /* a process in another pid or user namespace has it open */
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
    /* Whether to search processes without any of these bits also while no sandbox shares the network. */
    bool outside;
    struct peer *peers;
    size_t count;
};

/* Searches /proc, and once more with all sandboxes stopped for sockets that could be hidden there. 0, or -1 with errno. */
int peers_search(struct peer_search *search);

struct peer_socket {
    uid_t uid;      /* unspecified once the socket is closed */
    uint64_t inode; /* 0 once the socket is closed */
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
