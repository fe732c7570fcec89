/* Prints why the wrapper has failed. */
#include <errno.h>
#include <string.h>

#include "wrapper.h"

int complain(const char *what)
{
    print_stderr("execve-wrapper: ", what, ": ", errno == EPIPE ? "the server has ended" : strerror(errno));
    return CANNOT;
}
