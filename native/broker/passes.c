/* Programs of which Node has said that they may run with any arguments, so that it need not be asked again. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* The program of a caller that Node was told of. */
void pass_remember(struct broker *broker, const struct caller *caller)
{
    char *path = caller->glimpsed != NULL ? strdup(caller->glimpsed) : NULL;
    if (path == NULL)
        return; /* it is asked about again */
    size_t place = broker->pass_count++ % (sizeof broker->passes / sizeof *broker->passes);
    free(broker->passes[place]);
    broker->passes[place] = path;
}

bool pass_is_known(const struct broker *broker, const char *path)
{
    size_t most = sizeof broker->passes / sizeof *broker->passes;
    size_t count = broker->pass_count < most ? broker->pass_count : most;
    for (size_t i = 0; i < count; i++)
        if (strcmp(broker->passes[i], path) == 0)
            return true;
    return false;
}
