/* The filter that hands execve and execveat to a supervisor: see exec-filter.c. */
#ifndef EXEC_FILTER_H
#define EXEC_FILTER_H

/* Installs it in this process, and sends its listener over a Unix socket. 0, or -1 with errno. */
int exec_filter_install(int channel);

#endif
