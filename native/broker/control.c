/* Orders from Node and reports to it: lines of words, some followed by a block. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "../shared/files.h"

#define LONGEST_LINE 256
#define CONGESTED (1u << 20)
#define READ_STEP 65536

/* Ends the broker and all it has started. */
static void end(struct broker *broker, const char *why)
{
    if (why != NULL)
        dprintf(2, "exec-broker: %s\n", why);
    children_kill(broker, false);
    broker->ending = true;
}

bool is_waiting(const struct broker *broker)
{
    return broker->sent < broker->unsent.length;
}

static void flush(struct broker *broker)
{
    while (is_waiting(broker)) {
        ssize_t count =
            write_retrying(CONTROL, broker->unsent.start + broker->sent, broker->unsent.length - broker->sent);
        if (count < 0)
            break; /* full: continues when there is room; broken: the orders end as well */
        broker->sent += (size_t)count;
    }
    if (!is_waiting(broker))
        broker->sent = broker->unsent.length = 0;
}

bool is_congested(const struct broker *broker)
{
    return broker->unsent.length - broker->sent > CONGESTED;
}

static void send_report_line(struct broker *broker, const char *format, va_list arguments, const void *block, size_t length)
{
    char line[LONGEST_LINE];
    int size = vsnprintf(line, sizeof line - 24, format, arguments);
    if (size < 0)
        return;
    if ((size_t)size > sizeof line - 25)
        size = (int)sizeof line - 25;
    if (block != NULL)
        size += sprintf(line + size, " %zu", length);
    line[size++] = '\n';
    bytes_add(&broker->unsent, line, (size_t)size);
    if (block != NULL)
        bytes_add(&broker->unsent, block, length);
    if (broker->unsent.failed) {
        end(broker, "out of memory");
        return;
    }
    flush(broker);
}

void send_report(struct broker *broker, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    send_report_line(broker, format, arguments, NULL, 0);
    va_end(arguments);
}

void send_report_block(struct broker *broker, const void *block, size_t length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    send_report_line(broker, format, arguments, block, length);
    va_end(arguments);
}

struct order {
    char name[16];
    uint64_t number;
    struct bytes block; /* ended by a NUL that is not counted */
};

static bool obey_shell(struct broker *broker, struct order *order)
{
    return shell_start(broker, &order->block);
}

static bool obey_run(struct broker *broker, struct order *order)
{
    answer_run(broker, order->number);
    return true;
}

static bool obey_allow_path(struct broker *broker, struct order *order)
{
    answer_allow_path(broker, order->number);
    return true;
}

static bool obey_inspect(struct broker *broker, struct order *order)
{
    answer_inspect(broker, order->number);
    return true;
}

static bool obey_deny(struct broker *broker, struct order *order)
{
    answer_deny(broker, order->number, order->block.start, order->block.length);
    return true;
}

static bool obey_escalate(struct broker *broker, struct order *order)
{
    answer_escalate(broker, order->number, &order->block);
    return true;
}

static bool obey_signal(struct broker *broker, struct order *order)
{
    if (order->number < 1 || order->number > 64)
        return false;
    children_signal(broker, (int)order->number);
    return true;
}

static bool obey_kill(struct broker *broker, struct order *order)
{
    (void)order;
    send_report(broker, "swept %u", children_kill(broker, false));
    return true;
}

static bool obey_leave(struct broker *broker, struct order *order)
{
    (void)order;
    children_kill(broker, true);
    broker->ending = true;
    return true;
}

static const struct {
    const char *name;
    bool numbered, blocked;
    bool (*obey)(struct broker *broker, struct order *order);
} orders[] = {
    {"shell", false, true, obey_shell},      {"run", true, false, obey_run},   {"deny", true, true, obey_deny},
    {"escalate", true, true, obey_escalate}, {"signal", true, false, obey_signal}, {"kill", false, false, obey_kill},
    {"leave", false, false, obey_leave},     {"inspect", true, false, obey_inspect}, {"allow-path", true, false, obey_allow_path},
};

/* Reads a number after a space. */
static bool take_number(char **at, uint64_t *number)
{
    if (**at != ' ' || (*at)[1] < '0' || (*at)[1] > '9')
        return false;
    errno = 0;
    *number = strtoull(*at + 1, at, 10);
    return errno == 0;
}

/* Parses the order in a line and the length of its block; returns its index in the table, or -1. */
static int parse(char *line, struct order *order, uint64_t *length)
{
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        size_t size = strlen(orders[i].name);
        char *at = line + size;
        if (strncmp(line, orders[i].name, size) != 0 || (*at != ' ' && *at != '\0'))
            continue;
        if (orders[i].numbered && !take_number(&at, &order->number))
            return -1;
        if (orders[i].blocked && (!take_number(&at, length) || *length > LARGEST_FRAME))
            return -1;
        return *at == '\0' ? (int)i : -1;
    }
    return -1;
}

/* Carries out the next order; false if it has not been received completely, or the broker ends. */
static bool obey_next(struct broker *broker)
{
    struct bytes *received = &broker->received;
    size_t searched = received->length < LONGEST_LINE ? received->length : LONGEST_LINE;
    char *newline = searched > 0 ? memchr(received->start, '\n', searched) : NULL;
    if (newline == NULL) {
        if (searched == LONGEST_LINE)
            end(broker, "line from Node is too long");
        return false;
    }
    size_t size = (size_t)(newline - received->start);
    char line[LONGEST_LINE];
    memcpy(line, received->start, size);
    line[size] = '\0';
    struct order order = {0};
    uint64_t length = 0;
    int place = parse(line, &order, &length);
    if (place < 0) {
        end(broker, "invalid line from Node");
        return false;
    }
    if (received->length - size - 1 < length)
        return false;
    bytes_add(&order.block, newline + 1, (size_t)length);
    bytes_add(&order.block, "", 1);
    bytes_drop(received, size + 1 + (size_t)length);
    if (order.block.failed)
        end(broker, "out of memory");
    else {
        order.block.length--;
        if (!orders[place].obey(broker, &order))
            end(broker, "invalid order from Node");
    }
    bytes_free(&order.block);
    return !broker->ending;
}

void control_ready(struct broker *broker, struct watch *watch, uint32_t events)
{
    if ((events & POLLOUT) != 0)
        flush(broker);
    if ((events & ~POLLOUT) == 0)
        return;
    char *room = bytes_reserve(&broker->received, READ_STEP);
    ssize_t count = room != NULL ? read_retrying(watch->fd, room, READ_STEP) : 0;
    if (count < 0 && errno == EAGAIN)
        return;
    if (count <= 0) {
        end(broker, room == NULL ? "out of memory" : NULL);
        return;
    }
    broker->received.length += (size_t)count;
    while (obey_next(broker))
        ;
}
