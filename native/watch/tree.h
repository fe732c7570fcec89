/* The watched directories by watch descriptor and by name, and their inotify instance. */
#ifndef EXEC_WATCH_TREE_H
#define EXEC_WATCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node {
    struct node *parent; /* NULL for the root, and for a directory whose rename is only half known */
    struct node *first, *next, *previous;
    struct node *same_wd, *same_name, *next_scan; /* chains of the tables and of the queue */
    char *name;
    int wd; /* -1 until it is scanned */
    bool queued;  /* in the queue of scans, which frees it if it is dead */
    bool dead;
    bool reports; /* what the scan finds is new */
};

struct tree {
    int inotify;
    struct node *root;
    struct node **by_wd, **by_name;
    size_t buckets;
    size_t count;
};

/* 0 or a negative errno. */
int tree_open(struct tree *tree);
/* Without nodes and watches. */
void tree_close(struct tree *tree);

/* NULL when memory runs out. A root has no parent. */
struct node *tree_add(struct tree *tree, struct node *parent, const char *name);
struct node *tree_child(const struct tree *tree, const struct node *parent, const char *name);
struct node *tree_by_wd(const struct tree *tree, int wd);
void tree_set_wd(struct tree *tree, struct node *node, int wd);
/* Takes a directory out of its parent, with all below. */
void tree_detach(struct tree *tree, struct node *node);
/* Puts a detached one into a directory; false when memory runs out. */
bool tree_attach(struct tree *tree, struct node *node, struct node *parent, const char *name);
/* Ends the watches of a directory and of all below. */
void tree_remove(struct tree *tree, struct node *node);
/* Whether a directory is below the root. */
bool tree_is_attached(const struct tree *tree, const struct node *node);

/* The path of a directory: `base` and the names below the root. False if it does not fit. */
bool tree_path(const struct node *node, const char *base, char *path, size_t size);

#endif
