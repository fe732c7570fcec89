/* Executing a file the way a shell does. */
#ifndef EXEC_SCRIPT_H
#define EXEC_SCRIPT_H

/*
 * execve, and for a text without an interpreter line the shell with the file as its script. Returns the text of the
 * failure, with errno set.
 */
const char *execute_file(const char *file, char **argv, char **environment, const char *shell);

#endif
