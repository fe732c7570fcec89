/* Messages to the caller of a program. */
#include "print-stderr.h"

#include "bytes.h"
#include "files.h"

void print_stderr_parts(const char *const *parts)
{
    struct bytes line = {0};
    for (; *parts != NULL; parts++)
        bytes_add_text(&line, *parts);
    bytes_add_text(&line, "\n");
    if (!line.failed)
        write_retrying(2, line.start, line.length);
    bytes_free(&line);
}
