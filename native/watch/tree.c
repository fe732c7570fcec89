/* The watched directories. */
#define _GNU_SOURCE
#include "tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FIRST_BUCKETS 1024

static size_t hash_name(const struct node *parent, const char *name)
{
    size_t hash = (size_t)parent / sizeof(struct node);
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3U;
    return hash ^ hash >> 29;
}

static struct node **name_chain(const struct tree *tree, const struct node *parent, const char *name)
{
    return &tree->by_name[hash_name(parent, name) & (tree->buckets - 1)];
}

static struct node **wd_chain(const struct tree *tree, int wd)
{
    return &tree->by_wd[(size_t)wd & (tree->buckets - 1)];
}

int tree_open(struct tree *tree)
{
    *tree = (struct tree){.buckets = FIRST_BUCKETS};
    tree->by_wd = calloc(tree->buckets, sizeof *tree->by_wd);
    tree->by_name = calloc(tree->buckets, sizeof *tree->by_name);
    if (tree->by_wd == NULL || tree->by_name == NULL)
        return -ENOMEM;
    tree->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    return tree->inotify < 0 ? -errno : 0;
}

/* Doubles the tables; without memory for that they stay as they are, and only get slower. */
static void grow(struct tree *tree)
{
    struct tree larger = {.buckets = 2 * tree->buckets};
    larger.by_wd = calloc(larger.buckets, sizeof *larger.by_wd);
    larger.by_name = calloc(larger.buckets, sizeof *larger.by_name);
    if (larger.by_wd == NULL || larger.by_name == NULL) {
        free(larger.by_wd);
        free(larger.by_name);
        return;
    }
    for (size_t i = 0; i < tree->buckets; i++) {
        for (struct node *node = tree->by_wd[i], *next; node != NULL; node = next) {
            struct node **chain = wd_chain(&larger, node->wd);
            next = node->same_wd;
            node->same_wd = *chain;
            *chain = node;
        }
        for (struct node *node = tree->by_name[i], *next; node != NULL; node = next) {
            struct node **chain = name_chain(&larger, node->parent, node->name);
            next = node->same_name;
            node->same_name = *chain;
            *chain = node;
        }
    }
    free(tree->by_wd);
    free(tree->by_name);
    tree->by_wd = larger.by_wd;
    tree->by_name = larger.by_name;
    tree->buckets = larger.buckets;
}

static void link_to_parent(struct tree *tree, struct node *node, struct node *parent)
{
    struct node **chain = name_chain(tree, parent, node->name);
    node->same_name = *chain;
    *chain = node;
    node->parent = parent;
    node->previous = NULL;
    node->next = parent->first;
    if (node->next != NULL)
        node->next->previous = node;
    parent->first = node;
}

struct node *tree_add(struct tree *tree, struct node *parent, const char *name)
{
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL || (node->name = strdup(name)) == NULL) {
        free(node);
        return NULL;
    }
    if (tree->count == tree->buckets)
        grow(tree);
    node->wd = -1;
    tree->count++;
    if (parent != NULL)
        link_to_parent(tree, node, parent);
    else
        tree->root = node;
    return node;
}

struct node *tree_child(const struct tree *tree, const struct node *parent, const char *name)
{
    struct node *node = *name_chain(tree, parent, name);
    while (node != NULL && (node->parent != parent || strcmp(node->name, name) != 0))
        node = node->same_name;
    return node;
}

struct node *tree_by_wd(const struct tree *tree, int wd)
{
    struct node *node = *wd_chain(tree, wd);
    while (node != NULL && node->wd != wd)
        node = node->same_wd;
    return node;
}

static void forget_wd(struct tree *tree, struct node *node)
{
    if (node->wd < 0)
        return;
    struct node **at = wd_chain(tree, node->wd);
    while (*at != node)
        at = &(*at)->same_wd;
    *at = node->same_wd;
    node->wd = -1;
}

void tree_set_wd(struct tree *tree, struct node *node, int wd)
{
    forget_wd(tree, node);
    if (wd < 0)
        return;
    struct node **chain = wd_chain(tree, wd);
    node->wd = wd;
    node->same_wd = *chain;
    *chain = node;
}

void tree_detach(struct tree *tree, struct node *node)
{
    if (node->parent == NULL)
        return;
    struct node **at = name_chain(tree, node->parent, node->name);
    while (*at != node)
        at = &(*at)->same_name;
    *at = node->same_name;
    if (node->previous != NULL)
        node->previous->next = node->next;
    else
        node->parent->first = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    node->parent = node->next = node->previous = NULL;
}

bool tree_attach(struct tree *tree, struct node *node, struct node *parent, const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL)
        return false;
    free(node->name);
    node->name = copy;
    link_to_parent(tree, node, parent);
    return true;
}

/* A directory without any below. */
static void drop(struct tree *tree, struct node *node)
{
    int wd = node->wd;
    tree_detach(tree, node);
    forget_wd(tree, node);
    if (wd >= 0)
        inotify_rm_watch(tree->inotify, wd); /* fails if the kernel has ended it */
    if (tree->root == node)
        tree->root = NULL;
    tree->count--;
    node->dead = true;
    if (node->queued)
        return;
    free(node->name);
    free(node);
}

void tree_remove(struct tree *tree, struct node *node)
{
    for (struct node *at = node;;) {
        while (at->first != NULL)
            at = at->first;
        struct node *above = at->parent;
        bool is_last = at == node;
        drop(tree, at);
        if (is_last)
            return;
        at = above;
    }
}

void tree_close(struct tree *tree)
{
    if (tree->inotify >= 0)
        close(tree->inotify); /* ends all watches at once */
    tree->inotify = -1;
    if (tree->root != NULL)
        tree_remove(tree, tree->root);
    free(tree->by_wd);
    free(tree->by_name);
}

bool tree_is_attached(const struct tree *tree, const struct node *node)
{
    while (node->parent != NULL)
        node = node->parent;
    return node == tree->root;
}

bool tree_path(const struct node *node, const char *base, char *path, size_t size)
{
    size_t length = strlen(base);
    bool is_top = strcmp(base, "/") == 0;
    size_t needed = is_top ? 0 : length;
    for (const struct node *at = node; at->parent != NULL; at = at->parent)
        needed += strlen(at->name) + 1;
    if (needed + 1 > size || length + 1 > size)
        return false;
    if (node->parent == NULL) {
        memcpy(path, base, length + 1);
        return true;
    }
    char *end = path + needed;
    *end = '\0';
    for (const struct node *at = node; at->parent != NULL; at = at->parent) {
        size_t name = strlen(at->name);
        end -= name;
        memcpy(end, at->name, name);
        *--end = '/';
    }
    if (!is_top)
        memcpy(path, base, length);
    return true;
}
