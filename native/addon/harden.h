/* Keeping others out of the server's memory: see harden.c. */
#ifndef EXEC_HARDEN_H
#define EXEC_HARDEN_H

/* For the whole process. Descriptors from 3 on that were left open by its parent are closed, but for `keep`. Children get a soft limit of so many `files`; 0 leaves it. */
int harden_process(int keep, unsigned files);

/* In a child, before exec: gives back what only concerned the server. */
int harden_undo(void);

#endif
