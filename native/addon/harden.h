/* Protects the memory of the server: see harden.c. */
#ifndef EXEC_HARDEN_H
#define EXEC_HARDEN_H

/*
 * Hardens the whole process. Closes the descriptors from 3 on that its parent left open, except `keep`. Children get `files` as
 * their soft limit of descriptors; 0 leaves it unchanged.
 */
int harden_process(int keep, unsigned files);

/* In a child, before exec: restores the limits that concern only the server. */
int harden_undo(void);

#endif
