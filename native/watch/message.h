/* What is written to the server: each message is its length (u32) and JSON text. */
#ifndef EXEC_WATCH_MESSAGE_H
#define EXEC_WATCH_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "watcher.h"

/* All are false when the server is gone. */
/* {"watching":true,"root":PATH}; the root without links. */
bool message_watching(int fd, const struct watcher *watcher);
/* {"watching":false} or {"failed":FAILURE}: it cannot be watched. */
bool message_refused(int fd, const struct watcher *watcher);
/*
 * {"changes":[{"path":PATH,"kind":KIND,"from":PATH}],"overflow":true,"ended":true,"failed":FAILURE}, of the first so many changes,
 * which are forgotten then; the last two only when none are left. FAILURE is {"errno":N} or {"limit":NAME}.
 */
bool message_changes(int fd, struct watcher *watcher, size_t ready);

#endif
