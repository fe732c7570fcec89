#define _GNU_SOURCE
#include "script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "files.h"

/* Whether a file is binary, as bash decides: its first line contains a NUL. */
static bool is_binary(const char *file)
{
    char sample[80];
    int fd = open_retrying(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = fd < 0 ? -1 : read_retrying(fd, sample, sizeof sample);
    close_open(&fd);
    for (ssize_t i = 0; i < length && sample[i] != '\n'; i++)
        if (sample[i] == '\0')
            return true;
    return false;
}

static void execute_script(const char *file, char **argv, char **environment, const char *shell)
{
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    char **script = calloc(count + 3, sizeof *script);
    struct bytes path = {0};
    if (strchr(file, '/') == NULL)
        bytes_add_text(&path, "./"); /* the shell would search PATH for a bare name */
    bytes_add_string(&path, file);
    if (script == NULL || path.failed)
        return;
    script[0] = (char *)shell;
    script[1] = path.start;
    for (size_t i = 1; i < count; i++)
        script[i + 1] = argv[i];
    execve(shell, script, environment);
}

const char *execute_file(const char *file, char **argv, char **environment, const char *shell)
{
    execve(file, argv, environment);
    if (errno == ENOEXEC && is_binary(file)) {
        errno = ENOEXEC;
        return "cannot execute binary file: Exec format error";
    }
    if (errno == ENOEXEC)
        execute_script(file, argv, environment, shell);
    return strerror(errno);
}
