/* A file or directory, identified by device and inode. */
#ifndef EXEC_PIN_H
#define EXEC_PIN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "number.h"

struct pin {
    bool set;
    dev_t device;
    ino_t inode;
};

/* Reads `DEVICE:INODE`, or `-` for none. */
static inline bool pin_read(const char *text, struct pin *pin)
{
    uint64_t device, inode;
    *pin = (struct pin){.set = false};
    if (strcmp(text, "-") == 0)
        return true;
    const char *at = read_number(text, 10, UINT64_MAX, &device);
    if (at == NULL || *at != ':' || (at = read_number(at + 1, 10, UINT64_MAX, &inode)) == NULL || *at != '\0')
        return false;
    *pin = (struct pin){.set = true, .device = (dev_t)device, .inode = (ino_t)inode};
    return true;
}

/* 0 if the path leads to the pinned file, else -1: with ESTALE if it leads to another. "." is the current directory. */
static inline int pin_check(const struct pin *pin, const char *path)
{
    struct stat status;
    if (!pin->set)
        return 0;
    if (stat(path, &status) < 0)
        return -1;
    errno = ESTALE;
    return status.st_dev == pin->device && status.st_ino == pin->inode ? 0 : -1;
}

#endif
