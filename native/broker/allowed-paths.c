/* Programs that Node has allowed with any arguments, so that it need not be asked again. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* Remembers the program of a caller that was reported to Node. */
void allowed_path_remember(struct broker *broker, const struct caller *caller)
{
    char *path = caller->seen_path != NULL ? strdup(caller->seen_path) : NULL;
    if (path == NULL)
        return; /* it is asked about again */
    size_t place = broker->allowed_path_count++ % (sizeof broker->allowed_paths / sizeof *broker->allowed_paths);
    free(broker->allowed_paths[place]);
    broker->allowed_paths[place] = path;
}

bool is_allowed_path(const struct broker *broker, const char *path)
{
    size_t most = sizeof broker->allowed_paths / sizeof *broker->allowed_paths;
    size_t count = broker->allowed_path_count < most ? broker->allowed_path_count : most;
    for (size_t i = 0; i < count; i++)
        if (strcmp(broker->allowed_paths[i], path) == 0)
            return true;
    return false;
}
