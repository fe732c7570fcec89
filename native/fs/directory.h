/* The entries of one directory. */
#ifndef EXEC_FS_DIRECTORY_H
#define EXEC_FS_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/files.h"

/* Reads a directory in parts, without its "." and "..". */
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

/* The type bits of st_mode: of the entry itself, or of the target of a link; 0 if it is unknown. */
unsigned directory_type(int fd, const struct directory_entry *entry, bool follow);

#endif
