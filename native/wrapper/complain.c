/* Why the wrapper cannot do its work. */
#include <errno.h>
#include <string.h>

#include "wrapper.h"

int complain(const char *what)
{
    print_stderr("execve-wrapper: ", what, ": ", errno == EPIPE ? "the server has gone" : strerror(errno));
    return CANNOT;
}
