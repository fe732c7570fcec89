/* The queue of events to JavaScript. Output is appended to the event before it until JavaScript has taken that. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../shared/base64.h"
#include "io.h"

#define SMALLEST_BUFFER 1024

static size_t text_length(size_t bytes)
{
    return (bytes + 2) / 3 * 4;
}

static void push(struct loop *loop, struct child *child, struct event *event)
{
    event->next = NULL;
    if (loop->last != NULL)
        loop->last->next = event;
    else
        loop->first = event;
    loop->last = event;
    child->last = event;
    child->generation = loop->generation;
}

/* Aborts when memory is exhausted, because a lost event would be lost output. */
static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static struct event *new_event(struct child *child, enum event_kind kind, int stream, int value)
{
    struct event *event = must(calloc(1, sizeof *event));
    event->child = child->id;
    event->kind = kind;
    event->stream = stream;
    event->value = value;
    return event;
}

static void make_room(struct loop *loop, struct event *event, size_t bytes)
{
    size_t needed = loop->headroom + text_length(bytes) + loop->tailroom;
    if (needed <= event->capacity)
        return;
    size_t capacity = event->capacity ? event->capacity * 2 : SMALLEST_BUFFER;
    if (capacity < needed)
        capacity = needed;
    event->buffer = must(realloc(event->buffer, capacity));
    event->capacity = capacity;
}

/* Two bytes in front of `bytes` may be overwritten. */
static void append(struct loop *loop, struct event *event, uint8_t *bytes, size_t length)
{
    size_t before = (size_t)event->value;
    size_t rest = before % 3;
    size_t total = before + length;
    make_room(loop, event, total);
    memcpy(bytes - rest, event->carry, rest);
    base64_encode(event->buffer + loop->headroom + before / 3 * 4, bytes - rest, rest + length);
    memcpy(event->carry, bytes + length - total % 3, total % 3);
    event->value = (int)total;
}

static bool joins(const struct loop *loop, const struct child *child, int stream, size_t length)
{
    const struct event *last = child->generation == loop->generation ? child->last : NULL;
    return last != NULL && last->kind == EVENT_OUTPUT && last->stream == stream && (size_t)last->value + length <= CHUNK_BYTES;
}

void queue_output(struct loop *loop, struct output *output, uint8_t *bytes, size_t length)
{
    struct child *child = output->child;
    int stream = (int)(output - child->outputs);
    pthread_mutex_lock(&loop->lock);
    output->outstanding += length;
    bool joined = joins(loop, child, stream, length);
    if (joined)
        append(loop, child->last, bytes, length);
    pthread_mutex_unlock(&loop->lock);
    if (joined)
        return;
    struct event *event = new_event(child, EVENT_OUTPUT, stream, 0);
    append(loop, event, bytes, length);
    pthread_mutex_lock(&loop->lock);
    output->outstanding += CHUNK_OVERHEAD;
    push(loop, child, event);
    pthread_mutex_unlock(&loop->lock);
}

void queue_post(struct loop *loop, struct child *child, enum event_kind kind, int stream, int value)
{
    struct event *event = new_event(child, kind, stream, value);
    push(loop, child, event);
}

struct event *queue_take(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct event *events = loop->first;
    loop->first = loop->last = NULL;
    loop->generation++;
    loop->notified = false;
    pthread_mutex_unlock(&loop->lock);
    return events;
}

void queue_flush(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool news = loop->first != NULL && !loop->notified;
    if (news)
        loop->notified = true;
    pthread_mutex_unlock(&loop->lock);
    if (news)
        loop->notify(loop->context);
}

void event_free(struct event *event)
{
    free(event->buffer);
    free(event);
}
