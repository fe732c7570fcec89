/* The first process of a sandbox: see reaper.c. */
#ifndef EXEC_REAPER_H
#define EXEC_REAPER_H

/*
 * Forks. The child returns 0 and goes on to become the command; the parent stays, as the first process of the sandbox, until
 * the command ends or the other end of `control` closes, and never returns. -1 with errno when nothing was started. The child
 * may have the parent supervise it (native/stage/denials.h) by `supervisor`.
 */
int reaper_fork(int control, int *supervisor);

#endif
