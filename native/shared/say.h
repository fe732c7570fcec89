/* A line on stderr, put together from strings: see say.c. */
#ifndef EXEC_SAY_H
#define EXEC_SAY_H

#include <stddef.h>

#define say(...) say_parts((const char *const[]){__VA_ARGS__, NULL})
void say_parts(const char *const *parts);

#endif
