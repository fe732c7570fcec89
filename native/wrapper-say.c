/* Words for whoever called the program. */
#include <errno.h>
#include <string.h>

#include "files.h"
#include "wrapper.h"

void say_parts(const char *const *parts)
{
    struct bytes line = {0};
    for (; *parts != NULL; parts++)
        bytes_add_text(&line, *parts);
    bytes_add_text(&line, "\n");
    if (!line.failed)
        write_retrying(2, line.start, line.length);
    bytes_free(&line);
}

int complain(const char *what)
{
    say("execve-wrapper: ", what, ": ", errno == EPIPE ? "the server has gone" : strerror(errno));
    return CANNOT;
}
