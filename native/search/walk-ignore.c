/* Where the rules of .gitignore come from: each directory of the repository, down to the one that is entered, and .git/info/exclude. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../shared/files.h"
#include "walk.h"

/* The text of an open file, ended by a NUL; NULL if it is no file or larger than a file of rules may be. Closes the descriptor. */
static char *read_text(int fd, size_t *length)
{
    struct stat status;
    bool fits = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= IGNORE_FILE_LIMIT;
    size_t size = fits ? (size_t)status.st_size : 0;
    char *text = fits ? malloc(size + 1) : NULL;
    *length = 0;
    while (text != NULL && *length < size) {
        ssize_t count = read_retrying(fd, text + *length, size - *length);
        if (count <= 0)
            break;
        *length += (size_t)count;
    }
    if (text != NULL)
        text[*length] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

/* Puts the rules of an open file, if it is one, on top of others. */
static struct ignore *add_rules(struct ignore *above, size_t directory, int fd)
{
    size_t length;
    char *text = read_text(fd, &length);
    struct ignore *ignore = text == NULL || length == 0 ? NULL : ignore_parse(above, directory, text, length);
    free(text);
    return ignore != NULL ? ignore : above;
}

static int open_in(const struct walk *walk, int root, const char *directory, const char *name, int flags)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", directory, directory[0] != '\0' ? "/" : "", name);
    if (length < 0 || (size_t)length >= sizeof path)
        return -ENAMETOOLONG;
    return fs_open_below(walk->request, root, path, flags);
}

/* Whether a directory is the top of a repository: .git is a directory there, or a file in a work tree. */
static bool is_top(const struct walk *walk, int root, const char *directory)
{
    int fd = open_in(walk, root, directory, ".git", O_PATH);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static struct ignore *rules_of(const struct walk *walk, int root, const char *directory, struct ignore *above, size_t length)
{
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    if (is_top(walk, root, directory))
        above = add_rules(above, length, open_in(walk, root, directory, ".git/info/exclude", flags));
    return add_rules(above, length, open_in(walk, root, directory, ".gitignore", flags));
}

struct ignore *walk_rules(struct walk *walk, struct ignore *above, const char *directory, bool *fresh)
{
    size_t below = strlen(directory), prefix = strlen(walk->prefix);
    *fresh = is_top(walk, walk->root, directory);
    return rules_of(walk, walk->root, directory, *fresh ? NULL : above, prefix + (prefix > 0 && below > 0) + below);
}

/* The rules of the directories of a path, below `top`, from the top to the one above the last. */
static void add_parents(struct walk *walk, int slash, char *path, size_t top)
{
    if (top == 0)
        walk->ignore = rules_of(walk, slash, "", NULL, 0);
    for (size_t end = top;; end++) {
        end += strcspn(path + end, "/");
        if (path[end] == '\0')
            return;
        path[end] = '\0';
        walk->ignore = rules_of(walk, slash, path, walk->ignore, end - top > 0 ? end - top - (top > 0) : 0);
        path[end] = '/';
    }
}

bool walk_find_repository(struct walk *walk)
{
    char *real = realpath(walk->request->path, NULL);
    int slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *path = real != NULL ? real + 1 : NULL; /* below the root of the disk */
    size_t top = path != NULL ? strlen(path) : 0, whole = top;
    bool found = path == NULL || slash < 0 || is_top(walk, walk->root, ".");
    /* Up, until there is a .git. */
    while (!found && top > 0) {
        while (top > 0 && path[--top] != '/')
            ;
        char kept = path[top];
        path[top] = '\0';
        found = is_top(walk, slash, path);
        path[top] = kept;
    }
    bool above = found && path != NULL && top < whole;
    walk->prefix = strdup(above ? path + top + (top > 0) : "");
    if (above)
        add_parents(walk, slash, path, top);
    if (slash >= 0)
        close(slash);
    free(real);
    return walk->prefix != NULL;
}

bool walk_ignores(struct walk *walk, struct ignore *ignore, const char *path, bool is_directory)
{
    char whole[2 * PATH_MAX];
    const char *name = strrchr(path, '/');
    if (strcmp(name != NULL ? name + 1 : path, ".git") == 0)
        return true;
    snprintf(whole, sizeof whole, "%s%s%s", walk->prefix, walk->prefix[0] != '\0' ? "/" : "", path);
    return ignore_matches(ignore, whole, is_directory);
}
