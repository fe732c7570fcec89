/* Makes a search of a request. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"

/* The states of the pattern of names. */
#define NAME_MEMORY (1024 * 1024)
#define NUMBERS 5

/* The payload: five numbers of eight bytes, the pattern of names and that of content, each ended by NUL. */
static bool take_options(struct search_options *options, const uint8_t *payload, size_t length)
{
    uint64_t numbers[NUMBERS];
    if (length < sizeof numbers + 2 || payload[length - 1] != '\0')
        return false;
    memcpy(numbers, payload, sizeof numbers);
    const char *name = (const char *)payload + sizeof numbers, *content = name + strlen(name) + 1;
    if ((const uint8_t *)content >= payload + length)
        return false;
    *options = (struct search_options){.flags = numbers[0],
                                       .most_matches = numbers[1],
                                       .most_in_file = numbers[2],
                                       .most_file_bytes = numbers[3],
                                       .most_bytes = numbers[4],
                                       .name = strdup(name),
                                       .content = strdup(content)};
    return options->most_matches > 0;
}

static bool compile_content(struct search *search, struct complaint *complaint)
{
    struct content *content = &search->content;
    struct syntax syntax = {0};
    const char *text = search->options.content;
    bool fold = search->options.flags & SEARCH_FOLD, compiled = true;
    if (text[0] == '\0')
        return true;
    bool parsed = search->options.flags & SEARCH_REGEX ? regex_parse(&syntax, text, fold, complaint)
                                                       : literal_parse(&syntax, text, fold, complaint);
    if (parsed) {
        program_required(&syntax, &content->required, &content->only_literal);
        content->wanted = true;
    }
    if (parsed && !content->only_literal)
        compiled = program_compile(&content->forward, &syntax, FIND_IN_LINES) &&
                   program_compile(&content->backward, &syntax, FIND_BACKWARDS);
    syntax_free(&syntax);
    if (!compiled)
        strcpy(complaint->text, "the pattern is too large: its repetitions and classes need more than 8192 instructions");
    return parsed && compiled;
}

static bool compile_name(struct search *search, struct complaint *complaint)
{
    struct syntax syntax = {0};
    const char *text = search->options.name;
    if (text[0] == '\0')
        return true;
    bool parsed = glob_parse(&syntax, text, complaint);
    bool compiled = parsed && program_compile(&search->name_program, &syntax, MATCH_WHOLE) &&
                    (search->name = dfa_new(&search->name_program, NAME_MEMORY)) != NULL;
    search->name_is_path = strchr(text, '/') != NULL;
    syntax_free(&syntax);
    if (parsed && !compiled)
        strcpy(complaint->text, "the name pattern is too large");
    return compiled;
}

/* Opens the root; a file is searched alone. 0 or a negative errno. */
static int open_root(struct search *search)
{
    struct stat status;
    struct walk *walk = &search->walk;
    walk->request = &search->request;
    walk->failed = search_fail;
    walk->context = search;
    walk->hidden = search->options.flags & SEARCH_HIDDEN;
    walk->gitignore = search->options.flags & SEARCH_GITIGNORE;
    walk->root = fs_open_path(&search->request, search->request.path, O_PATH, 0);
    if (walk->root < 0 || fstat(walk->root, &status) < 0)
        return walk->root < 0 ? walk->root : -errno;
    batch_renew(&search->batch);
    if (S_ISDIR(status.st_mode)) {
        int readable = fs_open_below(&search->request, walk->root, ".", O_RDONLY | O_DIRECTORY);
        if (readable < 0)
            return readable;
        close(readable);
        return walk_start(walk) ? 0 : -ENOMEM;
    }
    search->walked = true;
    if (!search->content.wanted)
        return -ENOTDIR;
    return batch_add(&search->batch, "") != NULL ? 0 : -ENOMEM;
}

struct search *search_new(const struct fs_request *request, struct fs_answer *answer)
{
    struct complaint complaint = {""};
    struct search *search = calloc(1, sizeof *search);
    if (search == NULL) {
        fs_fail_errno(answer, ENOMEM);
        return NULL;
    }
    search->walk.root = -1;
    search->request = (struct fs_request){.flags = request->flags, .path = strdup(request->path)};
    int failure = take_options(&search->options, request->payload, request->payload_length) ? 0 : -EINVAL;
    if (failure == 0 && (!search->request.path || !search->options.name || !search->options.content))
        failure = -ENOMEM;
    if (failure == 0 && compile_content(search, &complaint) && compile_name(search, &complaint))
        failure = open_root(search);
    if (failure == 0 && complaint.text[0] == '\0')
        return search;
    if (failure < 0)
        fs_fail_errno(answer, -failure);
    else
        fs_fail_text(answer, FS_INVALID, complaint.text);
    search_free(search);
    return NULL;
}

void search_free(struct search *search)
{
    batch_free(&search->batch);
    walk_finish(&search->walk);
    if (search->walk.root >= 0)
        close(search->walk.root);
    dfa_free(search->name);
    program_free(&search->name_program);
    program_free(&search->content.forward);
    program_free(&search->content.backward);
    free((char *)search->options.name);
    free((char *)search->options.content);
    free((char *)search->request.path);
    free(search->errors.bytes);
    free(search);
}
