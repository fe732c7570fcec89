/* Limits, control group and user of a child: see restrict.c. */
#ifndef EXEC_RESTRICT_H
#define EXEC_RESTRICT_H

#include "spawn.h"

/* In the child, with the descriptors of the parent. */
int restrict_join_group(const struct restrictions *restrictions);

/* In the child, after all that needs the rights of the parent. */
int restrict_file_size(const struct restrictions *restrictions);
int restrict_user(const struct restrictions *restrictions);

/* In the parent: gives the child's end of a pipe or terminal to its user, who can then open it by name. */
int restrict_give(const struct restrictions *restrictions, int fd, bool is_terminal);

#endif
