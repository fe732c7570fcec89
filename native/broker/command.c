/* Reads the strings of a command to be started. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "broker.h"
#include "../shared/limits.h"

#define MOST_ARGUMENTS 4000000L

static bool parse_umask(const char *text, int *mask)
{
    char *end;
    *mask = -1;
    if (strcmp(text, "-") == 0)
        return true;
    long number = strtol(text, &end, 8);
    *mask = (int)number;
    return end != text && *end == '\0' && number >= 0 && number <= 07777;
}

static bool parse_amount(const char *text, rlim_t *amount)
{
    char *end;
    if (strcmp(text, "unlimited") == 0) {
        *amount = RLIM_INFINITY;
        return true;
    }
    errno = 0;
    *amount = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

static bool parse_limit(char *text, struct limit_setting *setting)
{
    char *rest, *name = strtok_r(text, " ", &rest), *soft = strtok_r(NULL, " ", &rest), *hard = strtok_r(NULL, " ", &rest);
    if (hard == NULL || !parse_amount(soft, &setting->limit.rlim_cur) || !parse_amount(hard, &setting->limit.rlim_max))
        return false;
    for (size_t i = 0; i < limit_count; i++) {
        setting->resource = limit_names[i].resource;
        if (strcmp(name, limit_names[i].name) == 0)
            return true;
    }
    return false;
}

static bool parse_limits(struct strings *strings, struct start *start)
{
    size_t count = (size_t)strings_next_number(strings, (long)limit_count);
    start->limits = calloc(limit_count, sizeof *start->limits);
    if (start->limits == NULL || count > limit_count)
        return false;
    for (start->limit_count = 0; start->limit_count < count; start->limit_count++)
        if (!parse_limit(strings_next(strings), &start->limits[start->limit_count]))
            return false;
    return true;
}

static bool parse(struct command *command)
{
    struct strings strings = {.at = command->block.start, .end = command->block.start + command->block.length};
    struct start *start = &command->start;
    start->cwd = strings_next(&strings);
    start->file = strings_next(&strings);
    if (!parse_umask(strings_next(&strings), &start->umask) || !pin_read(strings_next(&strings), &start->program) ||
        !pin_read(strings_next(&strings), &start->workdir) || !parse_limits(&strings, start))
        return false;
    long count = strings_next_number(&strings, MOST_ARGUMENTS);
    if (strings.failed || count < 1)
        return false;
    start->argv = strings_next_list(&strings, (size_t)count);
    start->environment = strings_next_list(&strings, strings_left(&strings));
    return start->argv != NULL && start->environment != NULL && strings.at == strings.end;
}

struct command *command_parse(struct bytes *block)
{
    struct command *command = calloc(1, sizeof *command);
    if (command == NULL)
        return NULL;
    command->block = *block;
    *block = (struct bytes){0};
    command->start.listener_channel = -1;
    if (parse(command))
        return command;
    command_free(command);
    return NULL;
}

void command_free(struct command *command)
{
    if (command == NULL)
        return;
    free(command->start.argv);
    free(command->start.environment);
    free(command->start.limits);
    free((void *)command->start.placements);
    bytes_free(&command->block);
    free(command);
}
