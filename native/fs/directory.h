/* The entries of one directory. */
#ifndef EXEC_FS_DIRECTORY_H
#define EXEC_FS_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Laid out by the kernel. */
struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* Reads a directory in pieces, without the "." and ".." of it. */
struct directory_reader {
    int fd;
    size_t at;
    size_t filled;
    uint8_t *buffer;
};

bool directory_start(struct directory_reader *reader, int fd);
/* The next entry, valid until the next call; NULL at the end with *failure 0, or with a negative errno. */
const struct directory_entry *directory_next(struct directory_reader *reader, int *failure);
/* Frees the buffer; the descriptor stays open. */
void directory_finish(struct directory_reader *reader);

/* The type bits of st_mode: of the entry itself, or of what a link leads to; 0 when that cannot be found out. */
unsigned directory_type(int fd, const struct directory_entry *entry, bool follow);

#endif
