/* Prints strings as one line on stderr. */
#ifndef EXEC_PRINT_STDERR_H
#define EXEC_PRINT_STDERR_H

#include <stddef.h>

#define print_stderr(...) print_stderr_parts((const char *const[]){__VA_ARGS__, NULL})
void print_stderr_parts(const char *const *parts);

#endif
