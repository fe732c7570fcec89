/* Files that were denied to a thread within the last second: a search of PATH may find the same file again. */
#define _GNU_SOURCE
#include "kernel.h"

/* Long enough for a search of PATH. */
#define DENIAL_LASTS_MS 1000

void denied_file_remember(struct broker *broker, const struct caller *caller)
{
    size_t place = broker->denial_count++ % (sizeof broker->denials / sizeof *broker->denials);
    broker->denials[place] = (struct denial){.thread = caller->thread, .device = caller->device, .inode = caller->inode,
                                             .until = now_ms() + DENIAL_LASTS_MS};
}

bool is_denied_file(const struct broker *broker, pid_t thread, const struct wanted *wanted)
{
    for (size_t i = 0; i < sizeof broker->denials / sizeof *broker->denials; i++) {
        const struct denial *denial = &broker->denials[i];
        bool is_it = wanted == NULL ||
                     (wanted->device != 0 && denial->device == wanted->device && denial->inode == wanted->inode);
        if (denial->thread == thread && is_it && denial->until > now_ms())
            return true;
    }
    return false;
}
